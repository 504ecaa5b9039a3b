"""The panel of lessons beside the page: assets/lesson.js on its steps, its views, and
answers that were checked."""

import re
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits
from xformer.lessons import files
from xformer.parts.translate import part as translate
from xformer.strings import ENGLISH
from xformer.ui import lessons

say = ENGLISH.say


def value(at):
    return lessons.value(at, ENGLISH)


@pytest.fixture
def panel(bench):
    """`panel(at, width=375)`: the panel on a page that has just opened."""
    return lambda at, **how: bench.mount("lessons", value(at), **how)


@pytest.fixture
def reply(models, made, learned_pairs):
    """`reply(at, answer)`: what the page says of an answer, on a sentence that it
    knows."""
    translation, trace = models.default.translate_and_trace(learned_pairs[1][0])
    there = made.controls.defaults(models.default)

    def checked(at, answer):
        return lessons.answer(
            models.default,
            ENGLISH,
            event=SimpleNamespace(answer=answer),
            lesson=at,
            page=made,
            lock="",
            translation=translation,
            trace=trace,
            **{key: there[key] for key in lessons.SEEN},
        )["panel"]

    return checked


def slide(panel, to):
    panel.block.get_by_role("slider").fill(str(to))


def test_a_question_is_asked_and_its_answer_said(panel, reply):
    step = panel("probabilities.2")
    slide(step, 0)
    expect(step.locator("output")).to_have_text("0")
    step.locator(".check").click()
    expect(step.locator(".reply")).to_have_text("…")
    assert step.told == [("answer", {"answer": "0"})]
    step.show(reply("probabilities.2", "0"))
    expect(step.locator(".reply b")).to_have_text(say("lesson_wrong"))
    found = round(
        float(re.search(r"([\d.]+) %", step.locator(".reply").text_content())[1])
    )
    slide(step, found)
    step.locator(".check").click()
    step.show(reply("probabilities.2", step.told[-1][1]["answer"]))
    expect(step.locator(".reply b")).to_have_text(say("lesson_right"))
    expect(step.locator(".reply .found")).to_be_visible()
    expect(step.locator(".reply")).to_have_attribute("data-right", "true")


def test_what_is_true_is_said_after_the_second_try_or_when_it_is_asked_for(
    panel, reply
):
    step = panel("probabilities.2")
    solution = step.locator(".reply .found")
    step.show(reply("probabilities.2", "0"))
    expect(step.locator(".reply")).to_contain_text(say("lesson_expected", answer="0"))
    expect(solution).to_be_hidden()
    step.locator(".reply summary").click()
    expect(solution).to_be_visible()
    step.show(value("probabilities.3"))
    step.show(value("probabilities.2"))
    step.show(reply("probabilities.2", "1"))
    expect(solution).to_be_hidden()
    step.show(reply("probabilities.2", "0"))
    expect(solution).to_be_visible()


def test_the_first_answer_stands_in_the_summary_beside_the_last(panel, reply):
    step = panel("probabilities.2")
    for answer in ("1", "0", "2"):
        step.show(reply("probabilities.2", answer))
    summary = len(files.lessons()["probabilities"].steps) + 1
    step.show(value(f"probabilities.{summary}"))
    lines = step.locator("[data-step='2'] dd")
    expect(lines.first).to_have_text(say("summary_first", first="1"))
    expect(step.locator("[data-step='2']")).to_contain_text(
        say("summary_answer", answer="2")
    )
    expect(lines.last).to_contain_text(say("lesson_wrong"))


def test_an_answer_that_comes_when_another_step_is_shown_is_not_said_there(
    panel, reply
):
    step = panel("probabilities.2")
    step.locator(".check").click()
    step.locator(".next").click()
    step.show(value("probabilities.3"))
    step.show(reply("probabilities.2", "1"))
    expect(step.locator("h2 .sub")).to_have_text(re.compile(r"^\D+3\D"))
    expect(step.locator(".reply")).to_be_empty()


def test_the_next_step_is_shown_at_once_and_its_answer_waits_for_the_page(panel):
    step = panel("probabilities.1")
    step.locator(".next").click()
    expect(step.locator("h2 .sub")).to_have_text(re.compile(r"^\D+2\D"))
    expect(step.block.get_by_role("heading")).to_be_focused()
    slide(step, 7)
    step.locator(".check").click()
    expect(step.locator(".reply")).to_have_text("…")
    moved = ("go", {"to": "probabilities.2"})
    assert step.told == [moved], "the page still shows the step before"
    step.show(value("probabilities.5"))
    expect(step.locator("h2 .sub")).to_have_text(re.compile(r"^\D+2\D"))
    step.show(value("probabilities.2"))
    assert step.told == [moved, ("answer", {"answer": "7"})]
    expect(step.block.get_by_role("slider")).to_have_value("7")


def test_a_slide_asks_what_there_is_to_say_when_the_page_shows_it(bench, panel):
    slide = panel("kak.1")
    fact = slide.locator(".fact")
    expect(fact).to_be_empty()
    assert slide.told == [("fact", {"at": "kak.1"})]
    slide.locator(".next").click()
    moved = ("go", {"to": "kak.2"})
    assert slide.told[-1] == moved, "the page still shows the slide before"
    slide.show({"at": "kak.1", "fact": "Late."})
    expect(fact).to_be_empty()
    slide.show(value("kak.2"))
    assert slide.told[-1] == ("fact", {"at": "kak.2"})
    slide.show({"at": "kak.2", "fact": "21 pieces <em>ask</em>."})
    expect(fact).to_have_text("21 pieces ask.")
    bench.page.evaluate("tell('settled')")
    assert slide.told[-1] == ("fact", {"at": "kak.2"}), "of another sentence too"


def test_what_was_answered_stays_where_the_same_step_comes_again(panel):
    step = panel("probabilities.2")
    slide(step, 7)
    step.show(value("probabilities.2"))
    expect(step.block.get_by_role("slider")).to_have_value("7")


def test_the_list_says_what_was_answered_and_goes_on_where_a_lesson_was_left(
    panel, reply
):
    step = panel("probabilities.2")
    sure = re.search(r"([\d.]+) %", reply("probabilities.2", "0")["reply"]["html"])[1]
    step.show(reply("probabilities.2", sure))
    step.show(value("probabilities.3"))
    step.show(value("all"))
    own = step.locator("[data-lesson^=probabilities]")
    expect(own).to_contain_text(
        say(
            "lesson_some",
            right=1,
            count=own.get_attribute("data-questions").count(",") + 1,
        )
    )
    own.click()
    assert step.told[-1] == ("go", {"to": "probabilities.3"})


def test_a_phone_plays_by_keyboard_in_a_sheet_that_folds(bench, panel, reply):
    sheet = panel("all", width=375, height=812)
    assert sheet.locator("aside").bounding_box()["height"] <= 0.45 * 812 + 1
    expect_fits(bench.page, 375)
    sheet.locator("[data-lesson=probabilities]").press("Enter")
    sheet.show(value("probabilities.1"))
    expect(sheet.block.get_by_role("heading")).to_be_focused()
    sheet.locator(".next").press("Enter")
    sheet.show(value("probabilities.2"))
    expect(sheet.block.get_by_role("heading")).to_be_focused()
    sheet.block.get_by_role("slider").press("Home")
    sheet.locator(".check").press("Enter")
    sheet.show(reply("probabilities.2", sheet.told[-1][1]["answer"]))
    expect(sheet.locator(".reply")).to_contain_text(say("lesson_wrong"))
    expect_fits(bench.page, 375)
    fold = sheet.block.get_by_role("button", name=say("lesson_fold"))
    fold.press("Enter")
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(sheet.locator(".step")).to_be_hidden()
    expect(fold).to_be_focused()


def test_the_words_of_a_question_are_those_of_the_sentence_on_the_page(bench, panel):
    first = "const at = new URLSearchParams(); at.set('text', 'Tom saw a film, Tom.');"
    step = panel("alignment.2")
    assert step.locator("form").get_attribute("data-kind") == "word"
    bench.page.evaluate(
        first + "history.replaceState(null, '', `/?${at}`); tell('addresschange');"
    )
    expect(step.locator(".words label")).to_have_text(["Tom", "saw", "a", "film"])
    step.block.get_by_text("film", exact=True).click()
    bench.page.evaluate("tell('addresschange')")
    expect(step.block.get_by_label("film")).to_be_checked()
    step.locator(".check").click()
    assert step.told == [("answer", {"answer": "film"})]


def test_what_a_step_points_at_is_marked_when_it_comes_and_its_words_can_be_chosen(
    bench, panel, models, learned_pairs
):
    step = panel("probabilities.3")
    assert step.locator("form").get_attribute("data-kind") == "spanish"
    *_, answer = translate.run(
        models.default,
        ENGLISH,
        former=None,
        longest=30,
        sentence=learned_pairs[1][0],
        beam=4,
        n_best=1,
        length_penalty=1,
    )
    pointed = bench.page.locator("[data-pointed]")
    expect(pointed).to_have_count(0)
    bench.mount("spanish", answer["shown"])
    bench.page.evaluate("tell('settled')")
    expect(pointed).to_be_visible()
    expect(step.locator(".words label")).to_have_text(
        re.findall(r"\w+", learned_pairs[1][1])
    )
    step.show(value(""))
    expect(pointed).to_have_count(0)


# A picture below the window, which is to grow when it is drawn.
BELOW = """() => {
    window.later = document.createElement('div');
    later.className = 'block view';
    later.style.cssText = 'margin: 2000px 0; height: 60px';
    document.body.prepend(later);
    pageState.settled = true;
    tell('settled');
}"""
GROWN = "height => { later.style.height = `${height}px`; }"
ABOVE = "() => later.getBoundingClientRect().y < innerHeight / 3"


def test_what_a_step_points_at_is_in_sight_also_as_it_grows_until_the_visitor_acts(
    bench, panel
):
    lesson = files.lessons()["it"].steps[1]
    assert lesson.point == ".block.view"
    panel("it.2")
    page = bench.page
    page.evaluate(BELOW)
    expect(page.locator("[data-pointed].view")).to_be_in_viewport()
    page.evaluate(GROWN, 900)
    page.wait_for_function(ABOVE)
    page.evaluate("later.dispatchEvent(new WheelEvent('wheel', {bubbles: true}))")
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(GROWN, 1200)
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
    )
    assert page.evaluate("scrollY") == 0


def test_the_glossary_is_filtered_and_folds_on_a_phone_where_a_term_is_shown(panel):
    glossary = panel("glossary", width=375, height=812)
    field = glossary.block.get_by_role("searchbox")
    field.fill("softm")
    found = glossary.locator("dl > div:visible dt")
    expect(found).to_have_text(["logit", "softmax"])
    field.fill("zzz")
    expect(glossary.block.get_by_text(say("glossary_none"))).to_be_visible()
    field.fill("softmax")
    glossary.block.get_by_role("button", name=f"{say('glossary_see')}: softmax").click()
    expect(glossary.locator(".fold")).to_have_attribute("aria-expanded", "false")


def test_who_closes_the_lessons_has_the_page_as_it_was(bench, panel):
    step = panel("probabilities.1")
    bench.page.evaluate("""() => {
        const made = document.createElement('button');
        made.className = 'lessons-button';
        document.body.prepend(made); }""")
    step.block.get_by_role("button", name=say("lesson_close")).click()
    assert step.told == [("go", {"to": ""})]
    step.show(value(""))
    expect(step.locator("aside")).to_be_empty()
    expect(bench.page.locator("body")).not_to_have_class(re.compile("with-lesson"))
    expect(bench.page.locator(".lessons-button")).to_be_focused()


def test_a_file_that_is_opened_is_told_as_the_address_of_its_lesson(panel):
    page = panel("all")
    page.locator("input[type=file]").set_input_files(
        {
            "name": "notes.json",
            "mimeType": "application/json",
            "buffer": b"no lesson at all",
        }
    )
    expect(page.locator("aside")).to_be_visible()
    page.page.wait_for_function("mounted[1].told.length")
    ((name, data),) = page.told
    assert name == "go" and re.fullmatch(r"~[\w-]+\.1", data["to"])
