"""Find the bug, in Chromium: a patient beside the healthy model, a guess that is answered, other letters."""

import json
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import contrasts, expect_fits, idle, saved
from xformer.figures.bugs import CODE, patients
from xformer.results import BUGS, Examine
from xformer.strings import ENGLISH


def address(pair, **more):
    rest = "".join(f"&{key}={value}" for key, value in more.items())
    return f"/?tab=model&model_part=bugs&text={quote(pair[0])}{rest}"


def patient(page, letter):
    """Wait for both translations and both maps of a patient; -> the part with the translations."""
    texts = page.locator(".block.bugs-result")
    expect(texts.locator(".both .sub").last).to_have_text(f"Patient {letter}")
    expect(page.locator(".bug-after .title")).to_contain_text(f"Patient {letter}")
    expect(page.locator(".bug-before .title")).to_contain_text("Healthy model")
    return texts


def say(page, bug):
    guesses = page.locator("fieldset").filter(has_text=ENGLISH.say("bugs_guess"))
    guesses.get_by_text(ENGLISH.say(f"bugs_guess_{bug}"), exact=True).click()


def test_a_reader_looks_says_and_is_answered(visit, learned_pairs, running):
    page, bug = visit(address(learned_pairs[4])), patients(1)["A"]
    texts, reply = patient(page, "A"), page.locator(".block.bugs-reply")
    expect(texts.locator("[lang=es]").first).to_have_text(running.ask(Examine(*learned_pairs[4], "")).text)
    expect(page.locator("p.asks", has_text="Which one line of code is wrong")).to_be_visible()
    wrong = next(one for one in BUGS if one != bug)
    say(page, wrong)
    expect(reply).to_contain_text("Not quite.")
    idle(page)
    expect(reply.locator("code")).to_have_count(0)
    say(page, bug)
    expect(reply).to_contain_text("Yes.")
    expect(reply.locator("code")).to_have_text(CODE[bug])
    page.wait_for_url(re.compile(f"bug_guess={bug}"))
    page.get_by_test_id("B-radio-label").click()
    patient(page, "B")
    idle(page)
    expect(reply).to_have_text("")
    assert "bug_patient=B" in page.url and "bug_guess" not in page.url


def test_an_address_brings_the_patient_the_head_and_the_answer(visit, learned_pairs, running):
    bug = patients(7)["C"]
    page = visit(address(learned_pairs[4], bug_patient="C", bug_seed=7, bug_head="decoder_self.1.2", bug_guess=bug))
    texts = patient(page, "C")
    expect(page.locator(".bugs-reply code")).to_have_text(CODE[bug])
    expect(page.locator(".bug-after .title")).to_contain_text("Decoder self-attention")
    rows = json.loads(saved(page, texts.get_by_role("button", name="Save as JSON").click)[0])["rows"]
    healthy, ill = (running.ask(Examine(*learned_pairs[4], one)).text for one in ("", bug))
    assert rows == [["Healthy model", healthy], ["Patient C", ill]]
    page.get_by_role("button", name="Other letters").click()
    idle(page)
    expect(page.locator(".block.bugs-reply")).to_have_text("")
    assert "bug_seed=" in page.url and "bug_seed=7&" not in f"{page.url}&" and "bug_guess" not in page.url


@pytest.mark.parametrize("width", [1280, 375])
def test_it_fits_and_can_be_read(visit, learned_pairs, width):
    page = visit(address(learned_pairs[4], bug_patient="B", bug_guess=patients(1)["B"]), width=width)
    patient(page, "B")
    expect(page.locator(".block.bugs-reply")).to_contain_text("Yes.")
    expect_fits(page, width)
    assert contrasts(page)[0]["ratio"] >= 4.5
