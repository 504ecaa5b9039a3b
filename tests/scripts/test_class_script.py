"""The form in which a teacher writes a lesson, its link and its file, and the summary:
assets/class.js."""

import base64
import json
import re
import zlib
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, unreadable
from tests.test_links import IMG, packed
from xformer.lessons import links
from xformer.strings import ENGLISH
from xformer.ui import lessons

say = ENGLISH.say
ADDRESS = {"tab": "translate", "text": "The cat sleeps."}


def unpacked(name):
    return json.loads(
        zlib.decompress(
            base64.urlsafe_b64decode(name[1:] + "=" * (-(len(name) - 1) % 4))
        )
    )


@pytest.fixture
def form(bench):
    """`form()`: what a teacher sees on a page that shows `ADDRESS`, at first or after a
    reload."""

    def opened(**how):
        bench.open(**how)
        bench.page.evaluate(
            "query => history.replaceState(null, '', `/?${query}`)", urlencode(ADDRESS)
        )
        bench.page.evaluate(
            "navigator.clipboard.writeText = async text => { window.copiedText = text; }"
        )
        return bench.mount("lessons", lessons.value("class", ENGLISH))

    return opened


def step(form, number):
    return form.locator(".steps li").nth(number - 1)


def press(within, key, last=False):
    buttons = within.get_by_role("button", name=say(key), exact=True)
    (buttons.last if last else buttons.first).click()


def copied(form):
    """The link that is copied for a class, when it is said that it was."""
    press(form.block, "class_copy", last=True)
    form.page.wait_for_function("window.copiedText")
    return form.page.evaluate("window.copiedText")


def is_valid(form):
    return form.page.evaluate("document.querySelector('.compose form').checkValidity()")


def ask(form, number, text, check=None, **fields):
    """Write a step."""
    one = step(form, number)
    one.get_by_label(say("class_step_text")).fill(text)
    if check:
        one.locator("[name=check]").select_option(check)
    for name, value in fields.items():
        one.locator(f"[name={name}]").fill(value)


def test_a_lesson_that_is_written_is_the_link_that_is_copied(form):
    teacher = form()
    teacher.block.get_by_label(say("class_name")).fill(f"A word {IMG}")
    ask(
        teacher,
        1,
        "Look at *one* word.",
        "stands_in",
        options="el, xyz",
        hint2=f"Read it. {IMG}",
    )
    press(teacher.block, "class_add")
    expect(step(teacher, 2).get_by_label(say("class_step_text"))).to_be_focused()
    ask(teacher, 2, "Say what you think.", "open", ask=f"Why? {IMG}")
    link = copied(teacher)
    expect(teacher.locator(".reply")).to_have_text(
        say("class_copied", characters=len(link))
    )
    query = parse_qs(urlparse(link).query)
    assert [*query] == ["lesson"] and len(link) < 2_000
    made = unpacked(query["lesson"][0])
    assert made == {
        "title": f"A word {IMG}",
        "language": "en",
        "steps": [
            {
                "text": "Look at *one* word.",
                "address": ADDRESS,
                "question": {
                    "check": "stands_in",
                    "options": ["el", "xyz"],
                    "hints": [f"Read it. {IMG}"],
                },
            },
            {
                "text": "Say what you think.",
                "address": ADDRESS,
                "question": {"check": "open", "ask": f"Why? {IMG}"},
            },
        ],
    }
    assert len(links.read(query["lesson"][0][1:]).steps) == 2
    press(teacher.block, "class_play")
    teacher.page.wait_for_function("mounted[1].told.length")
    assert teacher.told == [("go", {"to": f"{query['lesson'][0]}.1"})]


def test_a_check_shows_the_fields_that_it_has_and_no_others(form):
    one = step(form(), 1)
    shown = one.locator("[data-field]:visible, .own:visible")
    expect(shown).to_have_count(0)
    one.locator("[name=check]").select_option("stands_in")
    expect(one.get_by_label(say("class_field_options"))).to_be_visible()
    expect(one.get_by_label(say("class_field_among"))).to_be_hidden()
    one.locator("[name=check]").select_option("looks_back")
    expect(one.get_by_label(say("class_field_word"), exact=True)).to_be_visible()
    expect(one.get_by_label(say("class_field_options"))).to_be_hidden()


def test_a_text_that_is_missing_or_too_long_is_told_at_its_field_and_nothing_is_copied(
    form,
):
    teacher = form()
    teacher.block.get_by_label(say("class_name")).fill("A word")
    press(teacher.block, "class_copy", last=True)
    assert not is_valid(teacher), "a step has a text"
    ask(teacher, 1, "Look.", "open", ask="Why?", hint1="a " * 80)
    press(teacher.block, "class_copy", last=True)
    hint = step(teacher, 1).get_by_label(say("class_hint", number=1))
    assert hint.evaluate("one => one.validationMessage") == say("class_words", limit=80)
    assert teacher.page.evaluate("window.copiedText ?? ''") == ""
    hint.fill("a")
    copied(teacher)


def test_the_state_of_the_page_is_taken_with_the_name_of_its_tab(form):
    teacher = form()
    expect(step(teacher, 1).locator(".state")).to_have_text(
        "translate · The cat sleeps."
    )
    query = urlencode(
        {
            **ADDRESS,
            "tab": "attention",
            "model": "other",
            "__theme": "dark",
            "lesson": "class",
        }
    )
    teacher.page.evaluate(
        "query => history.replaceState(null, '', `/?${query}`)", query
    )
    teacher.page.evaluate("""() => {
        const tab = Object.assign(document.createElement('button'), {role: 'tab', textContent: 'Attention'});
        tab.dataset.tabId = 'attention';
        document.body.append(tab); }""")
    press(step(teacher, 1), "class_take")
    expect(step(teacher, 1).locator(".state")).to_have_text(
        "Attention · The cat sleeps."
    )
    teacher.block.get_by_label(say("class_name")).fill("A word")
    ask(teacher, 1, "Look.")
    query = parse_qs(urlparse(copied(teacher)).query)
    assert query["model"] == ["other"]
    assert unpacked(query["lesson"][0])["steps"][0]["address"] == {
        **ADDRESS,
        "tab": "attention",
    }


def test_steps_change_places_and_the_draft_is_kept(form):
    teacher = form()
    ask(teacher, 1, "First.", "stands_in", options="el, xyz")
    press(teacher.block, "class_add")
    ask(teacher, 2, "Second.")
    press(step(teacher, 2), "class_up")
    texts = teacher.locator("[name=text]")
    expect(texts.first).to_have_value("Second.")
    expect(step(teacher, 1).get_by_role("button", name=say("class_up"))).to_be_focused()
    press(step(teacher, 1), "class_down")
    expect(texts.first).to_have_value("First.")
    teacher = form()
    assert [one.input_value() for one in teacher.locator("[name=text]").all()] == [
        "First.",
        "Second.",
    ]
    expect(step(teacher, 1).locator("[name=options]")).to_have_value("el, xyz")
    press(step(teacher, 2), "class_remove")
    teacher.page.once("dialog", lambda dialog: dialog.accept())
    press(teacher.block, "class_new")
    expect(teacher.locator(".steps li")).to_have_count(1)
    expect(teacher.locator("[name=text]")).to_have_value("")


def test_a_long_lesson_is_a_file_that_another_page_opens(bench, form):
    """Its words are numbers, which hardly become shorter in a link."""
    teacher = form(width=375, height=812)
    teacher.block.get_by_label(say("class_name")).fill("Long")
    for number in range(1, 9):
        if number > 1:
            press(teacher.block, "class_add")
        ask(
            teacher,
            number,
            " ".join(f"{number * i * 7919 % 99_991:x}" for i in range(1, 79)),
        )
    press(teacher.block, "class_copy", last=True)
    expect(teacher.locator(".reply")).to_contain_text(
        re.compile(r"would have \d+ characters")
    )
    expect_fits(bench.page, 375)
    with bench.page.expect_download() as offered:
        press(teacher.block, "class_save")
    assert offered.value.suggested_filename == "lesson.json"
    content = Path(offered.value.path()).read_bytes()
    teacher.show(lessons.value("all", ENGLISH))
    teacher.block.get_by_label(say("class_open")).set_input_files(
        {"name": "lesson.json", "mimeType": "application/json", "buffer": content}
    )
    bench.page.wait_for_function("mounted[1].told.length")
    ((_, data),) = teacher.told
    lesson, number = links.where(data["to"])
    assert number == 1 and len(lesson.steps) == 8 and lesson.title == {"en": "Long"}
    teacher.show(lessons.value(data["to"], ENGLISH))
    expect_fits(bench.page, 375)


def test_the_lesson_that_was_read_last_is_the_one_to_hand_on(bench):
    bench.open()
    panel = bench.mount("lessons", lessons.value("order.2", ENGLISH))
    panel.show(lessons.value("class", ENGLISH))
    expect(panel.block.get_by_label(say("class_ready"))).to_have_value("order")


def test_a_ready_lesson_is_one_link(form):
    teacher = form()
    teacher.block.get_by_label(say("class_ready")).select_option("probabilities")
    press(teacher.block, "class_copy")
    teacher.page.wait_for_function("window.copiedText")
    assert (
        urlparse(teacher.page.evaluate("window.copiedText")).query
        == "lesson=probabilities"
    )


@pytest.fixture
def summary(bench):
    """The summary of a lesson of two steps, of which the first was answered."""
    name = "~" + packed(
        {
            "title": f"A word {IMG}",
            "language": "en",
            "steps": [
                {
                    "text": "Look.",
                    "address": ADDRESS,
                    "question": {"check": "stands_in", "options": ["el", "xyz"]},
                },
                {
                    "text": "Say.",
                    "address": ADDRESS,
                    "question": {"check": "open", "ask": f"Why? {IMG}"},
                },
            ],
        }
    )
    bench.open()
    bench.page.evaluate(
        "query => history.replaceState(null, '', `/?${query}`)", urlencode(ADDRESS)
    )
    bench.page.evaluate(
        "navigator.clipboard.writeText = async text => { window.copiedText = text; }"
    )
    panel = bench.mount("lessons", lessons.value(f"{name}.1", ENGLISH))
    panel.show(
        {
            "at": f"{name}.1",
            "reply": {
                "right": True,
                "html": "<b>Yes.</b> It does.",
                "answer": f"el {IMG}",
            },
        }
    )
    return panel.show(lessons.value(f"{name}.3", ENGLISH))


def test_the_summary_holds_what_was_answered_and_is_copied(summary):
    lines = ["Sentence: The cat sleeps.", f"Your answer: el {IMG}", "Yes. It does."]
    expect(summary.locator("[data-step='1'] dd")).to_have_text(lines)
    expect(summary.locator("[data-step='2'] dd")).to_have_text(say("summary_none"))
    press(summary.block, "summary_copy")
    summary.page.wait_for_function("window.copiedText")
    text = summary.page.evaluate("window.copiedText")
    assert all(said in text for said in (*lines, f"A word {IMG}", f"Why? {IMG}"))
    expect(summary.locator(".reply")).to_have_text(say("summary_copied"))
    assert not unreadable(summary.page)


def test_a_printed_summary_takes_the_whole_page_and_nothing_else_is_on_it(
    bench, summary
):
    bench.mount("spanish", "<p>What stands on the page</p>")
    bench.page.emulate_media(media="print")
    try:
        assert (
            bench.page.evaluate("""() => [...document.querySelectorAll('.gradio-container *')].filter(one =>
            one.checkVisibility() && one.children.length === 0 && one.textContent.trim() &&
            !one.closest('aside.lesson')).map(one => one.outerHTML.slice(0, 99))""")
            == []
        )
        expect(summary.block.get_by_text("It does.")).to_be_visible()
        expect(
            summary.block.get_by_role("button", name=say("summary_copy"))
        ).to_be_hidden()
        width = bench.page.evaluate("innerWidth")
        assert summary.locator("aside").bounding_box()["width"] > 0.8 * width
    finally:
        bench.page.emulate_media(media="null")


# What a class answered

FIRST = f"""What does it look at? Summary

1. Which of the two: Tom or film?
First answer: Tom
Your answer: film
Yes. In layer 3, head 5, “it” puts 0.72 on “film”.

2. What changes? {IMG}
Your answer: =1+1
"""
SECOND = """> What does it look at? Summary
>
> 1. Which of the two: Tom or film?
> Your answer: film
> Yes.
>
> 2. What changes? nothing at all
> Not answered yet.
"""
SPANISH_ONE = """¿A qué mira it? Resumen

1. ¿Cuál de las dos?
Primera respuesta: Tom
Tu respuesta: film
"""


@pytest.fixture
def answers(bench):
    """`answers(text)`: what is shown after a teacher has pasted this."""

    def pasted(text, **how):
        bench.open(**how)
        bench.page.evaluate(
            "navigator.clipboard.writeText = async text => { window.copiedText = text; }"
        )
        panel = bench.mount("lessons", lessons.value("answers", ENGLISH))
        panel.block.get_by_label(say("answers_field")).fill(text)
        press(panel.block, "answers_show")
        return panel

    return pasted


def counts(panel):
    """By question, the rows of its table."""
    return panel.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.counted p')].map(one => [one.textContent,
        [...one.nextElementSibling.rows].slice(1).map(row => [...row.cells].map(cell => cell.textContent))]))"""
    )


def test_pasted_summaries_are_counted_by_question_first_and_last_try(answers):
    panel = answers(FIRST + SECOND + SPANISH_ONE)
    assert counts(panel) == {
        "1. Which of the two: Tom or film?": [["film", "1", "2"], ["Tom", "1", "0"]],
        f"2. What changes? {IMG}": [["=1+1", "1", "1"]],
        "2. What changes? nothing at all": [[say("answers_missing"), "1", "1"]],
        "1. ¿Cuál de las dos?": [["film", "0", "1"], ["Tom", "1", "0"]],
    }
    expect(panel.locator(".reply")).to_have_text(say("answers_read", count=3))
    headings = panel.locator(".counted h3")
    expect(headings).to_have_text(["What does it look at? (2)", "¿A qué mira it? (1)"])
    assert panel.locator(".counted img").count() == 0, "a text, and no markup"
    press(panel.block, "answers_copy")
    panel.page.wait_for_function("window.copiedText")
    rows = [row.split("\t") for row in panel.page.evaluate("copiedText").split("\n")]
    assert {len(row) for row in rows} == {5} and len(rows) == 7
    assert ["'=1+1", "1", "1"] in [row[2:] for row in rows], "no formula"


def test_lines_that_belong_nowhere_are_named_and_nothing_is_lost(answers, bench):
    panel = answers(f"Hello {IMG}\nFirst answer: x\n{SECOND}")
    reply = panel.locator(".reply")
    expect(reply).to_contain_text(say("answers_read", count=1))
    expect(reply).to_contain_text(f"not counted: “Hello {IMG}”"[:40])
    expect(reply).to_contain_text("“First answer: x”")
    # another time the text is there, and counted
    again = bench.mount("lessons", lessons.value("answers", ENGLISH))
    field = again.block.get_by_label(say("answers_field"))
    expect(field).to_have_value(re.compile("^Hello"))
    expect(again.locator(".counted table")).to_have_count(2)
    field.fill("Dear teacher,\nI was ill.")
    press(again.block, "answers_show")
    expect(again.locator(".reply")).to_have_text(say("answers_none"))
    expect(again.locator(".counted table")).to_have_count(0)
    expect(field).to_have_value("Dear teacher,\nI was ill.")


@pytest.mark.parametrize("width, theme", [(1280, "dark"), (375, "light")])
def test_the_table_of_a_class_can_be_read(answers, bench, width, theme):
    answers(FIRST + SECOND, width=width, theme=theme)
    assert not unreadable(bench.page)
    expect_fits(bench.page, width)


def test_what_is_copied_at_the_end_of_a_lesson_is_read(answers, summary):
    press(summary.block, "summary_copy")
    summary.page.wait_for_function("window.copiedText")
    text = summary.page.evaluate("copiedText")
    panel = answers(text)
    questions = counts(panel)
    assert len(questions) == 2
    assert [f"el {IMG}", "1", "1"] in [*questions.values()][0]
    assert [*questions.values()][1] == [[say("answers_missing"), "1", "1"]]
