"""Models broken on purpose: each computes what its mistake says, by a transformer
written out here, and gives it away."""

import base64
import json
import math
from contextlib import closing

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.fixtures import random_model
from tests.harness import ROOT
from tests.pages import laid_out, shown
from xformer.explain.passes import UNCHANGED, Pair, trace
from xformer.fast import pack
from xformer.fast.networks import Quick
from xformer.model import NORMS, Record, Trace
from xformer.parts.bugs import ask as bugs
from xformer.parts.bugs import draw as figures
from xformer.parts.bugs import part
from xformer.pieces import BOS, EOS, PAD
from xformer.results import BUGS, STACKS, Examine, UserError
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH

CHECKPOINTS = ROOT / "checkpoints"
SENTENCE = "I was talking to my friend about his old car."
HEALTHY = ""
EVERY_BUG = pytest.mark.parametrize("bug", BUGS)


# A transformer for one sentence, from the raw weights, head by head


class Reference:
    """Logits and maps of a pass with a mistake, or HEALTHY."""

    def __init__(self, model, bug):
        self.model = model
        self.bug = bug
        self.maps = {stack: [] for stack in STACKS}

    def __call__(self, source, given):
        self.maps = {stack: [] for stack in STACKS}
        x = self.embedded(source)
        every = torch.ones(len(source), len(source), dtype=torch.bool)
        for layer in self.model.encoder.layers:
            x = self.around(
                layer.self_residual,
                x,
                lambda y, on=layer: self.attend(
                    "encoder_self", on.self_attention, y, y, every
                ),
            )
            x = self.around(
                layer.feed_residual,
                x,
                lambda y, on=layer: self.feed(on.feed_forward, y),
            )
        memory = self.model.encoder.norm(x)
        past = torch.tensor(
            [[key <= query for key in range(len(given))] for query in range(len(given))]
        )
        every = torch.ones(len(given), len(source), dtype=torch.bool)
        x = self.embedded(given)
        for layer in self.model.decoder.layers:
            x = self.around(
                layer.self_residual,
                x,
                lambda y, on=layer: self.attend(
                    "decoder_self", on.self_attention, y, y, past
                ),
            )
            x = self.around(
                layer.cross_residual,
                x,
                lambda y, on=layer: self.attend(
                    "cross", on.cross_attention, y, memory, every
                ),
            )
            x = self.around(
                layer.feed_residual,
                x,
                lambda y, on=layer: self.feed(on.feed_forward, y),
            )
        return self.model.decoder.norm(x) @ self.model.embedding.weight.T

    def embedded(self, tokens):
        x = self.model.embedding.weight[tokens] * math.sqrt(self.model.config.d_model)
        return (
            x
            if self.bug == "positions"
            else x + self.model.embedding.positions[: len(tokens)]
        )

    def around(self, residual, x, sublayer):
        if self.model.config.norm == "pre":
            return x + sublayer(residual.norm(x))
        return residual.norm(x + sublayer(x))

    def feed(self, network, x):
        hidden = (x @ network.inner.weight.T + network.inner.bias).clamp(min=0)
        return hidden @ network.outer.weight.T + network.outer.bias

    def attend(self, stack, attention, x, y, mask):
        width = self.model.config.d_model
        heads = []
        maps = []
        size = width // self.model.config.n_heads
        weight = attention.in_proj.weight
        bias = attention.in_proj.bias
        q, k, v = (
            one @ weight[i * width : (i + 1) * width].T
            + bias[i * width : (i + 1) * width]
            for i, one in enumerate((x, y, y))
        )
        for first in range(0, width, size):
            own = slice(first, first + size)
            maps.append(self.weights(q[:, own] @ k[:, own].T, size, mask))
            heads.append(maps[-1] @ v[:, own])
        self.maps[stack].append(torch.stack(maps))
        side_by_side = torch.cat(heads, dim=1)
        if self.bug == "unmixed":
            return side_by_side
        return side_by_side @ attention.out_proj.weight.T + attention.out_proj.bias

    def weights(self, products, size, mask):
        if self.bug == "after":
            return products.masked_fill(~mask, -math.inf).softmax(dim=1) / math.sqrt(
                size
            )
        scores = products / math.sqrt(size)
        if self.bug == "queries":
            return scores.masked_fill(~mask, -math.inf).softmax(dim=0)
        if self.bug == "future":
            return scores.softmax(dim=1)
        return scores.masked_fill(
            ~mask, 0.0 if self.bug == "zeroed" else -math.inf
        ).softmax(dim=1)

    def greedy(self, source, most):
        given = [BOS]
        while given[-1] != EOS and len(given) <= most:
            logits = self(source, given)[-1]
            logits[[PAD, BOS]] = -math.inf
            given.append(int(logits.argmax()))
        return given[1:]


def passed(model, bug, pair):
    """Logits, and the maps by stack, of a patient of the module."""
    one, change = bugs.make(model, bug) if bug else (model, UNCHANGED)
    recorded = Trace(*(Record() for _ in STACKS))
    with torch.inference_mode():
        logits = one(
            torch.tensor([pair.source]),
            torch.tensor([pair.given]),
            recorded,
            change.heads,
            change.table,
        )
    return logits[0], {
        stack: [layer[0] for layer in getattr(recorded, stack).probabilities]
        for stack in STACKS
    }


def compare(model, bug, pair, near):
    reference = Reference(model, bug)
    with torch.inference_mode():
        wanted = reference(pair.source, pair.given)
    logits, maps = passed(model, bug, pair)
    torch.testing.assert_close(logits, wanted, atol=near, rtol=near)
    for stack in STACKS:
        for layer, own in zip(maps[stack], reference.maps[stack], strict=True):
            torch.testing.assert_close(layer, own, atol=near, rtol=near)
    return logits


PAIR = Pair.of([7, 30, 12, 99, 54], [80, 8, 31, 120])


@pytest.mark.parametrize("bug", [HEALTHY, *BUGS])
def test_a_patient_computes_what_its_mistake_says(tiny_model, bug):
    logits = compare(tiny_model, bug, PAIR, 1e-4)
    if bug:
        assert (logits - passed(tiny_model, HEALTHY, PAIR)[0]).abs().max() > 0.01


@pytest.mark.parametrize("bug", [HEALTHY, *BUGS])
def test_so_does_the_model_that_ships(shipped, bug):
    translation = shipped.translate(SENTENCE)
    pair = shipped.pair(translation, translation.best.tokens)
    logits = compare(shipped.model, bug, pair, 2e-3)
    if bug:
        assert (logits - passed(shipped.model, HEALTHY, pair)[0]).abs().max() > 1


@EVERY_BUG
@pytest.mark.parametrize("norm", NORMS)
def test_a_patient_is_searched_greedily_by_whole_passes(tokenizer, norm, bug, pairs):
    model = random_model(norm, tokenizer)
    pair = Pair.of(tokenizer.encode(pairs[0][0]), tokenizer.encode(pairs[0][1]))
    most = min(2 * len(pair.source) + 16, len(pair.given) + bugs.MOST_MORE, 64)
    with torch.inference_mode():
        for mistake in (HEALTHY, bug):
            tokens = Reference(model, mistake).greedy(pair.source, most)
            said = tokenizer.decode([one for one in tokens if one != EOS]) + (
                "" if tokens[-1] == EOS else " …"
            )
            assert bugs.examine(model, tokenizer, pair, mistake).text == said


def test_the_healthy_model_is_not_touched(tiny_model):
    before = {name: one.clone() for name, one in tiny_model.state_dict().items()}
    drawn = torch.get_rng_state()
    logits = passed(tiny_model, HEALTHY, PAIR)[0]
    pack(tiny_model)
    patient, _ = bugs.make(tiny_model, "unmixed")
    assert torch.equal(torch.get_rng_state(), drawn), "seeds of others would not hold"
    assert patient.embedding.weight is tiny_model.embedding.weight, (
        "only W_O is another"
    )
    assert all(
        torch.equal(one, before[name]) for name, one in tiny_model.state_dict().items()
    )
    torch.testing.assert_close(
        passed(tiny_model, HEALTHY, PAIR)[0], logits, atol=1e-4, rtol=1e-4
    )
    assert isinstance(tiny_model, Quick), "it is packed"
    assert not any(isinstance(one, Quick) for one in patient.modules())


# What gives them away


def diagnoses(signs, width):
    """The mistakes that the numbers of a pass speak of."""
    found = set()
    scale = 1 / math.sqrt(width)
    rows, columns = (
        [signs[name] for name in names]
        for names in (("least", "most"), ("lowest", "highest"))
    )
    if np.allclose(rows, scale, atol=1e-3):
        found.add("after")
    if np.allclose(columns, 1, atol=1e-3) and not np.allclose(rows, 1, atol=1e-3):
        found.add("queries")
    if signs["later"] > 0.02:
        found.add(
            "zeroed"
            if math.isclose(signs["faintest"], signs["strongest"], rel_tol=1e-3)
            else "future"
        )
    if signs["cosine"] > 0.9999:
        found.add("positions")
    if signs["share"] > 0.9999:
        found.add("unmixed")
    return found


@pytest.fixture(scope="module", params=["tiny", "shipped", "post-norm"])
def service(request, tiny_checkpoint):
    folder = (
        tiny_checkpoint
        if request.param == "tiny"
        else CHECKPOINTS / {"shipped": "en-es"}.get(request.param, request.param)
    )
    with closing(Service.open(folder, "cpu")) as running:
        yield running


@pytest.mark.parametrize("text", ["She reads a book, and he sings.", "Good morning!"])
def test_the_numbers_of_a_pass_tell_which_mistake_it_is_and_no_other(service, text):
    translation = service.translate(text)
    width = service.info.d_model // service.info.n_heads
    for bug in (HEALTHY, *BUGS):
        found = service.ask(Examine(translation, translation.best.tokens, bug))
        assert diagnoses(found.signs, width) == {bug} - {HEALTHY}


def test_the_signs_are_those_of_the_maps(running, learned_pairs):
    found = running.ask(Examine(*learned_pairs[4], "future"))
    signs = found.signs
    maps = [found.trace.of(stack).probabilities for stack in STACKS]
    assert signs["highest"] == pytest.approx(max(one.sum(axis=2).max() for one in maps))
    assert signs["lowest"] == pytest.approx(min(one.sum(axis=2).min() for one in maps))
    own = found.trace.decoder_self[signs["layer"] - 1, signs["head"] - 1]
    rows = [
        row
        for row in range(len(own) - 2)
        if math.isclose(own[row, row + 1 :].sum(), signs["later"], rel_tol=1e-5)
    ]
    assert found.trace.target[rows[0]] == signs["piece"]
    each = own[rows[0], rows[0] + 1 :]
    assert (signs["faintest"], signs["strongest"]) == pytest.approx(
        (each.min(), each.max())
    )
    every = [
        found.trace.decoder_self[..., row, row + 1 :].sum(axis=-1).max()
        for row in range(len(own) - 2)
    ]
    assert signs["later"] == pytest.approx(max(every))


@torch.inference_mode()
def test_read_backwards_and_the_first_heads_own_numbers_by_hand(tiny_model, tokenizer):
    seen = trace(tiny_model, tokenizer, PAIR, "")
    signs = bugs.signs(tiny_model, PAIR, seen)
    layer = tiny_model.encoder.layers[0]
    there, back = (
        tiny_model.encode(torch.tensor([order]))[0][0]
        for order in (PAIR.source, PAIR.source[::-1])
    )
    likeness = [
        float(F.cosine_similarity(there[i], back[len(there) - 1 - i], dim=0))
        for i in range(len(there))
    ]
    assert signs["cosine"] == pytest.approx(min(likeness), abs=1e-5)
    recorded = Trace(Record(calls=[]))
    tiny_model.encode(torch.tensor([PAIR.source]), recorded)
    call = recorded.encoder_self.calls[0]
    added = (recorded.encoder_self.probabilities[0] @ call.v)[
        0, 0
    ] @ layer.self_attention.out_proj.weight[:, :8].T
    assert signs["share"] == pytest.approx(
        float((added[:, :8] ** 2).sum() / (added**2).sum()), abs=1e-4
    )


def test_a_translation_of_one_piece_hides_nothing_but_is_examined(running):
    found = running.ask(Examine("The cat sleeps.", [], "future"))
    assert (found.signs["later"], found.signs["strongest"]) == (
        0,
        0,
    ) and found.trace.target == ("<s>",)


def test_what_is_no_mistake_is_refused(running):
    with pytest.raises(
        UserError,
        match="There is no mistake “<b>”; choose one of after, queries, future",
    ):
        running.ask(Examine("The cat sleeps.", "El gato duerme.", "<b>"))


# What is shown


def test_a_letter_tells_nothing():
    dealt = [figures.patients(seed) for seed in range(300)]
    assert all(
        sorted(one.values()) == sorted(BUGS) and [*one] == [*figures.LETTERS]
        for one in dealt
    )
    for bug in BUGS:
        assert 30 <= sum(one["A"] == bug for one in dealt) <= 70
    assert figures.patients(5) == figures.patients(5)


@EVERY_BUG
def test_the_lines_that_are_named_compute_the_mistake_and_what_is_right(bug):
    """Each is PyTorch: carried out, it gives what the module gives."""
    torch.manual_seed(0)
    q, k = torch.randn(2, 5, 4)
    mask = torch.ones(5, 5).bool().tril()
    d_k = 4
    heads = torch.randn(2, 5, 4)
    names = {
        "q": q,
        "k": k,
        "d_k": d_k,
        "T": 5,
        "torch": torch,
        "sqrt": math.sqrt,
        "inf": math.inf,
        "mask": mask,
        "scores": q @ k.T / 2,
        "concat": lambda heads: torch.cat([*heads], dim=1),
        "heads": heads,
        "W_O": torch.randn(8, 8),
        "b_O": torch.randn(8),
        "embeddings": q,
        "positions": k,
        "d_model": 4,
    }

    def carried_out(line):
        return eval(
            line.removeprefix("mask = ").removeprefix("x = ").removeprefix("answer = "),
            names,
        )

    wrong, right = map(carried_out, figures.CODE[bug])
    assert not torch.equal(wrong, right)
    wanted = {
        "after": lambda: (
            bugs.WEIGHED["after"](q, k, None),
            (q @ k.T / 2).softmax(dim=1),
        ),
        "queries": lambda: (
            bugs.WEIGHED["queries"](q, k, None),
            (q @ k.T / 2).softmax(dim=1),
        ),
        "future": lambda: (torch.ones(5, 5, dtype=torch.bool), mask),
        "zeroed": lambda: (
            (q @ k.T / 2) * mask,
            (q @ k.T / 2).where(mask, torch.tensor(-math.inf)),
        ),
        "positions": lambda: (q * 2, q * 2 + k),
        "unmixed": lambda: (
            torch.cat([*heads], 1),
            F.linear(torch.cat([*heads], 1), names["W_O"], names["b_O"]),
        ),
    }
    for found, own in zip((wrong, right), wanted[bug](), strict=True):
        torch.testing.assert_close(found, own)
    if bug == "zeroed":
        torch.testing.assert_close(wrong.softmax(dim=1), bugs.WEIGHED[bug](q, k, mask))


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
@EVERY_BUG
def test_a_reply_says_what_the_pass_shows_and_the_line_only_to_who_is_right(
    running, learned_pairs, bug, language
):
    healthy, found = (
        running.ask(Examine(*learned_pairs[4], one)) for one in (HEALTHY, bug)
    )
    said = {
        guess: figures.reply(healthy, found, bug, guess, language) for guess in BUGS
    }
    for guess, one in said.items():
        right = guess == bug
        assert language.html("lesson_right" if right else "lesson_wrong") in one
        assert ("<code>" in one) == right and "<s>" not in one and "{" not in one
    its = found.signs
    assert (
        f"{its['least']:.3f}" in said["after"]
        and f"{1 / math.sqrt(8):.3f}" in said["after"]
    )
    assert (
        f"{its['highest']:.3f}" in said["queries"]
        and f"{its['later']:.3f}" in said["future"]
    )
    assert (
        f"{its['strongest']:.3f}" in said["zeroed"]
        and f"{its['cosine']:.3f}" in said["positions"]
    )
    assert (
        f"{its['share']:.3f}" in said["unmixed"]
        and f"{healthy.signs['share']:.3f}" in said["unmixed"]
    )


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures[part.ID]


def test_the_part_shows_both_translations_and_one_head_of_both_and_tells_nothing(
    running, pictures, learned_pairs
):
    text, spanish = learned_pairs[4]
    seen = running.trace(text, spanish)
    order = figures.patients(1)
    healthy = running.ask(Examine(text, seen.tokens, HEALTHY))
    for letter, bug in order.items():
        answer = shown(
            pictures,
            running,
            trace=seen,
            bug_patient=letter,
            bug_head="decoder_self.2.3",
        )
        found = running.ask(Examine(text, seen.tokens, bug))
        assert (
            f"Patient {letter}" in answer["texts"]
            and healthy.text in answer["texts"]
            and answer["reply"] == ""
        )
        for name, one in (("before", seen), ("after", found.trace)):
            values = np.frombuffer(
                base64.b64decode(answer[name]["data"]), "<f4"
            ).reshape(2 * [len(seen.target)])
            np.testing.assert_allclose(values, one.decoder_self[1, 2], atol=1e-6)
        assert answer["before"]["title"].endswith(
            "layer 2 of 2 · head 3 of 4 · Healthy model"
        )
        assert answer["after"]["title"].endswith(
            f"layer 2 of 2 · head 3 of 4 · Patient {letter}"
        )
        told = json.dumps(answer, default=str)
        assert not [
            one
            for one in BUGS
            if ENGLISH.say(f"bugs_guess_{one}") in told or figures.CODE[one][0] in told
        ]


def test_a_guess_is_answered_without_another_pass_and_forgotten_with_the_patient(
    running, pictures, learned_pairs, monkeypatch
):
    asked = []
    ask = running.ask
    made = {}
    monkeypatch.setattr(
        running, "ask", lambda question: asked.append(question) or ask(question)
    )
    seen = running.trace(*learned_pairs[4])
    bug = figures.patients(1)["B"]
    held = {"trace": seen, "bug_patient": "B", "bug_head": "cross.1.1"}
    shown(pictures, running, made=made, **held)
    answer = shown(pictures, running, made=made, **held, bug_guess=bug)
    assert "<b>Yes.</b>" in answer["reply"] and figures.CODE[bug][0] in answer["reply"]
    assert [one.bug for one in asked] == [HEALTHY, bug]
    assert "after" not in answer, "the maps stay"
    answer = shown(
        pictures, running, made=made, **{**held, "bug_patient": "C"}, bug_guess=bug
    )
    assert answer["bug_guess"] == part.GUESSES[0] and answer["reply"] == ""
    assert len(asked) == 3, "the healthy model is measured once a sentence"
    kept = shown(pictures, running, made={}, **held, bug_guess=bug)
    assert "bug_guess" not in kept and kept["reply"], "an address may bring both"


def test_other_letters_are_another_seed_within_the_limits(running):
    for seed in (0, 1, part.SEED.most):
        found = part.deal(running, ENGLISH, bug_seed=seed)["bug_seed"]
        assert found != seed and part.SEED.read("bug_seed", str(found)) == found


def test_without_a_pass_or_attention_the_part_says_so(running, pictures):
    assert (
        "Waiting for a translation" in shown(pictures, running, trace=None)["refusal"]
    )
    with closing(Service.open(CHECKPOINTS / "gru-attention", "cpu")) as recurrent:
        answer = shown(
            laid_out(recurrent).pictures[part.ID],
            recurrent,
            trace=recurrent.explain("The cat sleeps."),
        )
        assert (
            "gru-attention" in answer["refusal"]
            and answer["texts"] == ""
            and answer["after"] is None
        )


def test_translations_are_escaped_and_saved_as_numbers(running, learned_pairs):
    healthy, ill = (
        running.ask(Examine(*learned_pairs[0], one)) for one in (HEALTHY, "positions")
    )
    drawn = figures.translations(healthy, ill, "D", "<b>&", ENGLISH)
    assert (
        "<b>&" not in drawn and "&lt;b&gt;&amp;" in drawn and 'class="weighed"' in drawn
    )
