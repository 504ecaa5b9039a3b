"""Many texts at once, in Chromium, on a page that holds nothing else and a model that knows twelve reviews by heart."""

import csv
import io
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import STATE, steady, type_into
from tests.chromium import patience

HTML = '<img src=x onerror=alert(1)> a wonderful film'


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


def upload(page, name, content):
    page.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content if isinstance(content, bytes) else content.encode()})


def classify(page):
    page.get_by_role("button", name="Classify the texts").click()


def rows(page):
    return page.locator(".texts tbody tr")


def test_pasted_lines_become_a_table_and_a_file(page, reviews):
    label, review = reviews[0]
    type_into(page.get_by_label("Texts, one per line"), f"{review}\n\n{reviews[1][1]}\n{HTML}\n=1+1\n你好")
    expect(page.get_by_role("button", name="Save the table as CSV")).to_be_disabled()
    classify(page)
    expect(rows(page)).to_have_count(5)
    expect(rows(page).nth(0)).to_contain_text(re.compile(rf"1\s*{re.escape(review)}\s*positive\s*9\d\.\d %"))
    expect(rows(page).nth(1)).to_contain_text("negative")
    expect(rows(page).nth(2)).to_contain_text(HTML)
    steady(page)
    assert page.locator(".texts img").count() == 0
    expect(rows(page).nth(4)).to_contain_text("never seen these characters: 你好")
    expect(page.get_by_text("1 of 5 rows were not read; the notes say why.")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save the table as CSV").click()
    download = waiting.value
    assert download.suggested_filename == "tiny-sentiment-texts.csv"
    with open(download.path(), encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["text"] for row in table] == [review, reviews[1][1], HTML, "'=1+1", "你好"]
    assert [row["label"] for row in table[:2]] == ["positive", "negative"] and 0.5 < float(table[0]["probability"]) < 1
    assert table[4]["label"] == "" and "never seen" in table[4]["note"]


def test_a_phone_shows_the_texts_whole(page, reviews):
    page.set_viewport_size({"width": 375, "height": 812})
    type_into(page.get_by_label("Texts, one per line"), f"{reviews[0][1]}\n{'A long story that goes on and on. ' * 4}")
    classify(page)
    expect(rows(page)).to_have_count(2)
    steady(page)
    assert page.evaluate("""() => {
        const box = document.querySelector('.texts .rows').getBoundingClientRect();
        return [...document.querySelectorAll('.texts td')].every(cell =>
            cell.getBoundingClientRect().right <= box.right + 1 && cell.scrollWidth <= cell.clientWidth + 1);
    }""")


def test_an_uploaded_table_is_compared_with_its_labels(page, reviews):
    out = io.StringIO()
    csv.writer(out).writerows([("title", "review", "label"), *((f"Film {i}", review, label)
                                                             for i, (label, review) in enumerate(reviews))])
    upload(page, "my reviews.csv", out.getvalue())
    expect(page.get_by_text("my reviews.csv is read; rows: 12. Labels are in column “label”.")).to_be_visible()
    column = page.get_by_label("Column of the texts")
    expect(column).to_have_value(re.compile("^review · A wonderful film"))
    classify(page)
    expect(page.get_by_text("Accuracy: 100.0 %, 12 of the 12 texts that have a label.")).to_be_visible()
    column.click()
    page.get_by_role("option", name=re.compile("^title")).click()
    classify(page)
    expect(rows(page).nth(3)).to_contain_text("Film 3")
    page.get_by_role("button", name="Forget the file").click()
    steady(page)
    expect(column).to_be_hidden()
    classify(page)
    expect(page.get_by_role("alert")).to_contain_text("There is nothing to read: paste texts, one per line")


@pytest.mark.parametrize(("name", "content", "said"), [
    ("table.csv", b"PK\x03\x04\x14\x00\x06\x00", "table.csv is not a text file, whatever its name says"),
    ("table.csv", "text\nCafé\n".encode("latin-1"), "table.csv is not in UTF-8"),
    ("table.xlsx", b"PK\x03\x04", "table.xlsx is of a kind that is not read"),
    ("table.csv", b"text\n" + b"x" * 5_000_000, "table.csv has 5.0 MB; at most 5 MB are read at once")])
def test_a_broken_file_gets_one_sentence_and_nothing_is_lost(page, reviews, name, content, said):
    upload(page, "good.txt", reviews[0][1])
    expect(page.get_by_text("good.txt is read; rows: 1. It has no labels.")).to_be_visible()
    upload(page, name, content)
    expect(page.get_by_role("alert")).to_contain_text(said)
    classify(page)
    expect(rows(page)).to_have_count(1)
    steady(page)
    expect(page.get_by_role("alert")).to_have_count(0)


def many_lines(reviews, times):
    """The reviews so many times over; the server stays at the longest ones, which it reads last, in many steps."""
    lines = [review for _, review in reviews] * times
    return "\n".join([*lines[1_200:], *[f"Please wait here. {line}" for line in lines[:1_200]]])


def test_stopping_keeps_what_was_read(page, server, reviews):
    upload(page, "many.txt", many_lines(reviews, 700))
    expect(page.get_by_text("many.txt is read; rows: 8,400.")).to_be_visible()
    classify(page)
    page.wait_for_function("document.querySelector('.texts progress')?.value > 100")
    stop = page.get_by_role("button", name="Stop")
    stop.click()
    expect(stop).to_be_disabled()
    server.say("go")
    expect(page.get_by_text("Stopped: the rows below marked “not read” are left out.")).to_be_visible()
    expect(page.get_by_text(re.compile(r"The first 300 of 8,400 rows are shown"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"^[\d,]+ of 8,400 rows were not read"))).to_be_visible()
    expect(page.get_by_role("button", name="Save the table as CSV")).to_be_enabled()
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()


def test_leaving_the_page_ends_the_reading(page, server, reviews):
    server.say("hold")
    before = len(server.said)
    upload(page, "many.txt", many_lines(reviews, 800))
    expect(page.get_by_text("many.txt is read; rows: 9,600.")).to_be_visible()
    classify(page)
    page.wait_for_function("document.querySelector('.texts progress')?.value > 100")
    arrive(page, f"{server.address}/es")
    type_into(page.get_by_label("Textos, uno por línea"), "Good.")
    page.get_by_role("button", name="Clasificar los textos").click()
    expect(page.get_by_text(re.compile(r"(positiva|negativa): 1 de 1"))).to_be_visible()
    server.wait_for("ended 9600")
    page.get_by_role("button", name="Clasificar los textos").click()
    steady(page)
    expect(rows(page)).to_have_count(1)
    read = [int(line.split()[1]) for line in server.said[before:] if line.startswith("read")]
    assert sum(read) < 9_600, "the other texts were read for nobody"
