"""A lesson of a class in Chromium: written by a teacher, opened from one link or file
by somebody else, summed up."""

import base64
import json
import re
import zlib
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_spanish, idle, open_tab, translate
from tests.browser.test_markup_in_fields import IMG, nothing_runs
from xformer.strings import ENGLISH, SPANISH

say = ENGLISH.say
dice = SPANISH.say


def panel(page):
    return page.locator("aside.lesson")


def unpacked(name):
    return json.loads(
        zlib.decompress(
            base64.urlsafe_b64decode(name[1:] + "=" * (-(len(name) - 1) % 4))
        )
    )


def copied(page, click):
    """What a click copies: where the clipboard is read, Chromium asks the person, so
    what is written to it is kept."""
    page.evaluate(
        "navigator.clipboard.writeText = async text => { window.copiedText = text; }"
    )
    click()
    page.wait_for_function("window.copiedText")
    return page.evaluate("window.copiedText")


def step(page, number):
    return panel(page).locator(".steps li").nth(number - 1)


def expect_step(page, said):
    """Wait until a step is shown, and the page has moved to its state."""
    expect(panel(page).locator("h2 .sub")).to_have_text(said)
    idle(page)


@pytest.mark.full  # plays a lesson to its end
def test_a_teacher_writes_a_lesson_and_a_student_plays_it_in_the_other_language(
    visit, learned_pairs
):
    english, spanish = learned_pairs[1]
    word = spanish.split()[0].lower()
    teacher = visit("/?lesson=class", somebody_else=True)
    expect(
        panel(teacher).get_by_role("heading", name=say("class_title"))
    ).to_be_visible()
    translate(teacher, english)
    expect_spanish(teacher, spanish)
    open_tab(teacher, "attention")
    panel(teacher).get_by_label(say("class_name")).fill(f"A word {IMG}")
    first = step(teacher, 1)
    first.get_by_label(say("class_step_text")).fill("Look at *one* word.\nThen answer.")
    first.get_by_role("button", name=say("class_take")).click()
    expect(first.locator(".state")).to_have_text(f"Attention · {english}")
    first.locator("[name=check]").select_option("stands_in")
    first.get_by_label(say("class_field_options")).fill(f"{word}, xyz")
    first.get_by_label(say("class_hint", number=2)).fill(
        f"Read the *translation*. {IMG}"
    )
    panel(teacher).get_by_role("button", name=say("class_add")).click()
    step(teacher, 2).get_by_label(say("class_step_text")).fill("Say what you think.")
    step(teacher, 2).locator("[name=check]").select_option("open")
    step(teacher, 2).get_by_label(say("class_own_words")).fill(f"Why? {IMG}")
    teacher.reload()  # the draft is kept
    idle(teacher)
    expect(step(teacher, 1).get_by_label(say("class_field_options"))).to_have_value(
        f"{word}, xyz"
    )
    link = copied(
        teacher, panel(teacher).get_by_role("button", name=say("class_copy")).last.click
    )
    query = parse_qs(urlparse(link).query)
    made = unpacked(query["lesson"][0])
    assert [*query] == ["lesson"] and made["steps"][0]["address"]["text"] == english
    assert made["steps"][0]["address"]["tab"] == "attention"
    with teacher.expect_download() as offered:
        panel(teacher).get_by_role("button", name=say("class_save")).click()
    panel(teacher).get_by_role("button", name=say("class_play")).click()
    expect_step(teacher, say("lesson_step", number=1, count=2))
    teacher.go_back()
    expect(step(teacher, 2).get_by_label(say("class_step_text"))).to_have_value(
        "Say what you think."
    )

    student = visit("/es?" + urlparse(link).query, somebody_else=True)
    assert "tab=attention" in student.url
    expect_step(student, dice("lesson_step", number=1, count=2))
    expect(panel(student).locator("h2 [lang=en]")).to_have_text(f"A word {IMG}")
    expect(panel(student).get_by_text(dice("class_ask_stands_in"))).to_be_visible()
    expect(panel(student).locator("summary")).to_have_text(
        [dice("lesson_hint", number=1)]
    )
    panel(student).locator("summary").click()
    expect(panel(student).locator("details [lang=en]")).to_have_text(
        f"Read the translation. {IMG}"
    )
    panel(student).get_by_label("xyz").check()
    panel(student).locator(".check").click()
    expect(panel(student).locator(".reply")).to_contain_text(dice("lesson_wrong"))
    panel(student).get_by_label(word, exact=True).check()
    panel(student).locator(".check").click()
    expect(panel(student).locator(".reply")).to_contain_text(
        f"Sí. La traducción es «{spanish}"
    )
    panel(student).locator(".next").click()
    expect_step(student, dice("lesson_step", number=2, count=2))
    panel(student).get_by_label(dice("lesson_open")).fill(f"Porque sí. {IMG}")
    panel(student).get_by_role("button", name=dice("lesson_keep")).click()
    expect(panel(student).locator(".reply")).to_have_text(dice("lesson_kept"))
    panel(student).locator(".next").click()
    expect_step(student, dice("lesson_summary"))
    text = copied(
        student, panel(student).get_by_role("button", name=dice("summary_copy")).click
    )
    for said in (
        "A word",
        f"Frase: {english}",
        f"Tu respuesta: {word}",
        "Sí. La traducción es",
        f"Why? {IMG}",
        f"Tu respuesta: Porque sí. {IMG}",
    ):
        assert said in text
    nothing_runs(student)

    panel(student).locator(".next").click()
    field = panel(student).get_by_label(dice("class_open"))
    field.set_input_files(
        {
            "name": "notes.json",
            "mimeType": "application/json",
            "buffer": b"no lesson at all",
        }
    )
    expect(student.get_by_text(dice("error_class_data")).first).to_be_visible()
    field.set_input_files(
        {
            "name": "lesson.json",
            "mimeType": "application/json",
            "buffer": Path(offered.value.path()).read_bytes(),
        }
    )
    expect_step(student, dice("lesson_step", number=1, count=2))
    assert re.search("lesson=(~|%7E)", student.url)
    panel(student).locator(".next").click()
    expect_step(student, dice("lesson_step", number=2, count=2))
    student.reload()
    expect_step(student, dice("lesson_step", number=2, count=2))
