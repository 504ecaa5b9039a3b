"""Lessons in Chromium: played with right and wrong answers, in both languages, by mouse and by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import choose_map, expect_fits, idle
from tests.browser.conftest import visits
from xformer.lessons.files import lessons

RIGHT, WRONG = {"en": "Yes.", "es": "Sí."}, {"en": "Not quite.", "es": "No exactamente."}


@pytest.fixture
def visit_first(visit):
    """`visit_first(path, width)` opens a page for somebody who has played no lesson yet."""
    return lambda path="/", width=1280: visit(path, width=width, somebody_else=True)


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


def test_a_lesson_asks_first_and_the_model_answers(visit_first):
    page = visit_first()
    expect(panel(page)).to_be_hidden()
    page.locator(".lessons-button").click()
    panel(page).get_by_role("button", name="How sure is it?").click()
    expect_step(page, "probabilities", 1)
    expect(page.locator("[data-pointed]")).to_be_visible()
    go_on(page, "probabilities", 2)
    slide(page, 0)
    wrong = check(page, WRONG["en"])
    found = float(re.search(r"([\d.]+) %", wrong)[1])  # of the model that this page has, whatever it is
    slide(page, round(found))
    assert f"{found:g} %" in check(page, RIGHT["en"])
    go_on(page, "probabilities", 3)
    words = panel(page).locator(".words")
    expect(words.get_by_role("radio").first).to_be_visible()
    words.get_by_role("radio").first.check()
    panel(page).locator(".check").click()
    expect(panel(page).locator(".reply")).to_contain_text("The least sure word is")


def test_back_returns_a_step_and_the_lesson_goes_on_where_it_was_left(visit_first):
    page = visit_first("/?lesson=probabilities.2&text=The+cat+sleeps.")
    expect_step(page, "probabilities", 2)
    go_on(page, "probabilities", 3)
    page.go_back()
    expect_step(page, "probabilities", 2)
    slide(page, 0)
    found = float(re.search(r"([\d.]+) %", check(page, WRONG["en"]))[1])
    slide(page, round(found))
    check(page, RIGHT["en"])
    panel(page).get_by_role("button", name="Close the lessons").click()
    idle(page)
    expect(panel(page)).to_be_hidden()
    assert "lesson=" not in page.url
    page.locator(".lessons-button").click()
    own = panel(page).get_by_role("button", name="How sure is it?")
    expect(own).to_contain_text("1 of 4 questions")
    own.click()
    expect_step(page, "probabilities", 2)


def test_a_lesson_in_spanish_opens_by_its_name_alone(visit_first):
    page = visit_first("/es?lesson=it")
    expect_step(page, "it", 1)
    assert "text=Tom" in page.url
    verdicts = {}
    for radio in panel(page).get_by_role("radio").all():
        radio.check()
        panel(page).locator(".check").click()
        idle(page)
        verdict = panel(page).locator(".reply b")
        expect(verdict).to_have_text(re.compile(f"{RIGHT['es']}|{WRONG['es']}"))
        expect(panel(page).locator(".reply")).to_contain_text(re.compile("pone en «(Tom|film)»"))
        verdicts[verdict.text_content()] = panel(page).locator(".reply").text_content()
    assert {*verdicts} == {RIGHT["es"], WRONG["es"]} and "Esperabas" in verdicts[WRONG["es"]]
    go_on(page, "it", 2)
    expect(page.get_by_role("tab", name="Atención", exact=True)).to_have_attribute("aria-selected", "true")
    panel(page).locator(".check").click()
    expect(panel(page).locator(".reply")).to_contain_text("«it» pone")


def test_a_phone_plays_by_keyboard_in_a_sheet_that_folds(visit_first):
    page = visit_first(width=375)
    page.set_viewport_size({"width": 375, "height": 812})
    button = page.locator(".lessons-button")
    button.focus()
    page.keyboard.press("Enter")
    idle(page)
    expect(panel(page).get_by_role("heading", name="Lessons")).to_be_focused()
    assert panel(page).bounding_box()["height"] <= 0.45 * 812 + 1
    expect_fits(page, 375)
    panel(page).get_by_role("button", name="How sure is it?").press("Enter")
    expect_step(page, "probabilities", 1)
    expect(panel(page).get_by_role("heading")).to_be_focused()
    panel(page).locator(".next").press("Enter")
    expect_step(page, "probabilities", 2)
    panel(page).get_by_role("slider").press("Home")
    panel(page).locator(".check").press("Enter")
    expect(panel(page).locator(".reply")).to_contain_text(WRONG["en"])
    idle(page)
    expect_fits(page, 375)
    fold = panel(page).get_by_role("button", name="Fold")
    fold.press("Enter")
    expect(fold).to_have_attribute("aria-expanded", "false")
    idle(page)
    expect(panel(page).locator(".step")).to_be_hidden()
    expect(fold).to_be_focused()


def test_the_glossary_is_filtered_and_shows_where_a_term_is_seen(visit_first):
    page = visit_first("/?lesson=glossary&tab=translate")
    field = panel(page).get_by_role("searchbox")
    field.fill("softm")
    expect(panel(page).locator("dl > div:visible dt").first).to_have_text("softmax")
    field.fill("zzz")
    expect(panel(page).get_by_text("No entry has this.")).to_be_visible()
    field.fill("softmax")
    panel(page).get_by_role("button", name="See it: softmax").click()
    expect(page.get_by_role("tab", name="First principles")).to_have_attribute("aria-selected", "true")
    expect(panel(page).get_by_role("heading", name="Glossary")).to_be_visible()


# Every lesson on the models that ship, from the first step to the summary

TYPED = ("We could have won, but they played better.", "She is bored.", "The cat sleeps.", "You should go.",
         "A wonderful film, not boring for a minute.", "It is not good.", "I loved it.", "Hello.",
         "My friend bought a red car.", "Have fun.")


@pytest.fixture(scope="module")
def visit_shipped(chromium, start):
    """`visit_shipped(path)` opens the app as `python app.py` starts it, for somebody who has played no lesson yet."""
    app = start()
    with visits(chromium, None, app.address) as open_page:
        yield lambda path: open_page(path, somebody_else=True)


def attempts(page, kind):
    """Give one answer after another, as a person can; each is to be checked before the next is asked for."""
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
        least, most, by = (float(form.get_by_role("slider").get_attribute(name)) for name in ("min", "max", "step"))
        slide(page, least)
        yield
        for found in re.findall(r"[-−]?\d+(?:[.,]\d+)?", panel(page).locator(".reply").text_content()):
            value = float(found.replace(",", ".").replace("−", "-"))
            if least <= value <= most:
                slide(page, round(least + by * round((value - least) / by), 6))
                yield
        slide(page, most)
        yield
    else:
        yield  # the head that stands on the page
        layer, head = re.search(r"(\d+)\D+(\d+)", panel(page).locator(".reply").text_content()).groups()
        choose_map(page, layer, head)
        expect(page.locator(".view .title")).to_have_text(re.compile(rf"· \D+{layer}\D+\d+ · \D+{head}\b"))
        idle(page)
        yield


@pytest.mark.parametrize("language", ["en", "es"])
def test_each_lesson_is_played_to_its_summary_with_right_and_wrong_answers(language, visit_shipped):
    verdicts = re.compile(f"^({RIGHT[language]}|{WRONG[language]})$")
    page = visit_shipped({"en": "/", "es": "/es"}[language])
    for name, lesson in lessons().items():
        idle(page)
        if panel(page).is_hidden():
            page.locator(".lessons-button").click()
        panel(page).locator(f"li [data-lesson^={name}]").click()
        for number, step in enumerate(lesson.steps, 1):
            expect_step(page, name, number)
            if step.question is not None:
                seen = set()
                for _ in attempts(page, step.question.kind):
                    panel(page).locator(".check").click()
                    idle(page)
                    expect(panel(page).locator(".reply b")).to_have_text(verdicts)
                    seen.add(panel(page).locator(".reply b").text_content())
                    if len(seen) == 2:
                        break
                assert seen == {RIGHT[language], WRONG[language]}, f"{name}.{number}"
            panel(page).locator(".next").click()
        answers = panel(page).locator(".summary [data-step]")
        expect(answers).to_have_count(sum(step.question is not None for step in lesson.steps))
        for answer in answers.all():
            expect(answer).to_contain_text(re.compile(f"{RIGHT[language]}|{WRONG[language]}"))
        panel(page).locator(".next").click()
