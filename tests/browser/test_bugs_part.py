"""Find the bug, as a reader plays it: looks, says which, is answered, asks for other
letters, passes a link on."""

import json
import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.acts import idle, saved
from xformer.parts.bugs.draw import CODE, patients
from xformer.results import BUGS, Examine
from xformer.strings import ENGLISH

say = ENGLISH.say


def patient(page, letter):
    """Wait for both translations and both maps of a patient; -> the part with the
    translations."""
    texts = page.locator(".block.bugs-result")
    expect(texts.locator(".both .sub").last).to_have_text(
        say("bugs_ill", letter=letter)
    )
    expect(page.locator(".bug-after .title")).to_contain_text(
        say("bugs_ill", letter=letter)
    )
    expect(page.locator(".bug-before .title")).to_contain_text(say("bugs_healthy"))
    return texts


def guess(page, bug):
    guesses = page.locator("fieldset").filter(has_text=say("bugs_guess"))
    guesses.get_by_text(say(f"bugs_guess_{bug}"), exact=True).click()


def test_a_reader_looks_says_and_is_answered(visit, learned_pairs, running):
    page = visit(f"/?tab=model&model_part=bugs&text={quote(learned_pairs[4][0])}")
    bug = patients(1)["A"]
    reply = page.locator(".block.bugs-reply")
    expect(patient(page, "A").locator("[lang=es]").first).to_have_text(
        running.ask(Examine(*learned_pairs[4], "")).text
    )
    expect(page.locator("p.asks", has_text=say("asks_bugs"))).to_be_visible()
    guess(page, next(one for one in BUGS if one != bug))
    expect(reply).to_contain_text(say("lesson_wrong"))
    idle(page)
    expect(reply.locator("code")).to_have_count(0)
    guess(page, bug)
    expect(reply).to_contain_text(say("lesson_right"))
    expect(reply.locator("code")).to_have_text(CODE[bug])
    page.wait_for_url(re.compile(f"bug_guess={bug}"))
    page.get_by_test_id("B-radio-label").click()
    patient(page, "B")
    idle(page)
    expect(reply).to_have_text("")
    assert "bug_patient=B" in page.url and "bug_guess" not in page.url
    bug = patients(7)["C"]
    again = visit(
        f"/?tab=model&model_part=bugs&text={quote(learned_pairs[4][0])}&bug_patient=C&bug_seed=7"
        f"&bug_head=decoder_self.1.2&bug_guess={bug}"
    )
    texts = patient(again, "C")
    expect(again.locator(".bugs-reply code")).to_have_text(CODE[bug])
    expect(again.locator(".bug-after .title")).to_contain_text(say("decoder_self"))
    rows = json.loads(
        saved(again, texts.get_by_role("button", name="Save as JSON").click)[0]
    )["rows"]
    healthy, ill = (
        running.ask(Examine(*learned_pairs[4], one)).text for one in ("", bug)
    )
    assert rows == [[say("bugs_healthy"), healthy], [say("bugs_ill", letter="C"), ill]]
    again.get_by_role("button", name=say("bugs_deal")).click()
    idle(again)
    expect(again.locator(".block.bugs-reply")).to_have_text("")
    assert (
        "bug_seed=" in again.url
        and "bug_seed=7&" not in f"{again.url}&"
        and "bug_guess" not in again.url
    )
