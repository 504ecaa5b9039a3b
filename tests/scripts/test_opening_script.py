"""What a page shows at its first paint, before Gradio has laid it out: the frames of
the part that its address names."""

import json

import pytest

from xformer.strings import ASSETS

LAYING = """<div class="frames" data-address="part=a"><div class="frame-map"></div></div>
<div class="frames" data-address="part=b" hidden><div class="frame-rows"></div></div>"""
CONFIG = {
    "title": "Name",
    "tabs": {"two": "", "more": ""},
    "tabs_of": 1,
    "components": [
        {"id": 1, "props": {}},
        {"id": 2, "props": {"elem_id": "laying-one", "value": "<i>One</i>"}},
        {"id": 3, "props": {"elem_id": "laying-two", "value": LAYING}},
        {"id": 4, "props": {"elem_id": "laying-more", "value": "<i>More</i>"}},
        {"id": 5, "props": {"elem_classes": ["sheet"], "visible": True}},
        {"id": 6, "props": {"elem_classes": ["sheet", "later-more"], "visible": False}},
    ],
}
FORMER = [
    ["tab", "more", {"tab": "one", "one_part": "more"}],
    ["part", "c", {"part": "b", "#": "held"}],
]
PAGE = f"""<div class="opening" data-former='{json.dumps(FORMER)}' data-own="two" data-sheets="one">
</div>
<script>window.gradio_config = {json.dumps(CONFIG)};
history.replaceState(null, '', '/QUERY');
{(ASSETS / "opening.js").read_text("utf-8")}</script>
<style>{(ASSETS / "style.css").read_text("utf-8")}</style>"""
SELECTED = "gradio_config.components[0].props.selected"
SEEN = "gradio_config.components.slice(4).map(one => one.props.visible)"


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("?tab=two", "map"),
        ("?part=b&tab=two&x=1", "rows"),
        ("?part=c&tab=two", "rows"),
        ("?part=c&tab=two#own", "rows"),
    ],
)
def test_the_frames_of_the_part_in_the_address_stand_at_once(bare, query, form):
    page = bare(PAGE.replace("QUERY", query))
    # of an address of before the place that it named, but for one of its own
    named = ("#held" if "part=c" in query else "") if "#" not in query else "#own"
    assert page.evaluate("location.hash") == named
    assert page.locator(".opening").inner_text().startswith("Name")
    assert page.locator(".opening .frames").count() == 2
    assert page.locator(f".opening .frames:not([hidden]) .frame-{form}").count() == 1
    assert page.evaluate(SELECTED) == "two"  # as Gradio will lay it out
    assert page.locator(".opening .frames:visible").count() == 1
    # the tab has a field of its own, and no other sheets
    assert page.locator(".opening > :is(i, p)").count() == 0
    laid = page.evaluate("gradio_config.components[2].props.value")
    assert page.locator(".opening .laying").inner_html() == laid


@pytest.mark.parametrize("query", ["", "?tab=other"])
def test_the_first_tab_stands_where_the_address_names_none(bare, query):
    page = bare(PAGE.replace("QUERY", query))
    assert page.locator(".opening .laying").inner_text() == "One"
    assert page.evaluate(SELECTED) == "one"
    assert page.evaluate(SEEN) == [True, False]
    assert page.locator(".opening > :is(i, p)").count() == 2


@pytest.mark.parametrize("query", ["?tab=one&one_part=more", "?tab=more"])
def test_a_sheet_of_the_first_tab_stands_alone_by_its_address_of_now_or_before(
    bare, query
):
    page = bare(PAGE.replace("QUERY", query))
    assert page.locator(".opening .laying").inner_text() == "More"
    assert page.locator(".opening").get_attribute("data-sheet") == "more"
    assert page.evaluate(SELECTED) == "one"
    assert page.evaluate(SEEN) == [False, True]
