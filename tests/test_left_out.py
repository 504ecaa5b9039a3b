"""Heads switched off and words left out: against passes done by hand, and without a
trace on anybody else's."""

import threading

import numpy as np
import pytest
import torch

from xformer.model import Heads
from xformer.parts.ablation import part as ablation
from xformer.parts.counterfactual import part as counterfactual
from xformer.parts.positions import part as positions
from xformer.results import Occlude, Positions, RankHeads, UserError
from xformer.search import Options
from xformer.strings import ENGLISH

EVERY_SELF = [("encoder_self", layer, head) for layer in (1, 2) for head in range(1, 5)]


@pytest.mark.slow
def test_no_head_off_is_the_pass_itself(tiny_model):
    source = torch.randint(4, 150, (2, 6))
    target = torch.randint(4, 150, (2, 5))
    with torch.no_grad():
        heads = Heads.without(tiny_model.config, [])
        torch.testing.assert_close(
            tiny_model(source, target, heads=heads), tiny_model(source, target)
        )


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        ("encoder_self", lambda m: m.encoder.layers[1].self_attention),
        ("decoder_self", lambda m: m.decoder.layers[1].self_attention),
        ("cross", lambda m: m.decoder.layers[1].cross_attention),
    ],
)
@pytest.mark.slow
def test_a_head_that_is_off_is_one_whose_output_weights_are_zero(
    tiny_model, stack, part
):
    source = torch.randint(4, 150, (2, 6))
    target = torch.randint(4, 150, (2, 5))
    with torch.no_grad():
        off = tiny_model(
            source, target, heads=Heads.without(tiny_model.config, [(stack, 2, 3)])
        )
        assert not torch.allclose(off, tiny_model(source, target), atol=1e-3)
        size = tiny_model.config.d_model // tiny_model.config.n_heads
        part(tiny_model).out_proj.weight[:, 2 * size : 3 * size] = 0
        torch.testing.assert_close(
            off, tiny_model(source, target), atol=1e-6, rtol=1e-5
        )


def test_decoding_step_by_step_does_without_the_head_too(tiny_model):
    source = torch.randint(4, 150, (2, 6))
    target = torch.randint(4, 150, (2, 5))
    heads = Heads.without(
        tiny_model.config,
        [("cross", 1, 2), ("encoder_self", 2, 1), ("decoder_self", 1, 4)],
    )
    with torch.no_grad():
        whole = tiny_model(source, target, heads=heads)
        cache = tiny_model.start(source, heads)
        steps = torch.stack(
            [tiny_model.step(token[:, None], cache) for token in target.T], dim=1
        )
    torch.testing.assert_close(steps, whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (
            ("cross", 3, 1),
            "no head 1 in layer 3 of cross; this model has 2 layers of 4 heads",
        ),
        (("cross", 1, 0), "no head 0 in layer 1"),
        (("sideways", 1, 1), "the stack is 'sideways'; choose one of"),
    ],
)
def test_a_head_that_is_not_there_is_refused_in_one_sentence(running, head, said):
    with pytest.raises(UserError, match=said):
        running.translate("The cat sleeps.", off=[head])


@pytest.mark.slow
def test_one_person_ablates_and_another_does_not(running, learned_pairs):
    english, spanish = learned_pairs[0]
    ablated = running.translate(english, off=EVERY_SELF)
    assert ablated.best.log_probs != running.translate(english).best.log_probs
    together = threading.Barrier(8)
    wrong = []

    def person(off):
        together.wait()
        for _ in range(8):
            found = running.translate(english, off=off)
            wanted = ablated.best.text if off else spanish
            trace = running.trace(english, found.best.tokens, off)
            if found.best.text != wanted or not np.allclose(
                trace.log_probs, found.best.log_probs, atol=1e-4
            ):
                wrong.append(found.best.text)

    people = [
        threading.Thread(target=person, args=(EVERY_SELF if i % 2 else (),))
        for i in range(8)
    ]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert not wrong


@pytest.mark.parametrize(
    "change",
    [
        lambda service, found: ablation.run(
            service, ENGLISH, translation=found, off=["cross.1.2"]
        ),
        lambda service, found: positions.make_change(
            service, found, positions.Change(Positions("none"), None)
        ),
        lambda service, found: counterfactual.run(
            service,
            ENGLISH,
            translation=found,
            step=0,
            piece=found.best.alternatives[0][1][0],
        ),
    ],
)
def test_what_is_changed_is_searched_for_as_the_translation_was(
    running, learned_pairs, monkeypatch, change
):
    found = running.translate(
        learned_pairs[1][0], Options(beam=3, n_best=2, length_penalty=0.5), max_length=4
    )
    translated = running._translated
    asked = []

    def watched(*args, **more):
        (again,) = translated(*args, **more)
        asked.append(
            (again.options.beam, again.options.length_penalty, again.max_length)
        )
        return [again]

    monkeypatch.setattr(running, "_translated", watched)
    change(running, found)
    assert asked == [(3, 0.5, 4)]


def test_effects_of_heads_are_differences_of_log_probability_largest_first(
    running, learned_pairs
):
    english, spanish = learned_pairs[1]
    seen = []
    found = running.ask(
        RankHeads(english, spanish, ["cross"]), lambda done, of: seen.append((done, of))
    )
    assert seen == [(i, 8) for i in range(1, 9)]
    assert [e.effect for e in found] == sorted((e.effect for e in found), reverse=True)
    first = found[0]
    whole = sum(running.trace(english, spanish).log_probs)
    without = sum(running.trace(english, spanish, [first.head]).log_probs)
    assert first.effect == pytest.approx(whole - without, abs=1e-4)


def test_occlusion_is_the_source_without_each_word(running, learned_pairs):
    english = "The cat sleeps."
    spanish = learned_pairs[0][1]
    found = running.ask(Occlude(english, spanish))
    assert [word.replace("▁", "") for word in found.words] == [
        "The",
        "cat",
        "sleeps",
        ".",
    ]
    assert found.effect.shape == (len(found.predicted), 4)
    whole = running.trace(english, spanish).log_probs
    without = running.trace("The sleeps.", spanish).log_probs
    np.testing.assert_allclose(
        found.effect[:, 1], np.subtract(whole, without), atol=1e-4
    )
