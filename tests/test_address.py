"""Addresses: what the page writes it reads back, and nonsense made by hand is named and passed over."""

from contextlib import closing
from dataclasses import fields

import pytest

from xformer.figures.attention import Choice
from xformer.results import Head, ModelInfo
from xformer.serve.translation import Service
from xformer.strings import ENGLISH
from xformer.ui import address, positions
from xformer.ui import translation as translate
from xformer.ui import walkthrough as principles
from xformer.ui.ablation import heads_off

INFO = ModelInfo("tiny", "0", 1, "pre", 6, 3, 8, 32, "cpu", "float32")
JOINED = (Head("encoder_self", 1, 2), Head("encoder_self", 6, 8))


def read(**query):
    return address.read(query, INFO, "Hello.", 2, 5)


def test_an_empty_address_is_the_page_as_it_begins():
    assert read() == address.Place("Hello.", "translate", "", Choice("cross", 2, 5), ())


def test_everything_on_the_page_is_in_its_address():
    found = read(text="A <b> & c?", tab="attention", spanish="¿Un <b>?", stack="encoder_self", layer="6", head="8",
                 show="max", heads="1.2,6.8", view="arcs", threshold="12", words="1", hide="0", weigh="1",
                 palette="magma", review="Not <bad>.")
    choice = Choice("encoder_self", 6, 8, "max", JOINED, "arcs", 12, True, False, True, "magma")
    assert found == address.Place("A <b> & c?", "attention", "¿Un <b>?", choice, (), "Not <bad>.")


def test_the_keys_of_an_address_stand_in_the_order_of_a_choice():
    assert address.KEYS[3:-1] == tuple(field.name for field in fields(Choice))
    choice = Choice("encoder_self", 6, 8, "max", JOINED, "arcs", 12, True, False, True, "magma")
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
    *((key, "x" * 2001, "2,001 characters") for key in ("spanish", "text", "review"))])
def test_nonsense_is_named_and_the_rest_is_kept(key, value, said):
    found = address.read({"head": "3", key: value}, INFO, "Hello.", 2, 5)
    assert len(found.problems) == 1 and said in found.problems[0].say()
    assert found.choice.head == (3 if key != "head" else 5) and found.text == "Hello."


def test_a_layer_that_only_the_encoder_has_is_refused_for_the_decoder():
    assert read(stack="encoder_self", layer="5").choice.layer == 5
    assert read(stack="decoder_self", layer="5").choice.layer == 2


@pytest.fixture(scope="module")
def service(tiny_checkpoint):
    with closing(Service.open(tiny_checkpoint, "cpu")) as running:
        yield running


def values(arrived):
    """The values that controls are set to, out of updates where there is more to set."""
    return [value["value"] if isinstance(value, dict) and "value" in value else value for value in arrived]


def test_the_tabs_begin_with_the_defaults_that_an_address_leaves_out(service):
    said = []
    take = address.reader({}, said)
    *of_principles, _ = principles.arrive(service, take)
    for tab, arrived in ((translate, translate.arrive(service, take)),
                         (positions, positions.arrive(service, ENGLISH, take)), (principles, of_principles)):
        wanted = [kind.default for kind in tab.kinds(service).values()]
        assert [tuple(value) if isinstance(value, list) else value for value in values(arrived)] == wanted
    assert not said


def test_the_keys_of_the_page_are_all_different(service):
    keys = [*address.KEYS, *translate.kinds(service), "off", *positions.kinds(service), *principles.kinds(service)]
    assert len(set(keys)) == len(keys)


def test_an_address_sets_how_to_search(service):
    query, said = dict(beam="1", n_best="2", length_penalty="0.5", longest="20"), []
    assert list(query) == list(translate.kinds(service))
    assert values(translate.arrive(service, address.reader(query, said))) == [1, 2, 0.5, 20] and not said
    for key, value, wanted in (("beam", "17", "from 1 to 16"), ("longest", "999", f"from 1 to {service.max_pieces}")):
        problems = []
        translate.arrive(service, address.reader({key: value}, problems))
        assert wanted in problems[0].say()


@pytest.mark.parametrize(("value", "wanted"), [
    ("cross 1 2", ["cross 1 2"]), ("encoder_self 2 4,cross 1 2,encoder_self 2 4", ["encoder_self 2 4", "cross 1 2"]),
    ("cross 9 9", None), ("", None), ("cross 1 2,<b>", None)])
def test_an_address_switches_heads_off(service, value, wanted):
    problems = []
    found = address.reader({"off": value}, problems)("off", heads_off(service))
    assert found == (wanted or ())
    assert [problem.say() for problem in problems] == ([] if wanted else [
        f"In the address, off is “{value}”; it must name what this model has, such as “cross 2 4”, several with "
        f"commas, so it was passed over."])


def test_an_address_sets_every_control_of_the_positions(service):
    query = dict(length="100", d_model="16", base_power="2.5", dimensions="0,15", pair="7", position="9", steps="4",
                 positions="base", shift="12", base="500.5", shuffle="1", seed="42", compare="encoder_self 1 2",
                 moved="1")
    assert list(query) == list(positions.kinds(service))
    said = []
    assert values(positions.arrive(service, ENGLISH, address.reader(query, said))) == [
        100, 16, 2.5, [0, 15], 7, 9, 4, "base", 12, 500.5, True, 42, "encoder_self 1 2", True]
    assert not said


def test_an_address_sets_every_control_of_first_principles(service):
    query = dict(first_stack="decoder_self", first_layer="1", first_head="3", query="4", padding="1", beta_power="-1.5",
                 scoring="gaussian", mask="future", records="a: b\nc: d", store_query="a", store_power="6")
    assert list(query) == list(principles.kinds(service))
    said = []
    *found, store = principles.arrive(service, address.reader(query, said))
    assert values(found) == ["decoder_self", 1, 3, 4, 1, -1.5, "gaussian", "future", "a: b\nc: d", "a", 6]
    assert store["open"] and not said


@pytest.mark.parametrize(("query", "said"), [
    ({"length": "7"}, "length is “7”; it must be a whole number from 8 to 200"),
    ({"d_model": "7"}, "d_model is “7”; it must be a whole number from 4 to 512 in steps of 2"),
    ({"base_power": "nan"}, "base_power is “nan”; it must be a number from 1 to 5"),
    ({"base_power": "<b>"}, "base_power is “<b>”; it must be a number from 1 to 5"),
    ({"dimensions": "0,0"}, "dimensions is “0,0”; it must be 1 to 6 different whole numbers from 0 to 31"),
    ({"d_model": "8", "dimensions": "8"}, "different whole numbers from 0 to 7"),
    ({"dimensions": "1,2,3,4,5,6,7"}, "it must be 1 to 6 different"), ({"dimensions": ""}, "it must be 1 to 6"),
    ({"d_model": "8", "pair": "4"}, "pair is “4”; it must be a whole number from 0 to 3"),
    ({"positions": "learned"}, "it must be one of own, none, shift, base"), ({"shift": "-1"}, "from 0 to 1,000"),
    ({"base": "inf"}, "base is “inf”; it must be a number from 2 to 1e+06"), ({"shuffle": "yes"}, "one of 0, 1"),
    ({"compare": "cross 9 9"}, "compare is “cross 9 9”; it must be one of encoder_self 1 1")])
def test_nonsense_about_positions_is_named_and_passed_over(service, query, said):
    problems = []
    found = values(positions.arrive(service, ENGLISH, address.reader(query, problems)))
    assert len(problems) == 1 and said in problems[0].say()
    bad = list(positions.kinds(service)).index(list(query)[-1])
    width = int(query["d_model"]) if "d_model" in query and bad != 1 else None
    default = list(positions.kinds(service, width).values())[bad].default
    assert found[bad] == (list(default) if isinstance(default, tuple) else default)


@pytest.mark.parametrize(("query", "said"), [
    ({"first_layer": "3"}, "from 1 to 2"), ({"first_head": "x"}, "first_head is “x”"), ({"query": "0"}, "query is “0”"),
    ({"beta_power": "7"}, "a number from -6 to 6"), ({"scoring": "cosine"}, "one of scaled, unscaled, additive"),
    ({"mask": "past"}, "one of padding, future, none"), ({"records": "x" * 2001}, "records has 2,001 characters")])
def test_nonsense_about_first_principles_is_named_and_passed_over(service, query, said):
    problems = []
    found = values(principles.arrive(service, address.reader(query, problems)))
    assert len(problems) == 1 and said in problems[0].say()
    assert found[:-1] == [kind.default for kind in principles.kinds(service).values()]


def test_the_browser_leaves_out_what_is_a_default(service):
    assert address.defaults({"base_power": 4.0, "dimensions": (0, 1), "shuffle": False, "mask": "padding"}) == (
        '{"base_power": "4", "dimensions": "0,1", "shuffle": "0", "mask": "padding"}')
    assert '"palette", "review", "base_power", "mask"]' in address.write(["base_power", "mask"])
