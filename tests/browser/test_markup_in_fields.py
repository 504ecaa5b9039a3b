"""What strangers type, send, or put into a link stays text in Chromium: nothing of it runs, wherever it is shown.

The `visit` fixture fails on any dialog, any error in the console, and any request that leaves this machine.
"""

import json
import re
import struct
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.acts import idle, open_tab, saved, translate, type_into
from tests.browser.conftest import visits
from tests.conftest import random_model
from tests.harness import App
from xformer.hub import checkpoint
from xformer.tokenizer import NORMAL, Tokenizer, _field, _number

IMG, SCRIPT = "<img src=x onerror=alert(1)>", "<script>alert(2)</script>"
SVG, LINK = '"><svg onload=alert(3)>', "[cat](javascript:alert(4))"


def nothing_runs(page):
    """Wait until what was sent is answered and drawn; no element may have come of it."""
    idle(page)
    assert page.evaluate("""() => [...document.querySelectorAll('[onerror], svg[onload], a[href^="javascript:"]')]
                                  .map(one => one.outerHTML)""") == []
    assert page.locator("img[src=x]").count() == 0


def test_in_every_field_of_every_tab(visit):
    page = visit()
    translate(page, f"{IMG} {SCRIPT} cat")
    expect(page.get_by_text("it is taken as the plain text it is")).to_be_visible()
    page.get_by_role("button", name="Compare with a reference translation").click()
    type_into(page.get_by_label("Reference translation"), IMG + SVG)
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text(re.compile("^BLEU 0")).first).to_be_visible()
    nothing_runs(page)

    page.get_by_role("tab", name="Attention").click()
    inspected = page.get_by_label("Translation that is looked into")
    type_into(inspected, f"{SVG} gato")
    inspected.press("Enter")
    expect(page.locator(".view .line.row .token").first).to_be_visible()
    expect(page.locator(".view .drawing")).to_contain_text("gato")
    nothing_runs(page)

    page.get_by_role("tab", name="Sentiment").click()
    type_into(page.get_by_label("Review, in English"), f"{IMG} film")
    page.get_by_role("button", name="Explain every word").click()
    expect(page.locator(".judged").get_by_text("looks like HTML; it is read")).to_be_visible()
    page.get_by_role("button", name="Several texts at once").click()
    type_into(page.get_by_label("Texts, one per line"), f"{IMG} film\n{LINK}\n{SVG}")
    page.get_by_role("button", name="Classify the texts").click()
    expect(page.locator(".texts tbody tr")).to_have_count(3)
    nothing_runs(page)

    page.get_by_role("tab", name="First principles").click()
    page.get_by_role("button", name="A key–value store").click()
    type_into(page.get_by_label("Records, one"), f"cat {IMG}: {SVG}\nA dog: {SCRIPT}")
    type_into(page.get_by_label("Query, in English"), f"{IMG} cat")
    page.get_by_role("button", name="Look up", exact=True).click()
    expect(page.locator(".store tbody tr")).to_have_count(2)
    expect(page.locator(".block.store")).to_contain_text(IMG)
    nothing_runs(page)


@pytest.mark.parametrize(("path", "tab"), [("/", "principles"), ("/es", "attention"), ("/", "sentiment"), ("/", IMG)])
def test_in_every_key_of_the_address(visit, path, tab):
    # The page holds every key, for the script that writes the address.
    held = visit(path).evaluate("window.gradio_config.components.map(one => one.props.value)")
    keys = next([*json.loads(value)["left_out"]] for value in held if str(value).startswith('{"longest": '))
    assert {"text", "tab", "spanish", "stack", "review", "off", "beam", "compare", "records", "model"} <= {*keys}
    page = visit(f"{path}?{urlencode({key: IMG for key in keys if key != 'tab'})}&tab={tab}")
    nothing_runs(page)


def test_in_a_file_and_its_name(visit):
    page = visit()
    page.get_by_role("tab", name="Sentiment").click()
    page.get_by_text("Several texts at once").click()
    cell = IMG.replace('"', '""')
    page.locator("input[type=file]").set_input_files({
        "name": f"{IMG}.csv", "mimeType": "text/csv", "buffer": f'text,"{cell}"\n"{cell}","{cell}"\n'.encode() * 2})
    expect(page.locator(".block.texts-file")).to_contain_text("is read")  # its field is empty again by then
    page.get_by_role("button", name="Classify the texts").click()
    expect(page.locator(".texts tbody tr").first).to_contain_text(IMG)
    nothing_runs(page)


def test_in_a_page_that_was_saved(visit, chromium, tmp_path):
    page = visit()
    translate(page, f"{SCRIPT} The cat {IMG}")
    expect(page.get_by_text("it is taken as the plain text it is")).to_be_visible()
    page.get_by_role("tab", name="Attention").click()
    expect(page.locator(".view .title")).to_be_visible()
    page.locator(".view").get_by_text("Save", exact=True).click()
    content, _ = saved(page, page.get_by_role("button", name="HTML of all heads").click)
    alone = chromium.new_context()
    kept, problems = alone.new_page(), []
    kept.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    kept.on("pageerror", lambda error: problems.append(str(error)))
    (tmp_path / "maps.html").write_bytes(content)
    kept.goto((tmp_path / "maps.html").as_uri())
    kept.wait_for_load_state()
    assert kept.locator("img").count() == 0 and not problems
    alone.close()


@pytest.fixture(scope="module")
def hostile(tokenizer, tmp_path_factory):
    """Folder of a checkpoint with markup in its name, in its scores and in two pieces, one of which always wins."""
    pieces = [_field(1, _field(1, piece.replace(" ", "▁").encode()) + struct.pack("<Bf", 2 << 3 | 5, 0.0)
                     + _number(3, NORMAL)) for piece in (f" {IMG}", IMG)]
    size = _field(2, _number(4, len(tokenizer) + len(pieces)))
    spiked = Tokenizer(b"".join((tokenizer.model, *pieces, size)))
    model = random_model("pre", spiked)
    with torch.no_grad():
        rows = model.embedding.weight
        rows[-2] *= 20
        rows[-1] = -rows[-2]
    folder = tmp_path_factory.mktemp("hostile") / IMG
    checkpoint.save(folder, model, spiked, {
        "step": 1, "scores": [{"set": IMG, "bleu": 12.25, "beam": 5}],
        "lengths": {"set": IMG, "buckets": [{"first": 1, "last": None, "sentences": 9, "bleu": 12.0, "chrf": 9.0,
                                             "training": None}]}})
    return folder


def test_in_the_files_of_a_checkpoint(chromium, person, hostile, tiny_classifier, tmp_path):
    with App(tmp_path / "app", "--checkpoint", hostile, "--sentiment", tiny_classifier) as app, \
            visits(chromium, person, app.address) as visit:
        page = visit(f"/?{urlencode({'text': f'The cat {IMG} sees'})}")
        for tab in ("translate", "attention", "decoding", "principles", "positions", "pairs", "training", "model"):
            open_tab(page, tab)
            if tab == "attention":
                expect(page.locator(".view .drawing")).to_contain_text("onerror=alert(1)")  # a piece that has markup
            nothing_runs(page)
            assert IMG in page.locator("body").inner_text(), tab  # at least the name of the checkpoint
