"""The Step by step tab: what each part draws, when it draws again, and what it says
where it cannot."""

import json
import time
from contextlib import closing
from types import SimpleNamespace

import pytest
import torch

from tests.pages import laid_out
from xformer.hub import checkpoint
from xformer.parts.steps import beam_tree
from xformer.parts.steps import part as tab
from xformer.recurrent import RecurrentConfig, RecurrentTranslator
from xformer.results import Force, Options
from xformer.serve.translation import Service
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask


@pytest.mark.parametrize(
    ("norm", "words"),
    [
        ("pre", "Before layer 1 it is the piece that was given:"),
        ("post", "Before layer 1 it is mostly the piece that was given"),
    ],
)
def test_the_lens_is_introduced_by_the_order_of_normalisation(norm, words):
    assert words in tab.lens_note(
        SimpleNamespace(info=SimpleNamespace(norm=norm)), ENGLISH
    )


@pytest.fixture(scope="module")
def pair(running, learned_pairs):
    return running.translate_and_trace(learned_pairs[1][0], Options(beam=5))


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures


@pytest.fixture
def draw(running, pictures):
    made = {}

    def draw(pair, **more):
        translation, trace = pair
        given = {
            "made": made,
            "decode": "steps",
            "step": 1,
            "smoothing": 0.1,
            "rival": "",
            "twin": "",
            **more,
        }
        return Ask.always(given.pop("service", running), ENGLISH).answer(
            pictures["decoding"].draw, translation=translation, trace=trace, **given
        )

    return draw


@pytest.fixture
def grow(running, pictures):
    made = {}

    def grow(translation, **more):
        given = {
            "made": made,
            "decode": "steps",
            "tree_width": 3,
            "tree_node": 0,
            **more,
        }
        return Ask.always(given.pop("service", running), ENGLISH).answer(
            pictures["decoding.tree"].draw, translation=translation, **given
        )

    grow.made = made
    return grow


def test_only_the_open_part_is_drawn_and_nothing_twice(draw, pair):
    first = draw(pair)
    assert {"player", "typed"} <= {*first} and not {"forced", "lens", "by_layer"} & {
        *first
    }
    assert first["typed"] == pair[0].best.text
    again = draw(pair)
    assert {*again} == {"problem"}
    yours = draw(pair, decode="yours")
    assert {"forced", "shares", "free"} <= {*yours} and "player" not in yours
    smoother = draw(pair, decode="yours", smoothing=0.3)
    assert "ε = 0.3" in smoother["forced"] and "free" not in smoother
    layered = draw(pair, decode="layers")
    assert (
        pair[0].best.text in layered["by_layer"] and 'class="lens"' in layered["lens"]
    )


def test_the_pair_is_given_to_the_model_once_for_all_pictures_of_it(
    running, draw, pair, monkeypatch
):
    asked = []
    ask = running.ask
    monkeypatch.setattr(
        running, "ask", lambda question: asked.append(type(question)) or ask(question)
    )
    assert draw(pair)["player"] and draw(pair, decode="yours")["forced"]
    assert draw(pair, decode="yours", step=2)["shares"]
    assert asked.count(Force) == 1


def test_a_new_sentence_begins_at_its_first_step_and_an_address_where_it_says(
    running, draw, pair, learned_pairs
):
    arrived = draw(pair, step=3)
    assert arrived["player"]["step"] == 3 and "step" not in arrived
    typed = draw((pair[0], running.trace(pair[0], "El gato come.")), step=3)
    assert "step" not in typed and typed["player"]["step"] == 3, (
        "another translation of the same sentence"
    )
    other = running.translate_and_trace(learned_pairs[2][0])
    moved = draw(other, step=3)
    assert moved["step"] == 1 == moved["player"]["step"]
    assert draw(pair, step=999, made={})["step"] == len(pair[1].target)


def test_a_step_that_is_clicked_is_drawn_in_the_table(draw, pair):
    draw(pair, decode="yours")
    picked = draw(
        pair, decode="yours", action=tab.step_to, event=SimpleNamespace(step=2)
    )
    assert (
        picked["step"] == 2
        and "Step 2, after" in picked["shares"]
        and 'data-step="2"' in picked["forced"]
    )


def test_another_step_has_another_rival_and_another_sentence_no_twin(
    running, draw, pair, learned_pairs
):
    draw(pair, decode="why", step=2, rival="a", twin="B")
    chosen = draw(
        pair,
        decode="why",
        step=2,
        rival="a",
        twin="B",
        action=tab.step_to,
        event=SimpleNamespace(step=3),
    )
    assert (chosen["step"], chosen["rival"]) == (3, "") and "twin" not in chosen
    other = draw(
        running.translate_and_trace(learned_pairs[2][0]),
        decode="why",
        step=3,
        rival="a",
        twin="B",
    )
    assert (other["step"], other["rival"], other["twin"]) == (1, "", "")


def test_the_tree_is_grown_once_for_a_sentence_and_a_width(grow, pair):
    grown = grow(pair[0])
    tree = grow.made["grown"].value
    assert (
        len(json.loads(grown["tree"]["nodes"])) == len(tree.branches)
        and "The winner" in grown["why"]
    )
    assert {*grow(pair[0])} == {"problem"}
    assert {*grow(pair[0], decode="layers")} == {"problem"}
    wider = grow(pair[0], tree_width=4, tree_node=3)
    assert wider["tree_node"] == 0 and grow.made["grown"].inputs["tree_width"] == 4
    assert wider["tree"]["chosen"] == beam_tree.winner(grow.made["grown"].value), (
        "a node of another tree is not looked for in it"
    )
    json.dumps(wider["tree"])


def test_an_address_names_a_node_and_a_click_says_why_it_lost(grow, pair):
    grown = grow(pair[0], tree_node=2)
    assert grown["tree"]["chosen"] == 1 and grown["tree_node"] == 2
    told = grow(
        pair[0], tree_node=2, action=tab.choose_node, event=SimpleNamespace(node=0)
    )
    assert told["tree_node"] == 1 and told["why"] == beam_tree.why(
        grow.made["grown"].value, 0
    )
    assert "tree" not in told, "it has marked the node itself"
    assert grow(
        pair[0], tree_node=1, action=tab.choose_node, event=SimpleNamespace(node=9_999)
    ) == {"problem": ""}
    assert {*grow(pair[0], tree_node=1)} == {"problem"}


def test_samples_make_no_tree_but_can_be_played(running, draw, grow, learned_pairs):
    drawn = running.translate_and_trace(
        learned_pairs[1][0], Options(temperature=0.5, seed=3)
    )
    refused = grow(drawn[0])
    assert (
        refused["tree"] is None and "Samples are drawn one by one" in refused["problem"]
    )
    assert draw(drawn)["player"]["because"] == "It was drawn at random."


def test_a_dropped_hypothesis_is_translated_on_and_the_page_looks_into_it(
    running, grow, pair
):
    translation, _ = pair
    grow(translation)
    tree = grow.made["grown"].value
    node, branch = next(
        (at, one)
        for at, one in enumerate(tree.branches)
        if one.fate == "dropped" and tree.pieces[at] != "</s>"
    )
    gone = grow(translation, tree_node=node + 1, action=tab.go_on)
    tokens = gone["trace"].tokens
    assert tokens[: branch.step + 1] == beam_tree.tokens(tree, node)
    assert (
        gone["spanish"] not in ("", translation.best.text)
        and "The page now looks into this one" in gone["went"]
    )
    own = grow(translation, tree_node=0, action=tab.go_on)
    assert own["spanish"] == "" and own["trace"].predicted == translation.best.pieces
    assert "It is the model’s own translation." in own["went"]
    assert (
        "Waiting for a translation"
        in grow(None, tree_node=1, action=tab.go_on)["problem"]
    )


def test_typed_spanish_is_looked_into_and_an_empty_field_is_the_model_s_own(
    running, pair
):
    ask = Ask.always(running, ENGLISH)
    typed = ask.answer(tab.look_into, translation=pair[0], target="El gato come.")
    assert typed["spanish"] == "El gato come." and typed["trace"].text == pair[0].source
    for own in ("", "  ", pair[0].best.text):
        back = ask.answer(tab.look_into, translation=pair[0], target=own)
        assert back["spanish"] == "" and back["trace"].predicted == pair[0].best.pieces
    assert (
        "has never seen these characters"
        in ask.answer(tab.look_into, translation=pair[0], target="漢字")["problem"]
    )
    assert (
        "Waiting for a translation"
        in ask.answer(tab.look_into, translation=None, target="x")["problem"]
    )


def test_what_is_looked_into_is_said_where_it_is_not_the_model_s_own(
    running, draw, pair
):
    translation, trace = pair
    said = draw((translation, running.trace(translation, "El gato come.")))
    assert (
        "“El gato come.”" in said["other_text"]
        and said["other"]["visible"]
        and said["typed"] == "El gato come."
    )
    assert said["player"]["because"] == "This is not the model’s own translation."
    own = draw(pair)
    assert own["player"]["because"].startswith("The beam took it")
    assert not own["other"]["visible"] and own["other_text"] == ""


def test_before_the_first_translation_nothing_is_drawn_and_nothing_is_said(draw, grow):
    assert draw((None, None)) == {"problem": ""} == grow(None)


@pytest.fixture(scope="module")
def recurrent(tokenizer, tmp_path_factory):
    """The service on a recurrent translator that has learned nothing, so that its
    translations are cut off."""
    torch.manual_seed(0)
    model = RecurrentTranslator(
        RecurrentConfig(
            vocab_size=len(tokenizer),
            d_model=32,
            dropout=0.0,
            max_length=64,
            attention="additive",
        )
    )
    folder = tmp_path_factory.mktemp("checkpoints") / "recurrent"
    checkpoint.save(folder, model.eval(), tokenizer, {})
    with closing(Service.open(folder, "cpu")) as service:
        yield service


def test_a_recurrent_model_is_played_and_its_tree_grown_but_it_has_no_layers_to_read(
    recurrent, draw, grow
):
    pair = recurrent.translate_and_trace("The cat sleeps.", Options(beam=2))
    played = draw(pair, service=recurrent)
    assert not played["player"]["masked"] and played["problem"] == ""
    assert draw(pair, service=recurrent, decode="yours")["free"]
    assert "The winner" in grow(pair[0], service=recurrent, tree_width=2)["why"]
    for part in ("layers", "why"):
        unread = draw(pair, service=recurrent, decode=part)
        assert "is a recurrent model" in unread["problem"]


def test_sixty_pieces_are_drawn_within_a_second(running, draw, grow):
    text = " ".join(["The cat sleeps."] * 12)
    pair = running.translate_and_trace(text, Options(beam=5), 60)
    began = time.perf_counter()
    for part in tab.PARTS:
        draw(pair, decode=part)
    grow(pair[0], tree_width=8)
    assert time.perf_counter() - began < 5, "each of the four takes a second at most"
