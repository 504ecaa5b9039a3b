"""Another model on the page: chosen, linked to, refused; each visitor has their own."""

import re
import shutil
from urllib.parse import parse_qs, quote, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.acts import PICTURES, expect_fits, expect_spanish, idle, open_menu, open_tab, translate
from tests.chromium import patience
from xformer.hub import checkpoint
from xformer.recurrent import ATTENTIONS, RecurrentConfig, RecurrentTranslator
from xformer.strings import ENGLISH

# Keeps in mind whether the page has ever shown a notice that goes away by itself.
NOTICED = """new MutationObserver(() => { window.noticed ||= Boolean(document.querySelector('.toast-body')); })
    .observe(document, {childList: true, subtree: true});"""
OWN, OTHER = "tiny-en-es · pre-norm · 2 + 2 layers × 4 heads", "other-shape · post-norm · 3 + 1 layers × 6 heads"


def choose(page, name, label="Model"):
    open_menu(page, "Menú" if label == "Modelo" else "Menu")
    menu = page.get_by_role("combobox", name=label, exact=True)
    menu.fill(name)
    menu.press("Enter")


def expect_model(page, said):
    expect(page.locator(".about .model")).to_contain_text(said)
    expect(page.locator(".meta")).to_contain_text("beam 5")


def expect_in_address(page, models):
    """The address names these models; None: it names none."""
    idle(page)
    assert parse_qs(urlparse(page.url).query).get("model") == models


def expect_attention_of_the_other(page):
    """Its grid is drawn and answers, in each stack with as many layers as it has there."""
    page.get_by_role("tab", name="Attention").click()
    expect(page.locator(".view .title")).to_contain_text("layer 1 of 1 · head 1 of 6")
    expect(page.locator(".heads canvas")).to_have_attribute("data-head", "1")
    page.get_by_text("Encoder self", exact=True).first.click()
    expect(page.locator(".view .title")).to_contain_text("layer 1 of 3 · head 1 of 6")
    grid = page.locator(".heads canvas")
    expect(grid).to_have_attribute("data-drawn", re.compile("^encoder_self"))  # the keys go by what is drawn
    grid.focus()
    for key, where in (("ArrowDown", "layer 2 of 3 · head 1 of 6"), ("ArrowRight", "layer 2 of 3 · head 2 of 6")):
        page.keyboard.press(key)
        expect(page.locator(".view .title")).to_contain_text(where)


def test_a_model_of_another_shape_is_chosen_and_every_tab_is_its_own(visit, learned_pairs):
    page = visit()
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    page.get_by_label("English sentence").fill("The dog eats")  # not translated yet, and not lost
    open_menu(page)
    page.get_by_role("combobox", name="Model", exact=True).click()
    page.get_by_role("option", name="other-shape").click()
    expect_model(page, OTHER)
    expect_in_address(page, ["other-shape"])
    expect(page.get_by_label("English sentence")).to_have_value("The dog eats")
    expect_attention_of_the_other(page)
    page.get_by_role("tab", name="Positions").click()
    page.get_by_role("button", name="The table of positions").click()
    expect(page.get_by_label("number input for Dimensions (d_model)")).to_have_value("48")
    page.get_by_role("button", name="The table on your sentence").click()
    page.locator(".pos-sentence[data-drawn]").wait_for()
    page.get_by_role("tab", name="First principles").click()
    page.locator(".first-scores td").first.wait_for()
    page.get_by_role("tab", name="Model", exact=True).click()
    page.get_by_test_id("This model-radio-label").click()
    expect(page.locator(".architecture button[data-stack=cross]")).to_have_count(1)
    expect(page.locator(".architecture button[data-stack=encoder_self]")).to_have_count(3)
    choose(page, "tiny-en-es")  # the way back
    expect_model(page, OWN)
    expect_in_address(page, None)
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])


def test_a_link_opens_the_model_and_two_visitors_have_their_own(visit, learned_pairs):
    one = visit()
    other = visit("/?model=other-shape&tab=attention&stack=encoder_self&layer=3&head=5&d_model=16&dimensions=0,15&"
                  f"text={quote('A cold book.')}", somebody_else=True,
                  before=lambda page: page.add_init_script(NOTICED))
    expect_model(other, OTHER)
    assert other.evaluate("window.noticed") is False, "nothing was refused on the way"
    expect(other.locator(".view .title")).to_contain_text("layer 3 of 3 · head 5 of 6")
    translate(one, learned_pairs[0][0])
    expect_spanish(one, learned_pairs[0][1])
    expect_model(one, OWN)
    with other.expect_navigation():
        other.get_by_role("link", name="Español").click()
    expect(other.locator(".about .model")).to_contain_text("3 + 1 capas × 6 cabezas")


def test_an_unknown_model_gets_one_sentence_and_nothing_is_lost(visit, learned_pairs):
    page = visit()
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    choose(page, "<b>no/such")
    expect(page.get_by_role("alert")).to_contain_text("'<b>no/such' is no folder here")
    expect_model(page, OWN)
    expect_spanish(page, learned_pairs[0][1])
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])


def test_a_folder_can_be_typed_where_only_this_machine_is_served(visit, other_checkpoint, tmp_path):
    folder = shutil.copytree(other_checkpoint, tmp_path / "typed")
    page = visit()
    choose(page, str(folder))
    expect_model(page, "typed · post-norm")
    expect_in_address(page, [str(folder)])


def test_a_public_page_offers_its_models_and_no_others(chromium, public, tiny_classifier):
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(patience())
    said = set()
    for name in (tiny_classifier, f"{tiny_classifier}-not", "owner/name"):
        page.goto(f"{public}/?model={quote(str(name))}&text=Hi.")
        alert = page.locator(".notice").filter(has_text="none of the models of this page")
        said.add(alert.inner_text().replace(str(name), "NAME", 1))
        expect_model(page, OWN)
    assert len(said) == 1, "a refusal tells what is on this machine"
    choose(page, "other")
    expect_model(page, OTHER)
    context.close()


def test_a_phone_and_spanish_have_the_menu_too(visit):
    page = visit("/es", width=375)
    choose(page, "other-shape", "Modelo")
    expect(page.locator(".about .model")).to_contain_text("3 + 1 capas × 6 cabezas")
    expect(page.locator(".meta")).to_contain_text("haz 5")
    idle(page)
    expect_fits(page, 375)
    choose(page, "nada/de nada", "Modelo")
    expect(page.get_by_role("alert")).to_contain_text("no es aquí ninguna carpeta")
    idle(page)
    expect_fits(page, 375)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_recurrent_model_translates_and_every_tab_shows_something_or_says_what_it_lacks(
        visit, served, tokenizer, tmp_path, attention):
    shape = {"vocab_size": len(tokenizer), "d_model": 32, "max_length": 64, "attention": attention}
    checkpoint.save(tmp_path / "old-times", RecurrentTranslator(RecurrentConfig(**shape)), tokenizer, {})
    page = visit(f"/?model={quote(str(tmp_path / 'old-times'))}&text={quote('The cat sleeps.')}")
    expect_model(page, "old-times · GRU with" + ("out attention" if attention == "none" else " additive attention"))
    no_attention = "This model has no attention"
    recurrent = "is a recurrent model, without heads, layers or positions to show"
    shown = {"attention": no_attention if attention == "none" else "Cross-attention (Spanish looks at English)",
             "positions": recurrent, "principles": recurrent, "model": recurrent}
    for tab in page.locator("[role=tab][data-tab-id]").evaluate_all(
            "tabs => [...new Set(tabs.map(tab => tab.dataset.tabId))]"):
        if tab in shown:
            page.locator(f"[role=tab][data-tab-id={tab}]").first.click()
            expect(page.get_by_text(shown[tab]).locator("visible=true").first).to_be_visible()
        elif tab in PICTURES:
            open_tab(page, tab)
        idle(page)
        expect(page.get_by_text(ENGLISH.say("error_unexpected"))).to_have_count(0)
    page.locator("[role=tab][data-tab-id=attention]").first.click()
    page.get_by_text("Encoder self", exact=True).first.click()
    expect(page.get_by_text(no_attention if attention == "none" else "A recurrent model has no self-attention")
           .locator("visible=true").first).to_be_visible()
