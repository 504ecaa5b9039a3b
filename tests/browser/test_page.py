"""The ways that people go on the page, in Chromium, on a model that knows eight
sentences by heart."""

from urllib.parse import parse_qs, quote, urlparse

from playwright.sync_api import expect

from tests.browser.acts import (
    STATE,
    expect_spanish,
    idle,
    open_menu,
    said,
    sentence_field,
    translate,
    type_into,
)
from xformer.strings import ENGLISH, SPANISH

say = ENGLISH.say
SELECTED = "[role=tab][aria-selected=true]"


def tab(page, name):
    return page.locator(f"[role=tab][data-tab-id={name}]")


def number_of(page, key):
    """The field of a slider."""
    return page.get_by_label(f"number input for {say(key)}")


def test_a_sentence_is_translated_and_looked_into(visit, learned_pairs):
    """An example is there before the first click."""
    page = visit()
    page.set_viewport_size({"width": 1280, "height": 800})
    field = sentence_field(page)
    examples = page.locator(".bar .examples")
    assert field.input_value().startswith("I was talking to my friend")
    expect(page.locator(".meta")).to_contain_text("beam 5")
    expect(page.locator(".about .model")).to_contain_text(
        "pre-norm · 2 + 2 layers × 4 heads"
    )
    expect(field).to_be_focused()
    # though the field has the focus: the translation is to be seen first
    expect(examples).to_be_hidden()
    field.click()
    page.get_by_role("button", name="She is tired, but she is happy.").click()
    expect(field).to_have_value("She is tired, but she is happy.")
    page.wait_for_url("**text=She+is+tired**")
    idle(page)
    expect(examples).to_be_hidden()
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    picture = page.locator(".whole-pass svg.pass")
    expect(picture.locator("[data-piece]").first).to_have_attribute("aria-label", "The")
    expect(page.locator(".whole-pass .scroll")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Open: decoder, layer 2").click()
    page.get_by_role("button", name=say("whole_open_attention")).last.click()
    expect(page.locator(".view .title")).to_contain_text("layer 2 of 2")
    page.wait_for_url("**tab=attention**")
    page.go_back()
    expect(picture).to_be_visible()
    tab(page, "sentiment").click()
    idle(page)
    # the sentence gives way where a tab has a field of its own
    expect(field).to_be_hidden()
    tab(page, "attention").click()
    expect(field).to_be_visible()


def test_the_search_is_set_in_the_menu_and_by_a_link(visit):
    page = visit("/?beam=2&n_best=2&off=cross+1+2")
    button = page.locator(".bar .menu button[aria-expanded]")
    expect(page.locator(".tables tbody tr")).to_have_count(2)
    expect(page.locator(".meta")).to_contain_text("beam 2")
    expect(number_of(page, "beam")).to_be_hidden()
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(number_of(page, "beam")).to_have_value("2")
    page.keyboard.press("Escape")
    idle(page)
    expect(number_of(page, "beam")).to_be_hidden()
    expect(button).to_be_focused()
    open_menu(page)
    type_into(number_of(page, "length_penalty"), "0.5")
    number_of(page, "length_penalty").press("Enter")
    type_into(number_of(page, "n_best"), "7")
    number_of(page, "n_best").press("Enter")
    wanted = ("beam=2", "n_best=7", "length_penalty=0.5", "off=cross.1.2")
    page.wait_for_url(lambda url: all(part in url for part in wanted))
    page.locator(".large").first.click()  # elsewhere, and the menu closes
    idle(page)
    expect(number_of(page, "beam")).to_be_hidden()
    page.get_by_role("button", name=say("translate"), exact=True).click()
    expect(page.locator(".tables tbody tr")).to_have_count(7)
    tab(page, "attention").click()
    page.get_by_role("tab", name=say("drawer_ablation")).click()
    expect(page.get_by_text("Cross · layer 1, head 2", exact=True)).to_be_visible()


def test_the_keyboard_goes_through_the_page(visit, learned_pairs):
    page = visit(f"/?text={quote(learned_pairs[4][0])}")
    examples = page.locator(".bar .examples")
    field = sentence_field(page)
    field.press("End")
    field.press("ArrowDown")
    expect(examples).to_be_visible()
    field.press("Escape")
    idle(page)
    expect(examples).to_be_hidden()
    page.keyboard.press("Tab")
    expect(
        page.get_by_role("button", name=say("translate"), exact=True)
    ).to_be_focused()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name=say("skip"))
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    pieces = page.locator(".translation .piece")
    expect(pieces.first).to_be_focused()
    expect(pieces.first.locator(".rivals li")).to_have_count(5)
    page.keyboard.press("ArrowRight")
    expect(pieces.nth(1)).to_be_focused()
    expect(pieces.nth(1).locator(".rivals")).to_be_visible()
    idle(page)
    expect(pieces.first.locator(".rivals")).to_be_hidden()
    # one stop of the tab key
    expect(page.locator(".translation .piece[tabindex='0']")).to_have_count(1)
    tab(page, "model").click()
    expect(page.locator(".splits[data-empty=false]")).to_be_visible()
    skip.focus()
    page.keyboard.press("Enter")
    idle(page)
    assert page.evaluate("document.activeElement.closest('.splits') !== null")
    tab(page, "positions").click()
    idle(page)
    group = page.locator(
        "[role=tabpanel]:visible fieldset:has(input[type=radio]:checked)"
    ).first
    # a group is one stop, and arrow keys choose in it
    radios = group.locator("input[type=radio]")
    chosen = radios.evaluate_all("radios => radios.findIndex(radio => radio.checked)")
    radios.nth(chosen).focus()
    for step in (1, 2):
        page.keyboard.press("ArrowRight")
        expect(radios.nth((chosen + step) % radios.count())).to_be_checked()
        idle(page)
        assert (
            page.evaluate(
                "new Set([...document.activeElement.closest('fieldset').elements].map(one => one.name)).size"
            )
            == 1
        )
    page.keyboard.press("Tab")
    idle(page)
    assert not group.evaluate("group => group.contains(document.activeElement)")


def test_bad_input_gets_one_sentence_and_nothing_is_lost(visit, learned_pairs):
    page = visit()
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    translate(page, "🙂")
    problem = page.get_by_role("alert").filter(
        has_text=said("error_unknown", characters="🙂")
    )
    expect(problem).to_be_visible()
    idle(page)
    expect_spanish(page, learned_pairs[0][1])
    expect(page.locator(".belongs")).to_have_text(
        say("belongs_to", text=learned_pairs[0][0])
    )
    best = page.locator(".translate .block.tables").first
    expect(best).to_have_css("opacity", "0.6")
    # what is still on the page
    assert parse_qs(urlparse(page.url).query)["text"] == [learned_pairs[0][0]]
    expect(sentence_field(page)).to_have_value("🙂")
    translate(page, "¿Dónde está el coche rojo, que no lo sé?")
    notice = page.locator(".status .notice")
    expect(notice).to_have_text(said("warning_spanish"))
    idle(page)
    expect(problem).to_have_count(0)
    expect(page.locator(".belongs")).to_have_count(0)
    expect(best).to_have_css("opacity", "1")
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    idle(page)
    expect(notice).to_have_count(0)
    page.get_by_role("button", name=say("fold_reference")).click()
    type_into(page.get_by_label(say("reference")), learned_pairs[1][1])
    page.get_by_role("button", name=say("compare"), exact=True).click()
    expect(page.get_by_text("BLEU 100.0")).to_be_visible()


def test_tabs_and_translations_are_steps_of_the_history_however_quick(
    visit, learned_pairs
):
    (first, first_spanish), (second, second_spanish) = learned_pairs[:2]
    page = visit()
    before = page.evaluate("history.length")
    field = sentence_field(page)
    selected = page.locator(SELECTED).first
    translate(page, first)
    page.wait_for_url("**/?text=The+cat+sleeps.**")
    tab(page, "model").click()
    page.wait_for_url("**&tab=model**")
    idle(page)
    assert page.title() == f"{say('tab_model')} · {say('title')}"
    tab(page, "translate").click()
    translate(page, second)
    page.wait_for_url("**/?text=The+dog**")
    expect_spanish(page, second_spanish)
    idle(page)
    assert page.evaluate("history.length") == before + 4
    page.go_back()  # to the sentence before, which is translated again
    expect(field).to_have_value(first)
    expect_spanish(page, first_spanish)
    idle(page)
    page.go_back()
    expect(selected).to_have_text(say("tab_model"))
    page.go_back()
    expect(selected).to_have_text(say("tab_translate"))
    expect(field).to_have_value(first)
    page.go_forward()
    expect(selected).to_have_text(say("tab_model"))
    idle(page)
    assert page.evaluate("history.length") == before + 4, (
        "a step back is no step of its own"
    )

    # and now steps back that come before the page has arrived
    tab(page, "translate").click()
    for english, spanish in ((first, first_spanish), (second, second_spanish)):
        translate(page, english)
        expect_spanish(page, spanish)
        idle(page)
    asked = page.locator(".questions button").first
    asked.evaluate("asked => { asked.click(); setTimeout(() => history.go(-2)); }")
    page.wait_for_url(lambda url: "text=The+cat" in url)
    idle(page)
    expect_spanish(page, first_spanish)
    assert "tab=translate" in page.url and "text=The+cat" in page.url
    expect(asked).to_be_visible()
    page.go_forward()
    page.wait_for_url(lambda url: "text=The+dog" in url)
    expect_spanish(page, second_spanish)
    idle(page)
    for name in ("model", "positions"):
        tab(page, name).click()
        page.wait_for_url(f"**&tab={name}**")
    before = page.evaluate("history.length")
    # Both at once, so that the second comes before the page has written the address of
    # the first.
    page.evaluate("""() => {
        const back = () => new Promise(done => { addEventListener('popstate', done, {once: true}); history.back(); });
        return back().then(back);
    }""")
    page.wait_for_url("**&tab=translate**")
    idle(page)
    expect(page.locator(SELECTED).first).to_have_text(say("tab_translate"))
    assert page.evaluate("history.length") == before, (
        "steps back are no steps of their own"
    )


def test_what_is_typed_and_what_is_asked_outlive_a_reload(visit, learned_pairs):
    page = visit("/?text=" + quote(learned_pairs[2][0]))
    field = sentence_field(page)
    page.route("**/queue/data*", lambda route: None)
    page.reload()
    # what notes the field has begun
    page.locator(".bar .menu button[aria-expanded]").wait_for(state="attached")
    page.unroute("**/queue/data*")
    page.reload()  # while it opens
    idle(page)
    expect(field).to_have_value(learned_pairs[2][0])
    type_into(field, learned_pairs[0][0])
    page.reload()
    idle(page)
    expect(field).to_have_value(learned_pairs[0][0])
    assert "text=The+cat" not in page.url, "nobody asked for a translation"
    page.route("**/queue/join*", lambda route: None)  # the server is away
    translate(page, learned_pairs[1][0])
    page.unroute("**/queue/join*")
    page.reload()
    expect_spanish(page, learned_pairs[1][1])
    expect(field).to_have_value(learned_pairs[1][0])
    idle(page)
    answers = []
    page.route("**/queue/data*", lambda route: answers.append(route))
    with page.expect_request("**/queue/data*"):
        page.reload()
    type_into(field, learned_pairs[3][0])  # while the page opens
    assert not page.evaluate(f"{STATE}.then(state => state.settled)")
    for answer in answers:
        answer.continue_()
    page.unroute("**/queue/data*")
    idle(page)
    expect(field).to_have_value(learned_pairs[3][0])


def test_the_page_is_whole_in_spanish(visit, learned_pairs):
    page = visit()
    page.get_by_role("link", name="Español").click()
    page.wait_for_url("**/es**")
    expect(page.locator("html")).to_have_attribute("lang", "es")
    # the sentence of the address has arrived
    expect(page.locator(".meta")).to_contain_text("haz 5")
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    translate(page, "")
    expect(
        page.get_by_role("alert").filter(has_text=said("error_empty", SPANISH))
    ).to_be_visible()
    tab(page, "attention").click()
    expect(page.locator(".view .title")).to_contain_text("capa 2 de 2 · cabeza 1 de 4")
    assert (
        not page.locator("fieldset")
        .filter(visible=True)
        .evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
        )
    ), "a choice is cut"
    page.get_by_role("link", name="English").click()
    expect(tab(page, "attention")).to_have_text(say("tab_attention"))
    idle(page)
    open_menu(page)
    page.get_by_role("button", name=say("settings_link"), exact=True).click()
    page.wait_for_url("**view=settings**")


def test_a_password_is_asked_for_where_one_is_set(guarded, chromium):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(guarded.address)
    page.get_by_label("username").fill("ada")
    page.get_by_label("password").fill("a b:c")
    page.get_by_role("button", name="Login").click()
    page.locator(".piece").first.wait_for()
    context.close()
