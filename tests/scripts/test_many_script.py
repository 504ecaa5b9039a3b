"""What the part of many texts shows and offers as a file: its table in the browser, and assets/download.js."""

import pytest

from tests.browser.acts import expect_fits, saved
from xformer.parts.judging import many as part
from xformer.parts.judging import many_draw as figure
from xformer.serve import many as texts
from xformer.strings import ENGLISH


@pytest.fixture
def judged(reader):
    """What is found of texts, each in a line."""
    return lambda lines: [*texts.judge(reader, texts.paste(lines).texts())][-1][1]


def test_a_phone_shows_the_texts_whole(bench, judged, reviews):
    found = judged(f"{reviews[0][1]}\n{'A long story that goes on and on. ' * 4}\n你好")
    table = bench.mount("texts", figure.results(found), width=375)
    box = table.locator(".rows").bounding_box()
    cells = table.locator("td").evaluate_all(
        "cells => cells.map(cell => [cell.getBoundingClientRect().right, cell.scrollWidth - cell.clientWidth])")
    assert len(cells) == 3 * 5
    assert all(right <= box["x"] + box["width"] + 1 and cut <= 1 for right, cut in cells)
    expect_fits(bench.page, 375)


def test_the_head_of_a_long_table_stays_where_its_rows_scroll(bench, judged, reviews):
    table = bench.mount("texts", figure.results(judged("\n".join(review for _, review in reviews) * 4)))
    rows, head = table.locator(".rows"), table.locator("thead th").first
    rows.evaluate("rows => rows.scrollTo(0, rows.scrollHeight)")
    assert rows.evaluate("rows => rows.scrollTop") > 100
    assert head.bounding_box()["y"] == pytest.approx(rows.bounding_box()["y"], abs=2)


def test_markup_in_a_text_makes_no_element(bench, judged):
    table = bench.mount("texts", figure.results(judged("<img src=x onerror=alert(1)> a wonderful film")))
    assert "<img src=x" in table.locator("tbody td.text").inner_text()
    assert table.locator("img").count() == 0


def test_what_is_saved_is_offered_as_a_file_each_time(bench, judged, reader, reviews):
    found = judged("\n".join([*(review for _, review in reviews), "=1+1", "你好"]))
    offer = bench.mount("download")
    answers = [part.save(reader, ENGLISH, judged=found)["download"] for _ in range(2)]
    assert answers[0] != answers[1], "Gradio hands on what changed"
    for answer in answers:
        content, name = saved(bench.page, lambda answer=answer: offer.show(answer))
        assert name == "tiny-sentiment-texts.csv" and content == texts.as_csv(found)
