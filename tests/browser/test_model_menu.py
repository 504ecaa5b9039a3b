"""Another model on the page: chosen, linked to, refused; each visitor has their own."""

import re
from urllib.parse import parse_qs, quote, urlparse

from playwright.sync_api import expect

from tests.browser.acts import expect_spanish, idle, open_menu, sheet, translate
from xformer.parts import TABS, sheets
from xformer.strings import ENGLISH, SPANISH

# Keeps in mind whether the page has ever shown a notice that goes away by itself.
NOTICED = """new MutationObserver(() => { window.noticed ||= Boolean(document.querySelector('.toast-body')); })
    .observe(document, {childList: true, subtree: true});"""
# The end of each stream of answers comes 200 milliseconds late, after the reply to the
# request that follows it.
LATE_ENDS = """
    const request = window.fetch;
    window.fetch = async (what, how) => {
      const reply = await request(what, how);
      if (!String(what.url ?? what).includes('queue/data')) return reply;
      const late = new TransformStream({async transform(chunk, out) {
        const text = new TextDecoder().decode(chunk), end = text.indexOf('data: {"msg":"close_stream"');
        if (end < 0) return out.enqueue(chunk);
        window.lateEnds = (window.lateEnds ?? 0) + 1;
        if (end) out.enqueue(new TextEncoder().encode(text.slice(0, end)));
        await new Promise(done => setTimeout(done, 200));
        out.enqueue(new TextEncoder().encode(text.slice(end)));
      }});
      return new Response(reply.body.pipeThrough(late), reply);
    };
"""
OWN = "tiny-en-es · pre-norm · 2 + 2 layers × 4 heads"
OTHER = "other-shape · post-norm · 3 + 1 layers × 6 heads"
say = ENGLISH.say


def menu(page):
    open_menu(page, say("menu"))
    return page.get_by_role("combobox", name=say("model_menu"), exact=True)


def choose(page, name):
    field = menu(page)
    field.fill(name)
    field.press("Enter")


def expect_model(page, said):
    expect(page.locator(".about .model")).to_contain_text(said)
    idle(page)


def expect_in_address(page, models):
    """The address names these models; None: it names none."""
    idle(page)
    assert parse_qs(urlparse(page.url).query).get("model") == models


def expect_learned(page, pair):
    """The page translates a sentence as the model knows it by heart."""
    translate(page, pair[0])
    expect_spanish(page, pair[1])


def open_tab(page, tab):
    of = TABS[tab].of or tab
    page.locator(f"[role=tab][data-tab-id={of}]").first.click()
    if len(sheets()[of]) > 1:
        sheet(page, tab).click()


def test_a_model_is_chosen_and_every_tab_is_its_own_or_it_is_refused(
    visit, learned_pairs, generation_checkpoints
):
    page = visit()
    expect_learned(page, learned_pairs[0])
    # not translated yet, and not lost
    page.get_by_label(say("sentence")).fill("The dog eats")
    menu(page).click()
    page.get_by_role("option", name="other-shape").click()
    expect_model(page, OTHER)
    expect_in_address(page, ["other-shape"])
    expect(page.get_by_label(say("sentence"))).to_have_value("The dog eats")

    # The grid is drawn and answers, in each stack with as many layers as it has there.
    open_tab(page, "attention")
    title = page.locator(".view .title")
    grid = page.locator(".heads canvas")
    expect(title).to_contain_text("layer 1 of 1 · head 1 of 6")
    expect(grid).to_have_attribute("data-head", "1")
    page.get_by_text(say("stack_encoder_self"), exact=True).first.click()
    expect(title).to_contain_text("layer 1 of 3 · head 1 of 6")
    # the keys go by what is drawn
    expect(grid).to_have_attribute("data-drawn", re.compile("^encoder_self"))
    grid.focus()
    page.keyboard.press("ArrowDown")
    expect(title).to_contain_text("layer 2 of 3 · head 1 of 6")
    open_tab(page, "model")
    page.get_by_test_id(f"{say('part_architecture')}-radio-label").click()
    expect(page.locator(".architecture button[data-stack=encoder_self]")).to_have_count(
        3
    )

    # One without attention, whose folder is typed: what the tabs lack is said there.
    folder = str(generation_checkpoints["gru"])
    choose(page, folder)
    expect_model(page, "gru · GRU without attention")
    expect_in_address(page, [folder])
    for tab, said in (("attention", "no_maps_model"), ("positions", "error_recurrent")):
        open_tab(page, tab)
        expect(
            page.get_by_text(say(said, model="gru")).locator("visible=true").first
        ).to_be_visible()
    idle(page)
    expect(page.get_by_text(say("error_unexpected"))).to_have_count(0)

    choose(page, "tiny-en-es")  # the way back
    expect_model(page, OWN)
    expect_in_address(page, None)
    open_tab(page, "translate")
    expect(page.locator(".meta")).to_contain_text("beam 5")
    expect_learned(page, learned_pairs[1])

    choose(page, "<b>no/such")  # it is refused, and nothing is lost
    expect(page.get_by_role("alert")).to_contain_text(
        say("hub_error_name", name="'<b>no/such'")
    )
    idle(page)
    expect_model(page, OWN)
    expect_spanish(page, learned_pairs[1][1])
    expect_in_address(page, None)
    expect_learned(page, learned_pairs[2])


def test_two_visitors_have_their_own_sentences_and_models(
    visit, address, learned_pairs
):
    """Though the answers to one of them end late; a link opens another model."""
    one = visit()
    other = visit(
        somebody_else=True,
        before=lambda page: page.add_init_script(LATE_ENDS + NOTICED),
    )
    for (first, first_spanish), (second, second_spanish) in zip(
        learned_pairs[:3], learned_pairs[3:6], strict=True
    ):
        translate(one, first)
        translate(other, second)
        expect_spanish(one, first_spanish)
        expect_spanish(other, second_spanish)
    idle(other)
    assert other.evaluate("lateEnds") > 3

    other.goto(
        f"{address}/?model=other-shape&tab=attention&stack=encoder_self&layer=3&head=5&d_model=16"
        f"&dimensions=0,15&text={quote('A cold book.')}"
    )
    expect_model(other, OTHER)
    expect(other.locator(".view .title")).to_contain_text("layer 3 of 3 · head 5 of 6")
    idle(other)
    assert other.evaluate("window.noticed") is False, "nothing was refused on the way"
    expect_learned(one, learned_pairs[6])
    expect_model(one, OWN)
    with other.expect_navigation():
        other.get_by_role("link", name=SPANISH.name).click()
    expect(other.locator(".about .model")).to_contain_text("3 + 1 capas × 6 cabezas")
