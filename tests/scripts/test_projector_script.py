"""One picture alone in the window: assets/projector.js around pictures of several
tabs."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import steady
from tests.pages import shown
from xformer.strings import ENGLISH
from xformer.ui import lessons
from xformer.ui.places import note

say = ENGLISH.say
TEXT = "The cat sleeps."
PROJECTED = ".block.projected"
# By the class of a picture, the key of its question.
QUESTIONS = {
    "step-player": "steps",
    "whole-pass": "whole",
    "heads": "attention",
    "first-scores": "principles",
}


@pytest.fixture(scope="module")
def drawn(models, made):
    """What the tabs draw of a sentence, by the class of the picture."""
    translation, trace = models.default.translate_and_trace(TEXT)

    def of(tab, **values):
        closed = dict.fromkeys(made.pictures[tab].flags, False)
        return shown(
            made.pictures[tab],
            models.default,
            trace=trace,
            translation=translation,
            **closed,
            **values,
        )

    return {
        "step-player": of("decoding", decode="steps")["player"],
        "whole-pass": of("whole")["picture"],
        "heads": of("attention")["grid"],
        "first-scores": of("principles")["scores"],
    }


@pytest.fixture
def project(bench, drawn):
    """`project(name)` mounts a picture below its question, and chooses the entry of its
    menu."""

    def choose(name):
        bench.mount("lessons", lessons.value("", ENGLISH))
        # the column of the whole pass
        bench.page.evaluate("document.getElementById('bench').classList.add('whole')")
        bench.mount("asked", note(ENGLISH, f"asks_{QUESTIONS[name]}", "asks"))
        picture = bench.mount(name, drawn[name])
        picture.locator(".save-menu summary").first.click()
        picture.block.get_by_role("button", name=say("projector")).click()
        steady(bench.page)
        return picture

    return choose


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_picture_is_alone_with_what_to_say_and_is_left_by_escape(
    bench, project, name
):
    picture = project(name)
    page = bench.page
    assert [one.bounding_box() for one in page.locator(PROJECTED).all()] == [
        {"x": 0, "y": 0, "width": 1280, "height": 900}
    ]
    expect(page.locator(f"{PROJECTED}.{name}")).to_be_visible()
    expect(page.locator(".to-say b")).to_have_text(say(f"asks_{QUESTIONS[name]}"))
    assert picture.block.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    assert page.evaluate(
        "[...document.querySelectorAll('.bar, .asked')].every(one => one.closest('[inert]'))"
    )
    page.keyboard.press("Escape")
    expect(page.locator(PROJECTED)).to_have_count(0)
    expect(picture.locator(".save-menu summary").first).to_be_focused()
    expect(page.locator("[inert]")).to_have_count(0)


def test_the_tab_key_stays_in_the_view(bench, project):
    project("step-player")
    expect(
        bench.page.get_by_role("button", name=say("projector_leave"))
    ).to_be_focused()
    places = set()
    for _ in range(25):
        bench.page.keyboard.press("Tab")
        places.add(
            bench.page.evaluate("""() => {
            const one = document.activeElement;
            return one === document.body || Boolean(one.closest('.projected, .to-say'));
        }""")
        )
    assert places == {True}


def test_the_picture_plays_by_arrow_keys_where_no_lesson_is_open(bench, project):
    picture = project("step-player")
    now = picture.locator(".written .now")
    first = now.text_content()
    bench.page.keyboard.press("ArrowRight")
    expect(now).not_to_have_text(first)
    bench.page.keyboard.press("PageUp")
    expect(now).to_have_text(first)


def test_what_to_say_is_fitted_to_another_window(bench, project):
    picture = project("heads")
    bench.resize(800, 600)
    box = picture.block.bounding_box()
    assert (box["width"], box["height"]) == (800, 600)
    assert picture.block.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    expect(bench.page.locator(".to-say")).to_be_in_viewport(ratio=1)


@pytest.fixture
def telling(bench, drawn):
    """`telling(at)` projects a picture while the panel shows a slide; -> the panel."""

    def project(at):
        lesson = bench.mount("lessons", lessons.value(at, ENGLISH))
        picture = bench.mount("first-scores", drawn["first-scores"])
        picture.locator(".save-menu summary").first.click()
        picture.block.get_by_role("button", name=say("projector")).click()
        steady(bench.page)
        return lesson

    return project


def test_a_slide_is_told_beside_its_picture_and_one_key_goes_on(bench, telling):
    lesson = telling("canziani.12")
    page = bench.page
    panel = page.locator(".to-say.telling aside.lesson")
    picture, said = (
        page.locator(one).bounding_box()
        for one in (f"{PROJECTED} .html-container", ".to-say")
    )
    assert said["height"] == 900 and picture["x"] + picture["width"] <= said["x"] + 1
    expect(panel.locator("blockquote")).to_be_visible()
    expect(panel.locator(".top")).to_be_hidden()
    page.keyboard.press("PageDown")
    assert lesson.told[-1] == ("go", {"to": "canziani.13"})
    lesson.show(lessons.value("canziani.13", ENGLISH))
    expect(panel.locator(".sub").first).to_contain_text(
        say("slide_number", number=13, count=18)
    )
    page.keyboard.press("ArrowLeft")
    assert lesson.told[-1] == ("go", {"to": "canziani.12"})
    page.keyboard.press("Escape")
    expect(page.locator(PROJECTED)).to_have_count(0)
    expect(page.locator(".lessons aside.lesson .slide")).to_be_visible()


def test_a_slide_that_the_page_does_not_show_is_told_alone(bench, telling):
    lesson = telling("annotated.12")
    page = bench.page
    page.keyboard.press("ArrowRight")
    lesson.show(lessons.value("annotated.13", ENGLISH))
    steady(page)
    box = page.locator(".to-say").bounding_box()
    assert (box["width"], box["height"]) == (1280, 900)
    expect(page.locator(".to-say .slide .text")).to_be_visible()
