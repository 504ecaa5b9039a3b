"""Addresses: what the page writes it reads back, and nonsense made by hand is named and
passed over."""

import json
import re
from contextlib import closing
from dataclasses import fields
from types import SimpleNamespace

import gradio as gr
import pytest

from tests.pages import laid_out
from xformer.figures.attention import Choice
from xformer.parts import TABS
from xformer.parts import choice as choice_of
from xformer.parts.attention import part as attention
from xformer.parts.positions import part as positions
from xformer.parts.principles import part as walkthrough
from xformer.results import Block, Head, ModelInfo
from xformer.serve.translation import Service
from xformer.ui.components import SCRIPTS, script
from xformer.ui.controls import (
    LONGEST,
    Controls,
    Switch,
    in_steps,
    setting_order,
    written,
)
from xformer.ui.page import open_at
from xformer.ui.tabs import EXAMPLES

PAGE_SCRIPT = SCRIPTS["page.js"].read_text(encoding="utf-8")

INFO = ModelInfo("tiny", "0", 1, "pre", 6, 3, 8, 32, "cpu", "float32")
# What controls know of a model.
BLOCKS = [
    Block("embedding", (("weight", (100, 32)),)),
    Block("encoder.layers.0.feed_forward", (("inner.weight", (64, 32)),)),
]
OTHER = SimpleNamespace(
    info=INFO,
    max_pieces=64,
    best_head=Head("cross", 2, 5),
    length_scores=[],
    blocks=lambda: BLOCKS,
)


@pytest.fixture(scope="module")
def service(tiny_checkpoint):
    with closing(Service.open(tiny_checkpoint, "cpu")) as running:
        yield running


@pytest.fixture(scope="module")
def page(service):
    return laid_out(service)


@pytest.fixture
def read(page):
    """What the controls hold for an address and `OTHER`, and what is said of it."""
    return lambda **query: page.controls.read(OTHER, query)


def choice(values):
    return attention.choice_of(
        **{field.name: values[field.name] for field in fields(Choice)}
    )


def test_an_empty_address_is_the_page_as_it_begins(read):
    values, problems = read()
    assert (values["text"], values["tab"], values["spanish"], values["review"]) == (
        EXAMPLES[0],
        "translate",
        "",
        "",
    )
    assert choice(values) == Choice("cross", 2, 5) and not problems


def test_everything_on_the_page_is_in_its_address(read):
    values, problems = read(
        text="A <b> & c?",
        tab="attention",
        spanish="¿Un <b>?",
        stack="encoder_self",
        layer="6",
        head="8",
        show="max",
        heads="encoder_self.1.2,encoder_self.6.8",
        view="arcs",
        threshold="12",
        words="1",
        hide="0",
        weigh="1",
        palette="magma",
        review="Not <bad>.",
    )
    joined = (Head("encoder_self", 1, 2), Head("encoder_self", 6, 8))
    assert choice(values) == Choice(
        "encoder_self",
        6,
        8,
        "max",
        joined,
        "arcs",
        12,
        "own",
        True,
        False,
        True,
        "magma",
    )
    assert (values["text"], values["tab"], values["spanish"]) == (
        "A <b> & c?",
        "attention",
        "¿Un <b>?",
    )
    assert values["review"] == "Not <bad>." and not problems


def test_the_controls_of_the_attention_tab_are_a_choice(page):
    assert {field.name for field in fields(Choice)} <= {*page.controls}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (
            {"stack": "encoder_self", "heads": "encoder_self.1.2,encoder_self.6.8"},
            ["encoder_self.1.2", "encoder_self.6.8"],
        ),
        ({"heads": "cross.3.8,,cross.1.2"}, ["cross.3.8", "cross.1.2"]),
        ({"heads": ""}, []),
    ],
)
def test_heads_of_a_stack_are_read(read, query, wanted):
    values, problems = read(**query)
    assert values["heads"] == wanted and not problems


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("layer", "4", "layer is “4”; it must be a whole number from 1 to 3"),
        ("layer", "0", "from 1 to 3"),
        ("layer", "9" * 5000, "from 1 to 3"),
        ("layer", "٣", "from 1 to 3"),
        ("head", "-1", "head is “-1”; it must be a whole number from 1 to 8"),
        ("head", "1.5", "from 1 to 8"),
        (
            "stack",
            "<script>",
            "stack is “<script>”; it must be one of encoder_self, decoder_self, cross",
        ),
        ("show", "", "one of head, mean, max, rollout"),
        ("words", "yes", "one of 0, 1"),
        ("tab", "x", "one of translate"),
        ("view", "3d", "one of auto, heatmap, arcs"),
        ("threshold", "0", "from 1 to 50"),
        ("palette", "jet", "one of blue, grey"),
        (
            "heads",
            "1.2",
            "heads is “1.2”; it must name what this model has, such as “cross.3.8”",
        ),
        ("heads", "cross.1.2,cross.9.9", "it must name what this model has"),
        ("heads", "<b>", "such as “cross.3.8”"),
        ("heads", "encoder_self.1.2", "it must name what this model has"),
        ("lock", "word", "such as es4, -en3 or es4-en3"),
        *(
            (key, "x" * 2001, "2,001 characters")
            for key in ("spanish", "text", "review")
        ),
    ],
)
def test_nonsense_is_named_and_the_rest_is_kept(read, key, value, said):
    values, problems = read(**{"head": "3", key: value})
    assert len(problems) == 1 and said in problems[0].say()
    assert (
        values["head"] == (3 if key != "head" else 5) and values["text"] == EXAMPLES[0]
    )


def test_a_layer_that_only_the_encoder_has_is_refused_for_the_decoder(read):
    assert read(stack="encoder_self", layer="5")[0]["layer"] == 5
    assert read(stack="decoder_self", layer="5")[0]["layer"] == 2


def test_every_control_reads_back_what_the_browser_writes_of_it(page, service):
    """Each declaration as a round trip, with values that are no defaults."""
    chosen = {
        "text": "A & b?",
        "tab": "model",
        "spanish": "¿C?",
        "lesson": "it.3",
        "beam": 7,
        "n_best": 2,
        "length_penalty": 0.3,
        "longest": 9,
        "temperature": 0.7,
        "top_k": 20,
        "top_p": 0.9,
        "draw_seed": 3,
        "translate_part": "decoding",
        "attention_part": "principles",
        "decode": "layers",
        "tree_width": 3,
        "smoothing": 0.25,
        "step": 4,
        "tree_node": 12,
        "rival": "▁a",
        "twin": "B?",
        "stack": "encoder_self",
        "layer": 1,
        "head": 2,
        "show": "max",
        "view": "arcs",
        "rows": "predicted",
        "lock": "es2-en1",
        "projector": True,
        "palette": "magma",
        "heads": ["encoder_self.1.2", "encoder_self.2.1"],
        "threshold": 33,
        "words": True,
        "hide": True,
        "weigh": True,
        "off": ["cross.1.2", "decoder_self.2.4"],
        "review": "Not bad.",
        "unmasked_text": "The plane lands.",
        "unmasked_target": "El avión aterriza.",
        "unmasked_map": "looks",
        "weigh_head": "decoder_self.1.2",
        "weigh_scope": "head",
        "weigh_kind": "zeroed",
        "weigh_power": -2.5,
        "teacher": "kak",
        "model_part": "bugs",
        "whole_heads": "strongest",
        "whole_step": 3,
        "whole_block": "encoder.2",
        "bug_patient": "C",
        "bug_head": "decoder_self.1.2",
        "bug_seed": 77,
        "energy_own": "A, b? & c.",
        "energy_beam": 3,
        "energy_item": 4,
        "bottleneck_text": "Bad & long?",
        "bottleneck_other": "Good, short.",
        "bottleneck": "32",
        "width_query": 5,
        "width_key": 7,
        "width_value": 2,
        "width_inner": 1,
        "width_outer": 12,
        "bug_guess": "future",
        "size_encoder": 5,
        "size_decoder": 4,
        "size_width": 64,
        "size_heads": 8,
        "size_ff": 99,
        "size_vocabulary": 500,
        "size_norm": "post",
        "size_shared": False,
        "size_pieces": 7,
        "vocab_piece": 3,
        "vocab_layer": 1,
        "mean_beside": "A? / B & C.",
        "mean_at": "decoder.1",
        "mean_word": 1234,
        "mean_count": 2000,
        "review_part": "writer",
        "length": 80,
        "d_model": 16,
        "base_power": 2.35,
        "dimensions": [0, 15],
        "pair": 7,
        "position": 9,
        "steps": 4,
        "positions": "base",
        "shift": 12,
        "base": 500.5,
        "shuffle": True,
        "seed": 42,
        "compare": "encoder_self.1.2",
        "pairs_part": "bleu",
        "pair_a": "A?",
        "pair_b": "B & C.",
        "models_text": "D?",
        "models_other": "gru",
        "models_reference": "¿D?",
        "models_first": "cross.1.2",
        "models_second": "cross.2.1",
        "pair_head": "encoder_self.2.1",
        "bleu_said": "uno",
        "bleu_wanted": "dos",
        "first_stack": "decoder_self",
        "first_layer": 1,
        "additive_step": 5,
        "first_head": 3,
        "query": 4,
        "padding": 1,
        "beta_power": -1.5,
        "scoring": "gaussian",
        "mask": "future",
        "records": "a: b\nc: d",
        "store_query": "a",
        "store_power": 6.0,
        "kernel_power": 0.5,
        "kernel_points": "1,2 3,4",
        "part": "live",
        "live_task": "copy",
        "live_order": "post",
        "live_warmup": 40,
        "live_peak": "0.01",
        "live_layers": 2,
        "live_schedule": "noam",
        "live_smoothing": 0.1,
        "live_seed": 5,
        "live_steps": 120,
        "live_pairs": "300",
        "live_without": "mask",
        "recorded_question": "parts",
        "recorded_run": "pre-200-0.003-0",
        "gen_curve": "loss",
        "form_model": "gru",
        "form_sentence": 2,
        "film_moment": 5,
        "form_moment": 3,
        "form_stack": "encoder_self",
        "form_layer": 1,
        "form_head": 2,
        "path_kernel": 4,
        "path_from": 5,
        "path_to": 2,
        "grad_order": "post",
        "grad_layers": 3,
        "grad_width": 64,
        "grad_seed": 7,
        "model": "other",
    }
    assert {*chosen} == {*page.controls}
    defaults = page.controls.defaults(service)
    assert not [key for key in chosen if written(chosen[key]) == written(defaults[key])]
    values, problems = page.controls.read(
        service, {key: written(value) for key, value in chosen.items()}
    )
    assert values == chosen and not problems


def test_the_page_begins_with_the_defaults_that_an_address_leaves_out(page, service):
    for key, default in page.controls.defaults(service).items():
        value = page.controls[key].component.value
        assert (tuple(value) if isinstance(default, tuple) else value) == default, key
    said, updates = open_at(page, {})
    assert said == "" and page.sentence not in updates, (
        "what is typed meanwhile is lost"
    )
    for key, default in page.controls.defaults(service).items():
        if key != "text":
            value = updates[page.controls[key].component]["value"]
            assert (tuple(value) if isinstance(default, tuple) else value) == default, (
                key
            )


def test_an_address_sets_how_to_search(page, service):
    query = dict(beam="1", n_best="2", length_penalty="0.5", longest="20")
    values, problems = page.controls.read(service, query)
    assert [values[key] for key in query] == [1, 2, 0.5, 20] and not problems
    for key, value, wanted in (
        ("beam", "17", "from 1 to 16"),
        ("longest", "999", f"from 1 to {service.max_pieces}"),
    ):
        _, problems = page.controls.read(service, {key: value})
        assert wanted in problems[0].say()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("cross 1 2", ["cross.1.2"]),
        (
            "encoder_self 2 4,cross 1 2,encoder_self 2 4",
            ["encoder_self.2.4", "cross.1.2"],
        ),
        ("encoder_self.2.4,cross.1.2", ["encoder_self.2.4", "cross.1.2"]),
        ("cross 9 9", None),
        ("", None),
        ("cross 1 2,<b>", None),
    ],
)
def test_an_address_switches_heads_off(page, service, value, wanted):
    values, problems = page.controls.read(service, {"off": value})
    assert values["off"] == (wanted or ())
    assert [problem.say() for problem in problems] == (
        []
        if wanted
        else [
            f"In the address, off is “{value}”; it must name what this model has, such as “cross.2.4”, several with "
            f"commas, so it was passed over."
        ]
    )


def test_an_address_sets_every_control_of_the_positions(page, service):
    query = dict(
        length="100",
        d_model="16",
        base_power="2.5",
        dimensions="0,15",
        pair="7",
        position="9",
        steps="4",
        positions="base",
        shift="12",
        base="500.5",
        shuffle="1",
        seed="42",
        compare="encoder_self 1 2",
    )
    said, updates = open_at(page, query)
    assert [updates[page.controls[key].component]["value"] for key in query] == [
        100,
        16,
        2.5,
        [0, 15],
        7,
        9,
        4,
        "base",
        12,
        500.5,
        True,
        42,
        "encoder_self.1.2",
    ]
    assert said == ""


def test_an_address_sets_every_control_of_first_principles(page):
    query = dict(
        first_stack="decoder_self",
        first_layer="1",
        first_head="3",
        query="4",
        padding="1",
        beta_power="-1.5",
        scoring="gaussian",
        mask="future",
        records="a: b\nc: d",
        store_query="a",
        store_power="6",
    )
    said, updates = open_at(page, query)
    assert [updates[page.controls[key].component]["value"] for key in query] == [
        "decoder_self",
        1,
        3,
        4,
        1,
        -1.5,
        "gaussian",
        "future",
        "a: b\nc: d",
        "a",
        6,
    ]
    assert updates[page.views["principles.store"].component].open and said == ""


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"length": "7"}, "length is “7”; it must be a whole number from 8 to 200"),
        (
            {"d_model": "7"},
            "d_model is “7”; it must be a whole number from 4 to 512 in steps of 2",
        ),
        ({"base_power": "nan"}, "base_power is “nan”; it must be a number from 1 to 5"),
        ({"base_power": "<b>"}, "base_power is “<b>”; it must be a number from 1 to 5"),
        (
            {"dimensions": "0,0"},
            "dimensions is “0,0”; it must be 1 to 6 different whole numbers from 0 to 31",
        ),
        ({"d_model": "8", "dimensions": "8"}, "different whole numbers from 0 to 7"),
        ({"dimensions": "1,2,3,4,5,6,7"}, "it must be 1 to 6 different"),
        ({"dimensions": ""}, "it must be 1 to 6"),
        (
            {"d_model": "8", "pair": "4"},
            "pair is “4”; it must be a whole number from 0 to 3",
        ),
        ({"positions": "learned"}, "it must be one of own, none, shift, base"),
        ({"shift": "-1"}, "from 0 to 1,000"),
        ({"base": "inf"}, "base is “inf”; it must be a number from 2 to 1000000"),
        ({"shuffle": "yes"}, "one of 0, 1"),
        (
            {"compare": "cross 9 9"},
            "compare is “cross 9 9”; it must be one of encoder_self.1.1",
        ),
        ({"first_layer": "3"}, "from 1 to 2"),
        ({"first_head": "x"}, "first_head is “x”"),
        ({"query": "0"}, "query is “0”"),
        ({"beta_power": "7"}, "a number from −6 to 6"),
        ({"scoring": "cosine"}, "one of scaled, unscaled, additive"),
        ({"mask": "past"}, "one of padding, none"),
        ({"records": "x" * 2001}, "records has 2,001 characters"),
    ],
)
def test_nonsense_about_positions_and_first_principles_is_named_and_passed_over(
    page, service, query, said
):
    values, problems = page.controls.read(service, query)
    assert len(problems) == 1 and said in problems[0].say()
    bad = list(query)[-1]
    assert values[bad] == page.controls.kinds(service, values)[bad].default
    assert {**values, **query} == {
        **page.controls.read(
            service, {key: value for key, value in query.items() if key != bad}
        )[0],
        **query,
    }


# How it is written, and in which order it is set


def test_the_browser_leaves_out_what_is_a_default(page, service):
    own = json.loads(page.controls.left_out(service))
    assert own["longest"] == LONGEST and list(own["left_out"]) == list(page.controls)
    assert {
        key: own["left_out"][key]
        for key in ("base_power", "dimensions", "shuffle", "mask", "stack", "head")
    } == {
        "base_power": "4",
        "dimensions": "0,1,16,17",
        "shuffle": "0",
        "mask": "padding",
        "stack": "",
        "head": "1",
    }
    assert [written(value) for value in (4.0, (0, 1), False, "padding", None)] == [
        "4",
        "0,1",
        "0",
        "padding",
        "",
    ]
    assert {
        *re.findall(r"\{(\w+), (\w+), (\w+)\} = JSON.parse\(own\)", PAGE_SCRIPT)[0]
    } == {*own}


def test_what_depends_on_a_control_is_set_before_it(page):
    order = setting_order(page.controls)
    assert order[0] is page.model and order[-2:] == [page.tab, page.asked]
    place = {
        key: order.index(control.component) for key, control in page.controls.items()
    }
    for earlier, later in (
        ("dimensions", "d_model"),
        ("pair", "d_model"),
        ("layer", "stack"),
        ("heads", "stack"),
        ("first_layer", "first_stack"),
        ("d_model", "tab"),
        ("model", "tab"),
    ):
        assert place[earlier] < place[later], (earlier, later)


def test_choices_are_set_before_values():
    one = object()
    two = object()
    three = object()
    choices, values = in_steps(
        {
            one: gr.update(choices=[1, 2], value=2),
            two: gr.update(value=3),
            three: "text",
        }
    )
    assert choices == {one: gr.update(choices=[1, 2])} and values == {
        one: 2,
        two: 3,
        three: "text",
    }


def test_a_step_that_sets_nothing_is_left_out():
    """Gradio would take it for the one value of one component."""
    one = object()
    assert [*in_steps({one: "text"})] == [{one: "text"}]


def test_the_page_is_laid_out_as_an_address_that_says_nothing_sets_it(service):
    """So that such an address need not set it."""
    for component, update in open_at(laid_out(service), {})[1].items():
        if isinstance(update, (gr.Tabs, gr.Dataset)):
            continue
        properties = update if isinstance(update, dict) else {"value": update}
        for name, value in properties.items():
            held = getattr(component, name, None)
            if name == "choices":  # some are (label, value), some one for both
                held, value = (
                    [one if isinstance(one, tuple) else (one, one) for one in many]
                    for many in (held, value)
                )
            if name != "__type__":
                assert held == value, (component, name)


@pytest.mark.parametrize(
    ("address", "number"),
    [({}, 0), ({"threshold": "7"}, 1), ({"tab": "model", "threshold": "7"}, 4)],
)
def test_a_page_is_told_at_first_what_an_address_changes_and_no_more(
    service, address, number
):
    """Besides the problem, and the examples, of which Gradio cannot tell whether they
    are others."""
    page = laid_out(service)
    (arrive,) = [one.fn for one in page.demo.fns.values() if one.name == "arrive"]
    told = {
        component
        for step in arrive(SimpleNamespace(query_params=address))
        for component in step
    }
    controls = [page.controls[key].component for key in address]
    assert {*controls, *([page.tabs] if "tab" in address else [])} <= told and len(
        told
    ) == number + 2


def test_a_key_belongs_to_one_control(service):
    controls = Controls(service)
    others = Controls(service)
    for each in (controls, others):
        each.add("words", Switch(), gr.Checkbox)
    with pytest.raises(ValueError, match="two controls have the key 'words'"):
        controls.include(others)


# One more control is one declaration


def test_a_control_needs_nothing_but_its_declaration(service):
    """A tab with one checkbox: it is in the address, and set, written, and listened
    to."""
    from xformer.ui.tabs import Tab

    def build(page):
        controls = Controls(page.service)
        controls.add("brackets", Switch(), gr.Checkbox, label="Brackets")
        return Tab(controls)

    own = SimpleNamespace(ID="model", build=build)
    from xformer.parts.translate import part as translation

    page = laid_out(service, tabs=[translation, own])
    checkbox = page.controls["brackets"].component
    said, updates = open_at(page, {"brackets": "1", "tab": "model"})
    assert said == "" and updates[checkbox]["value"] is True
    assert "brackets is “2”" in open_at(page, {"brackets": "2"})[0]
    assert json.loads(page.controls.left_out(service))["left_out"]["brackets"] == "0"
    writers = [
        one
        for one in page.demo.fns.values()
        if one.js in (script("write"), script("write", ""))
    ]
    assert writers and all(checkbox in one.inputs for one in writers)
    assert any((checkbox._id, "change") in one.targets for one in writers)


@pytest.mark.parametrize("module", [attention, positions, walkthrough])
def test_the_tabs_say_who_they_are(module, page):
    tab = TABS[module.ID].of
    key = choice_of(tab) if tab else "tab"
    assert module.ID in page.controls.kinds(page.service)[key].options


def test_opening_a_tab_asks_the_server_for_that_tab_alone(page):
    of_tab = [
        one
        for one in page.demo.fns.values()
        if {(page.tab._id, "change"), (page.sheet._id, "change")} & {*one.targets}
    ]
    assert of_tab and all(one.fn is None for one in of_tab), (
        "what listens to the open tab runs in the browser"
    )
    assert [*page.opened] == [*TABS]


def test_an_address_shows_what_it_names_before_its_tab_is_there(running):
    page = laid_out(running)

    def seen(tab, query):
        updates = open_at(page, query)[1]
        return [
            name
            for name, view in page.views.items()
            if name.startswith(f"{tab}.")
            and name.endswith("_seen")
            and updates[view.component]["visible"]
        ]

    for part in ("generations", "recorded"):
        query = {"tab": "training", "part": part}
        assert seen("training", query) == [f"training.{part}_seen"]
    for query in (
        {"tab": "decoding"},
        {"tab": "translate", "translate_part": "decoding"},
    ):
        assert seen("translate", query) == ["translate.decoding_seen"]
    assert seen("translate", {}) == ["translate.translate_seen"]
    assert seen("attention", {"tab": "principles"}) == ["attention.principles_seen"]
