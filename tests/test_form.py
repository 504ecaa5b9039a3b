"""One language of form: the scale of assets/scale.css, and numbers as people write
them."""

import math
import re

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


def files(paths):
    return [pytest.param(path, id=path.name) for path in paths]


def test_the_scale_has_four_sizes_that_scripts_and_figures_have_too():
    shared = (ASSETS / "shared.js").read_text(encoding="utf-8")
    (written,) = re.findall(r"export const SIZES = \{(.*)\};", shared)
    assert SIZES == {"small": 12, "body": 14, "reading": 16, "large": 24}
    assert {
        name: float(size) for name, size in re.findall(r"(\w+): (\d+)", written)
    } == SIZES
    assert SIZES["small"] == FONT


@pytest.mark.parametrize("path", files(STYLES))
def test_no_stylesheet_has_a_size_or_a_weight_of_its_own(path):
    text = path.read_text(encoding="utf-8")
    named = rf"var\(--(?:{'|'.join(SIZES)})\)"
    sizes = re.findall(r"font-size: ?([^;}]+)", text)
    weights = re.findall(r"font-weight: ?([^;}]+)", text)
    whole = re.findall(r"[ {]font: ?([^;}]+)", text)
    important = "(?: !important)?"
    assert not [
        one
        for one in sizes
        if not re.fullmatch(f"(?:{named}|0){important}", one.strip())
    ]
    assert not [
        one
        for one in weights
        if not re.fullmatch(rf"(?:400|inherit|var\(--bold\)){important}", one.strip())
    ]
    assert not [
        one
        for one in whole
        if not re.fullmatch(
            rf"(?:inherit|{named}(?:/[\d.]+)? var\(--font(?:-mono)?\)){important}",
            one.strip(),
        )
    ]


@pytest.mark.parametrize("path", files([*SCRIPTS, *MODULES, *TEMPLATES]))
def test_nothing_is_drawn_in_a_size_of_its_own(path):
    text = path.read_text(encoding="utf-8")
    assert not [found for one in OWN_SIZE for found in re.findall(one, text)]


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
    assert any(re.search(one, written) for one in OWN_SIZE)


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (1e-5, 3, "0.00001"),
        (0.0003, 2, "0.0003"),
        (1.9e-7, 2, "1.9 · 10⁻⁷"),
        (-2e-12, 3, "-2 · 10⁻¹²"),
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


@pytest.mark.parametrize("path", files([*MODULES, *TEMPLATES]))
def test_nothing_is_written_with_an_e(path):
    """A format that writes 0.00001 as 1e-05; `decimal` does not. Addresses, colours and
    the values of cells are read by machines."""
    text = path.read_text(encoding="utf-8")
    machine = re.compile(
        r"rgba|data-|:\.12g|\{one\.peak:g\}|\{a:g\},|name=\"answer\"|step=|middle"
    )
    found = [
        line.strip()
        for line in text.splitlines()
        if re.search(
            r":[+,]*(?:\.\d+)?[ge]\}|\| f\(\"[^\"]*[ge]\"\)|[\"( ]%\.?\d*g\b", line
        )
        and not machine.search(line)
    ]
    assert not found
