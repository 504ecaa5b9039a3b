"""What the visitors of the tests do, and how they wait for what they should see."""

import json
import re
import time
from pathlib import Path

from playwright.sync_api import TimeoutError, expect

from tests.harness import patience
from xformer.parts import TABS, sheets
from xformer.strings import ENGLISH
from xformer.ui.components import VERSION

# The state of the page, by assets/state.js.
STATE = f"import(new URL('./scripts/{VERSION}/assets/state.js', document.baseURI)).then(module => module.state)"

# Requests that stay open as long as the page does, for which nobody waits.
OPEN = ("/queue/data", "/heartbeat/")

# The main picture of each sheet of a tab, and what tells that it is drawn.
PICTURES = {
    "translate": ".translation .piece",
    "attention": ".view .map-of, .view svg.arcs",
    "decoding": ".step-player .written button",
    "pairs": ".contrasted, .two-rows, .bleu-parts, .lecture-table",
    "sentiment": ".judged .large, .judged .verdict",
    "positions": ".block.pos-result .large",
    "principles": ".first-scores table, .picture[data-drawn] .plot svg, .picture[data-drawn] svg",
    "training": "table.generations, .picture.train-gradients[data-drawn] svg.main-svg",
    "model": ".splits[data-empty=false], .architecture .towers",
}


def named(page, plot):
    """The texts that name the curves of a plot, at their ends or in a legend; and its
    upright axes."""
    return page.locator(f".{plot} :is(.legendtext, .annotation-text)")


def said(key, language=ENGLISH, /, **values):
    """A pattern of the text of a key, in which anything stands for the values that are
    not given."""
    pieces = re.split(r"\{(\w+)[^}]*\}", language.texts[key])
    return re.compile(
        "".join(
            (re.escape(str(values[piece])) if piece in values else ".+")
            if i % 2
            else re.escape(piece)
            for i, piece in enumerate(pieces)
        )
    )


def watch(page):
    """Count what a page fetches from now on: `idle` waits for it too."""
    page.fetching = set()

    def begin(request):
        if not any(part in request.url for part in OPEN):
            page.fetching.add(request)

    def end(request):
        page.fetching.discard(request)

    page.on("request", begin)
    page.on("requestfinished", end)
    page.on("requestfailed", end)


def wait_until_settled(page):
    """Wait until a page, or one in a frame, shows what its address says."""
    # until then a frame may be empty
    page.wait_for_function("document.querySelector('.bar')")
    # a promise would not be waited for below
    page.evaluate(f"{STATE}.then(state => {{ window.pageState = state; }})")
    page.wait_for_function("pageState.settled")


def idle(page):
    """Wait until a page of `visit` shows what its address says, and everything that was
    asked and begun is there.

    It has then no request without an answer, no script that loads, no frame, timer of
    half a second or less, or transition to come; what is not on the page now will not
    come by itself.
    """
    # a page behind another draws nothing, nor does a frame in it
    getattr(page, "page", page).bring_to_front()
    wait_until_settled(page)
    steady(page)
    until = time.monotonic() + patience()
    while page.fetching:  # a part of Gradio that is loaded when it is first seen
        assert time.monotonic() < until, (
            f"the page still fetches {[request.url for request in page.fetching]}"
        )
        steady(page)


def steady(page, held=0):
    """Wait until a page waits for nothing; held: how many requests a test holds back
    itself, or the name of the listener whose requests it holds."""
    try:
        page.wait_for_function("held => isIdle(pageState, held)", arg=held)
    except TimeoutError as error:
        raise AssertionError(
            f"the page is not idle: it waits for {page.evaluate('waitsFor()')}"
        ) from error


def sheet(page, name):
    """The button of a sheet of the open tab."""
    return page.locator(f".sheets label:has(input[value={name}]):visible")


def opener(page, name):
    """What a person clicks to open a tab, or a further sheet of the open one."""
    if TABS[name].of:
        return sheet(page, name)
    return page.locator(f"[role=tab][data-tab-id={name}]")


def open_tab(page, tab):
    """Open a tab, or a sheet of one, by its id, and wait for its main picture."""
    of = TABS[tab].of or tab
    opener(page, of).click()
    if len(sheets()[of]) > 1:
        sheet(page, tab).click()
    page.wait_for_function(
        """selector => [...document.querySelectorAll(selector)].some(
        one => one.checkVisibility() && one.getBoundingClientRect().height > 2)""",
        arg=PICTURES[tab],
    )


def each_part(page):
    """Open every part of every tab, one after the other: ("training", 2), … Parts that
    a reader unfolds stay closed."""
    for tab in TABS:
        open_tab(page, tab)
        choices = page.locator(".tabitem:visible .parts label:visible")
        for number in range(max(1, choices.count())):
            if choices.count():
                choices.nth(number).click()
                expect(choices.nth(number).locator("input")).to_be_checked()
            idle(page)
            yield tab, number + 1


def type_into(field, text):
    """Fill a field as a person can: what is written in the instant in which a field
    appears, gradio forgets."""
    field.click()  # this waits until it has stood still for two frames
    field.fill(text)


def sentence_field(page):
    """The field in the bar that holds the sentence."""
    return page.locator(".bar .field textarea")


def translate(page, text):
    box = sentence_field(page)
    type_into(box, text)
    box.press("Enter")


def open_menu(page, name="Menu"):
    """Open the menu of the bar, where it is closed."""
    button = page.locator(".bar").get_by_role("button", name=name)
    if button.get_attribute("aria-expanded") != "true":
        button.click()
    expect(button).to_have_attribute("aria-expanded", "true")


def expect_spanish(page, text):
    """Wait until the pieces of the translation, whatever they are, spell this text. A
    page that a link has opened elsewhere lays no translation out: wait there until it
    is `idle`."""
    page.wait_for_function(
        """wanted => [...document.querySelectorAll('.translation .piece:not(.end)')]
           .map(piece => piece.firstChild.textContent.trim()).join('') === wanted""",
        arg=text.replace(" ", ""),
    )


def open_attention(page, learned_pairs):
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    page.get_by_role("tab", name=ENGLISH.say("tab_attention")).click()
    # Until the picture is that of this sentence, which its title does not say.
    page.wait_for_function(
        """wanted => [...document.querySelectorAll('.view .line.column .token')]
           .map(token => token.textContent).join('').replace(/[…␣ ]/g, '') === wanted""",
        arg=learned_pairs[0][0].replace(" ", "") + "</s>",
    )
    title = page.locator(".view .title")
    expect(title).to_have_text(
        "Cross-attention (Spanish looks at English) · layer 2 of 2 · head 1 of 4"
    )
    return title


def choose_map(page, layer, head, within=".heads", **how):
    """Click the small map of a head. within: the selector of the grid, where there are
    several."""
    small = page.locator(f"{within} canvas")
    expect(small).to_have_attribute("data-places", re.compile(rf'"{layer}\.{head}"'))
    _, x, y = next(
        place
        for place in json.loads(small.get_attribute("data-places"))
        if place[0] == f"{layer}.{head}"
    )
    small.click(position={"x": x, "y": y}, **how)


def open_view(page, name="View"):
    """Open the menu of how the picture is drawn, where it is not open."""
    if not page.locator(".view-menu [data-testid=accordion-content]").is_visible():
        page.locator(".view-menu").get_by_role("button", name=name).click()
    return page.locator(".view-menu")


def choose_view(page, name):
    """Choose a radio button or a switch of that menu."""
    open_view(page).get_by_text(name, exact=True).click()


def expect_fits(page, width):
    """Wait until the page is no wider than this."""
    page.wait_for_function(
        "width => document.documentElement.scrollWidth <= width", arg=width
    )


def contrasts(page):
    """Measure every visible text against what lies behind it: [{"text", "ratio",
    "place"}], the least contrast first.

    It waits until the page is idle: what is half there has any contrast.
    """
    idle(page)
    return measured_contrasts(page)


def measured_contrasts(page):
    """The same of a page as it is, whatever page that is."""
    _, code = (
        Path(__file__)
        .with_name("contrast.js")
        .read_text(encoding="utf-8")
        .split("export default ")
    )
    return page.evaluate(f"({code})")


def unreadable(page):
    """List the texts of an idle page whose contrast is too low."""
    return [one for one in contrasts(page) if one["ratio"] < 4.5]


def saved(page, click):
    """The content of the file that a click offers, and its name. The button may stand
    in a menu, which is opened."""
    page.evaluate(
        "document.querySelectorAll('details.save-menu').forEach(menu => { menu.open = true; })"
    )
    with page.expect_download() as offered:
        click()
    return Path(offered.value.path()).read_bytes(), offered.value.suggested_filename
