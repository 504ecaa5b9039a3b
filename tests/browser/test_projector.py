"""A lecture in Chromium: the projector view of the Attention tab, and of the steps of a
lesson."""

import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.acts import idle
from xformer.strings import ENGLISH

say = ENGLISH.say
PROJECTED = ".block.projected"


def expect_alone(page, picture, width=1280, height=900):
    """This picture is as large as the window."""
    expect(page.locator(f"{PROJECTED}.{picture}")).to_be_visible()
    idle(page)
    assert [one.bounding_box() for one in page.locator(PROJECTED).all()] == [
        {"x": 0, "y": 0, "width": width, "height": height}
    ]


def expect_left(page):
    idle(page)
    expect(page.locator(PROJECTED)).to_have_count(0)


def test_heads_and_the_steps_of_a_lesson_are_shown_to_a_room(visit, learned_pairs):
    page = visit("/?tab=attention&text=" + quote(learned_pairs[0][0]))
    title = page.locator(".view .title")
    project = page.locator(".view").get_by_role("button", name=say("projector"))
    project.click()
    expect_alone(page, "view")
    page.keyboard.press("ArrowRight")
    expect(title).to_contain_text("layer 2 of 2 · head 2 of 4")
    page.keyboard.press("ArrowUp")
    expect(title).to_contain_text("layer 1 of 2 · head 2 of 4")
    page.wait_for_url(re.compile("head=2.*projector=1|projector=1.*head=2"))
    expect_alone(page, "view")
    page.keyboard.press("Escape")
    expect_left(page)
    assert "projector" not in page.url
    expect(project).to_be_focused()
    field = page.get_by_label(say("sentence"))
    field.click()
    page.keyboard.type("p")  # a letter that is typed projects nothing
    expect(field).to_have_value(re.compile("p"))
    expect_left(page)

    page = visit("/?lesson=alignment.2&tab=translate&text=My+friend+bought+a+red+car.")
    said = page.locator(".to-say p")
    step = page.locator("aside.lesson .step")
    expect(step).to_be_visible()
    page.get_by_role("tab", name=say("tab_translate")).focus()
    page.keyboard.press("p")
    expect_alone(page, "spanish")
    first = say_of(step)
    expect(said).to_contain_text(first)
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"lesson=alignment\.3"))
    expect_alone(page, "view")
    expect(said).to_contain_text(say_of(step))
    page.keyboard.press("PageUp")
    expect(said).to_contain_text(first)
    expect_alone(page, "spanish")
    page.locator(".to-say .next").click()
    expect_alone(page, "view")
    page.keyboard.press("Escape")
    expect_left(page)
    expect(step).to_be_visible()
    page.wait_for_url(re.compile(r"lesson=alignment\.3"))


def say_of(step):
    """The title of the step of a lesson, which is said below the picture too."""
    return step.locator("h2").text_content()
