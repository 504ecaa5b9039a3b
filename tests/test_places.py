"""The overview of all parts, their questions, and the doors of the Translate tab."""

import json
import re
from html import unescape

import gradio as gr
import numpy as np
import pytest

from tests.pages import laid_out
from xformer.parts.doors import part as doors
from xformer.parts.doors.draw import bars, cells, curve
from xformer.results import UserError
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.page import TABS
from xformer.ui.places import places as all_places

TERM = re.compile(
    '<button type="button" class="term" popovertarget="[^"]*">(.*?)</button>'
)


@pytest.fixture(scope="module")
def page(running):
    return laid_out(running)


def texts_of(page):
    """All texts that stand on the page, without the buttons that open terms of the
    glossary."""
    texts = (
        str(getattr(one, "value", ""))
        for one in page.demo.blocks.values()
        if isinstance(one, gr.HTML)
    )
    return TERM.sub(r"\1", " ".join(texts))


def test_every_tab_has_places_and_no_two_have_one_key():
    assert [*all_places()] == [module.ID for module in TABS]
    keys = [place.key for places in all_places().values() for place in places]
    assert len(keys) == len({*keys}) and all(
        re.fullmatch(r"[\w-]+", key) for key in keys
    )


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
def test_each_place_asks_one_short_question(language):
    for places in all_places().values():
        for place in places:
            asked = language.say(f"asks_{place.key}")
            assert asked.endswith("?") and len(asked) <= 85, asked


def test_the_address_of_each_place_is_one_that_the_page_reads(running, page):
    for tab, places in all_places().items():
        for place in places:
            query = {"tab": tab, **place.address}
            values, problems = page.controls.read(running, query)
            assert {key: values[key] for key in query} == query and not problems


def test_each_part_begins_with_its_question_and_can_be_opened_by_the_fragment(page):
    """But for what this page has no model for: a classifier that was measured, and the
    translate tab's own line."""
    lacking = {
        "translate",
        "reader",
        *(one.key for one in all_places()["sentiment"] if one.folded),
    }
    shown = texts_of(page)
    wanted = [
        place
        for places in all_places().values()
        for place in places
        if place.key not in lacking
    ]
    assert not [
        place.key for place in wanted if ENGLISH.html(f"asks_{place.key}") not in shown
    ]
    anchors = {
        name
        for one in page.demo.blocks.values()
        for name in (getattr(one, "elem_classes", None) or [])
    }
    tabs = {one.id for one in page.demo.blocks.values() if isinstance(one, gr.Tab)}
    folded = {place.key for place in wanted if place.folded}
    assert {key for key in folded if f"at-{key}" not in anchors} <= tabs


def links():
    return [
        doors.Door("align", {"text": "The cat sleeps."}),
        doors.Door("refer", {"text": doors.OF_PRONOUN}),
        doors.Door("next", {"text": "The cat sleeps."}),
        doors.Door("order", {}),
        doors.Door("review", {"review": "A bad film."}),
        doors.Door("learn", {}),
    ]


def test_the_pictures_of_doors_are_of_the_models(running, reader):
    made = {door.key: door for door in doors.drawn(running, links(), Study(), reader)}
    trace = running.translate_and_trace("The cat sleeps.")[1]
    best = running.best_head
    assert made["align"].picture == cells(trace.cross[best.layer - 1, best.head - 1])
    sure = running.translate("The cat sleeps.").best.log_probs
    assert sure[made["next"].address["step"] - 1] == min(sure)
    assert made["review"].picture == bars(
        reader.attribute("A bad film.").effect.tolist()
    )
    assert (
        made["learn"].picture.count("<polyline") == 1
        and made["order"].picture.count("<rect") > 100
    )


def test_a_door_opens_without_a_picture_where_its_model_is_not_there(running):
    made = {
        door.key: door
        for door in doors.drawn(running, links(), Study(), UserError("none"))
    }
    assert made["review"].picture == "" and made["review"].address == {
        "review": "A bad film."
    }


def test_small_pictures_show_their_numbers():
    opacities = re.findall(
        r'fill-opacity="([\d.]+)"', cells(np.array([[0.25, 0.001], [1, 0.5]]))
    )
    assert opacities == ["0.25", "1.00", "0.50"], "what is next to nothing is not drawn"
    up = bars([1, -1, 0.5])
    assert up.count('class="up"') == 2 and re.findall(r'height="([\d.]+)"', up)[1:] == [
        "20.0",
        "20.0",
        "10.0",
    ]
    assert re.findall(r"([\d.]+),([\d.]+)", curve([0, 1], [0, 1])) == [
        ("0.0", "38.0"),
        ("64.0", "2.0"),
    ]


def test_the_list_of_doors_is_safe_and_names_addresses():
    shown = doors.figure([doors.Door("align", {"text": "<b>&"})], ENGLISH)
    [address] = re.findall(r'data-address="([^"]*)"', shown)
    assert json.loads(unescape(address)) == {"text": "<b>&"} and "<b>&" not in shown
