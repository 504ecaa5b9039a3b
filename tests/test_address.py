"""Addresses: what the page writes it reads back, and nonsense made by hand is named and passed over."""

from dataclasses import fields

import pytest

from xformer.figures.picture import Choice
from xformer.results import ModelInfo
from xformer.ui import address

INFO = ModelInfo("tiny", "0", 1, "pre", 6, 3, 8, 32, "cpu", "float32")


def read(**query):
    return address.read(query, INFO, "Hello.", 2, 5)


def test_an_empty_address_is_the_page_as_it_begins():
    assert read() == address.Place("Hello.", "translate", "", Choice("cross", 2, 5), ())


def test_everything_on_the_page_is_in_its_address():
    found = read(text="A <b> & c?", tab="attention", spanish="¿Un <b>?", stack="encoder_self", layer="6", head="8",
                 show="max", heads="1.2,6.8", view="arcs", threshold="12", words="1", hide="0", weigh="1",
                 palette="magma")
    choice = Choice("encoder_self", 6, 8, "max", ((1, 2), (6, 8)), "arcs", 12, True, False, True, "magma")
    assert found == address.Place("A <b> & c?", "attention", "¿Un <b>?", choice, ())


def test_the_keys_of_an_address_stand_in_the_order_of_a_choice():
    assert address.KEYS[3:] == tuple(field.name for field in fields(Choice))
    choice = Choice("encoder_self", 6, 8, "max", ((1, 2), (6, 8)), "arcs", 12, True, False, True, "magma")
    assert address.read_choice("encoder_self", 6, 8, "max", ["1.2", "6.8"], "arcs", 12, True, False, True, "magma"
                               ) == choice


@pytest.mark.parametrize(("key", "value", "said"), [
    ("layer", "4", "layer is “4”; it must be a whole number from 1 to 3"),
    ("layer", "0", "from 1 to 3"), ("layer", "9" * 5000, "from 1 to 3"), ("layer", "٣", "from 1 to 3"),
    ("head", "-1", "head is “-1”; it must be a whole number from 1 to 8"), ("head", "1.5", "from 1 to 8"),
    ("stack", "<script>", "stack is “<script>”; it must be one of encoder_self, decoder_self, cross"),
    ("show", "", "one of head, mean, max, rollout"), ("words", "yes", "one of 0, 1"), ("tab", "x", "one of translate"),
    ("view", "3d", "one of heatmap, arcs"), ("threshold", "0", "from 1 to 50"), ("palette", "jet", "one of blue, grey"),
    ("heads", "1.2,9.9", "heads is “1.2,9.9”; it must be layer.head"), ("heads", "<b>", "it must be layer.head"),
    ("spanish", "x" * 2001, "2,001 characters"), ("text", "x" * 2001, "2,001 characters")])
def test_nonsense_is_named_and_the_rest_is_kept(key, value, said):
    found = address.read({"head": "3", key: value}, INFO, "Hello.", 2, 5)
    assert len(found.problems) == 1 and said in found.problems[0].say()
    assert found.choice.head == (3 if key != "head" else 5) and found.text == "Hello."


def test_a_layer_that_only_the_encoder_has_is_refused_for_the_decoder():
    assert read(stack="encoder_self", layer="5").choice.layer == 5
    assert read(stack="decoder_self", layer="5").choice.layer == 2
