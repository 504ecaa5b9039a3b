"""The key-value store: what is read, compared, retrieved and blended."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given

from tests.made import rows_below
from tests.pages import laid_out
from tests.test_fuzz import ANY, answered, few
from xformer.explain import principles as walkthrough
from xformer.figures.labels import percent
from xformer.parts.store import draw as figures
from xformer.parts.store import part as tab
from xformer.parts.store import records as store
from xformer.results import UserError
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask

LOG2 = math.log(2)


def test_records_are_read_line_by_line():
    assert store.read("A: one\n\n  B : two: three \n") == (
        ("A", "one"),
        ("B", "two: three"),
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("A: one\nno colon", "Line 2, “no colon”, is no record"),
        ("A: one\n: two", "Line 2"),
        ("A: one", "There are 1"),
        ("", "There are 0 records; the store holds 2 to 12"),
        ("A: b\n" * 13, "There are 13"),
        ("A: b\nB: " + "x" * 300, "Line 2 has 303 characters; at most 200"),
    ],
)
def test_records_that_cannot_be_read_are_named(lines, said):
    with pytest.raises(UserError, match=said):
        store.read(lines)


def test_likeness_is_the_cosine_from_the_mean_of_the_keys():
    keys = np.array([[11.0, 10], [9, 10], [10, 11], [10, 9]])
    np.testing.assert_allclose(
        store.likeness(keys, np.array([13.0, 10])), [1, -1, 0, 0], atol=1e-9
    )


def test_a_vector_of_a_text_is_the_mean_of_the_encoders_output(running, learned_pairs):
    first = learned_pairs[0][0]
    second = learned_pairs[3][0]
    # of different lengths: padding counts for nothing
    together = running.embed([first, second])
    np.testing.assert_allclose(together[0], running.embed([first])[0], atol=1e-5)
    assert together.shape == (2, running.info.d_model)
    with pytest.raises(UserError, match="nothing to translate"):
        running.embed([first, " "])


@pytest.mark.parametrize("title", ["▁", "\u200b", "你好"])
def test_a_title_of_which_nothing_can_be_read_is_named_by_its_line(running, title):
    records = f"The cat: one\n\nThe dog: two\n{title}: three"
    said = Ask.always(running, ENGLISH).answer(
        tab.look_up, records=records, store_query="A cat."
    )["problem"]
    assert (
        f"Line 4: the model can read nothing of the title “{title}”; write English words."
        in said
    )
    said = Ask.always(running, ENGLISH).answer(
        tab.look_up, records="The cat: one\nThe dog: two", store_query=title
    )
    assert "Line" not in said["problem"] and said["problem"]


def test_the_query_finds_its_record_and_a_hard_look_takes_that_alone(running):
    ask = Ask.always(running, ENGLISH)
    records = "The cat: it <b>purrs\nThe bread: it is eaten\nThe house: it stands"
    matches = ask.answer(tab.look_up, records=records, store_query="The cat")["matches"]
    pictures = laid_out(running).pictures[tab.ID]
    draw = partial(Ask.always(None, ENGLISH).answer, pictures.stream, made={})
    assert draw(matches=None, store_power=0) == {"problem": ""}, "before a query"
    soft, hard = (draw(matches=matches, store_power=power)["table"] for power in (0, 6))
    assert (
        "The softmax blends; the largest share" in soft and len(rows_below(soft)) == 3
    )
    assert (
        rows_below(soft)[0][0] == "The cat"
        and '<p class="large" lang="en">it &lt;b&gt;purrs</p>' in soft
    )
    assert (
        f"The argmax retrieves one record, “The cat”, with weight {percent(1)}" in hard
    )


def test_the_slider_needs_neither_the_model_of_the_page_nor_that_its_tab_is_open(
    running,
):
    page = laid_out(running)
    power = page.controls["store_power"].component
    (drawing,) = [
        one for one in page.demo.fns.values() if (power._id, "input") in one.targets
    ]
    assert {page.model, page.sheet}.isdisjoint(drawing.inputs)


def test_a_bad_record_is_named(running):
    ask = Ask.always(running, ENGLISH)
    said = ask.answer(tab.look_up, records="no colon here", store_query="The cat")
    assert (
        "Line 1, “no colon here”, is no record" in said["problem"]
        and "matches" not in said
    )


def test_the_store_retrieves_one_record_or_blends_them():
    records = (("K<1>", "one"), ("K2", "two & a half"))
    cosines = np.array([0.0, LOG2])
    soft = figures.store(records, cosines, 1.0)
    assert (
        "0.333" in soft
        and "0.667" in soft
        and f"the largest share, {percent(2 / 3)}, is that of “K2”" in soft
    )
    hard = figures.store(records, cosines, walkthrough.HARD)
    assert (
        f"The argmax retrieves one record, “K2”, with weight {percent(1)}" in hard
        and "--share:0.000" in hard
    )
    assert "two &amp; a half" in hard and "K&lt;1&gt;" in hard and "K<1>" not in hard
    assert f"every record has {percent(0.5)}" in figures.store(records, cosines, 0.0)


@pytest.mark.parametrize("beta", [0.0, 1.0, walkthrough.HARD])
def test_soft_retrieval_is_in_order_and_hard_retrieval_is_its_first(beta):
    records = (("A", "a"), ("B", "b"), ("C", "c"))
    cosines = np.array([0.1, 0.9, 0.4])
    html = figures.store(records, cosines, beta)
    assert [row[0] for row in rows_below(html)] == ["B", "C", "A"]
    assert (
        "Hard retrieval, the argmax: “B”" in html
        and '<p class="large" lang="en">b</p>' in html
    )


def test_the_recipes_that_ship_are_records_and_the_query_asks_for_one_of_two():
    titles = [title for title, _ in store.read(tab.RECORDS.default)]
    assert 2 <= len(titles) <= store.MOST_RECORDS and tab.QUERY.default == "lasagne"
    assert sum("asagne" in title for title in titles) == 2


@pytest.mark.full
@few
@given(ANY)
def test_any_list_is_looked_up_in_or_refused_in_a_sentence(lines):
    answered(store.read, lines)
