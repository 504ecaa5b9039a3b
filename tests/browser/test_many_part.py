"""Many texts at once, in Chromium, on a page that holds nothing else and a model that knows twelve reviews by heart."""

import csv
import io
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import STATE, saved, steady, type_into
from tests.chromium import patience
from xformer.strings import ENGLISH, SPANISH

HTML = "<img src=x onerror=alert(1)> a wonderful film"
say = ENGLISH.say


@pytest.fixture(scope="module")
def server(start, tiny_classifier):
    """The page's process, which says what it reads, and stays at texts with “wait here” in them."""
    return start(tiny_classifier, program="many_texts")


@pytest.fixture
def page(person, server):
    page = person.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.set_default_timeout(patience())
    problems = []
    page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: problems.append(error.stack or str(error)))
    arrive(page, server.address)
    yield page
    page.close()
    assert not problems


def arrive(page, address):
    """Open a page that has no address to show."""
    page.goto(address)
    page.evaluate(f"{STATE}.then(state => {{ state.settled = true; window.pageState = state; }})")
    steady(page)


def upload(page, name, content, said):
    page.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content.encode()})
    expect(page.get_by_text(said)).to_be_visible()


def press(page, key):
    page.get_by_role("button", name=say(key), exact=True).click()


def many_lines(reviews, count):
    """So many of the reviews; the server stays at the longest quarter, which it reads last, in many steps."""
    lines = [review for _, review in reviews] * (count // len(reviews))
    return "\n".join([*lines[count // 4:], *[f"Please wait here. {line}" for line in lines[:count // 4]]])


def test_texts_are_pasted_and_sent_read_saved_stopped_and_left(page, server, reviews):
    rows, keep = page.locator(".texts tbody tr"), page.get_by_role("button", name=say("texts_save"))
    column = page.get_by_label(say("texts_column"))

    # Pasted lines become a table and a file.
    review = reviews[0][1]
    type_into(page.get_by_label(say("texts_paste")), f"{review}\n\n{HTML}\n你好")
    expect(keep).to_be_disabled()
    press(page, "texts_run")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text(re.compile(rf"1\s*{re.escape(review)}\s*positive\s*9\d\.\d %"))
    expect(rows.nth(1)).to_contain_text(HTML)
    content, name = saved(page, keep.click)
    table = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert name == "tiny-sentiment-texts.csv" and [row["text"] for row in table] == [review, HTML, "你好"]

    # A table that is sent goes before them; another of its columns is chosen; a broken one changes nothing.
    out = io.StringIO()
    csv.writer(out).writerows([("title", "review", "label"), *(
        (f"Film {i}", review, label) for i, (label, review) in enumerate(reviews))])
    upload(page, "my reviews.csv", out.getvalue(), say("texts_read", name="my reviews.csv", count=12))
    expect(column).to_have_value(re.compile("^review · A wonderful film"))
    press(page, "texts_run")
    expect(page.get_by_text(say("texts_accuracy", share="100.0", right=12, count=12))).to_be_visible()
    upload(page, "table.xlsx", "PK", re.compile("^table.xlsx is of a kind that is not read"))
    column.click()
    page.get_by_role("option", name=re.compile("^title")).click()
    press(page, "texts_run")
    expect(rows.nth(3)).to_contain_text("Film 3")
    steady(page)
    expect(page.get_by_role("alert")).to_have_count(0)
    press(page, "texts_forget")
    steady(page)
    expect(column).to_be_hidden()
    press(page, "texts_run")
    expect(rows).to_have_count(3)

    # Stopping keeps what was read.
    upload(page, "many.txt", many_lines(reviews, 480), say("texts_read", name="many.txt", count=480))
    press(page, "texts_run")
    page.wait_for_function("document.querySelector('.texts progress')?.value > 100")
    stop = page.get_by_role("button", name=say("texts_stop"), exact=True)
    stop.click()
    expect(stop).to_be_disabled()
    server.say("go")
    expect(page.get_by_text(say("texts_stopped"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"^[\d,]+ of 480 rows were not read"))).to_be_visible()
    expect(keep).to_be_enabled()
    expect(stop).to_be_disabled()

    # Leaving the page ends the reading.
    server.say("hold")
    before = len(server.said)
    upload(page, "more.txt", many_lines(reviews, 600), say("texts_read", name="more.txt", count=600))
    press(page, "texts_run")
    page.wait_for_function("document.querySelector('.texts progress')?.value > 100")
    arrive(page, f"{server.address}/es")
    type_into(page.get_by_label(SPANISH.say("texts_paste")), "Good.")
    page.get_by_role("button", name=SPANISH.say("texts_run")).click()
    expect(page.get_by_text(re.compile(r"(positiva|negativa): 1 de 1"))).to_be_visible()
    server.wait_for("ended 600")
    read = [int(line.split()[1]) for line in server.said[before:] if line.startswith("read")]
    assert sum(read) < 600, "the other texts were read for nobody"
