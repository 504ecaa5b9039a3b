"""A given translation piece by piece: the picture shows PyTorch's losses, and the
smoothed target sums to one."""

import re
from html import unescape

import pytest
import torch
import torch.nn.functional as F

from xformer.hub import checkpoint
from xformer.parts.steps import teacher_forcing as figure
from xformer.pieces import BOS, EOS
from xformer.results import Force, Forced, fixed
from xformer.strings import SPANISH


def texts(html, row):
    (found,) = re.findall(rf'<tr class="{row}">(.*?)</tr>', html)
    return [
        unescape(re.sub(r"<[^>]+>", "", cell))
        for cell in re.findall(r"<td.*?</td>", found)
    ]


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_the_losses_in_the_picture_are_those_of_pytorch(
    running, tiny_checkpoint, learned_pairs, smoothing
):
    english, spanish = learned_pairs[1]
    loaded = checkpoint.load(tiny_checkpoint)
    source = loaded.tokenizer.encode(english)
    target = loaded.tokenizer.encode(spanish)
    with torch.no_grad():
        logits = loaded.model(
            torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]])
        )[0]
    wanted = torch.tensor([*target, EOS])
    losses = F.cross_entropy(
        logits, wanted, reduction="none", label_smoothing=smoothing
    )
    html = figure.steps(running.ask(Force(english, spanish, smoothing)), ["▁The"], 1)
    assert texts(html, "loss") == [f"{float(loss):.2f}" for loss in losses]
    log_probs = logits.log_softmax(-1)[range(len(wanted)), wanted]
    assert texts(html, "number") == [
        fixed(value, ".2f") for value in log_probs.tolist()
    ]
    assert f"sum {float(losses.sum()):.3f}, mean {float(losses.mean()):.3f}" in html


def test_each_wanted_piece_is_given_in_the_next_step(running, learned_pairs):
    html = figure.steps(running.ask(Force(*learned_pairs[0])), ["▁The"], 2)
    given = texts(html, "given")
    wanted = texts(html, "wanted")
    assert given[0] == "<s>" and wanted[-1] == "</s>" and given[1:] == wanted[:-1]
    assert html.count('aria-pressed="true"') == 1 and 'data-step="2"' in html


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_both_distributions_of_a_step_sum_to_one_and_their_cross_entropy_is_the_loss(
    smoothing,
):
    torch.manual_seed(0)
    log_probs = torch.randn(40).log_softmax(0)
    top = log_probs.topk(10)
    for wanted in (int(top.indices[3]), int(log_probs.argmin())):
        loss = float(
            F.cross_entropy(
                log_probs[None], torch.tensor([wanted]), label_smoothing=smoothing
            )
        )
        forced = Forced(
            ("<s>",),
            (f"▁{wanted}",),
            (float(log_probs[wanted]),),
            (loss,),
            smoothing,
            40,
            (
                tuple(
                    (f"▁{i}", float(v))
                    for v, i in zip(top.values, top.indices.tolist(), strict=True)
                ),
            ),
        )
        rows = figure.targets(forced, 1)
        assert (
            sum(p for _, p, _, _ in rows)
            == pytest.approx(1)
            == sum(q for _, _, q, _ in rows)
        )
        assert [(piece, q) for piece, _, q, chosen in rows if chosen] == [
            (f"▁{wanted}", pytest.approx(1 - smoothing + smoothing / 40))
        ]
        html = figure.distribution(forced, ["▁x"], 1)
        assert f"Loss {loss:.3f} = " in html
        own = -float(log_probs[wanted])
        if smoothing:
            mean = -float(log_probs.mean())
            assert f"0.9 · {own:.3f}" in html and f"0.1 · {mean:.3f}" in html
        assert f"all {40 - len(rows) + 1} others" in html


def test_the_free_translation_is_marked_from_where_it_parts(running, learned_pairs):
    english, spanish = learned_pairs[1]
    best = running.translate(english).best
    same = figure.free(running.ask(Force(english, spanish)), best.tokens, best)
    assert "Both are the same" in same and "<mark>" not in same
    tokens = [*running.typed("El gato come")[0], EOS]
    step = next(
        i for i, (a, b) in enumerate(zip(tokens, best.tokens, strict=False)) if a != b
    )
    html = figure.free(
        running.ask(Force(english, "El gato come")), tokens, best, SPANISH
    )
    assert html.count("<mark>") == 2 and f"Se separan en el paso {step + 1}" in html


def test_markup_in_a_given_translation_is_text():
    forced = Forced(
        ("<s>", "▁<b>"),
        ("▁<b>", "</s>"),
        (-1.0, -1.0),
        (1.0, 1.0),
        0.0,
        10,
        ((("▁<i>", -0.5),), (("</s>", -1.0),)),
    )
    html = figure.steps(forced, ["▁<u>"], 1) + figure.distribution(forced, ["▁<u>"], 1)
    assert not re.search(r"<[biu]>", html) and "&lt;i&gt;" in html
