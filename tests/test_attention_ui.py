"""The pictures of the Attention tab: what is computed for a click, and what is sent."""

import json
from html import unescape
from types import SimpleNamespace

import pytest

from tests.pages import laid_out, shown
from xformer.ui.attention import tab


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures["attention"]


@pytest.fixture
def trace(running, learned_pairs):
    return running.trace(*learned_pairs[0])


def undo(key):
    return {"action": tab.undo, "event": SimpleNamespace(key=key)}


def click(layer, head, add=False):
    return {"action": tab.choose, "event": SimpleNamespace(layer=layer, head=head, add=add)}


def test_a_click_on_a_head_computes_its_picture_once(running, pictures, trace, monkeypatch):
    computed, picture, made = [], tab.picture, {}
    monkeypatch.setattr(tab, "picture", lambda *given: computed.append(given[1].chosen) or picture(*given))
    shown(pictures, running, made=made, trace=trace)
    computed.clear()
    clicked = shown(pictures, running, made=made, trace=trace, **click(1, 2))
    told = shown(pictures, running, made=made, trace=trace, layer=1, head=2, late=True)
    assert clicked["picture"]["title"].endswith("layer 1 of 2 · head 2 of 4") and told["word"]
    assert [str(head) for head in computed] == ["cross.1.2"]


def test_another_head_changes_the_frame_and_sends_no_maps(running, pictures, trace):
    made = {}
    first = shown(pictures, running, made=made, trace=trace)
    assert "data" in first["grid"]
    clicked = shown(pictures, running, made=made, trace=trace, **click(1, 2))
    assert "data" not in clicked["grid"] and clicked["grid"]["about"] == [trace.number, "cross", 1, 2]
    assert (clicked["layer"], clicked["head"], clicked["show"]) == (1, 2, "head")
    found = shown(pictures, running, made=made, trace=trace, late=True)
    listed = found["finder"]["samples"]
    role, head, share = listed[0]
    assert f"clearest role on this sentence, {head}, {role} ({share})" in unescape(found["clearest"])
    chosen = shown(pictures, running, made=made, trace=trace, action=tab.open_best, index=len(listed) - 1)
    assert chosen["picture"] and "data" not in chosen["grid"] and chosen["grid"]["layer"] == chosen["layer"]


def test_heads_are_joined_and_left_out_again_by_clicks_with_shift(running, pictures, trace):
    made = {}
    joined = shown(pictures, running, made=made, trace=trace, heads=["cross.1.1"], **click(1, 2, add=True))
    assert joined["heads"] == {"value": ["cross.1.1", "cross.1.2"], "visible": True, "__type__": "update"}
    assert joined["show"] == "mean" and joined["picture"]["rules"]
    left = shown(pictures, running, made=made, trace=trace, heads=["cross.1.1", "cross.1.2"], show="max",
                 **click(1, 1, add=True))
    assert left["heads"]["value"] == ["cross.1.2"] and left["show"] == "max"


def test_another_stack_keeps_the_layer_and_joins_its_own_heads(running, pictures, trace):
    made = {}
    shown(pictures, running, made=made, trace=trace, show="mean", heads=["cross.1.1"])
    other = shown(pictures, running, made=made, trace=trace, show="mean", heads=["cross.1.1"], layer=2,
                  stack="encoder_self")
    assert other["layer"] == 2 and other["heads"]["value"] == [] and len(other["heads"]["choices"]) == 8
    assert "Encoder" in other["picture"]["title"] and not other["rows"]["interactive"]
    again = shown(pictures, running, made=made, trace=trace, show="mean", heads=["cross.1.2"], layer=2)
    assert again["heads"]["value"] == ["cross.1.2"], "heads of its own, as an address has them, stay"


def test_a_chip_takes_one_choice_back(running, pictures, trace):
    made, look = {}, {"words": True, "palette": "grey", "rows": "predicted"}
    first = shown(pictures, running, made=made, trace=trace, **look)
    assert {*first["picture"]["chips"]} == {*look}
    undone = shown(pictures, running, made=made, trace=trace, **undo("rows"), **look)
    assert undone["rows"]["value"] == "own" and {*undone["picture"]["chips"]} == {"words", "palette"}
    assert shown(pictures, running, made=made, trace=trace, **undo("lock")) == {}


def test_what_is_asked_for_again_is_drawn_though_it_seems_to_be_there(running, pictures, trace):
    made = {}
    shown(pictures, running, made=made, trace=trace)
    assert shown(pictures, running, made=made, trace=trace) == {}
    again = shown(pictures, running, made=made, trace=trace, again="7,cross,2,1")
    assert again["picture"] and "data" in again["grid"]


def test_a_lock_draws_the_panel_and_nothing_else(running, pictures, trace):
    made = {}
    shown(pictures, running, made=made, trace=trace)
    shown(pictures, running, made=made, trace=trace, late=True)
    locked = shown(pictures, running, made=made, trace=trace, lock="es1", late=True)
    assert {*locked} == {"word", "problem"}
    json.dumps(locked["word"])
