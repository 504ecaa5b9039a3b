"""The functions that all scripts share, in Chromium, against Python's own."""

import base64
import csv
import html
import io
import json

import numpy as np
import pytest

from tests.browser.acts import saved
from xformer.figures.labels import percent
from xformer.figures.layout import GREY, PALETTES
from xformer.parts.judging.maximum import FRAME
from xformer.parts.positions.draw import LINES
from xformer.parts.principles.draw import MARK
from xformer.results import decimal, fixed
from xformer.strings import ASSETS, ENGLISH, SPANISH

PLACES = [-0.5, 0, 0.001, 0.1, 1 / 3, 0.5, 0.77, 0.999, 1, 2]


@pytest.fixture(scope="module")
def page(chromium):
    """An empty page with the functions of assets/shared.js as `shared`."""
    page = chromium.new_page()
    page.evaluate(
        """async code => {
        window.shared = await import(URL.createObjectURL(new Blob([code], {type: 'text/javascript'})));
    }""",
        (ASSETS / "shared.js").read_text(encoding="utf-8"),
    )
    yield page
    page.close()


def encoded(array):
    return base64.b64encode(array.tobytes()).decode("ascii")


def mixed(name, places, theme=""):
    """Red, green, blue and opacity of a palette at some places, by numpy. In the dark
    theme, one of a single hue goes on to a bright one."""
    stops = np.array(PALETTES[name])
    if theme and len(stops) == 2:
        stops = np.vstack(
            [stops, [*np.floor(stops[1, :3] + 0.7 * (255 - stops[1, :3]) + 0.5), 1]]
        )
    return np.stack(
        [np.interp(places, np.linspace(0, 1, len(stops)), part) for part in stops.T],
        axis=-1,
    )


def test_bytes_and_float32_are_decoded(page):
    levels = np.arange(256, dtype=np.uint8)
    assert (
        page.evaluate("text => [...shared.bytes(text)]", encoded(levels))
        == levels.tolist()
    )
    numbers = np.array([0, 1, -1, 0.1, 1e-30, 3.4e38, 1 / 512], dtype="<f4")
    assert (
        page.evaluate("text => [...shared.floats(text)]", encoded(numbers))
        == numbers.tolist()
    )
    assert page.evaluate("shared.bytes('').length") == 0


@pytest.mark.parametrize("name", PALETTES)
def test_colours_lie_on_straight_lines_between_stops(page, name):
    said = page.evaluate(
        "([stops, places]) => places.map(p => shared.colour(stops, p))",
        [PALETTES[name], PLACES],
    )
    for colour, (*parts, opacity) in zip(said, mixed(name, PLACES), strict=True):
        found = [
            float(part)
            for part in colour.removeprefix("rgba(").removesuffix(")").split(",")
        ]
        assert found[:3] == [np.floor(part + 0.5) for part in parts]
        assert found[3] == pytest.approx(opacity, abs=5.1e-4)


@pytest.mark.parametrize("name", PALETTES)
def test_a_map_is_painted_a_pixel_a_cell(page, name):
    levels = np.arange(256, dtype=np.uint8).reshape(8, 32)
    painted = page.evaluate(
        """([stops, text]) => {
        const canvas = Object.assign(document.createElement('canvas'), {width: 32, height: 8});
        shared.paintMap(canvas, shared.bytes(text), shared.colourTable(stops));
        return [...canvas.getContext('2d').getImageData(0, 0, 32, 8).data];
    }""",
        [PALETTES[name], encoded(levels)],
    )
    found = np.array(painted, dtype=float).reshape(256, 4)
    *parts, opacity = mixed(name, np.arange(256) / 255).T
    np.testing.assert_allclose(found[:, 3], 255 * opacity, atol=0.51)
    # a canvas forgets the colour of what is not seen, and rounds where little is seen
    shown = found[:, 3] > 0
    room = 1 + 128 / np.maximum(found[:, 3:], 1)
    assert (np.abs(found[:, :3] - np.stack(parts, axis=-1)) <= room)[shown].all()


def test_markup_is_text_between_tags_and_in_attributes(page):
    said = """<b onclick='x("&amp;")'>` & </b> ñ ▁"""
    escaped = page.evaluate("text => shared.escapeHtml(text)", said)
    assert html.unescape(escaped) == said and not set(escaped) & set("<>\"'")
    assert page.evaluate(
        """text => {
        const box = document.createElement('div');
        box.innerHTML = `<i title="${text}" lang='${text}'>${text}</i>`;
        const {title, lang, textContent, children} = box.firstChild;
        return [title, lang, textContent, children.length];
    }""",
        escaped,
    ) == [said, said, said, 0]
    label = page.evaluate("shared.label('<i>', 1, 2.5, 'fill=\"red\"')")
    assert label == '<text x="1" y="2.5" fill="red">&#60;i&#62;</text>'


def test_a_probability_is_written_as_everywhere(page):
    chances = [
        0, 0.0004, 0.00099, 0.001, 0.0123, 0.5, 0.9994, 0.9995, 0.9997, 0.99994,
        0.99996, 0.9999994, 1,
    ]  # fmt: skip
    assert page.evaluate("chances => chances.map(shared.percent)", chances) == [
        percent(p) for p in chances
    ]


def test_a_template_is_filled_once(page):
    filled = page.evaluate(
        "([template, values]) => shared.fill(template, values)",
        ["{a} looks at {b}, {a}", {"a": "{b}", "b": "$&"}],
    )
    assert filled == "{b} looks at $&, {b}"


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize("theme", ["", "dark"])
def test_text_on_every_colour_of_a_palette_can_be_read(page, name, theme):
    """Contrast by WCAG 2.1, of what is said to be the ink on what a palette makes of
    the page's own colour."""
    places = np.linspace(0, 1, 101)
    inks = page.evaluate(
        """([stops, places, theme]) => {
        document.body.className = theme;
        return places.map(p => shared.inkOn(stops, p));
    }""",
        [PALETTES[name], places.tolist(), theme],
    )
    *parts, opacity = mixed(name, places, theme).T
    paper = (11, 15, 25) if theme else (255, 255, 255)
    seen = (
        np.stack(
            [
                part * opacity + below * (1 - opacity)
                for part, below in zip(parts, paper, strict=True)
            ]
        )
        / 255
    )
    linear = np.where(seen <= 0.04045, seen / 12.92, ((seen + 0.055) / 1.055) ** 2.4)
    light = np.array([0.2126, 0.7152, 0.0722]) @ linear
    contrast = np.where(
        np.array(inks) == "#000", (light + 0.05) / 0.05, 1.05 / (light + 0.05)
    )
    assert set(inks) <= {"#000", "#fff"} and contrast.min() >= 4.5
    if theme:  # 0 is dark and 1 is bright
        assert light[0] < 0.06 and light[-1] > 0.5 and (np.diff(light) > 0).all()


@pytest.mark.parametrize("theme", ["", "dark"])
@pytest.mark.parametrize("hue", [MARK, FRAME, *LINES])
def test_every_curve_is_seen_on_the_page(page, hue, theme):
    """Contrast by WCAG 2.1: 3 at least, and 4.5 on the dark page; grey is for what only
    lies behind."""
    shown = page.evaluate(
        "([hue, theme]) => { document.body.className = theme; return shared.onPage(hue); }",
        [hue, theme],
    )
    parts = np.array([int(shown[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    light = np.where(
        parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4
    ) @ [0.2126, 0.7152, 0.0722]
    if theme:
        assert (light + 0.05) / (0.0048 + 0.05) >= 4.5
    elif hue != GREY:
        assert 1.05 / (light + 0.05) >= 3


# What xformer/parts/steps/readings.js saves of a table

PIECES = [".", "...", "1.2.3", "-", "-1.50", "−2.50", "7", "El"]
READINGS = f"""<div class="about"><span data-name="small" data-identity="x"></span></div>
<div id="part"><button data-save="csv">Save</button><button data-save="json">JSON</button>
<div class="table" data-title="readings"><table>
<tr><th>step</th>{"".join(f"<th>{i}</th>" for i in range(len(PIECES)))}</tr>
<tr><th>wanted</th>{"".join(f"<td>{piece}</td>" for piece in PIECES)}</tr></table></div></div>
<script type="module">
import start from '/readings.js';
start({{element: document.getElementById('part'), trigger: () => {{}}}});
document.body.dataset.ready = true;
</script>"""


@pytest.fixture
def readings(bare):
    page = bare(READINGS)
    page.locator("body[data-ready]").wait_for()
    return page


def test_a_full_stop_is_saved_as_it_is_and_numbers_as_numbers(readings):
    rows = [
        *csv.reader(
            io.StringIO(
                saved(readings, readings.get_by_role("button", name="Save").click)[
                    0
                ].decode()
            )
        )
    ]
    assert rows[1] == ["wanted", ".", "...", "1.2.3", "'-", "-1.5", "-2.5", "7", "El"]


def test_what_lets_anybody_into_a_private_space_is_not_saved(readings):
    readings.evaluate(
        "history.replaceState(null, '', '/?text=a+b&__sign=secret&__theme=dark#end')"
    )
    content, _ = saved(readings, readings.get_by_role("button", name="JSON").click)
    assert (
        json.loads(content)["address"]
        == "http://scripts.test/?text=a+b&__theme=dark#end"
    )


def test_words_that_are_locked_stay_when_what_was_told_before_comes_back_late(readings):
    assert readings.evaluate("""async () => {
        const [{lockText, setLock}, {lockWords, lockedWords}] = await Promise.all([import('./lock.js'),
                                                                                   import('./page.js')]);
        const after = [];
        const note = text => { lockWords(text); after.push(lockText()); };
        setLock('es1');     // a click
        note(lockedWords());
        setLock('');        // Escape
        const told = lockedWords();
        setLock('es2');     // and another click, before the lock that was let go comes back
        note(told);
        note(lockedWords());
        ['es3', '', 'es2'].forEach(note);  // addresses
        return after;
    }""") == ["es1", "es2", "es2", "es3", "", "es2"]


def test_a_component_is_found_wherever_it_stands_in_a_tree_that_changes(page):
    """Against a search through the whole tree, as Gradio's own."""
    assert page.evaluate(
        """async code => {
        const {lookUp, eventsOf} = await import(URL.createObjectURL(new Blob([code], {type: 'text/javascript'})));
        const search = (one, id) => one.id === id ? one :
            (one.children ?? []).reduce((found, child) => found ?? search(child, id), null);
        let seed = 1;
        const random = most => (seed = seed * 48271 % 2147483647) % most;
        const all = one => [one, ...(one.children ?? []).flatMap(all)];
        const root = {id: 0, children: []};
        let wrong = 0;
        for (let id = 1; id <= 300; id++) {
            const places = all(root), parent = places[random(places.length)];
            (parent.children ??= []).splice(random(parent.children.length + 1), 0, {id});  // those after it move
            if (id % 7 === 0) places[random(places.length)].children?.splice(0, 1);        // and a branch is gone
            for (let i = 0; i < 20; i++) {
                const wanted = random(id + 5);
                if (lookUp(root, wanted) !== search(root, wanted)) wrong++;
            }
        }
        const dependencies = [{targets: [[3, 'click'], [4, 'change'], [3, 'input']]},
                              {targets: [[3, 'blur'], [5, null]]}];
        return [wrong, eventsOf(3, dependencies), eventsOf(5, dependencies), eventsOf(9, dependencies),
                eventsOf(3, dependencies.slice(1))];
    }""",
        (ASSETS / "gradio_tree.js").read_text(encoding="utf-8"),
    ) == [0, ["click", "blur"], [], [], ["blur"]]


def test_the_page_is_shown_when_the_sheet_of_its_address_is_open(bench):
    bench.open()
    shown = bench.page.evaluate("""() => {
        const opening = Object.assign(document.createElement('div'), {className: 'opening'});
        opening.dataset.sheet = 'two';
        document.body.append(opening);
        pageState.settled = false;
        const isShown = () => !document.querySelector('.opening'), found = [];
        for (const sheet of ['one', 'two']) {
            ofPage.tabOpened([], {one: 'one', two: 'one'}, sheet);
            found.push(isShown());
        }
        pageState.settled = true;
        tell('settled');
        return found;
    }""")
    assert shown == [False, True]


def test_numbers_are_written_as_python_writes_them(page):
    numbers = [
        0,
        1e-5,
        9.99999e-6,
        1.9e-7,
        -2e-12,
        3e-4,
        0.999999,
        6.2126,
        21,
        134,
        1.34e6,
    ]
    for digits in (2, 3, 6):
        written = page.evaluate(
            "([numbers, digits]) => numbers.map(one => shared.decimal(one, digits))",
            [numbers, digits],
        )
        assert written == [decimal(one, digits) for one in numbers]
        written = page.evaluate(
            "([numbers, digits]) => numbers.map(one => shared.fixed(one, digits))",
            [PLACES, digits],
        )
        assert written == [fixed(one, f".{digits}f") for one in PLACES]
    assert fixed(-0.5, ".1f") == decimal(-0.5) == "−0.5"


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
def test_thousands_are_written_as_the_page_writes_them(page, language):
    numbers = [0, 999, 1000, 22000, 1234567]
    assert page.evaluate(
        """([code, numbers]) => {
        document.documentElement.lang = code;
        return numbers.map(shared.grouped);
    }""",
        [language.code, numbers],
    ) == [language.number(one) for one in numbers]
