"""The overview of all parts, and the question that each answers."""

import re
from pathlib import Path

import gradio as gr
import pytest

from tests.pages import laid_out
from xformer.parts import sheets
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.places import places as all_places
from xformer.ui.places import sections

ADDRESSES = Path(__file__).with_name("addresses.txt")
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
    assert [*all_places()] == [*sheets()]
    keys = [place.key for places in all_places().values() for place in places]
    assert len(keys) == len({*keys}) and all(
        re.fullmatch(r"[\w-]+", key) for key in keys
    )


def test_there_are_at_most_40_places_and_each_of_before_is_one_or_a_section():
    """Of before: the folds and parts in tests/addresses.txt, 68 places."""
    now = [place for places in all_places().values() for place in places]
    assert len(now) <= 40
    held = {place.within for place in sections().values()}
    assert held <= {place.key for place in now}
    lines = ADDRESSES.read_text("utf-8").splitlines()
    before = {line.partition("#")[2] for line in lines if "#" in line}
    assert len(before) == 41
    assert before <= {*sections(), *(place.key for place in now)}


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
def test_each_place_asks_one_short_question(language):
    for places in (*all_places().values(), sections().values()):
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
    """But for what this page has no model for: a classifier that was measured, the two
    recurrent generations, and the translate tab's own line."""
    lacking = {
        "translate",
        "reader",
        "seq2seq",
        *(one.key for one in all_places()["sentiment"] if one.folded),
        *(one.key for one in sections().values() if "review_part" in one.address),
    }
    shown = texts_of(page)
    wanted = [
        place
        for places in (*all_places().values(), sections().values())
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
