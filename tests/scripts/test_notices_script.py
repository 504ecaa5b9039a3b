"""Where what is said of the sentence stands: at the foot of the window, so that nothing
moves."""

import pytest

from xformer.strings import ASSETS

# The frame of a page as Gradio lays it out, with a notice that comes and goes; the page
# is higher than the window.
PAGE = """<!doctype html><style>.gradio-container { overflow: hidden; }
.column { display: flex; flex-direction: column; }</style><style>%s</style><body class="%s">
<div class="gradio-container"><div class="main app"><div class="contain">
<div class="column" style="position: relative"><div class="bar" data-tab="%s"></div><div class="column notices"><div
class="block status"><div class="notice warning" role="status" style="height: 90px" hidden>Said</div></div></div>
<div class="tabs" style="height: 2000px">Tabs</div><div class="block about">About</div></div></div></div></div>"""


def test_what_the_frame_says_stands_in_one_place(pages):
    for page in pages.values():
        found = [
            block
            for block in page.demo.blocks.values()
            if "notices" in (block.elem_classes or [])
        ]
        assert (
            len(found) == 1
            and page.status in found[0].children
            and len(found[0].children) == 3
        )


@pytest.mark.parametrize(
    ("width", "tab", "lesson", "above"),
    [
        (1280, "translate", "", 8),
        (1280, "translate", "with-lesson", 8),
        (375, "translate", "", 8),
        (375, "attention", "", 56),
        (375, "translate", "with-lesson", 368),
        (375, "translate", "with-lesson lesson-folded", 56),
    ],
)
def test_a_notice_moves_nothing_and_can_be_read_wherever_one_is(
    bare, width, tab, lesson, above
):
    """Below 640 pixels it stands above the drawer of Attention, whose tabs are 48
    pixels high, and above the sheet of a lesson, of 45 % of the window at most."""
    page = bare(
        PAGE % ((ASSETS / "style.css").read_text(encoding="utf-8"), lesson, tab)
    )
    page.set_viewport_size({"width": width, "height": 800})

    def heights():
        return page.evaluate("""() => Object.fromEntries(['.tabs', '.about', '.notice'].map((name) => {
          const {top, bottom} = document.querySelector(name).getBoundingClientRect();
          return [name.slice(1), [Math.round(top), Math.round(bottom)]];
        }))""")

    before = heights()
    page.evaluate("document.querySelector('.notice').hidden = false")
    after = heights()
    assert (after["tabs"], after["about"]) == (before["tabs"], before["about"])
    assert after["notice"][1] == 800 - above and after["notice"][0] > 600 - above, (
        "at the foot of the window"
    )
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    at_end = heights()
    assert at_end["about"][1] <= at_end["notice"][0], (
        "at the end of the page nothing lies below it"
    )


PART = """<!doctype html><style>.column { display: flex; flex-direction: column; }</style><style>%s</style>
<div class="tabitem"><div class="column"><div class="block status"><div class="notice error" style="height: 60px"
hidden>Wrong</div></div><div class="picture" style="height: 2000px">Picture</div></div></div>"""


def test_what_a_part_says_stands_at_the_foot_of_the_window_and_moves_no_picture(bare):
    page = bare(PART % (ASSETS / "style.css").read_text(encoding="utf-8"))
    page.set_viewport_size({"width": 1280, "height": 800})
    place = (
        "name => Math.round(document.querySelector(name).getBoundingClientRect().{})"
    )
    before = page.evaluate(place.format("top"), ".picture")
    page.evaluate("document.querySelector('.notice').hidden = false")
    assert page.evaluate(place.format("top"), ".picture") == before
    assert page.evaluate(place.format("bottom"), ".notice") == 792
