"""The picture of a beam: every number in it is the search's, and every sentence about a
hypothesis is true of it."""

import json
import re

import pytest

from xformer.parts.steps import beam_tree
from xformer.pieces import EOS
from xformer.results import (
    BeamTree,
    Branch,
    Candidate,
    GrowTree,
    Options,
    TranslateByLayer,
    Translation,
    fixed,
)
from xformer.strings import SPANISH


@pytest.fixture(scope="module")
def grown(running):
    """The tree of a sentence that the model does not know."""
    return running.ask(GrowTree("The cat reads a book.", Options(beam=3)))


def test_every_branch_is_drawn_with_its_numbers_in_the_order_of_its_step(grown):
    nodes = json.loads(beam_tree.payload(grown, 0)["nodes"])
    assert len(nodes) == len(grown.branches)
    rows = {}
    for node, branch in zip(nodes, grown.branches, strict=True):
        assert (node["step"], node["parent"], node["fate"]) == (
            branch.step,
            branch.parent,
            branch.fate,
        )
        for name in ("log_prob", "total", "score"):
            assert node[name] == pytest.approx(getattr(branch, name), abs=1e-6)
        rows.setdefault(branch.step, []).append(node["row"])
    assert all(found == [*range(len(found))] for found in rows.values())


@pytest.mark.parametrize("beam", [1, 2, 5, 8])
def test_the_winner_is_what_plain_search_finds_and_its_line_leads_there(running, beam):
    tree = running.ask(GrowTree("The cat reads a book.", Options(beam=beam)))
    plain = running.translate("The cat reads a book.", Options(beam=beam)).best
    winner = beam_tree.winner(tree)
    assert beam_tree.tokens(tree, winner) == plain.tokens
    assert tree.branches[winner].score == pytest.approx(plain.score, abs=1e-5)
    nodes = json.loads(beam_tree.payload(tree, 0)["nodes"])
    best = [node for node in nodes if node["best"]]
    assert len(best) == len(plain.tokens) and [node["place"] for node in best] == [
        0
    ] * (len(best) - 1) + [1]
    assert [node["log_prob"] for node in best] == pytest.approx(
        plain.log_probs, abs=1e-4
    )


def test_every_hypothesis_is_told_why_with_its_own_numbers(grown):
    last = grown.translation.options.beam
    for node, branch in enumerate(grown.branches):
        said = beam_tree.verdict(grown, node)
        table = beam_tree.why(grown, node)
        assert (
            fixed(branch.total, ".3f") in table and fixed(branch.score, ".4f") in table
        )
        step = [at for at, one in enumerate(grown.branches) if one.step == branch.step]
        if branch.fate == "dropped" and grown.pieces[node] != "</s>":
            assert said.startswith(f"Dropped at step {branch.step + 1}: ")
            assert f" number {step.index(node) + 1} " in said
            kept = [
                grown.branches[at].total
                for at in step
                if grown.branches[at].fate == "kept"
            ]
            assert not kept or branch.total <= min(kept) + 1e-6, (
                "what is dropped is no better than what is kept"
            )
        elif branch.fate == "kept":
            assert (
                f"Kept at step {branch.step + 1}, as number {step.index(node) + 1}; the beam keeps {last}."
                in said
            )
        elif branch.fate == "ended" and node == beam_tree.winner(grown):
            assert said.startswith("The winner: ")
        if node != beam_tree.winner(grown):
            assert "Winner at its end" in table


STRANGE = (
    "sleeps Where don't The cold.",
    "She bread.",
    "The cat reads a book.",
    "a water is.",
)


@pytest.mark.parametrize("max_length", [None, 4])
@pytest.mark.parametrize(
    "options",
    [
        Options(beam=2, length_penalty=2),
        Options(beam=8, n_best=3, length_penalty=2),
        Options(beam=4, length_penalty=0),
        Options(beam=1),
    ],
)
def test_the_tree_and_the_last_layer_have_the_page_s_translation(
    running, options, max_length
):
    for text in STRANGE:
        page = running.translate(text, options, max_length=max_length)
        tree = running.ask(GrowTree(page, options, max_length=max_length))
        assert tree.translation.best.tokens == page.best.tokens
        assert [one.tokens for one in tree.translation.n_best][: options.n_best] == [
            one.tokens for one in page.n_best
        ]
        assert (
            running.ask(TranslateByLayer(page, options, max_length))[-1].tokens
            == page.best.tokens
        )


@pytest.mark.parametrize(
    "options", [Options(beam=2, length_penalty=2), Options(beam=3), Options(beam=5)]
)
def test_what_came_of_a_hypothesis_is_true(running, options):
    seen = set()
    for text in STRANGE:
        tree = running.ask(GrowTree(text, options))
        said = [beam_tree.tokens(tree, node) for node in range(len(tree.branches))]
        for node, branch in enumerate(tree.branches):
            told = beam_tree.verdict(tree, node)
            own = said[node]
            if branch.fate != "kept":
                continue
            after = [
                (one.step + 1, one.fate)
                for one, tokens in zip(tree.branches, said, strict=True)
                if tokens[: len(own)] == own
            ]
            # where nothing of it is kept any more
            gone = 1 + max(step for step, fate in after if fate == "kept")
            ended = any(fate == "ended" for _, fate in after)
            found = re.search(r"dropped by step (\d+)", told)
            seen.add(
                "dropped"
                if found
                else "displaced"
                if "came to an end with" in told
                else "other"
            )
            assert not found or (int(found[1]) == gone and not ended), told
            assert ("came to an end with" in told) <= ended
    assert {"dropped", "other"} <= seen


def test_at_the_limit_nothing_goes_on_and_what_is_taken_has_not_ended(running):
    for text in STRANGE:
        tree = running.ask(GrowTree(text, Options(beam=3), max_length=4))
        nodes = json.loads(beam_tree.payload(tree, 0)["nodes"])
        for node, branch in enumerate(tree.branches):
            told = beam_tree.verdict(tree, node)
            assert nodes[node]["cut"] == (
                "it was taken as it stood, without </s>" in told
            )
            assert nodes[node]["cut"] == (
                branch.fate == "ended" and branch.token != EOS
            )
            assert branch.step < 3 or "that have not ended" not in told
        assert any(
            "Dropped at step 4, the limit" in beam_tree.verdict(tree, node)
            for node in range(len(nodes))
        )


def test_one_that_ended_and_was_displaced_was_not_dropped():
    def candidate(score, *tokens):
        return Candidate(
            "x", score, tokens, ("▁x",) * len(tokens), (-1.0,) * len(tokens), (), True
        )

    branches = (
        leaf(None, 0, 5, -1.0, "kept", 1.0),
        leaf(0, 1, EOS, -4.0, "ended", 1.0),
        leaf(None, 0, 6, -0.5, "kept", 1.0),
        leaf(2, 1, EOS, -1.0, "ended", 1.0),
    )
    found = Translation(
        "x", (candidate(-0.5, 6, EOS),), (), 0.1, Options(beam=1), None, (7,)
    )
    tree = BeamTree(found, branches, ("▁a", "</s>", "▁b", "</s>"))
    assert beam_tree.verdict(tree, 0).endswith(
        "The best hypothesis that grew from it came to an end with −2.0000, but others (1) did so with a better score."
    )


def leaf(parent, step, token, total, fate, alpha):
    return Branch(parent, step, token, total, total, total / (step + 1) ** alpha, fate)


def test_the_length_penalty_is_blamed_where_it_decided():
    def candidate(score, *tokens):
        return Candidate(
            "x", score, tokens, ("▁x",) * len(tokens), (-1.0,) * len(tokens), (), True
        )

    alpha = 1.0
    branches = (
        leaf(None, 0, 5, -1.0, "kept", alpha),
        leaf(0, 1, EOS, -2.0, "ended", alpha),
        leaf(0, 1, 6, -1.1, "kept", alpha),
        leaf(2, 2, EOS, -2.4, "ended", alpha),
    )
    found = Translation(
        "<b>",
        (candidate(-0.8, 5, 6, EOS), candidate(-1.0, 5, EOS)),
        (),
        0.1,
        Options(beam=2, n_best=2, length_penalty=alpha),
        None,
        (7,),
    )
    tree = BeamTree(found, branches, ("▁<i>", "</s>", "▁b", "</s>"))
    assert beam_tree.places(tree) == {1: 2, 3: 1}
    said = beam_tree.verdict(tree, 1)
    assert said.startswith(
        "It came out as number 2: its score of −1.0000 is 0.2000 below the winner’s −0.8000."
    )
    assert said.endswith("without the length penalty (α = 0) it would beat the winner.")
    assert "The winner goes through here." in beam_tree.verdict(tree, 2)
    html = beam_tree.why(tree, 1, SPANISH)
    assert "&lt;i&gt;" in html and "<i>" not in html and "2^1" not in html
    assert re.search(r"Ganadora al final, paso 3", html)
