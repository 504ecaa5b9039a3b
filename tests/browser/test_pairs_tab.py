"""The Compare tab in Chromium: two sentences, two models, the BLEU laboratory and the
lecture's sentences."""

import json
import re

from playwright.sync_api import expect

from tests.browser.acts import (
    choose_map,
    idle,
    open_menu,
    open_tab,
    sentence_field,
    type_into,
)
from xformer.strings import ENGLISH

say = ENGLISH.say


def part(page, name):
    page.locator(".parts:visible").get_by_text(
        say(f"pairs_part_{name}"), exact=True
    ).click()


def noting(asked):
    """What notes, from before a page opens, which of its listeners ask the server."""

    def note(request):
        if re.search("/gradio_api/(run|queue/join)", request.url):
            asked.append(json.loads(request.post_data)["fn_index"])

    return {"before": lambda page: page.on("request", note)}


def each_once(asked):
    """Whether no listener asked twice; but a part that opens with its tab may be told
    of it twice."""
    return len(asked) <= len({*asked}) + 1


def test_two_sentences_and_two_models_are_compared_and_the_address_keeps_them(
    visit, learned_pairs
):
    page = visit()
    open_tab(page, "pairs")
    type_into(page.get_by_label(say("pairs_first")), learned_pairs[0][0])
    second = page.get_by_label(say("pairs_second"))
    type_into(second, learned_pairs[1][0])
    second.press("Enter")
    both = page.locator(".contrasted section")
    expect(both.first.locator(".said mark").first).to_have_text("gato")
    expect(both.last.locator(".said mark").first).to_have_text("perro")
    expect(page.locator(".pair-difference .caption")).to_have_text(
        re.compile(r"^B − A · (Cross|Encoder|Decoder)")
    )
    page.wait_for_url("**pair_b=The+dog**")
    open_tab(page, "translate")

    open_menu(page)
    page.get_by_role("button", name=say("models_open")).click()
    rows = page.locator(".two-rows tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("A · tiny-en-es")
    expect(rows.last).to_contain_text("B · other-shape")
    sentence = page.get_by_label(say("models_text"), exact=True)
    type_into(sentence, learned_pairs[0][0])
    sentence.press("Enter")
    expect(rows.first.locator(".said")).to_have_text(learned_pairs[0][1])
    choose_map(page, 1, 3, within=".two-grids .column:last-child .heads")
    page.get_by_role("button", name=say("models_apart")).click()
    expect(page.locator(".model-map .caption").last).to_have_text(
        "B · other-shape · layer 1, head 3"
    )
    part(page, "sentences")
    expect(both.last.locator(".said mark").first).to_have_text("perro")
    part(page, "models")
    idle(page)
    assert "models_second=cross.1.3" in page.url and "pair_b=The+dog" in page.url

    asked = []
    again = visit("/" + page.url.split("/", 3)[3], **noting(asked))
    assert each_once(asked)
    again.get_by_role("button", name=say("models_apart")).click()
    expect(again.locator(".model-map .caption").last).to_have_text(
        "B · other-shape · layer 1, head 3"
    )
    expect(again.locator(".two-rows tbody tr .said").first).to_have_text(
        learned_pairs[0][1]
    )
    part(again, "sentences")
    expect(again.locator(".contrasted .said mark").first).to_have_text("gato")
    asked.clear()
    again.get_by_label(say("pairs_preset")).click()
    again.get_by_role("option").last.click()
    first = again.get_by_label(say("pairs_first"))
    expect(first).not_to_have_value(learned_pairs[0][0])
    idle(again)
    assert len(asked) == len({*asked}), "one choice is asked for once"
    clicked = first.input_value()
    again.get_by_label(say("pairs_preset")).focus()
    again.keyboard.press("ArrowUp")
    again.keyboard.press("Enter")
    expect(first).not_to_have_value(clicked)
    idle(again)
    asked.clear()
    type_into(first, learned_pairs[2][0])
    again.get_by_label(say("pairs_preset")).focus()
    again.keyboard.press("Tab")
    idle(again)
    expect(first).to_have_value(learned_pairs[2][0])
    assert not asked, "nobody asked to compare it with the other sentence yet"


def test_the_laboratory_follows_what_is_typed_and_a_sentence_of_the_lecture_opens(
    visit,
):
    asked = []
    page = visit("/?tab=pairs&pairs_part=lecture", **noting(asked))
    assert each_once(asked)
    part(page, "bleu")
    lab = page.locator(".bleu-parts")
    expect(lab).to_contain_text(
        "Without clipping 7 of 7 (100.0 %); clipped 2 of 7 (28.6 %)"
    )
    type_into(page.get_by_label(say("bleu_said")), "the cat is")
    expect(lab).to_contain_text("Without clipping 3 of 3")
    expect(page.locator(".brevity .caption")).to_contain_text("c = 3, r = 6, so 0.368")
    expect(
        page.locator(".brevity .js-plotly-plot .scatterlayer path").first
    ).to_be_visible()
    expect(page.locator(".bleu-scores")).to_contain_text(
        "too few tokens for n-grams of 4"
    )
    page.wait_for_url("**bleu_said=the+cat+is**")
    page.get_by_label(say("bleu_preset")).click()
    page.get_by_role("option", name=say("bleu_preset_few")).click()
    expect(page.get_by_label(say("bleu_said"))).to_have_value("Muchas gracias.")
    expect(lab).to_contain_text("has no n-grams of 4")

    part(page, "lecture")
    table = page.locator(".lecture-table")
    expect(
        page.locator(".block.summary").filter(has_text="by the corpus formula")
    ).to_be_visible()
    expect(table.locator("tbody tr")).to_have_count(20)
    table.get_by_role("button", name="i was waiting for tom", exact=True).click()
    expect(sentence_field(page)).to_have_value("i was waiting for tom")
    expect(page.locator(".translation .piece").first).to_be_visible()
