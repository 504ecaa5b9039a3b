"""Lessons in Chromium: a step by mouse and keys, from an address, and one lesson a
language to its end."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.acts import choose_map, idle, sheet
from tests.browser.conftest import visits
from xformer.lessons.files import lessons, sentences
from xformer.strings import ENGLISH, SPANISH

say = ENGLISH.say
SURE = lessons()["probabilities"].title["en"]


def panel(page):
    return page.locator("aside.lesson")


def expect_step(page, lesson, number):
    """Wait until a step is shown, and the page has moved to its state."""
    expect(panel(page).locator("h2 .sub")).to_have_text(re.compile(rf"^\D+{number}\D"))
    page.wait_for_url(re.compile(rf"lesson={lesson}(\.{number})?(&|$)"))
    idle(page)


def go_on(page, lesson, number):
    panel(page).locator(".next").click()
    expect_step(page, lesson, number)


def check(page, verdict):
    panel(page).locator(".check").click()
    idle(page)
    reply = panel(page).locator(".reply")
    expect(reply.locator("b")).to_have_text(verdict)
    return reply.text_content()


def slide(page, value):
    panel(page).locator("input[type=range]").fill(str(value))


def test_a_lesson_asks_first_the_model_answers_and_it_goes_on_where_it_was_left(visit):
    page = visit(somebody_else=True)
    expect(panel(page)).to_be_hidden()
    page.locator(".lessons-button").press("Enter")
    expect(panel(page).get_by_role("heading", name=say("lessons"))).to_be_focused()
    panel(page).get_by_role("button", name=SURE).press("Enter")
    expect_step(page, "probabilities", 1)
    expect(page.locator("[data-pointed]")).to_be_visible()
    go_on(page, "probabilities", 2)
    slide(page, 0)
    # of the model that this page has
    found = float(re.search(r"([\d.]+) %", check(page, say("lesson_wrong")))[1])
    slide(page, round(found))
    assert f"{found:g} %" in check(page, say("lesson_right"))
    go_on(page, "probabilities", 3)
    panel(page).locator(".words").get_by_role("radio").first.check()
    panel(page).locator(".check").click()
    expect(panel(page).locator(".reply")).to_contain_text("The least sure word is")
    page.go_back()
    expect_step(page, "probabilities", 2)
    panel(page).get_by_role("button", name=say("lesson_close")).click()
    idle(page)
    expect(panel(page)).to_be_hidden()
    assert "lesson=" not in page.url
    page.locator(".lessons-button").click()
    own = panel(page).get_by_role("button", name=SURE)
    expect(own).to_contain_text(re.compile(r"[12] of 4 questions"))
    own.click()
    expect_step(page, "probabilities", 2)
    panel(page).get_by_role("button", name=say("lessons_all")).click()
    panel(page).get_by_role("button", name=say("glossary")).click()
    panel(page).get_by_role("searchbox").fill("softmax")
    panel(page).get_by_role("button", name=f"{say('glossary_see')}: softmax").click()
    expect(sheet(page, "principles")).to_have_class(re.compile("selected"))
    expect(panel(page).get_by_role("heading", name=say("glossary"))).to_be_visible()


# What opens a step, wherever it stands.
GO = """to => {
    const button = Object.assign(document.createElement('button'), {type: 'button'});
    button.dataset.lesson = to;
    document.body.append(button);
    button.click();
    button.remove();
}"""

# Whether of what a selector finds one is in sight, and nothing lies over it.
UNCOVERED = """([selector, text]) => [...document.querySelectorAll(selector)].some(one => {
    const {x, y, width, height} = one.getBoundingClientRect();
    const over = one.textContent.trim().startsWith(text) && document.elementFromPoint(x + width / 2, y + height / 2);
    return over && (over === one || one.contains(over));
})"""


def test_a_lesson_in_spanish_opens_on_a_phone_by_its_name_alone(visit):
    """Where it asks for a click, its sheet does not lie over what is to be clicked."""
    page = visit("/es?lesson=it", width=375, somebody_else=True)
    expect_step(page, "it", 1)
    short, *_ = sentences()["it.short"]
    assert urlencode({"text": short["text"]}) in page.url
    right, wrong = (SPANISH.say(f"lesson_{name}") for name in ("right", "wrong"))
    verdicts = {}
    for radio in panel(page).get_by_role("radio").all():
        radio.check()
        panel(page).locator(".check").click()
        idle(page)
        reply = panel(page).locator(".reply")
        expect(reply).to_contain_text(
            re.compile("pone en «({other}|{noun}|{third})»".format(**short))
        )
        verdicts[reply.locator("b").text_content()] = reply.text_content()
    assert {*verdicts} == {right, wrong} and "Esperabas" in verdicts[wrong]
    go_on(page, "it", 2)
    expect(
        page.get_by_role("tab", name=SPANISH.say("tab_attention"), exact=True)
    ).to_have_attribute("aria-selected", "true")
    panel(page).locator(".check").click()
    expect(panel(page).locator(".reply")).to_contain_text("«it» pone")
    idle(page)  # the map is drawn and scrolled to
    # the model of the tests reads letters: this one stands where *it* does elsewhere
    assert page.evaluate(UNCOVERED, [".view svg text", "book"])
    for lesson in lessons().values():
        for number, step in enumerate(lesson.steps, 1):
            if step.question is not None and step.question.kind == "head":
                page.evaluate(GO, f"{lesson.name}.{number}")
                expect_step(page, lesson.name, number)
                idle(page)
                assert page.evaluate(UNCOVERED, [".heads canvas", ""])


# A lesson on the models that ship, from the first step to the summary;
# tests/test_lessons.py asks every question of all

TYPED = (
    "We could have won, but they played better.",
    "She is bored.",
    "The cat sleeps.",
    "You should go.",
    "A wonderful film, not boring for a minute.",
    "It is not good.",
    "I loved it.",
    "Hello.",
    "My friend bought a red car.",
    "Have fun.",
)


@pytest.fixture(scope="module")
def visit_shipped(chromium, start):
    """`visit_shipped(path)` opens the app as `python app.py` starts it, for somebody
    who has played no lesson yet."""
    app = start()
    with visits(chromium, None, app.address) as open_page:
        yield lambda path: open_page(path, somebody_else=True)


def attempts(page, kind):
    """Give one answer after another, as a person can; each is to be checked before the
    next is asked for."""
    form = panel(page).locator("form")
    if kind in ("choice", "word", "spanish"):
        expect(form.get_by_role("radio").first).to_be_visible()
        for radio in form.get_by_role("radio").all():
            radio.check()
            yield
    elif kind == "sentence":
        for text in TYPED:
            form.get_by_role("textbox").fill(text)
            yield
    elif kind == "number":
        least, most, by = (
            float(form.get_by_role("slider").get_attribute(name))
            for name in ("min", "max", "step")
        )
        slide(page, least)
        yield
        for found in re.findall(
            r"[-−]?\d+(?:[.,]\d+)?", panel(page).locator(".reply").text_content()
        ):
            value = float(found.replace(",", ".").replace("−", "-"))
            if least <= value <= most:
                slide(page, round(least + by * round((value - least) / by), 6))
                yield
        slide(page, most)
        yield
    else:
        yield  # the head that stands on the page
        layer, head = re.search(
            r"(\d+)\D+(\d+)", panel(page).locator(".reply .found").text_content()
        ).groups()
        choose_map(page, layer, head)
        expect(page.locator(".view .title")).to_have_text(
            re.compile(rf"· \D+{layer}\D+\d+ · \D+{head}\b")
        )
        idle(page)
        yield


@pytest.mark.full
@pytest.mark.parametrize(
    ("language", "name"),
    [(ENGLISH, "probabilities"), (SPANISH, "alignment")],
    ids=["en", "es"],
)
def test_a_lesson_is_played_to_its_summary_with_right_and_wrong_answers(
    language, name, visit_shipped
):
    both = {language.say(f"lesson_{verdict}") for verdict in ("right", "wrong")}
    page = visit_shipped({"en": "/", "es": "/es"}[language.code])
    lesson = lessons()[name]
    page.locator(".lessons-button").click()
    panel(page).locator(f"li [data-lesson^={name}]").click()
    for number, step in enumerate(lesson.steps, 1):
        expect_step(page, name, number)
        if step.question is not None:
            seen = set()
            for _ in attempts(page, step.question.kind):
                panel(page).locator(".check").click()
                idle(page)
                seen.add(panel(page).locator(".reply b").text_content())
                if len(seen) == 2:
                    break
            assert seen == both, f"{name}.{number}"
        panel(page).locator(".next").click()
    answers = panel(page).locator(".summary [data-step]")
    expect(answers).to_have_count(
        sum(step.question is not None for step in lesson.steps)
    )
    for answer in answers.all():
        expect(answer).to_contain_text(re.compile("|".join(map(re.escape, both))))
