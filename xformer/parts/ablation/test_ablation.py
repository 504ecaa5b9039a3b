"""Heads switched off: which they are, and what the translation loses without them."""

import math
from html import escape

from tests.made import cells
from xformer.figures.labels import percent
from xformer.parts.ablation import draw as figures
from xformer.parts.ablation import part
from xformer.results import Head, HeadEffect
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask


def test_before_and_after_shows_every_word_of_the_old_translation():
    html = figures.before_and_after(
        "El gatito",
        "El gatito",
        ("▁El", "▁gat", "ito", "</s>"),
        (-0.1, -0.2, -0.2, -0.1),
        (-0.1, -1.2, -9.3, -0.1),
    )
    sure = percent(math.exp(-0.1))
    least = escape(percent(0))
    assert cells(html) == [
        ["Word", "with all heads", "without them", "change (nats)"],
        ["El", f"−0.10 ({sure})", f"−0.10 ({sure})", "+0.00"],
        ["gatito", f"−0.40 ({percent(math.exp(-0.4))})", f"−10.50 ({least})", "−10.10"],
        ["&lt;/s&gt;", f"−0.10 ({sure})", f"−0.10 ({sure})", "+0.00"],
    ]
    assert "stays the same" in html and "−0.60; without them: −10.70 (−10.10)" in html


def test_effects_are_listed_in_the_order_given_with_signs():
    html = figures.effects(
        [HeadEffect(Head("cross", 2, 1), 1.25), HeadEffect(Head("cross", 1, 4), -0.5)]
    )
    assert html.index("layer 2, head 1") < html.index("layer 1, head 4")
    assert "+1.250" in html and "−0.500" in html and 'value="0.400"' in html


def test_a_head_or_a_whole_layer_is_switched_off_and_none_twice(running):
    where = {"stack": "cross", "layer": 2}
    off = part.add(running, ENGLISH, off=[], **where, head=3)["off"]
    assert off == ["cross.2.3"]
    off = part.add(running, ENGLISH, off=off, **where)["off"]
    assert off == ["cross.2.3", *(str(Head("cross", 2, head)) for head in (1, 2, 4))]


def test_the_translation_without_some_heads_is_compared_or_one_is_asked_for(
    running, learned_pairs
):
    ask = Ask.always(running, ENGLISH)
    found = running.translate(learned_pairs[0][0])
    said = ask.answer(part.run, translation=found, off=[])
    assert "No head is switched off: add one" in said["problem"]
    said = ask.answer(part.run, translation=found, off=["cross.2.1", "cross.2.2"])[
        "result"
    ]
    assert (
        "Log-probability of the translation above with all heads" in said
        and learned_pairs[0][1] in said
    )
    ranked = ask.answer(
        part.rank, translation=found, stack="cross", progress=lambda _: None
    )["result"]
    assert ranked.count("layer ") == 8
