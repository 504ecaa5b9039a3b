"""What strangers type, send, put into a link or into a checkpoint stays text in
Chromium: nothing of it runs, wherever it is shown.

The page of `visits` fails on any dialog, any error in the console, and any request that
leaves this machine.
"""

import json
from collections import Counter
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.acts import (
    each_part,
    idle,
    open_tab,
    saved,
    translate,
    type_into,
)
from tests.browser.conftest import visits
from tests.browser.test_walk import unfold
from tests.fixtures import random_model
from tests.harness import App
from xformer.hub import checkpoint
from xformer.strings import ENGLISH
from xformer.tokenizer import Tokenizer, field_of, number_of, piece_of

IMG = "<img src=x onerror=alert(1)>"
SCRIPT = "<script>alert(2)</script>"
SVG = '"><svg onload=alert(3)>'
LINK = "[cat](javascript:alert(4))"
# of a vocabulary, which shows a space as another character
PIECE = "<svg/onload=alert(5)>"
# The elements that would have come of it.
MADE = """() => [...document.querySelectorAll('[onerror], svg[onload], a[href^="javascript:"], img[src=x]')]
    .map(one => one.outerHTML)"""
# The names of the fields in sight that a person may type a text into.
FIELDS = """() => [...document.querySelectorAll(
        '.tabitem :is(textarea, input:not([type]), input[type=text], input[type=search])')]
    .filter(one => one.checkVisibility() && !one.readOnly && !one.disabled && !one.matches('[role=listbox]'))
    .map(one => (one.dataset.field = window.fields = (window.fields ?? 0) + 1))"""
# What sends them.
ACTIONS = ".tabitem button.primary"
say = ENGLISH.say


def nothing_runs(page):
    """Wait until what was sent is answered and drawn; no element may have come of
    it."""
    idle(page)
    assert page.evaluate(MADE) == []


def spiked(folder, tokenizer):
    """Write a checkpoint with markup in its name, in its scores and in two pieces, one
    of which always wins."""
    pieces = [piece_of(piece.replace(" ", "▁"), 0.0) for piece in (f" {PIECE}", PIECE)]
    size = field_of(2, number_of(4, len(tokenizer) + len(pieces)))
    its_own = Tokenizer(b"".join((tokenizer.model, *pieces, size)))
    model = random_model("pre", its_own)
    with torch.no_grad():
        rows = model.embedding.weight
        rows[-2] *= 20
        rows[-1] = -rows[-2]
    checkpoint.save(
        folder / IMG,
        model,
        its_own,
        {
            "step": 1,
            "scores": [{"set": IMG, "bleu": 12.25, "beam": 5}],
            "lengths": {
                "set": IMG,
                "buckets": [
                    {
                        "first": 1,
                        "last": None,
                        "sentences": 9,
                        "bleu": 12.0,
                        "chrf": 9.0,
                        "training": None,
                    }
                ],
            },
        },
    )
    return folder / IMG


@pytest.fixture
def hostile(tokenizer, tiny_classifier, tmp_path):
    """The app on such a checkpoint."""
    with App(
        tmp_path / "app",
        "--checkpoint",
        spiked(tmp_path, tokenizer),
        "--sentiment",
        tiny_classifier,
    ) as app:
        yield app


def keys_of(app):
    """Every key of the address, which the page holds for the script that writes it."""
    with urlopen(f"{app.address}/config") as answer:
        held = [one["props"].get("value") for one in json.load(answer)["components"]]
    keys = next(
        {*json.loads(value)["left_out"]}
        for value in held
        if str(value).startswith('{"longest": ')
    )
    assert {
        "text",
        "tab",
        "spanish",
        "stack",
        "review",
        "off",
        "beam",
        "compare",
        "records",
        "model",
    } <= keys
    return keys


def submit(page, key, text):
    field = page.get_by_label(say(key))
    type_into(field, text)
    field.press("Enter")


def press(page, key):
    page.get_by_role("button", name=say(key), exact=True).click()


@pytest.mark.full
def test_in_every_key_of_the_address_field_file_and_tab(chromium, person, hostile):
    with visits(chromium, person, hostile.address) as visit:
        page = visit(
            f"/?{urlencode({**dict.fromkeys(keys_of(hostile), IMG), 'tab': 'principles'})}"
        )
        nothing_runs(page)
        open_tab(page, "translate")
        translate(page, f"{IMG} The cat {PIECE}")
        expect(page.get_by_text(say("warning_markup"))).to_be_visible()

        # What the checkpoint holds, in every tab: at least its name.
        for tab in (
            "translate",
            "decoding",
            "principles",
            "positions",
            "pairs",
            "training",
            "model",
            "attention",
        ):
            open_tab(page, tab)
            nothing_runs(page)
            assert IMG in page.locator("body").inner_text(), tab
        expect(page.locator(".view .drawing:visible")).to_contain_text(PIECE)

        # What is typed.
        submit(page, "inspected", f"{SVG} gato")
        expect(page.locator(".view .drawing:visible")).to_contain_text("gato")
        nothing_runs(page)
        open_tab(page, "sentiment")
        type_into(page.get_by_label(say("review")), f"{IMG} film")
        press(page, "review_run")
        expect(
            page.locator(".judged").get_by_text(say("warning_review_markup"))
        ).to_be_visible()
        open_tab(page, "principles")  # where the address has opened the store
        type_into(
            page.get_by_label(say("store_records")),
            f"cat {IMG}: {SVG}\nA dog: {SCRIPT}",
        )
        type_into(page.get_by_label(say("store_query")), f"{IMG} cat")
        press(page, "store_run")
        expect(page.locator(".store tbody tr")).to_have_count(2)
        expect(page.locator(".block.store")).to_contain_text(IMG)
        nothing_runs(page)

        # A page that is saved.
        open_tab(page, "attention")
        expect(page.locator(".view .title:visible")).to_be_visible()
        content, _ = saved(
            page, page.get_by_role("button", name=say("export_html")).click
        )
        (hostile.folder / "maps.html").write_bytes(content)
        kept = visit_alone(person, hostile.folder / "maps.html")
        assert kept == ([], [])


@pytest.mark.full
def test_in_every_field_that_is_in_sight(chromium, person, hostile):
    typed = f"{IMG} {PIECE} cat"
    fields = Counter()
    with visits(chromium, person, hostile.address) as visit:
        page = visit(f"/?{urlencode({'text': typed})}")
        nothing_runs(page)
        for place in each_part(page):
            unfold(page)
            for name in page.evaluate(FIELDS):
                field = page.locator(f'[data-field="{name}"]')
                if not field.is_visible():  # an answer has taken it away
                    continue
                field.fill(typed)
                field.press("Enter")
                nothing_runs(page)
                fields[place] += 1
            for button in page.locator(ACTIONS).all() if fields[place] else ():
                if button.is_visible() and button.is_enabled():
                    button.click()
                    nothing_runs(page)
    print(fields)
    assert len(fields) > 8 and fields.total() > 20, fields


def visit_alone(person, path):
    """Open a page that was saved; -> the elements that markup became, and what went
    wrong."""
    page = person.new_page()
    problems = []
    page.on(
        "dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss())
    )
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_load_state()
    made = page.evaluate(MADE)
    page.close()
    return made, problems
