"""Addresses of before: tests/addresses.txt has one of every tab, part, fold and control
of the page with nine tabs, as a page laid out then had them."""

from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from tests.pages import laid_out
from xformer.parts import TABS, choice, sheets
from xformer.ui.controls import written
from xformer.ui.former import FORMER, FRAGMENT, renewed
from xformer.ui.page import open_at
from xformer.ui.places import places, sections

ADDRESSES = Path(__file__).with_name("addresses.txt").read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def page(running):
    return laid_out(running)


def asked(address):
    """What an address asks for, and the place that it names."""
    query, _, place = address.removeprefix("?").partition("#")
    return dict(parse_qsl(query, keep_blank_values=True)), place


def test_there_are_more_than_a_hundred_of_all_tabs():
    assert len({*ADDRESSES}) == len(ADDRESSES) > 100
    assert {asked(one)[0]["tab"] for one in ADDRESSES} == {*TABS}


def test_every_address_of_before_opens_what_it_opened(running, page):
    wrong = {}
    for address in ADDRESSES:
        query, place = asked(address)
        for one in query.items():
            place = place or FORMER.get(one, {}).get(FRAGMENT, "")
        said, updates = open_at(page, query)
        values, _ = page.controls.read(running, query)
        kept = {
            key: value
            for key, value in query.items()
            if (key, value) not in FORMER
            and key != "tab"
            and written(values[key]) not in (value, str(bool(value)))
        }
        is_there = not place or place in {
            *sections(),
            *(one.key for one in places()[values["tab"]] if one.folded),
        }
        now = renewed(query)
        chosen = now.get(choice(now["tab"]))
        sheet = chosen if chosen in TABS else now["tab"]
        if said or kept or updates[page.sheet] != sheet or not is_there:
            wrong[address] = said, kept, updates[page.sheet], is_there
    assert not wrong


def test_an_address_of_before_becomes_one_of_now():
    """Of which the table has no more: what is renewed once stays."""
    for (key, value), now in FORMER.items():
        query = {key: value, "text": "Hi."}
        named = {one: held for one, held in now.items() if one != FRAGMENT}
        assert renewed(query) == {**named, "text": "Hi."} == renewed(renewed(query))


def test_there_are_six_tabs_and_each_sheet_is_in_one():
    assert len(sheets()) == 6
    assert [one for of_tab in sheets().values() for one in of_tab] == [*TABS]
