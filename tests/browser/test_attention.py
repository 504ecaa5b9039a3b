"""The Attention tab as a person uses it, in Chromium, on a model that knows eight sentences by heart."""

import csv
import io
import json
import re
from urllib.parse import parse_qs, quote, urlencode, urlparse

import numpy as np
import pytest
from playwright.sync_api import expect

import xformer
from tests.browser.acts import (
    choose_map,
    choose_view,
    expect_fits,
    expect_spanish,
    idle,
    open_attention,
    open_view,
    saved,
    translate,
    type_into,
    wait_until_settled,
)
from xformer.hub.checkpoint import examine


@pytest.fixture(scope="module")
def trace(tiny_checkpoint, learned_pairs):
    """What the model does with the first sentence, computed beside the page."""
    running = xformer.load(tiny_checkpoint, "cpu")
    yield running.explain(learned_pairs[0][0])
    running.close()


def test_the_attention_tab_shows_the_head_that_is_chosen(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    expect(page.locator(".view svg.left text").first).to_contain_text("after <s> → predicts")
    expect(page.locator(".view .seen")).to_have_text("is looked at (English piece) →")
    expect(page.locator(".view svg.colours text").filter(has_text="0.25")).to_be_visible()
    page.locator(".heads canvas").press("ArrowRight")
    expect(title).to_contain_text("head 2 of 4")
    page.get_by_text("Encoder self", exact=True).click()
    expect(title).to_contain_text("Encoder self-attention · layer 2 of 2 · head 2 of 4")
    idle(page)
    expect(page.locator(".view svg.top text")).to_have_count(page.locator(".view svg.left text").count())


def test_a_small_map_opens_its_head_by_click_and_by_arrow_keys(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    choose_map(page, 1, 3)
    expect(title).to_contain_text("layer 1 of 2 · head 3 of 4")
    small = page.locator(".heads canvas")
    small.focus()
    page.keyboard.press("ArrowDown")
    expect(title).to_contain_text("layer 2 of 2 · head 3 of 4")
    page.keyboard.press("ArrowRight")
    expect(title).to_contain_text("layer 2 of 2 · head 4 of 4")
    expect(small).to_have_attribute("aria-label", re.compile(r"Shown: layer 2, head 4\.$"))


def test_words_aggregates_and_sinks_say_their_rules(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    expect(page.locator(".rules")).to_contain_text("of this picture’s attention lies on </s>")
    choose_view(page, "Join pieces into words")
    expect(page.locator(".rules")).to_contain_text("columns of a word’s pieces are summed")
    expect(page.locator(".view svg.top text")).to_have_text(["The", "cat", "sleeps", ".", "</s>"])
    expect(page.locator(".view .seen")).to_have_text("is looked at (English word) →")
    choose_view(page, "Hide </s>, <s> and full stops")
    expect(page.locator(".rules")).to_contain_text("renormalised over what is left")
    expect(page.locator(".view svg.top text")).to_have_text(["The", "cat", "sleeps"])  # no empty columns, and no rows
    expect(page.locator(".view svg.left text")).to_have_text(
        ["after <s> → predicts El", "after El → predicts gato", "after gato → predicts duerme"])
    idle(page)
    expect(page.locator(".rules")).not_to_contain_text("lies on </s>")
    choose_view(page, "Mean")
    expect(title).to_contain_text("mean of 4 heads")
    choose_view(page, "Rollout")
    expect(page.locator(".rules")).to_contain_text("Abnar and Zuidema")


def test_contractions_are_one_word(visit):
    page = visit("/?" + urlencode({"text": "I don't have a house.", "tab": "attention", "stack": "encoder_self",
                                   "words": 1, "hide": 1}))
    expect(page.locator(".view svg.top text")).to_have_text(["I", "don't", "have", "a", "house"])


def test_of_two_heads_clicked_one_after_the_other_the_second_stays(visit, learned_pairs):
    """The answer to the first click is long in coming."""
    page, held = visit(), []
    title = open_attention(page, learned_pairs)

    def hold(route):
        held.append(route) if '"head":2' in route.request.post_data and not held else route.continue_()

    page.route(re.compile("/gradio_api/(run|queue/join)"), hold)
    with page.expect_request(lambda request: '"head":2' in (request.post_data or "")):
        choose_map(page, 1, 2)
    choose_map(page, 1, 3)
    held[0].continue_()
    idle(page)
    expect(title).to_contain_text("layer 1 of 2 · head 3 of 4")


def test_what_was_chosen_in_the_menu_shows_and_is_undone(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    chips = page.locator(".view .chip")
    idle(page)
    expect(chips).to_have_count(0)
    choose_view(page, "Join pieces into words")
    choose_view(page, "Rollout")
    expect(chips).to_have_text(["Rollout ×", "words ×"])
    page.locator(".locked-word h3").click()  # elsewhere, and the menu closes
    idle(page)
    expect(page.get_by_label("Join pieces into words")).to_be_hidden()
    page.get_by_role("button", name="Undo: Rollout").click()
    expect(title).to_contain_text("head 1 of 4")
    expect(chips).to_have_text(["words ×"])
    page.wait_for_url("**show=head**words=1**")
    open_view(page)
    expect(page.get_by_label("Join pieces into words")).to_be_checked()
    expect(page.get_by_role("radio", name="One head")).to_be_checked()


def test_rollout_marks_no_head_that_it_does_not_use(visit, learned_pairs):
    page = visit("/?tab=attention&show=rollout&stack=encoder_self&text=" + quote(learned_pairs[0][0]))
    expect(page.locator(".view .title")).to_contain_text("rollout through 2 layers")
    expect(page.locator(".heads canvas")).to_have_attribute("aria-label", re.compile(r"Shown: all of them\.$"))


def test_what_a_choice_makes_meaningless_is_dimmed(visit, learned_pairs):
    page = visit("/?tab=attention&view=heatmap&stack=encoder_self&text=" + quote(learned_pairs[0][0]))
    expect(page.locator(".view .title")).to_contain_text("Encoder")
    open_view(page)
    least = page.get_by_label("number input for Least probability drawn")
    expect(least).to_be_disabled()
    expect(page.get_by_role("radio", name="the word to predict")).to_be_disabled()
    choose_view(page, "Arcs")
    expect(least).to_be_enabled()
    page.locator(".stacks").get_by_text("Cross").click()
    expect(page.locator(".view .title")).to_contain_text("Cross")
    idle(page)
    open_view(page)
    expect(page.get_by_role("radio", name="the word to predict")).to_be_enabled()


def test_the_finder_opens_the_head_it_names(visit, learned_pairs):
    page = visit()
    page.set_viewport_size({"width": 1280, "height": 500})  # first, as what is redrawn for it moves the rows
    title = open_attention(page, learned_pairs)
    idle(page)
    row = page.locator(".finder tbody tr").filter(has_text="aligns: one English piece")
    layer, head = re.search(r"layer (\d), head (\d)", row.inner_text()).groups()
    row.click()
    expect(title).to_contain_text(f"layer {layer} of 2 · head {head} of 4")
    expect(title).to_be_in_viewport()


def test_the_picture_is_also_in_words(visit):
    page = visit()
    page.get_by_role("tab", name="Attention").click()
    page.get_by_text("The picture in words").click()
    expect(page.locator(".summary details p")).to_contain_text("looks most at")


def test_a_link_opens_the_same_picture_and_names_its_nonsense(visit, learned_pairs):
    english, spanish = learned_pairs[1]
    page = visit(f"/?text={quote(english)}&tab=attention&stack=encoder_self&layer=1&head=3&words=1&show=sideways")
    expect(page.locator(".view .title")).to_have_text("Encoder self-attention · layer 1 of 2 · head 3 of 4")
    expect(page.get_by_text("In the address, show is “sideways”; it must be one of head")).to_be_visible()
    page.locator(".stacks").get_by_text("Cross").click()
    idle(page)
    assert "stack=cross" in page.url
    again = visit("/" + page.url.split("/", 3)[3])
    expect(again.locator(".view .title")).to_have_text(
        "Cross-attention (Spanish looks at English) · layer 1 of 2 · head 3 of 4")
    again.get_by_role("link", name="Español").click()
    again.wait_for_url("**/es?text=**")
    expect(again.locator(".view .title")).to_contain_text("capa 1 de 2 · cabeza 3 de 4")
    again.get_by_role("tab", name="Traducir").click()
    expect_spanish(again, spanish)


def add_layer(page):
    """Switch off the four heads of a layer, and wait until the page says so."""
    page.get_by_role("button", name="Add its whole layer").click()
    expect(page.locator(".block", has=page.get_by_label("Heads switched off")).locator(".token")).to_have_count(4)


def test_heads_are_switched_off_and_the_translation_compared(visit, learned_pairs):
    page = visit()
    open_attention(page, learned_pairs)
    page.get_by_role("tab", name="Switch heads off").click()
    page.get_by_role("button", name="Translate without them").click()
    expect(page.get_by_text("No head is switched off: add one")).to_be_visible()
    add_layer(page)
    page.get_by_role("button", name="Translate without them").click()
    expect(page.locator(".block.ablation")).to_contain_text("Log-probability of the translation above with all heads")
    expect(page.locator(".ablation [lang=es].large").first).to_have_text(learned_pairs[0][1])
    page.get_by_role("button", name="Rank this stack’s heads by effect").click()
    expect(page.locator(".ablation tbody tr")).to_have_count(8)
    idle(page)
    assert max(row.bounding_box()["height"] for row in page.locator(".ablation tbody tr").all()) < 50, "no name wraps"


def test_the_picture_keeps_its_width_whatever_part_of_the_drawer_is_open(visit, learned_pairs):
    page = visit("/?tab=attention&lock=es2-en1&text=" + quote(learned_pairs[0][0]))
    expect(page.locator(".view .said")).to_contain_text("Locked")
    width = page.locator(".attention").bounding_box()["width"]
    assert width == pytest.approx(1216, abs=20)
    for part in page.locator(".drawer [role=tab]").all():
        part.click()
        expect(part).to_have_attribute("aria-selected", "true")
        idle(page)
        assert page.locator(".attention").bounding_box()["width"] == width, part.text_content()
        expect(page.locator(".attention-picture svg.cells")).to_be_visible()


def test_on_a_phone_what_each_word_lost_is_seen_without_scrolling(visit, learned_pairs):
    page = visit(width=375)
    open_attention(page, learned_pairs)
    page.get_by_role("tab", name="Switch heads off").click()
    add_layer(page)
    page.get_by_role("button", name="Translate without them").click()
    table = page.locator(".ablation table.changes")
    expect(table.locator("th")).to_have_text(["Word", "with all heads", "without them", "change (nats)"])
    expect(table.locator("tbody td:first-child")).to_have_text(["El", "gato", "duerme", ".", "</s>"])
    expect(table.locator("tbody tr").first).to_contain_text(re.compile(r"-\d+\.\d\d \(.*%\)"))
    idle(page)
    assert table.evaluate("""table => {
        const right = element => element.getBoundingClientRect().right;
        return right(table) - right(table.closest('.tables'));
    }""") <= 0


def test_a_translation_typed_by_hand_is_looked_into(visit, learned_pairs):
    page = visit()
    open_attention(page, learned_pairs)
    field = page.get_by_label("Translation that is looked into")
    expect(field).to_have_value(learned_pairs[0][1])
    type_into(field, "El perro duerme.")
    field.press("Enter")
    choose_view(page, "Join pieces into words")
    expect(page.locator(".view svg.left text")).to_have_text(
        ["after <s> → predicts El", "after El → predicts perro", "after perro → predicts duerme",
         "after duerme → predicts .", "after . → predicts </s>"])
    idle(page)
    assert "spanish=El+perro+duerme." in page.url
    again = visit("/" + page.url.split("/", 3)[3])  # the link opens what was typed, not the model's translation
    expect(again.get_by_label("Translation that is looked into")).to_have_value("El perro duerme.")
    expect(again.locator(".view svg.left text").nth(1)).to_have_text("after El → predicts perro")
    translate(again, learned_pairs[1][0])  # and a new sentence begins with its own translation
    expect(again.get_by_label("Translation that is looked into")).to_have_value(learned_pairs[1][1])
    idle(again)
    assert "spanish" not in again.url


def test_pointing_at_a_cell_says_its_value_and_lights_both_words(visit, learned_pairs, trace):
    page = visit()
    open_attention(page, learned_pairs)
    idle(page)
    cells = page.locator(".view svg.cells")
    size = cells.bounding_box()["width"] / len(trace.source)
    cells.hover(position={"x": 1.5 * size, "y": 0.5 * size})
    expect(page.locator(".view .said")).to_have_text(
        re.compile(rf"^after <s> → predicts .+ looks at .+ {trace.cross[1, 0, 0, 1]:.3f}\.$"))
    expect(page.locator(".view .token.chosen")).to_have_count(2)
    expect(page.locator(".view .token[data-column='1']")).to_have_class("token chosen")


def test_a_word_that_is_pointed_at_is_let_go_where_a_shorter_sentence_lacks_its_place(visit, learned_pairs):
    by_length = sorted(learned_pairs, key=lambda pair: len(pair[0]))
    page = visit()
    open_attention(page, by_length[::-1])
    idle(page)
    labels = page.locator(".view svg.left text")
    labels.last.hover()
    expect(page.locator(".view .said")).to_contain_text(labels.last.text_content())
    before = labels.count()
    bar = page.get_by_role("textbox", name="English sentence")
    bar.fill(by_length[0][0])  # the pointer rests where it is
    bar.press("Enter")
    idle(page)
    assert labels.count() < before
    expect(page.locator(".view .said")).to_have_text("")


def test_a_word_is_locked_by_a_click_and_let_go_by_escape(visit, learned_pairs, trace):
    page = visit()
    open_attention(page, learned_pairs)
    said = page.locator(".view .said")
    page.locator(".view .token[data-column='0']").click()
    most = trace.cross[1, 0, :, 0].max()
    expect(said).to_have_text(re.compile(rf"The is looked at by .*{most:.3f}.*Locked: click it again"))
    page.locator("h1").hover()  # elsewhere, and it stays
    idle(page)
    expect(said).to_contain_text("Locked")
    choose_view(page, "Arcs")  # in every view
    expect(page.locator(".view svg.arcs")).to_be_visible()
    expect(said).to_have_text(re.compile(rf"The is looked at by .*{most:.3f}.*Locked"))
    page.locator(".view .scroll").focus()
    page.keyboard.press("Escape")
    idle(page)
    expect(said).to_have_text("")
    page.keyboard.press("ArrowDown")
    expect(said).to_have_text(re.compile(rf"^after <s> → predicts .+ looks at The {trace.cross[1, 0, 0, 0]:.3f}\.$"))
    page.keyboard.press("Enter")
    expect(said).to_contain_text("Locked")


def test_a_lock_changes_no_colour_of_the_map_on_the_page_or_in_a_file(visit, learned_pairs):
    page = visit("/?tab=attention&view=heatmap&text=" + quote(learned_pairs[0][0]))
    cells, labels = page.locator(".view svg.cells"), page.locator(".view svg.left text")
    expect(cells).to_be_visible()

    def painted(drawing):
        """The middle of every cell, as a browser paints it, from the SVG of the page or of a file."""
        return page.evaluate("""async drawing => {
            const place = document.body.appendChild(document.createElement('div'));
            place.style = 'position: fixed; inset: 0; z-index: 5000';
            place.innerHTML = drawing;
            const fills = [...place.querySelectorAll('rect[fill^="rgba"]')].map(cell => {
                const {left, top, width, height} = cell.getBoundingClientRect();
                return [cell.getAttribute('fill'), document.elementsFromPoint(left + width / 2, top + height / 2)
                    .filter(one => place.contains(one) && one.tagName === 'rect' && one.getAttribute('fill') !== 'none')
                    .length];
            });
            place.remove();
            return fills;
        }""", drawing)

    def in_file():
        page.locator(".view").get_by_text("Save", exact=True).click()
        drawing = saved(page, page.locator(".view").get_by_role("button", name="Save as SVG").click)[0].decode()
        page.keyboard.press("Escape")
        return painted(drawing)

    before, before_in_file = painted(cells.evaluate("svg => svg.outerHTML")), in_file()
    page.locator(".view .token[data-row='1']").click()
    page.locator(".view .token[data-column='2']").click()
    expect(page.locator(".view .marks rect")).to_have_count(2)
    idle(page)
    assert painted(cells.evaluate("svg => svg.outerHTML")) == before and in_file() == before_in_file
    idle(page)
    expect(labels.nth(1)).to_have_attribute("font-weight", "700")
    grey = labels.evaluate_all("labels => labels.map(label => getComputedStyle(label).fill)")
    assert grey[0] == grey[2] != grey[1], "what is not locked is grey, in its label"


def test_arcs_are_those_above_the_threshold_as_thick_as_probable(visit, learned_pairs, trace):
    page = visit()
    open_attention(page, learned_pairs)
    choose_view(page, "Arcs")
    arcs = page.locator(".view svg.arcs path")
    expect(arcs).to_have_count(int((trace.cross[1, 0] >= 0.05).sum()))
    type_into(page.get_by_label("number input for Least probability drawn"), "30")
    page.get_by_label("number input for Least probability drawn").press("Enter")
    idle(page)
    rows, columns = np.nonzero(trace.cross[1, 0] >= 0.30)
    expect(arcs).to_have_count(len(rows))
    drawn = {(int(a.get_attribute("data-row")), int(a.get_attribute("data-column"))):
             float(a.get_attribute("stroke-width")) for a in arcs.all()}
    assert set(drawn) == set(zip(rows.tolist(), columns.tolist(), strict=True))
    widths = [drawn[at] for at in sorted(drawn, key=lambda at: trace.cross[1, 0][at])]
    assert widths == sorted(widths)


def test_heads_clicked_with_shift_are_joined(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    for layer, head in ((0, 1), (1, 3)):
        choose_map(page, layer + 1, head + 1, modifiers=["Shift"])
        idle(page)
        open_view(page)
        expect(page.locator(".joined")).to_contain_text(f"layer {layer + 1}, head {head + 1}")
    expect(title).to_have_text("Cross-attention (Spanish looks at English) · mean of 2 chosen heads")
    expect(page.locator(".rules")).to_contain_text("Mean over layer 1, head 2, layer 2, head 4.")
    idle(page)
    assert "heads=cross.1.2%2Ccross.2.4" in page.url
    again = visit("/" + page.url.split("/", 3)[3])
    expect(again.locator(".view .title")).to_have_text(
        "Cross-attention (Spanish looks at English) · mean of 2 chosen heads")


def test_what_is_shown_is_saved_with_its_numbers_labels_and_checkpoint(visit, learned_pairs, trace, tiny_checkpoint):
    page = visit()
    open_attention(page, learned_pairs)
    choose_view(page, "Weigh by what is taken along")
    expect(page.locator(".rules")).to_contain_text("Kobayashi")
    idle(page)
    view = page.locator(".block.view")
    view.get_by_text("Save", exact=True).click()
    drawing, name = saved(page, view.get_by_role("button", name="Save as SVG").click)
    text = drawing.decode()
    assert name.endswith("head-1-of-4.svg") and "after &#60;s&#62; → predicts" in text and "tiny-en-es" in text
    assert "Kobayashi" in text and page.evaluate("""text => new DOMParser().parseFromString(text, 'image/svg+xml')
        .querySelector('parsererror')""", text) is None
    picture, _ = saved(page, view.get_by_role("button", name="Save as PNG").click)
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 5_000
    content, name = saved(page, view.get_by_role("button", name="Save as CSV").click)
    table = list(csv.reader(io.StringIO(content.decode())))
    weighed = trace.cross[1, 0] * trace.cross_norms[1, 0]
    weighed /= weighed.sum(axis=1, keepdims=True)
    assert name.endswith("head-1-of-4.csv") and "Kobayashi" in table[0][0]
    assert table[0][0].endswith(f"tiny-en-es {examine(tiny_checkpoint).identity}")
    np.testing.assert_allclose([[float(p) for p in row[1:]] for row in table[1:]], weighed, atol=2e-6)
    found = json.loads(saved(page, view.get_by_role("button", name="Save as JSON").click)[0])
    assert [row[1:] for row in found["rows"]] == [list(map(float, row[1:])) for row in table[1:]]
    assert [row[0] for row in found["rows"]] == [row[0] for row in table[1:]] and found["columns"][1:] == table[0][1:]
    content, _ = saved(page, page.get_by_role("button", name="JSON of all heads").click)
    np.testing.assert_allclose(json.loads(content)["cross"], trace.cross, atol=1e-6)
    content, _ = saved(page, page.get_by_role("button", name="NPZ of all heads").click)
    np.testing.assert_allclose(np.load(io.BytesIO(content))["encoder_self"], trace.encoder_self, atol=1e-6)
    content, _ = saved(page, page.get_by_role("button", name="HTML of all heads").click)
    assert content.startswith(b"<!doctype html>")


def test_all_heads_are_saved_as_a_picture(visit, learned_pairs, tiny_checkpoint):
    page = visit()
    open_attention(page, learned_pairs)
    idle(page)
    heads = page.locator(".block.heads")
    expect(heads.locator("[data-save]")).to_have_count(2)
    content, name = saved(page, heads.get_by_role("button", name="Save as SVG").click)
    drawing = content.decode()
    assert name == "All-heads-Cross-attention-Spanish-looks-at-English.svg" and drawing.count("<image") == 2 * 4
    assert f"tiny-en-es {examine(tiny_checkpoint).identity}" in drawing and ">H4<" in drawing and ">L2<" in drawing
    assert page.evaluate("""text => new DOMParser().parseFromString(text, 'image/svg+xml')
        .querySelector('parsererror')""", drawing) is None
    content, name = saved(page, heads.get_by_role("button", name="Save as PNG").click)
    assert name.endswith(".png") and content.startswith(b"\x89PNG") and len(content) > 5_000


def test_the_page_of_all_heads_opens_offline_as_the_tab_was_seen(visit, learned_pairs):
    page = visit(f"/es?tab=attention&stack=encoder_self&layer=1&head=3&text={quote(learned_pairs[0][0])}")
    seen = "Autoatención del codificador · capa 1 de 2 · cabeza 3 de 4"
    expect(page.locator(".view .title")).to_have_text(seen)
    page.locator(".view").get_by_text("Guardar", exact=True).click()
    content, _ = saved(page, page.get_by_role("button", name="HTML de todas las cabezas").click)
    offline = page.context.new_page()
    offline.set_content(content.decode())
    expect(offline.locator("html")).to_have_attribute("lang", "es")
    expect(offline.locator("#title")).to_have_text(seen)
    expect(offline.locator("#source")).to_have_text(f"En inglés: {learned_pairs[0][0]}")
    expect(offline.get_by_label("capa 1, cabeza 3")).to_have_attribute("aria-pressed", "true")
    offline.locator("svg.cells").hover()
    expect(offline.locator("#said")).to_have_text(re.compile(r" mira a .+ \d\.\d{3}\.$"))
    offline.get_by_label("Pila").select_option("Atención cruzada (el español mira al inglés)")
    expect(offline.locator("svg.left text").first).to_contain_text("tras <s> → predice")
    offline.close()


def test_three_answers_for_one_word_stand_side_by_side(visit, learned_pairs, trace):
    page = visit()
    open_attention(page, learned_pairs)
    page.get_by_role("tab", name="What a word needs").click()
    page.get_by_role("button", name="Leave each word out in turn").click()
    table = page.locator(".compared table")
    expect(table.locator("caption")).to_have_text(
        "Which English word made “gato”? (Cross-attention (Spanish looks at English) · layer 2, head 1)")
    expect(table.locator("tbody tr")).to_have_count(5)  # The cat sleeps . </s>
    expect(page.locator(".picture .caption")).to_have_text("What each English word did for each Spanish piece")
    page.get_by_label("Spanish word").click()
    page.get_by_role("option", name="duerme").click()
    expect(table.locator("caption")).to_contain_text("duerme")


def test_markup_in_a_sentence_stays_text_in_every_view(visit):
    page = visit("/?text=" + quote("The cat <img src=x onerror=alert(1)>") + "&tab=attention&view=arcs")
    expect(page.locator(".view svg.arcs")).to_be_visible()
    choose_view(page, "Heatmap")
    expect(page.locator(".view svg.cells")).to_be_visible()
    idle(page)
    assert page.locator(".view img").count() == 0


def test_colours_are_chosen_for_all_pictures(visit, learned_pairs):
    page = visit("/?tab=attention&palette=viridis")
    expect(page.locator(".view svg.colours rect").first).to_have_attribute("fill", re.compile(r"rgba\(2\d\d,2\d\d,"))
    open_view(page).get_by_label("Colours").click()
    page.get_by_role("option", name="Blue").click()
    expect(page.locator(".view svg.colours rect").first).to_have_attribute("fill", re.compile(r"rgba\(43,122,246,"))


def test_a_locked_word_is_known_to_the_small_maps_the_panel_the_drawer_and_the_link(visit, learned_pairs, trace):
    page = visit()
    title = open_attention(page, learned_pairs)
    first = page.locator(".view .line.row .token").first
    first.click()  # the row that predicts the first piece
    idle(page)
    panel = page.locator(".locked-word")
    expect(panel.locator("h3")).to_have_text(first.text_content())
    row = trace.cross[1, 0, 0]
    expect(panel.locator("ul li .number").first).to_have_text(f"{row.max():.3f}")
    (left, above, wide, high), = json.loads(page.locator(".heads canvas").get_attribute("data-locked"))
    assert (left, above) == (0, 0) and wide > 3 * high, "a row, from side to side"
    page.get_by_role("tab", name="Another word").click()
    expect(page.get_by_role("combobox", name="Step")).to_have_value(re.compile("^1 · after <s> → "))
    page.get_by_role("tab", name="What a word needs").click()
    expect(page.get_by_label("Spanish word")).to_have_value("El")
    page.wait_for_url("**lock=es1**")
    page.get_by_role("tab", name="First principles").click()
    expect(page.get_by_role("combobox", name="Who asks")).to_have_value(re.compile("^1 · after <s> → predicts"))
    page.get_by_role("tab", name="Attention", exact=True).click()
    choose_map(page, 1, 2)  # another head keeps it
    expect(title).to_contain_text("layer 1 of 2 · head 2 of 4")
    expect(page.locator(".view .said")).to_contain_text(f"after <s> → predicts {first.text_content()} looks at")
    idle(page)
    assert "head=2" in page.url
    again = visit("/" + page.url.split("/", 3)[3])
    expect(again.locator(".view .said")).to_have_text(page.locator(".view .said").text_content())
    expect(again.locator(".locked-word h3")).to_have_text(first.text_content())
    translate(again, learned_pairs[1][0])  # other words, none of which is locked
    expect(again.locator(".locked-word .sub").first).to_contain_text("Click a word")
    idle(again)
    assert "lock=" not in again.url


def test_which_heads_link_two_words_is_answered_and_a_click_opens_one(visit, learned_pairs, trace):
    page = visit("/?tab=attention&stack=encoder_self&text=" + quote(learned_pairs[0][0]))
    title = page.locator(".view .title")
    expect(title).to_contain_text("Encoder")
    page.locator(".view .line.row .token").nth(1).click()
    page.locator(".view .line.column .token").nth(0).click()  # a word of each line
    links = page.locator(".locked-word .links button")
    expect(links).to_have_count(6)
    shown = page.locator(".view .line.row .token").nth(1).text_content()
    expect(page.locator(".locked-word h3")).to_have_text(f"{shown} → The")
    heads = sorted(((float(trace.encoder_self[i, j, 1, 0]), i + 1, j + 1) for i in range(2) for j in range(4)),
                   reverse=True)
    expect(links).to_have_text([re.compile(rf"layer {i}, head {j}\s*{p:.3f}$") for p, i, j in heads[:6]])
    links.nth(1).click()
    expect(title).to_contain_text(f"layer {heads[1][1]} of 2 · head {heads[1][2]} of 4")
    idle(page)  # the panel is drawn once more for the other head
    other = page.get_by_label("and the word").locator("option").nth(3)
    page.get_by_label("and the word").select_option(index=3)
    expect(page.locator(".locked-word h3")).to_have_text(f"{shown} → {other.text_content()}")
    page.get_by_role("button", name="Let go").click()
    idle(page)
    expect(page.locator(".view .said")).to_have_text("")


@pytest.mark.parametrize("width", [1280, 375])
def test_the_link_is_copied(visit, learned_pairs, width):
    page = visit("/?tab=attention&lock=es2&text=" + quote(learned_pairs[0][0]), width=width)
    expect(page.locator(".locked-word h3")).to_have_text("gato")
    page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text; }")
    page.locator(".view").get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("status").filter(has_text="Link copied")).to_be_visible()
    assert page.evaluate("window.copied === location.href && location.href.includes('lock=es2')")
    page.evaluate("window.copied = ''; history.replaceState(null, '', `${location.href}&__sign=secret`)")
    page.locator(".view").get_by_role("button", name="Copy link").click()
    idle(page)
    shown, copied = (parse_qs(urlparse(page.evaluate(what)).query) for what in ("location.href", "window.copied"))
    assert shown == {**copied, "__sign": ["secret"]} and "__sign" not in copied


def test_the_projector_view_shows_the_picture_alone_and_escape_ends_it(visit, learned_pairs):
    page = visit("/?tab=attention&projector=1&lock=es2&text=" + quote(learned_pairs[0][0]))
    view = page.locator(".block.view")
    expect(page.locator(".view .said")).to_contain_text("gato")
    box = view.bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1280, 900)
    expect(page.locator(".view").get_by_role("button", name="Copy link")).to_be_hidden()
    large = page.locator(".view svg.cells").bounding_box()["width"]
    page.keyboard.press("Escape")
    expect(page.locator(".view").get_by_role("button", name="Copy link")).to_be_visible()
    idle(page)
    assert page.locator(".view svg.cells").bounding_box()["width"] < large
    assert "projector" not in page.url
    expect(page.locator(".view .said")).to_contain_text("gato")  # Escape let nothing else go
    page.get_by_role("button", name="Projector view").click()
    page.wait_for_url("**projector=1**")


@pytest.mark.parametrize("width", [1280, 375])
def test_the_projector_view_is_left_by_its_button_at_any_size(visit, learned_pairs, width):
    page = visit("/?tab=attention&projector=1&text=" + quote(learned_pairs[0][0]), width=width)
    leave = page.get_by_role("button", name="Leave the projector view (Escape)")
    expect(leave).to_be_in_viewport(ratio=1)
    leave.click()
    idle(page)
    assert "projector" not in page.url
    expect(leave).to_be_hidden()
    expect(page.get_by_label("English sentence")).to_be_in_viewport()


def test_the_projector_view_is_left_before_its_picture_is_there(visit, learned_pairs):
    page = visit("/?tab=attention&projector=1&text=" + quote(learned_pairs[0][0]), early=True,
                 before=lambda page: page.route("**/run/predict*", lambda route: None))  # no picture comes
    wait_until_settled(page)
    leave = page.get_by_role("button", name="Leave the projector view (Escape)")
    leave.click()
    page.wait_for_function("!location.search.includes('projector')")
    expect(leave).to_be_hidden()
    expect(page.locator(".view svg.cells")).to_have_count(0)
    page.unroute("**/run/predict*")  # which lets go on what was held
    expect(page.locator(".view svg.cells")).to_be_visible()


def test_the_list_of_translations_ends_before_its_arrow_and_is_dimmed_where_it_has_no_part(visit, learned_pairs):
    page = visit("/?tab=attention&text=" + quote(learned_pairs[0][0]))
    field = page.get_by_label("Translation that is looked into")
    expect(field).to_be_enabled()
    assert field.evaluate("""field => {
        const arrow = field.parentElement.querySelector('.icon-wrap').getBoundingClientRect();
        return field.getBoundingClientRect().right - parseFloat(getComputedStyle(field).paddingRight) <= arrow.left;
    }""")
    page.locator(".stacks").get_by_text("Encoder self").click()
    expect(field).to_be_disabled()
    page.locator(".stacks").get_by_text("Cross").click()
    expect(field).to_be_enabled()


def test_the_picture_and_all_heads_stand_on_the_first_screen(visit, learned_pairs):
    page = visit("/?tab=attention&text=" + quote(learned_pairs[4][0]))
    cells = page.locator(".view svg.cells")
    expect(cells).to_be_visible()
    panel = page.locator(".attention").bounding_box()["y"]
    boxes = {name: page.locator(name).first.bounding_box() for name in
             (".heads canvas", ".view .title", ".view svg.cells", ".locked-word h3")}
    assert boxes[".view .title"]["y"] - panel < 60, "the picture begins at once"
    heads, picture, word = (boxes[name] for name in (".heads canvas", ".view svg.cells", ".locked-word h3"))
    assert heads["x"] + heads["width"] < picture["x"] and picture["x"] + picture["width"] < word["x"]
    assert page.locator(".view .scroll").evaluate(
        "pane => pane.scrollHeight <= pane.clientHeight && pane.scrollWidth <= pane.clientWidth"), "it all fits"


def test_a_long_sentence_scrolls_inside_and_says_so(visit):
    page = visit("/?tab=attention&stack=encoder_self&text=" + quote("The cat sleeps, and the dog eats the bread. " * 4))
    expect(page.locator(".view .more")).to_contain_text("do not all fit: scroll inside the picture")
    assert page.locator(".view .scroll").evaluate("pane => pane.scrollHeight > pane.clientHeight")
    for width in (1280, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        idle(page)
        assert page.evaluate("""() => {
            const box = selector => document.querySelector(selector).getBoundingClientRect();
            const bar = box('.view svg.colours');
            return box('.view .scroll').right <= bar.left && bar.right <= box('.block.view').right + 1
                && bar.right < box('.about-picture').left;
        }""")


def test_on_a_phone_arcs_are_drawn_and_a_tap_on_a_small_map_changes_what_is_seen(visit, learned_pairs):
    page = visit("/?tab=attention&text=" + quote(learned_pairs[0][0]), width=375)
    expect(page.locator(".view svg.arcs")).to_be_visible()
    strip = page.locator(".heads .maps")
    assert strip.evaluate("strip => strip.scrollWidth > strip.clientWidth && strip.clientHeight < 120")
    choose_map(page, 1, 3)
    title = page.locator(".view .title")
    expect(title).to_contain_text("layer 1 of 2 · head 3 of 4")
    expect(title).to_be_in_viewport()
    idle(page)
    expect_fits(page, 375)
    drawer = page.locator(".drawer .finder")
    expect(drawer).to_be_hidden()
    for is_open in (True, False):  # from below, and down again
        page.get_by_role("tab", name="Find heads").click()
        idle(page)
        expect(drawer).to_be_visible(visible=is_open)


def test_a_saved_picture_holds_both_sentences_and_what_is_locked_and_nothing_lies_over_another(visit, learned_pairs):
    page = visit("/?tab=attention&stack=encoder_self&lock=en1&text=" + quote(learned_pairs[0][0]))
    expect(page.locator(".view .said")).to_contain_text("Locked")
    page.locator(".view").get_by_text("Save", exact=True).click()
    drawing = saved(page, page.locator(".view").get_by_role("button", name="Save as SVG").click)[0].decode()
    for text in (*learned_pairs[0], "head 1 of 4", "asks (English piece)", "is looked at (English piece)"):
        assert f">{text}" in drawing or text in drawing, text
    assert "looks at" in drawing and "#d97706" in drawing, "the locked row, in words and framed"
    overlaps = page.evaluate("""drawing => {
        const place = document.body.appendChild(document.createElement('div'));
        place.style = 'position: absolute; left: 0; top: 0';
        place.innerHTML = drawing;
        const svg = place.querySelector('svg'), box = element => element.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, box(text)]);
        const outside = texts.filter(([, b]) => b.left < box(svg).left || b.right > box(svg).right + 1);
        const meet = (a, b) => a.left < b.right - 2 && b.left < a.right - 2 &&
            a.top < b.bottom - 5 && b.top < a.bottom - 5;
        const over = texts.flatMap(([one, a], i) => texts.slice(i + 1).filter(([, b]) => meet(a, b))
            .map(([other]) => `${one} | ${other}`));
        place.remove();
        return [...outside.map(([text]) => text), ...over];
    }""", drawing)
    assert not overlaps
