"""Lessons of a class in Chromium: written by a teacher, opened from one link or file by somebody else, summed up."""

import base64
import json
import re
import zlib
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.acts import contrasts, expect_fits, expect_spanish, idle, open_tab, translate
from tests.browser.test_markup_in_fields import IMG, nothing_runs


def panel(page):
    return page.locator("aside.lesson")


def packed(lesson):
    return "~" + base64.urlsafe_b64encode(zlib.compress(json.dumps(lesson).encode())).decode().rstrip("=")


def unpacked(name):
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(name[1:] + "=" * (-(len(name) - 1) % 4))))


def copied(page, click):
    """What a click copies: where the clipboard is read, Chromium asks the person, so what is written to it is kept."""
    page.evaluate("navigator.clipboard.writeText = async text => { window.copiedText = text; }")
    click()
    page.wait_for_function("window.copiedText")
    return page.evaluate("window.copiedText")


def compose(visit, **more):
    page = visit("/?lesson=class", somebody_else=True, **more)
    expect(panel(page).get_by_role("heading", name="For a class")).to_be_visible()
    return page


def step(page, number):
    return panel(page).locator(".steps li").nth(number - 1)


def test_a_teacher_writes_a_lesson_and_a_student_plays_it_in_the_other_language(visit, learned_pairs):
    english, spanish = learned_pairs[1]
    word = spanish.split()[0].lower()
    teacher = compose(visit)
    translate(teacher, english)
    expect_spanish(teacher, spanish)
    open_tab(teacher, "attention")
    panel(teacher).get_by_label("Title").fill(f"A word {IMG}")
    first = step(teacher, 1)
    first.get_by_label("What students read").fill("Look at *one* word.\nThen answer.")
    first.get_by_role("button", name="Take the page as it stands").click()
    expect(first.locator(".state")).to_have_text(f"Attention · {english}")
    first.locator("[name=check]").select_option("stands_in")
    idle(teacher)
    expect(first.get_by_label("Two to four English words")).to_be_hidden()
    first.get_by_label("Two to four Spanish words").fill(f"{word}, xyz")
    first.get_by_label("Hint 1 (optional)").fill("a " * 80)
    panel(teacher).get_by_role("button", name="Copy link for a class").last.click()
    idle(teacher)
    assert first.get_by_label("Hint 1 (optional)").evaluate("one => one.validationMessage").endswith("than 80 words.")
    first.get_by_label("Hint 1 (optional)").fill("")
    first.get_by_label("Hint 2 (optional)").fill(f"Read the *translation*. {IMG}")
    panel(teacher).get_by_role("button", name="Add a step").click()
    second = step(teacher, 2)
    expect(second.get_by_label("What students read")).to_be_focused()
    panel(teacher).get_by_role("button", name="Copy link for a class").last.click()
    idle(teacher)
    assert not teacher.evaluate("document.querySelector('.compose form').checkValidity()"), "a step has a text"
    second.get_by_label("What students read").fill("Say what you think.")
    second.locator("[name=check]").select_option("open")
    second.get_by_label("The question in your own words").fill(f"Why? {IMG}")
    second.get_by_role("button", name="Move the step up").click()
    expect(step(teacher, 1).get_by_label("What students read")).to_have_value("Say what you think.")
    step(teacher, 1).get_by_role("button", name="Move the step down").click()

    teacher.reload()  # the draft is kept
    idle(teacher)
    expect(step(teacher, 1).get_by_label("Two to four Spanish words")).to_have_value(f"{word}, xyz")
    expect(step(teacher, 1).get_by_label("Hint 2 (optional)")).to_have_value(f"Read the *translation*. {IMG}")
    link = copied(teacher, panel(teacher).get_by_role("button", name="Copy link for a class").last.click)
    expect(panel(teacher).locator(".reply")).to_contain_text(f"It has {len(link)} characters")
    query = parse_qs(urlparse(link).query)
    assert [*query] == ["lesson"] and len(link) < 2_000
    made = unpacked(query["lesson"][0])
    assert made["language"] == "en" and made["steps"][0]["question"] == {
        "check": "stands_in", "options": [word, "xyz"], "hints": [f"Read the *translation*. {IMG}"]}
    assert made["steps"][1]["question"] == {"check": "open", "ask": f"Why? {IMG}"}
    assert made["steps"][0]["address"]["text"] == english and made["steps"][0]["address"]["tab"] == "attention"

    panel(teacher).get_by_role("button", name="Try it").click()
    expect(panel(teacher).locator("h2 .sub")).to_have_text("Step 1 of 2")
    idle(teacher)
    teacher.go_back()
    expect(step(teacher, 2).get_by_label("What students read")).to_have_value("Say what you think.")

    student = visit("/es?" + urlparse(link).query, somebody_else=True)
    assert "tab=attention" in student.url
    expect(panel(student).locator("h2 .sub")).to_have_text("Paso 1 de 2")
    expect(panel(student).locator("h2 [lang=en]")).to_have_text(f"A word {IMG}")
    expect(panel(student).get_by_text("¿Cuál de estas palabras está en la traducción?")).to_be_visible()
    expect(panel(student).locator("summary")).to_have_text(["Pista 1"])
    panel(student).get_by_text("Pista 1").click()
    expect(panel(student).locator("details [lang=en]")).to_have_text(f"Read the translation. {IMG}")
    panel(student).get_by_label("xyz").check()
    panel(student).locator(".check").click()
    expect(panel(student).locator(".reply")).to_contain_text("No exactamente.")
    panel(student).get_by_label(word, exact=True).check()
    panel(student).locator(".check").click()
    expect(panel(student).locator(".reply")).to_contain_text(f"Sí. La traducción es «{spanish}")
    panel(student).locator(".next").click()
    expect(panel(student).locator("h2 .sub")).to_have_text("Paso 2 de 2")
    idle(student)
    panel(student).get_by_label("Tu respuesta").fill(f"Porque sí. {IMG}")
    panel(student).get_by_role("button", name="Guardar").click()
    expect(panel(student).locator(".reply")).to_have_text("Guardado para tu resumen.")
    panel(student).get_by_role("button", name="Resumen").click()
    expect(panel(student).locator("h2 .sub")).to_have_text("Resumen")
    text = copied(student, panel(student).get_by_role("button", name="Copiar").click)
    for said in ("A word", f"Frase: {english}", f"Tu respuesta: {word}", "Sí. La traducción es", f"Why? {IMG}",
                 f"Tu respuesta: Porque sí. {IMG}"):
        assert said in text
    nothing_runs(student)
    assert min(one["ratio"] for one in contrasts(student)) >= 4.5
    student.emulate_media(media="print")
    idle(student)
    assert student.evaluate("""() => [...document.querySelectorAll('.gradio-container *')].filter(one =>
        one.checkVisibility() && one.children.length === 0 && one.textContent.trim() && !one.closest('aside.lesson'))
        .map(one => one.outerHTML.slice(0, 99))""") == []
    expect(panel(student).get_by_text("Porque sí")).to_be_visible()
    expect(panel(student).get_by_role("button", name="Copiar")).to_be_hidden()
    page, summary = student.viewport_size, panel(student).bounding_box()
    assert summary["width"] > 0.8 * page["width"], "the summary takes the whole page that is printed"


def test_a_long_lesson_is_a_file_that_a_student_opens_on_a_phone(visit, tmp_path):
    teacher = compose(visit, width=375)
    panel(teacher).get_by_label("Title").fill("Long")
    for number in range(1, 9):
        if number > 1:
            panel(teacher).get_by_role("button", name="Add a step").click()
        text = " ".join(f"{number * i * 7919 % 99_991:x}" for i in range(1, 79))  # that hardly becomes shorter
        step(teacher, number).get_by_label("What students read").fill(text)
    panel(teacher).get_by_role("button", name="Copy link for a class").last.click()
    expect(panel(teacher).locator(".reply")).to_contain_text(re.compile(r"would have \d+ characters"))
    idle(teacher)
    expect_fits(teacher, 375)
    with teacher.expect_download() as offered:
        panel(teacher).get_by_role("button", name="Save as a file").click()
    assert offered.value.suggested_filename == "lesson.json"
    content = Path(offered.value.path()).read_bytes()

    student = visit("/?lesson=all", width=375, somebody_else=True)
    field = panel(student).get_by_label("Open a lesson from a file")
    field.set_input_files({"name": "notes.json", "mimeType": "application/json", "buffer": b"no lesson at all"})
    expect(student.get_by_text("There is no lesson in this link or file").first).to_be_visible()
    field.set_input_files({"name": "lesson.json", "mimeType": "application/json", "buffer": content})
    expect(panel(student).locator("h2 .sub")).to_have_text("Step 1 of 8")
    student.wait_for_url(re.compile("lesson=(~|%7E)"))
    idle(student)
    panel(student).locator(".next").click()
    expect(panel(student).locator("h2 .sub")).to_have_text("Step 2 of 8")
    idle(student)
    student.reload()
    idle(student)
    expect(panel(student).locator("h2 .sub")).to_have_text("Step 2 of 8")
    expect_fits(student, 375)


@pytest.mark.parametrize(("lesson", "said"), [
    ("~broken.1", "There is no lesson in this link or file"),
    ("~" + "A" * 6_500, "at most 6,000 are read"),
    (packed({"title": IMG, "language": "en", "steps": [{"text": IMG, "address": {IMG: ""}}]}), "Step 1 of the lesson")])
def test_a_bad_link_is_one_sentence_on_a_page_that_works(visit, learned_pairs, lesson, said):
    page = visit(f"/?lesson={lesson}&tab=translate", somebody_else=True)
    expect(page.get_by_text(said)).to_be_visible()
    expect(panel(page)).to_be_hidden()
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    nothing_runs(page)


def test_a_ready_lesson_is_one_link(visit):
    teacher = compose(visit)
    panel(teacher).get_by_label("A ready lesson").select_option("probabilities")
    link = copied(teacher, panel(teacher).get_by_role("button", name="Copy link for a class").first.click)
    assert urlparse(link).query == "lesson=probabilities"
