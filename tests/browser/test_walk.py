"""Two walks through all tabs and their parts: what holds everywhere is asked of each
place.

One walk is at a desk, in English and light; one on a phone, in Spanish and dark.
"""

from pathlib import Path
from urllib.parse import quote

import axe_playwright_python
import pytest
from playwright.sync_api import expect

from tests.browser.acts import (
    PICTURES,
    expect_spanish,
    idle,
    open_menu,
    opener,
    unreadable,
)
from xformer.parts import TABS
from xformer.strings import ENGLISH, SPANISH

HERE = Path(__file__).parent
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
REACH = (
    HERE.joinpath("reach.js").read_text(encoding="utf-8").split("export default ")[1]
)

BESIDE = (
    HERE.joinpath("beside.js").read_text(encoding="utf-8").split("export default ")[1]
)
FORM = HERE.joinpath("form.js").read_text(encoding="utf-8").split("export default ")[1]
# over all places
MOST_TYPES = 8
MOST_BUTTONS = 5
MOST_LAYOUTS = 2
# on the first screen of a tab, beside its pictures
MOST_CONTROLS = 12
MOST_WORDS = 150

# Of what is in sight below a selector: a sentence for each rule of axe-core that is
# broken, and serious or critical. Contrasts are measured by `unreadable`.
FINDINGS = """async selector => {
    const [seen] = [...document.querySelectorAll(selector)].filter(one => one.checkVisibility());
    const {violations} = await axe.run(seen, {
        iframes: false, resultTypes: ['violations'], rules: {'color-contrast': {enabled: false}}});
    return violations.filter(({impact}) => ['serious', 'critical'].includes(impact))
        .map(({id, help, nodes}) => `${id} (${help}): ${nodes.slice(0, 3).map(node => node.html.slice(0, 200))}`);
}"""

DEEPEST = 4  # folds in each other

# Opens what a reader may open on a part.
UNFOLD = """() => [...document.querySelectorAll('.tabitem button.label-wrap:not(.open)')]
    .filter(one => one.checkVisibility() && !one.closest('.view-menu')).map(one => one.click())"""

# What of the page shines through a panel that opens over it.
COVERED = """panel => {
    const {left, top, right, bottom} = panel.getBoundingClientRect(), found = new Set();
    for (let x = Math.max(0, left) + 3; x < Math.min(right, innerWidth) - 3; x += 12)
        for (let y = Math.max(0, top) + 3; y < Math.min(bottom, innerHeight) - 3; y += 6) {
            const over = document.elementFromPoint(x, y);
            if (!panel.contains(over)) found.add(`${over.className}: ${over.textContent.trim().slice(0, 40)}`);
        }
    return [...found];
}"""

# Clicks, and tells where things stand on the page as soon as all of them are in sight,
# before any answer is there.
CLICK = """(button, selectors) => new Promise(done => {
    const find = selector => [...document.querySelectorAll(selector)].find(one => one.checkVisibility());
    window.tops = () => selectors.map(one => find(one)?.getBoundingClientRect().top + scrollY);
    const look = () => selectors.every(find) ? done(tops()) : requestAnimationFrame(look);
    button.click();
    look();
})"""

# What is framed or greyed, though nothing is asked for any more.
WAITING = """() => [...document.querySelectorAll('[data-waits]')].filter(one => one.checkVisibility())
    .map(one => `${one.dataset.waits}: ${one.className}`)"""

# What of the open tab moves when each place that says what is wrong says something.
PUSHED = """() => {
    const panel = [...document.querySelectorAll('.tabs > .tabitem')].find(one => one.checkVisibility());
    const seen = [...panel.querySelectorAll('.block:not(.status)')].filter(one => one.checkVisibility());
    const tops = () => seen.map(one => one.getBoundingClientRect().top + scrollY), before = tops();
    const said = [...document.querySelectorAll('.notices .status, .tabs .status')]
        .filter(one => one.parentElement.checkVisibility()).map(one => {
            const notice = Object.assign(document.createElement('div'), {className: 'notice', textContent: 'Said'});
            notice.style.height = '60px';
            one.append(notice);
            return notice;
        });
    const after = tops();
    said.forEach(one => one.remove());
    return seen.filter((_, i) => Math.abs(before[i] - after[i]) > 1).map(one => one.className);
}"""

# Where a picture begins at the latest, in pixels.
FIRST = """selector => Math.min(...[...document.querySelectorAll(selector)]
    .filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().top))"""

FIELD = 40  # pixels that the sentence takes of a tab of the phone
# What begins so many pixels below the top of its tab at most, at the desk and on the
# phone.
HIGH = {
    # below the tabs of a phone: before y 600
    "translate": (".questions li", 100, 470),
    "sentiment": (".judged .verdict", 100, 290),
    "positions": (".block.pos-result [lang=es].large", 100, 200),
    "principles": (".first-scores table", 100, 200),
}
# How high a part is at most as it opens, where that is less than the others may be.
TALLEST = {("principles", 1): (1400, 1600)}
# What ends on the first screen, at the desk and on the phone.
ENDS = {
    "translate": (None, None),
    "sentiment": (".block.effects .review", None),
    "positions": (
        ".block.pos-result [lang=es].large",
        ".block.pos-result [lang=es].large",
    ),
    "principles": (".first-scores tbody", ".first-scores tbody"),
}

# What stands still below what comes when a part opens.
BELOW = {
    ("decoding", 2): [".of-yours > .free", ".of-yours > .form", ".distribution"],
    ("decoding", 3): [".of-layers > :nth-child(5)", ".of-lens"],
    ("pairs", 1): [".three-maps", ".block.about"],
    ("positions", 1): [
        ".experiment .controls",
        ".block.pos-before",
        ".block.pos-after",
    ],
    ("training", 3): [".block.live-pace", ".block.about"],
    ("training", 4): [
        ".block.recorded-runs",
        ".block.recorded-depths",
        ".row:has(.block.recorded-runs) ~ .tables",
    ],
}
MOST = 10  # pixels by which it may move


def unfold(page):
    """Open what a reader may open on a part, and the folds in those."""
    for _ in range(DEEPEST):
        if not page.evaluate(UNFOLD):
            return
        idle(page)
    assert not page.evaluate(UNFOLD), "a fold does not stay open"


class Walk:
    """A walk through the page, and what was found on it by place."""

    def __init__(self, page, width, height):
        self.page = page
        self.width = width
        self.height = height
        self.found = {}
        self.form = {
            "types": {},
            "buttons": {},
            "chosen": {},
            "acts": {},
            "layouts": {},
        }
        page.set_viewport_size({"width": width, "height": height})

    def note(self, place, what, wrong):
        if wrong:
            self.found.setdefault(place, {})[what] = wrong

    def enter(self, button, place):
        """Click what opens a place."""
        below = BELOW.get(place)
        if below is None:
            button.click()
            idle(self.page)
            return
        before = button.evaluate(CLICK, below)
        idle(self.page)
        after = self.page.evaluate("tops()")
        moved = {
            one: (was, now)
            for one, was, now in zip(below, before, after, strict=True)
            if abs(was - now) > MOST
        }
        self.note(place, "moves when answers come", moved)

    def look_at_tab(self, tab, highest, picture):
        """What is asked of a tab as it opens: its name is in one line, and what it is
        for in the first screen."""
        box = opener(self.page, tab).bounding_box()
        self.note(
            tab,
            "its name is out of sight",
            box["x"] < -1 or box["x"] + box["width"] > self.width + 1,
        )
        content = self.page.locator("[role=tabpanel]:visible > *").first.bounding_box()[
            "y"
        ]
        self.note(tab, f"begins below {highest}", content > highest and content)
        begins = self.page.evaluate(FIRST, PICTURES[tab])
        self.note(
            tab, f"its picture begins below {picture}", begins > picture and begins
        )
        self.note(tab, "is scrolled", self.page.evaluate("scrollY"))
        beside = self.page.evaluate(f"({BESIDE.rstrip().rstrip(';')})()")
        has_more = beside["controls"] > MOST_CONTROLS or beside["words"] > MOST_WORDS
        self.note(tab, "has too much beside its picture", has_more and beside)
        if tab in HIGH:
            self.look_at_first_screen(tab, self.width < 640)

    def look_at_first_screen(self, tab, phone):
        """What a tab is for stands on its first screen."""
        top = self.page.get_by_role("tabpanel").bounding_box()["y"]
        field = self.page.locator(".bar > .ask")
        if field.is_visible() and field.bounding_box()["y"] > top:
            top += FIELD
        selector, *most = HIGH[tab]
        begins = self.page.locator(selector).first.bounding_box()["y"] - top
        self.note(
            tab,
            f"{selector} begins below {most[phone]}",
            begins >= most[phone] and begins,
        )
        if ENDS[tab][phone] is not None:
            box = self.page.locator(ENDS[tab][phone]).last.bounding_box()
            below = box["y"] + box["height"] - top
            right = box["x"] + box["width"]
            self.note(
                tab,
                f"{ENDS[tab][phone]} ends below the first screen",
                below >= self.height - 100 and below,
            )
            self.note(
                tab,
                f"{ENDS[tab][phone]} ends beyond the screen",
                right > self.width and right,
            )

    def look_at_panels(self, tab, menu):
        """What opens over a tab hides what lies below it."""
        open_menu(self.page, menu)
        idle(self.page)
        panel = self.page.locator(".bar .menu [data-testid=accordion-content]")
        self.note(tab, "shines through the menu", panel.evaluate(COVERED))
        self.page.keyboard.press("Escape")
        expect(panel).to_be_hidden()
        field = self.page.locator(".bar textarea").first
        if field.is_visible():
            field.press("End")
            field.press("ArrowDown")
            idle(self.page)
            examples = self.page.locator(".bar .examples").evaluate(COVERED)
            self.note(tab, "shines through the examples", examples)
            field.press("Escape")

    def look_at_part(self, place, tallest):
        """What is asked of each part: reached by key, named, no wider or higher than it
        may be, and readable."""
        self.note(
            place,
            "cannot be reached or has no name",
            self.page.evaluate(f"({REACH})()"),
        )
        high = self.page.evaluate("document.body.scrollHeight")
        if place in TALLEST:
            tallest = TALLEST[place][self.width < 640]
        self.note(place, f"is higher than {tallest}", high > tallest and high)
        unfold(self.page)
        self.note(place, "is pushed by what is said", self.page.evaluate(PUSHED))
        self.note(place, "waits at rest", self.page.evaluate(WAITING))
        for kind, found in self.page.evaluate(
            f"({FORM.rstrip().rstrip(';')})()"
        ).items():
            self.form[kind] = found | self.form[kind]
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        self.note(place, f"is wider than {self.width}", wide > self.width and wide)
        self.note(place, "cannot be read", unreadable(self.page))
        self.note(
            place, "is wrong for axe", self.page.evaluate(FINDINGS, ".tabs > .tabitem")
        )

    def look_at_form(self):
        """What all places have together: few styles of text and kinds of button; two
        layouts; what is chosen looks alike everywhere, and other than what acts."""
        types, buttons, chosen, acts, layouts = self.form.values()
        self.note("all", "styles of text", len(types) > MOST_TYPES and types)
        self.note("all", "kinds of button", len(buttons) > MOST_BUTTONS and buttons)
        self.note("all", "layouts", len(layouts) > MOST_LAYOUTS and layouts)
        self.note("all", "looks of what is chosen", len(chosen) != 1 and chosen)
        self.note("all", "looks of what acts", len(acts) != 1 and acts)
        self.note("all", "is chosen and acts", {*chosen} & {*acts})


@pytest.mark.parametrize(
    ("path", "width", "height", "highest", "picture", "tallest"),
    [
        ("/?__theme=light&", 1280, 800, 100, 240, 1400),
        ("/es?__theme=dark&", 375, 812, 130, 380, 2700),
    ],
    ids=["desk", "phone"],
)
def test_nothing_is_wrong_anywhere(
    visit, learned_pairs, path, width, height, highest, picture, tallest
):
    english, spanish = learned_pairs[0]
    page = visit(f"{path}review=A+dull+film&text={quote(english)}", width=width)
    expect_spanish(page, spanish)
    page.add_script_tag(path=AXE)
    walk = Walk(page, width, height)
    say = (SPANISH if path.startswith("/es") else ENGLISH).say
    idle(page)
    for tab in TABS:
        walk.enter(opener(page, tab), (tab, 1))
        walk.look_at_tab(tab, highest, picture)
        walk.look_at_panels(tab, say("menu"))
        idle(page)
        parts = page.locator(".tabitem:visible .parts label:visible")
        walk.look_at_part((tab, 1), tallest)
        for number in range(2, parts.count() + 1):
            walk.enter(parts.nth(number - 1), (tab, number))
            walk.look_at_part((tab, number), tallest)
    open_menu(page, say("menu"))
    idle(page)
    walk.note("the bar", "is wrong for axe", page.evaluate(FINDINGS, ".bar"))
    walk.note(
        "the tabs", "are wrong for axe", page.evaluate(FINDINGS, ".tabs > .tab-wrapper")
    )
    walk.look_at_form()
    assert not walk.found, str(walk.found)
