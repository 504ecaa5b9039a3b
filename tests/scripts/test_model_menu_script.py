"""The functions of assets/page.js that the menu of models calls."""

import json


def test_the_page_goes_to_the_model_that_was_chosen(bench):
    bench.open()
    with bench.page.expect_navigation(url="**/?model=other-shape&en"):
        bench.call(
            "goTo",
            json.dumps({"name": "other-shape", "query": "model=other-shape&en"}),
            " other-shape ",
        )


def test_the_page_stays_where_another_model_was_chosen_meanwhile(bench):
    bench.open()
    there = bench.page.url
    bench.call(
        "goTo",
        json.dumps({"name": "other-shape", "query": "model=other-shape"}),
        "tiny-en-es",
    )
    bench.call("goTo", "", "other-shape")  # a refusal
    bench.call("goTo", "", None)
    assert bench.page.url == there
    assert bench.call("withAddress", "a", "b", "c") == ["a", "b", "c", "?en&light"]
