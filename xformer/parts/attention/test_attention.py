"""The pictures of the Attention tab: what is computed for a click, and what is sent."""

import base64
import io
import json
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

from tests.pages import laid_out, shown
from xformer.parts.attention import part as tab
from xformer.results import Options
from xformer.strings import ENGLISH


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures["attention"]


@pytest.fixture
def trace(running, learned_pairs):
    return running.trace(*learned_pairs[0])


def undo(key):
    return {"action": tab.undo, "event": SimpleNamespace(key=key)}


def click(layer, head, add=False):
    return {
        "action": tab.choose,
        "event": SimpleNamespace(layer=layer, head=head, add=add),
    }


def test_a_click_on_a_head_computes_its_picture_once(
    running, pictures, trace, monkeypatch
):
    computed = []
    picture = tab.picture
    made = {}
    monkeypatch.setattr(
        tab,
        "picture",
        lambda *given: computed.append(given[1].chosen) or picture(*given),
    )
    shown(pictures, running, made=made, trace=trace)
    computed.clear()
    clicked = shown(pictures, running, made=made, trace=trace, **click(1, 2))
    told = shown(pictures, running, made=made, trace=trace, layer=1, head=2, late=True)
    assert (
        clicked["picture"]["title"].endswith("layer 1 of 2 · head 2 of 4")
        and told["word"]
    )
    assert [str(head) for head in computed] == ["cross.1.2"]


def test_another_head_changes_the_frame_and_sends_no_maps(running, pictures, trace):
    made = {}
    first = shown(pictures, running, made=made, trace=trace)
    assert "data" in first["grid"]
    clicked = shown(pictures, running, made=made, trace=trace, **click(1, 2))
    assert "data" not in clicked["grid"] and clicked["grid"]["about"] == [
        trace.number,
        "cross",
        1,
        2,
    ]
    assert (clicked["layer"], clicked["head"], clicked["show"]) == (1, 2, "head")
    found = shown(pictures, running, made=made, trace=trace, late=True)
    listed = found["finder"]["samples"]
    role, head, share = listed[0]
    assert f"clearest role on this sentence, {head}, {role} ({share})" in unescape(
        found["clearest"]
    )
    chosen = shown(
        pictures,
        running,
        made=made,
        trace=trace,
        action=tab.open_best,
        index=len(listed) - 1,
    )
    assert (
        chosen["picture"]
        and "data" not in chosen["grid"]
        and chosen["grid"]["layer"] == chosen["layer"]
    )


def test_the_maps_of_all_heads_are_sent_once_and_not_where_they_are_too_large(
    running, pictures, trace, monkeypatch
):
    made = {}
    first = shown(pictures, running, made=made, trace=trace)
    sent = shown(pictures, running, made=made, trace=trace, late=True)["others"]
    assert sent["of"] == first["picture"]["of"] == first["grid"]["of"]
    shown(pictures, running, made=made, trace=trace, **click(1, 2))
    again = shown(pictures, running, made=made, trace=trace, layer=1, head=2, late=True)
    assert again["word"] and "others" not in again
    monkeypatch.setattr(tab.heads_payload, "LARGEST", 10)
    assert shown(pictures, running, trace=trace, late=True)["others"] is None


def test_heads_are_joined_and_left_out_again_by_clicks_with_shift(
    running, pictures, trace
):
    made = {}
    joined = shown(
        pictures,
        running,
        made=made,
        trace=trace,
        heads=["cross.1.1"],
        **click(1, 2, add=True),
    )
    assert joined["heads"] == {
        "value": ["cross.1.1", "cross.1.2"],
        "visible": True,
        "__type__": "update",
    }
    assert joined["show"] == "mean" and joined["picture"]["rules"]
    left = shown(
        pictures,
        running,
        made=made,
        trace=trace,
        heads=["cross.1.1", "cross.1.2"],
        show="max",
        **click(1, 1, add=True),
    )
    assert left["heads"]["value"] == ["cross.1.2"] and left["show"] == "max"


def test_one_head_is_counted_among_all_of_its_layer_whatever_was_joined_before(
    running, pictures, trace
):
    alone = shown(
        pictures,
        running,
        trace=trace,
        heads=["cross.1.2", "cross.2.4"],
        layer=1,
        head=2,
    )
    assert alone["picture"]["title"].endswith("layer 1 of 2 · head 2 of 4")


def test_another_stack_keeps_the_layer_and_joins_its_own_heads(
    running, pictures, trace
):
    made = {}
    shown(pictures, running, made=made, trace=trace, show="mean", heads=["cross.1.1"])
    other = shown(
        pictures,
        running,
        made=made,
        trace=trace,
        show="mean",
        heads=["cross.1.1"],
        layer=2,
        stack="encoder_self",
    )
    assert (
        other["layer"] == 2
        and other["heads"]["value"] == []
        and len(other["heads"]["choices"]) == 8
    )
    assert "Encoder" in other["picture"]["title"] and not other["rows"]["interactive"]
    again = shown(
        pictures,
        running,
        made=made,
        trace=trace,
        show="mean",
        heads=["cross.1.2"],
        layer=2,
    )
    assert again["heads"]["value"] == ["cross.1.2"], (
        "heads of its own, as an address has them, stay"
    )


def test_a_chip_takes_one_choice_back(running, pictures, trace):
    made = {}
    look = {"words": True, "palette": "grey", "rows": "predicted"}
    first = shown(pictures, running, made=made, trace=trace, **look)
    assert {*first["picture"]["chips"]} == {*look}
    undone = shown(pictures, running, made=made, trace=trace, **undo("rows"), **look)
    assert undone["rows"]["value"] == "own" and {*undone["picture"]["chips"]} == {
        "words",
        "palette",
    }
    assert shown(pictures, running, made=made, trace=trace, **undo("lock")) == {}


def test_what_is_asked_for_again_is_drawn_though_it_seems_to_be_there(
    running, pictures, trace
):
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


@pytest.mark.parametrize(
    ("key", "stack", "view", "usable"),
    [
        ("threshold", "cross", "heatmap", False),
        ("threshold", "cross", "arcs", True),
        ("threshold", "cross", "auto", True),
        ("rows", "encoder_self", "auto", False),
        ("rows", "cross", "auto", True),
        ("rows", "decoder_self", "auto", True),
        ("inspected", "encoder_self", "auto", False),
        ("inspected", "cross", "auto", True),
    ],
)
def test_what_a_choice_makes_meaningless_is_dimmed(
    running, pictures, trace, key, stack, view, usable
):
    drawn = shown(pictures, running, trace=trace, stack=stack, view=view)
    assert drawn[key]["interactive"] is usable


def test_heads_to_join_are_offered_where_some_are_joined(running, pictures, trace):
    for show, offered in (
        ("head", False),
        ("mean", True),
        ("max", True),
        ("rollout", False),
    ):
        assert (
            shown(pictures, running, trace=trace, show=show)["heads"]["visible"]
            is offered
        )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"words": True}, "columns of a word’s pieces are summed"),
        ({"hide": True}, "renormalised over what is left"),
        ({"show": "rollout"}, "Abnar and Zuidema"),
        ({"weigh": True}, "Kobayashi"),
        (
            {"show": "mean", "heads": ["cross.1.2", "cross.2.4"]},
            "Mean over layer 1, head 2, layer 2, head 4.",
        ),
    ],
)
def test_beside_the_picture_stands_how_its_numbers_were_made(
    running, pictures, trace, values, said
):
    about = unescape(shown(pictures, running, trace=trace, **values)["about"])
    assert said in about and ("of this picture’s attention lies on </s>" in about) is (
        "hide" not in values
    )


def test_a_contraction_is_one_word(running, pictures):
    trace = running.explain("I don't have a house.")
    drawn = shown(
        pictures, running, trace=trace, stack="encoder_self", words=True, hide=True
    )["picture"]
    assert list(drawn["keys"]) == ["I", "don't", "have", "a", "house"]


def test_the_picture_is_also_in_words(running, pictures, trace):
    below = shown(pictures, running, trace=trace)["below"]
    assert (
        below.startswith("<details>")
        and ENGLISH.html("summary_label") in below
        and "looks most at" in below
    )


@pytest.mark.parametrize("kind", tab.EXPORTS)
def test_the_numbers_of_every_head_are_saved(running, trace, kind):
    event = SimpleNamespace(kind=kind)
    file = tab.save(
        running, ENGLISH, trace=trace, stack="cross", layer=2, head=1, event=event
    )["file"]
    assert file["name"] == f"tiny-en-es-attention.{kind}"
    content = base64.b64decode(file["data"])
    if kind == "json":
        np.testing.assert_allclose(json.loads(content)["cross"], trace.cross, atol=1e-6)
    elif kind == "npz":
        np.testing.assert_allclose(
            np.load(io.BytesIO(content))["encoder_self"], trace.encoder_self, atol=1e-6
        )
    else:
        assert content.startswith(b"<!doctype html>")
    assert (
        tab.save(
            running, ENGLISH, trace=trace, stack="cross", layer=2, head=1, event=event
        )["file"]
        != file
    )


# Which translation is looked into


def test_a_translation_typed_by_hand_is_looked_into_until_another_sentence_comes(
    running, pictures, learned_pairs
):
    found = running.translate(learned_pairs[0][0])
    typed = "El perro duerme."
    (offered,) = tab.offer(running, ENGLISH, translation=found)
    assert (
        offered["inspected"]["value"] == learned_pairs[0][1]
        and offered["spanish"] == ""
    )
    looked = tab.inspect(running, ENGLISH, translation=found, target=typed)
    assert looked["spanish"] == typed and looked["problem"] == ""
    drawn = shown(pictures, running, trace=looked["trace"], words=True)["picture"]
    assert list(drawn["queries"]) == [
        ENGLISH.say("row_target", given=given, wanted=wanted)
        for given, wanted in (
            ("<s>", "El"),
            ("El", "perro"),
            ("perro", "duerme"),
            ("duerme", "."),
            (".", "</s>"),
        )
    ]
    assert (
        tab.inspect(running, ENGLISH, translation=found, target=found.best.text)[
            "spanish"
        ]
        == ""
    )


def test_what_an_address_looks_into_is_traced_when_its_sentence_is_there(
    running, learned_pairs
):
    found = running.translate(learned_pairs[0][0], Options(n_best=2))
    named, looked = tab.offer(
        running, ENGLISH, translation=found, spanish="El perro duerme."
    )
    assert named["inspected"]["value"] == "El perro duerme." and "spanish" not in named
    assert named["inspected"]["choices"] == [one.text for one in found.n_best]
    assert (
        looked["spanish"] == "El perro duerme."
        and "▁perro" in looked["trace"].predicted
    )


def test_the_field_names_what_another_tab_has_chosen(running, learned_pairs):
    found = running.translate(learned_pairs[0][0])
    for spanish, named in (("El perro.", "El perro."), ("", found.best.text)):
        assert tab.name_inspected(
            running, ENGLISH, translation=found, spanish=spanish
        ) == {"inspected": named}


def test_unknown_characters_in_typed_spanish_are_warned_of(running):
    found = running.translate("The cat sleeps.")
    said = tab.inspect(running, ENGLISH, translation=found, target="El 漢 gato.")
    assert "has never seen 漢" in said["problem"] and "<unk>" in said["trace"].predicted
    assert said["spanish"] == "El 漢 gato."
    assert (
        tab.inspect(running, ENGLISH, translation=found, target=found.best.text)[
            "problem"
        ]
        == ""
    )
