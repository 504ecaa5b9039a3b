"""One language of form: the scale of assets/scale.css, and numbers as people write
them."""

import math
import re
from pathlib import Path

import pytest

from xformer.figures.layout import FONT
from xformer.results import decimal
from xformer.strings import ASSETS, PACKAGE, of_parts

SCALE = (ASSETS / "scale.css").read_text(encoding="utf-8")
# in pixels, by the names of the scale
SIZES = {
    name: 16 * float(size)
    for name, size in re.findall(r"--(\w+): ([\d.]+)rem;", SCALE.partition("@")[0])
}
STYLES = [ASSETS / "style.css", *of_parts("*.css")]
SCRIPTS = [*ASSETS.glob("*.js"), *of_parts("*.js")]
MODULES = [
    path
    for folder in ("figures", "parts", "ui")
    for path in (PACKAGE / folder).rglob("*.py")
    if not path.name.startswith("test_")
]
# classes of boxes that hold whole parts, or stand everywhere
BOXES = {
    *("block", "column", "row", "folds", "picture", "framed", "summary", "tables"),
    *("tabitem", "sheet", "html-container", "prose", "drawer", "gr-accordion"),
}
PAPER = "share.html"  # a sheet that is printed, and a page of its own
TEMPLATES = [
    path
    for path in (*(ASSETS / "html").glob("*.html"), *of_parts("*.html"))
    if path.name != PAPER
]
OWN_SIZE = [
    r"font(?:-s|S)ize\s*[=:]\s*[\"'`]?\s*(?!0\b)[\d.]",  # of an element, or in its style
    r"\bfont\s*[=:]\s*[\"'`](?:\d+ )?[\d.]+px",  # of a canvas
    r"[\"'`](?:\d+ )?[\d.]+px \$\{FONT\}",  # of what is measured
    r"font[\"']?: \{[\"']?size[\"']?: [\d.]",  # of a plot
]


def found_in(paths, faults):
    """By a file's name, what `faults` finds in its text."""
    each = {path.name: faults(path.read_text(encoding="utf-8")) for path in paths}
    return {name: found for name, found in each.items() if found}


def test_the_scale_has_four_sizes_that_scripts_and_figures_have_too():
    shared = (ASSETS / "shared.js").read_text(encoding="utf-8")
    (written,) = re.findall(r"export const SIZES = \{(.*)\};", shared)
    assert SIZES == {"small": 12, "body": 14, "reading": 16, "large": 24}
    assert {
        name: float(size) for name, size in re.findall(r"(\w+): (\d+)", written)
    } == SIZES
    assert SIZES["small"] == FONT


def own_styles(text):
    """The sizes and weights of a stylesheet that are not of the scale."""
    named = rf"var\(--(?:{'|'.join(SIZES)})\)"
    allowed = {
        r"font-size: ?([^;}]+)": rf"{named}|0",
        r"font-weight: ?([^;}]+)": r"400|inherit|var\(--bold\)",
        r"[ {]font: ?([^;}]+)": (
            rf"inherit|{named}(?:/[\d.]+)? var\(--font(?:-mono)?\)"
        ),
    }
    return [
        one
        for written, known in allowed.items()
        for one in re.findall(written, text)
        if not re.fullmatch(f"(?:{known})(?: !important)?", one.strip())
    ]


def test_no_stylesheet_has_a_size_or_a_weight_of_its_own():
    assert found_in(STYLES, own_styles) == {}
    for own in ("font-size: 13px;", "font-weight: 650;", "a { font: 1rem serif; }"):
        assert own_styles(own), own


def asked_of_boxes(text):
    """What `:has()` is asked of, where it has no class of its own."""
    found = []
    for before in re.split(r":has\(", re.sub(r"/\*.*?\*/", "", text, flags=re.S))[:-1]:
        inside = before.removesuffix(":not(")
        (compound,) = re.findall(r"(?::\w+\([^()]*\)|[^\s>~+,{}()])*$", inside)[:1]
        if not {*re.findall(r"\.([\w-]+)", compound)} - BOXES:
            found.append(compound)
    return found


def test_no_box_is_styled_by_what_it_holds():
    # A browser asks again with each change inside it, and may style anew all it holds.
    assert found_in(STYLES, asked_of_boxes) == {}
    assert asked_of_boxes(
        ".column:has(> .one) td { } label:has(a) { } .a > .folds.column:not(:has(b)) { }"
    ) == [".column", "label", ".folds.column"]
    assert not asked_of_boxes(".block.own:not(:has(td)) { } :is(.a, .b):has(c) { }")


def own_sizes(text):
    return [found for one in OWN_SIZE for found in re.findall(one, text)]


def test_nothing_is_drawn_in_a_size_of_its_own():
    assert found_in([*SCRIPTS, *MODULES, *TEMPLATES], own_sizes) == {}


@pytest.mark.parametrize(
    "written",
    [
        'font-size="13"',
        "style.fontSize = '13px'",
        "font-size: 13px",
        "context.font = '12px system-ui'",
        "brokenLines(text, wide, `600 16px ${FONT}`)",
        "font: {size: 13}",
        '"font": {"size": 13}',
        '"tickfont": {"size": 11}',
    ],
)
def test_a_size_of_its_own_is_found(written):
    assert own_sizes(written)


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (1e-5, 3, "0.00001"),
        (0.0003, 2, "0.0003"),
        (1.9e-7, 2, "1.9 · 10⁻⁷"),
        (-2e-12, 3, "−2 · 10⁻¹²"),
        (134, 2, "130"),
        (1.34e6, 3, "1340000"),
        (21.0, 3, "21"),
        (0.0, 3, "0"),
        (0.999999, 3, "1"),
        (6.2126, 3, "6.21"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, digits, written):
    assert decimal(value, digits) == written


def test_what_is_no_number_is_said():
    assert decimal(math.inf) == "∞" and decimal(math.nan) == "nan"


# Addresses, colours and the values of cells are read by machines.
MACHINE = re.compile(
    r"rgba|data-|:\.12g|\{one\.peak:g\}|\{a:g\},|name=\"answer\"|step=|middle"
)
WITH_AN_E = re.compile(
    r":[+,]*(?:\.\d+)?[ge]\}|\| f\(\"[^\"]*[ge]\"\)|[\"( ]%\.?\d*g\b"
)


def with_an_e(text):
    """The lines with a format that writes 0.00001 as 1e-05; `decimal` does not."""
    return [
        line.strip()
        for line in text.splitlines()
        if WITH_AN_E.search(line) and not MACHINE.search(line)
    ]


def test_nothing_is_written_with_an_e():
    assert found_in([*MODULES, *TEMPLATES], with_an_e) == {}
    for written in ('f"{rate:.3g}"', '{{ rate | f(".2e") }}', '"%.3g" % rate'):
        assert with_an_e(written), written


# Signs, and a hyphen that is replaced; a form for Plotly begins with %.
OWN_MINUS = re.compile(
    r"(?<!%)\{[^{}%]*:\+,?\.\d|replace\(\W-\W+(?:−|\\u2212|\\N\{MINUS)"
)


def own_minus(text):
    """The lines that write a signed number in a way of their own, not by `fixed`."""
    return [line.strip() for line in text.splitlines() if OWN_MINUS.search(line)]


def test_a_minus_is_written_in_one_place():
    scripts = [path for path in SCRIPTS if path.name != "shared.js"]
    assert found_in([*MODULES, *TEMPLATES, *scripts], own_minus) == {}
    for written in ('f"{gain:+.2f}"', "log.replace('-', '\\u2212')"):
        assert own_minus(written), written


# Signs for "leads to" beside →; two characters in code mean other things.
SIGNS = re.compile("[↖-↙↦⇒⇨⟶⟹➔➙➜➝➞➡⮕›▸►⇢]")
IN_TEXT = re.compile(rf"[-=]>|{SIGNS.pattern}")


def other_arrows(path, text):
    """The lines of a file that say "leads to" by another sign than →."""
    sign = IN_TEXT if path.suffix == ".json" else SIGNS
    return [line.strip() for line in text.splitlines() if sign.search(line)]


def test_what_leads_to_something_is_written_by_one_arrow():
    lessons = [*ASSETS.glob("*.json"), *ASSETS.rglob("lessons/*.json")]
    texts = [*ASSETS.rglob("strings/*.json"), *of_parts("*.json"), *lessons]
    written = [*texts, *STYLES, *SCRIPTS, *MODULES, *TEMPLATES]
    faults = {
        path.name: found
        for path in written
        if (found := other_arrows(path, path.read_text(encoding="utf-8")))
    }
    assert faults == {}
    for name, text in (("en.json", "a -> b"), ("b.js", "a ⇒ b"), ("c.css", "'↗'")):
        assert other_arrows(Path(name), text), text


def own_groups(text):
    """Where thousands are written in a way of their own: by `grouped` in a script, by
    `Language.number` or a text's value elsewhere, each language has its separator."""
    return re.findall(r"toLocaleString|[{\"(][^{}\"\n]{0,20}:,(?:\.\d+)?f?\}", text)


def test_thousands_are_written_in_one_place():
    scripts = [path for path in SCRIPTS if path.name != "shared.js"]
    shown = [path for path in MODULES if path.parent.name != "server"]
    assert found_in([*shown, *TEMPLATES, *scripts], own_groups) == {}
    for written in ('f"{count:,}"', 'f"{gain:,.0f}"', "count.toLocaleString('en')"):
        assert own_groups(written), written
