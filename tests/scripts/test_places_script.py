"""The overview of all parts and the search over it, and the invitation of the
Translate tab: assets/places.js, invitation.js."""

import json

import pytest
from playwright.sync_api import expect

from xformer.strings import ENGLISH, SPANISH

say = ENGLISH.say
CLICKED = "window.clicked = []; addEventListener('click', ({target}) => clicked.push(target.dataset.address))"
QUESTIONS = (
    "const list = document.createElement('div'); list.className = 'questions';"
    "list.innerHTML = '<li><button>A</button></li>'; document.body.append(list);"
)
FIELD = "const field = document.createElement('input'); document.body.append(field); field.focus();"


@pytest.fixture
def places(bench):
    """The overview, opened by its key from a button that has the focus."""
    mounted = bench.mount("places")
    mounted.block.get_by_role("button", name=say("places_open")).focus()
    bench.page.keyboard.press("/")
    expect(mounted.locator("dialog")).to_be_visible()
    return mounted


def found(places):
    return places.locator(".list li button").filter(visible=True)


def test_a_key_opens_the_overview_and_enter_opens_what_is_found_first(bench, places):
    expect(places.block.get_by_role("searchbox")).to_be_focused()
    bench.page.evaluate(CLICKED)
    bench.page.keyboard.type("warm-up")
    expect(places.locator("section:not(.terms) li").filter(visible=True)).to_have_count(
        1
    )
    bench.page.keyboard.press("Enter")
    expect(places.locator("dialog")).to_be_hidden()
    # and Enter does not press the button that has the focus again
    (opened,) = bench.page.evaluate("clicked")
    assert json.loads(opened) == {"tab": "training", "part": "recorded"}


def test_the_overview_is_walked_by_arrows_and_left_by_escape(bench, places):
    field = places.block.get_by_role("searchbox")
    bench.page.keyboard.type("nothing has this")
    expect(places.block.get_by_text(say("places_none"))).to_be_visible()
    expect(found(places)).to_have_count(0)
    field.fill("LAYER")
    expect(places.block.get_by_text(say("places_none"))).to_be_hidden()
    bench.page.keyboard.press("ArrowDown")
    expect(found(places).first).to_be_focused()
    bench.page.keyboard.press("ArrowDown")
    expect(found(places).nth(1)).to_be_focused()
    bench.page.keyboard.press("ArrowUp")
    bench.page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    bench.page.keyboard.press("Escape")
    expect(places.locator("dialog")).to_be_hidden()


def test_accents_do_not_count_and_terms_are_listed_only_where_one_is_looked_for(bench):
    places = bench.mount("places", language="es")
    places.block.get_by_role("button", name=SPANISH.say("places_open")).click()
    expect(places.locator(".terms li").filter(visible=True)).to_have_count(0)
    bench.page.keyboard.type("ATENCION")
    expect(
        places.locator("section:not(.terms) li").filter(visible=True).first
    ).to_be_visible()
    expect(places.locator(".terms li").filter(visible=True).first).to_be_visible()
    places.block.get_by_role("searchbox").fill("")
    expect(places.locator(".terms li").filter(visible=True)).to_have_count(0)


def test_a_slash_that_is_typed_into_a_field_is_a_slash(bench):
    places = bench.mount("places")
    bench.page.evaluate(FIELD)
    bench.page.keyboard.type("/")
    expect(bench.page.locator("body > input")).to_have_value("/")
    expect(places.locator("dialog")).to_be_hidden()


# The invitation to the first lesson


def test_the_invitation_is_put_away_for_good_and_the_focus_stays_there(bench):
    shown = bench.mount("invitation")
    bench.page.evaluate(QUESTIONS)
    expect(shown.locator("p")).to_be_visible()
    shown.block.get_by_role("button", name=say("doors_dismiss")).click()
    expect(shown.locator("p")).to_be_hidden()
    expect(bench.page.locator(".questions button")).to_be_focused()
    bench.open()
    expect(bench.mount("invitation").locator("p")).to_be_hidden()
