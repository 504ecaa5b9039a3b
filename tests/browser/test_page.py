"""What a person sees and does on the page, in Chromium, on a model that knows eight sentences by heart."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect


def translate(page, text, label="English sentence"):
    box = page.get_by_label(label)
    box.fill(text)
    box.press("Enter")


def expect_spanish(page, text):
    """Wait until the pieces of the translation, whatever they are, spell this text."""
    page.wait_for_function(
        """wanted => [...document.querySelectorAll('.translation .piece:not(.end)')]
           .map(piece => piece.firstChild.textContent.trim()).join('') === wanted""", arg=text.replace(" ", ""))


def test_an_example_is_translated_before_the_first_click(visit):
    page = visit()
    assert page.get_by_label("English sentence").input_value().startswith("I was talking to my friend")
    expect(page.locator(".meta")).to_contain_text("beam 5")
    expect(page.locator("header .model")).to_contain_text("pre-norm · 2 + 2 layers × 4 heads")


def test_enter_translates(visit, learned_pairs):
    page = visit()
    for english, wanted in learned_pairs[:2]:
        translate(page, english)
        expect_spanish(page, wanted)


def test_an_example_is_put_into_the_field_and_translated(visit):
    page = visit()
    page.get_by_role("button", name="She is tired, but she is happy.").click()
    expect(page.get_by_label("English sentence")).to_have_value("She is tired, but she is happy.")
    page.wait_for_function("document.querySelector('.meta').textContent.includes('beam')")


def test_a_piece_shows_its_rivals_to_mouse_and_keyboard(visit, learned_pairs):
    page = visit()
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    first = page.locator(".piece").first
    rivals = first.locator(".rivals")
    expect(rivals).to_be_hidden()
    first.hover()
    expect(rivals).to_be_visible()
    expect(rivals.locator("li")).to_have_count(5)
    expect(rivals.locator("li.chosen")).to_have_count(1)
    page.locator("h1").hover()
    expect(rivals).to_be_hidden()
    first.focus()
    expect(rivals).to_be_visible()
    page.keyboard.press("Tab")
    expect(rivals).to_be_hidden()
    expect(page.locator(".piece").nth(1).locator(".rivals")).to_be_visible()


@pytest.mark.parametrize(("text", "said"), [
    ("", "There is nothing to translate: type an English sentence."),
    ("word " * 10_000, "(10,000 words); at most 5,000 characters are read at once"),
    ("🙂", "never seen these characters: 🙂"),
    ("你好", "never seen these characters: 你好"),
    ("\u0007", "There is nothing to translate")])
def test_bad_input_gets_one_sentence_and_nothing_is_lost(visit, learned_pairs, text, said):
    page = visit()
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    translate(page, text)
    expect(page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    expect_spanish(page, learned_pairs[0][1])
    assert page.get_by_label("English sentence").input_value() == text
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    expect(page.get_by_role("alert").filter(has_text=said)).to_have_count(0)


def test_markup_is_shown_as_text_and_runs_nothing(visit):
    page = visit()
    translate(page, "<img src=x onerror=alert(1)> <script>alert(2)</script>")
    expect(page.locator(".notice")).to_contain_text("looks like HTML")
    assert page.locator(".translation img, .translation script, .tables img").count() == 0


def test_more_translations_when_asked_for(visit):
    page = visit()
    expect(page.locator(".tables tbody tr")).to_have_count(3)
    page.get_by_role("button", name="Search settings").click()
    page.get_by_label("number input for Translations to show").fill("7")
    page.get_by_label("number input for Translations to show").press("Enter")
    page.get_by_role("button", name="Translate", exact=True).click()
    expect(page.locator(".tables tbody tr")).to_have_count(7)


def test_bleu_is_taken_apart(visit, learned_pairs):
    page = visit()
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    page.get_by_role("button", name="Compare with a reference translation").click()
    page.get_by_label("Reference translation, in Spanish").fill(learned_pairs[1][1])
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("BLEU 100.0")).to_be_visible()
    page.get_by_label("Reference translation, in Spanish").fill("")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("The reference is empty")).to_be_visible()


def open_attention(page, learned_pairs):
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    page.get_by_role("tab", name="Attention").click()
    title = page.locator(".picture .gtitle")
    expect(title).to_have_text("Cross-attention (Spanish looks at English) · layer 2 of 2 · head 1 of 4")
    return title


def test_the_attention_tab_shows_the_head_that_is_chosen(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    expect(page.locator(".picture g.ytick").first).to_contain_text("after <s> → predicts")
    expect(page.locator(".picture .xtitle")).to_have_text("is looked at (English piece)")
    page.get_by_role("radio", name="2", exact=True).last.press("Space")  # the second of the heads, by keyboard
    expect(title).to_contain_text("head 2 of 4")
    page.get_by_text("Encoder self", exact=True).click()
    expect(title).to_contain_text("Encoder self-attention · layer 2 of 2 · head 2 of 4")
    expect(page.locator(".picture g.xtick")).to_have_count(page.locator(".picture g.ytick").count())


def test_a_small_map_opens_its_head_by_click_and_by_arrow_keys(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    small = page.locator(".heads canvas")
    expect(small).to_have_attribute("data-drawn", re.compile("^cross"))
    box = small.bounding_box()
    size = (box["width"] - 34) / 4
    small.click(position={"x": 34 + 2.5 * size, "y": 20 + 0.4 * size})
    expect(title).to_contain_text("layer 1 of 2 · head 3 of 4")
    small.focus()
    page.keyboard.press("ArrowDown")
    expect(title).to_contain_text("layer 2 of 2 · head 3 of 4")
    page.keyboard.press("ArrowRight")
    expect(title).to_contain_text("layer 2 of 2 · head 4 of 4")
    expect(page.get_by_role("radio", name="4", exact=True)).to_be_checked()


def test_words_aggregates_and_sinks_say_their_rules(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    expect(page.locator(".rules")).to_contain_text("of this picture’s attention lies on </s>")
    page.get_by_label("Join pieces into words").check()
    expect(page.locator(".rules")).to_contain_text("columns of a word’s pieces are summed")
    expect(page.locator(".picture g.xtick text")).to_have_text(["The", "cat", "sleeps", ".", "</s>"])
    page.get_by_label("Hide </s>, <s> and full stops").check()
    expect(page.locator(".rules")).to_contain_text("renormalised over what is left")
    page.get_by_text("Mean of the layer").click()
    expect(title).to_contain_text("mean of 4 heads")
    page.get_by_text("Rollout", exact=True).click()
    expect(page.locator(".rules")).to_contain_text("Abnar and Zuidema")


def test_the_finder_opens_the_head_it_names(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    page.get_by_role("button", name="Head finder").click()
    row = page.locator(".finder tbody tr").filter(has_text="aligns: one English piece")
    layer, head = re.search(r"layer (\d), head (\d)", row.inner_text()).groups()
    row.click()
    expect(title).to_contain_text(f"layer {layer} of 2 · head {head} of 4")


def test_the_picture_is_also_in_words(visit):
    page = visit()
    page.get_by_role("tab", name="Attention").click()
    page.get_by_text("The picture in words").click()
    expect(page.locator(".summary details p")).to_contain_text("looks most at")


def test_the_page_is_whole_in_spanish(visit, learned_pairs):
    page = visit()
    page.get_by_role("link", name="Español").click()
    page.wait_for_url("**/es**")
    expect(page.locator(".meta")).to_contain_text("haz 5")  # the sentence of the address has arrived
    translate(page, learned_pairs[0][0], "Oración en inglés")
    expect_spanish(page, learned_pairs[0][1])
    translate(page, "", "Oración en inglés")
    expect(page.get_by_role("alert").filter(has_text="No hay nada que traducir")).to_be_visible()
    page.get_by_role("tab", name="Atención").click()
    expect(page.locator(".picture .gtitle")).to_contain_text("capa 2 de 2 · cabeza 1 de 4")
    page.get_by_role("link", name="English").click()
    expect(page.get_by_label("English sentence")).to_be_visible()


def test_two_people_see_their_own_sentences(visit, learned_pairs):
    one, two = visit(), visit()
    for (first, first_spanish), (second, second_spanish) in zip(learned_pairs[:3], learned_pairs[3:6], strict=True):
        translate(one, first)
        translate(two, second)
        expect_spanish(one, first_spanish)
        expect_spanish(two, second_spanish)


@pytest.mark.parametrize("tab", ["Translate", "Attention"])
def test_a_phone_shows_the_page_without_scrolling_sideways(visit, tab):
    page = visit(width=375)
    page.get_by_role("tab", name=tab).click()
    if tab == "Attention":
        page.locator(".picture .gtitle").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_password_is_asked_for_where_one_is_set(serve, tiny_checkpoint, chromium):
    address = serve(tiny_checkpoint, "--auth", "ada:secret")
    context = chromium.new_context()
    page = context.new_page()
    page.goto(address)
    page.get_by_label("username").fill("ada")
    page.get_by_label("password").fill("secret")
    page.get_by_role("button", name="Login").click()
    page.locator(".piece").first.wait_for()
    context.close()


def test_a_link_opens_the_same_picture_and_names_its_nonsense(visit, learned_pairs):
    english, spanish = learned_pairs[1]
    page = visit(f"/?text={quote(english)}&tab=attention&stack=encoder_self&layer=1&head=3&words=1&show=sideways")
    expect(page.locator(".picture .gtitle")).to_have_text("Encoder self-attention · layer 1 of 2 · head 3 of 4")
    expect(page.get_by_text("In the address, show is “sideways”; it must be one of head")).to_be_visible()
    page.get_by_text("Cross", exact=True).click()
    page.wait_for_url("**stack=cross**")
    copied = page.url
    again = visit("/" + copied.split("/", 3)[3])
    expect(again.locator(".picture .gtitle")).to_have_text(
        "Cross-attention (Spanish looks at English) · layer 1 of 2 · head 3 of 4")
    again.get_by_role("link", name="Español").click()
    again.wait_for_url("**/es?text=**")
    expect(again.locator(".picture .gtitle")).to_contain_text("capa 1 de 2 · cabeza 3 de 4")
    again.get_by_role("tab", name="Traducir").click()
    expect_spanish(again, spanish)


def test_heads_are_switched_off_and_the_translation_compared(visit, learned_pairs):
    page = visit()
    open_attention(page, learned_pairs)
    page.get_by_role("button", name="Switch heads off and translate again").click()
    page.get_by_role("button", name="Translate without them").click()
    expect(page.get_by_text("No head is switched off: add one")).to_be_visible()
    page.get_by_role("button", name="Add its whole layer").click()
    page.get_by_role("button", name="Translate without them").click()
    expect(page.locator(".block.ablation")).to_contain_text("Log-probability of the translation above with all heads")
    expect(page.locator(".ablation [lang=es].large").first).to_have_text(learned_pairs[0][1])
    page.get_by_role("button", name="Rank this stack’s heads by effect").click()
    expect(page.locator(".ablation tbody tr")).to_have_count(8)


def test_a_translation_typed_by_hand_is_looked_into(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    field = page.get_by_label("Spanish that is looked into")
    expect(field).to_have_value(learned_pairs[0][1])
    field.fill("El perro duerme.")
    field.press("Enter")
    page.get_by_label("Join pieces into words").check()
    expect(page.locator(".picture g.ytick text")).to_have_text(
        ["after <s> → predicts El", "after El → predicts perro", "after perro → predicts duerme",
         "after duerme → predicts .", "after . → predicts </s>"])
    expect(title).to_contain_text("head 1 of 4")
