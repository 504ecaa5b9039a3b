"""Gradients at the beginning, as assets/plot.js draws them and saves their numbers."""

import csv
import io

from playwright.sync_api import expect

from tests.browser.acts import named, saved
from xformer.parts.beginning import part as beginning
from xformer.serve.study import Study
from xformer.strings import ENGLISH


def test_the_gradients_of_one_order_are_named_and_saved_by_layer(bench):
    drawn = beginning.draw(
        Study(), ENGLISH, grad_order="post", grad_layers=3, grad_width=32, grad_seed=0
    )
    plot = bench.plotted("train-gradients", drawn["picture"])
    expect(plot.locator(".caption")).to_contain_text("3 + 3 layers")
    names = named(bench.page, "train-gradients").filter(
        has_text=ENGLISH.say("train_feed_forward")
    )
    expect(names.first).to_be_visible()
    content, _ = saved(bench.page, plot.save("CSV"))
    rows = [
        row
        for row in csv.reader(io.StringIO(content.decode()))
        if "feed-forward" in row[0]
    ]
    assert [row[1] for row in rows] == ["1", "2", "3"] * 2 and all(
        float(row[2]) > 0 for row in rows
    )
