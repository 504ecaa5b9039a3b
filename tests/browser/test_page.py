"""What a person sees and does on the page, in Chromium, on a model that knows eight sentences by heart."""

from urllib.parse import parse_qs, quote, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.acts import (
    PICTURES,
    STATE,
    contrasts,
    expect_fits,
    expect_spanish,
    idle,
    open_menu,
    open_tab,
    open_view,
    translate,
    type_into,
)
from xformer.ui.page import TABS


def test_an_example_is_translated_before_the_first_click(visit):
    page = visit()
    assert page.get_by_label("English sentence").input_value().startswith("I was talking to my friend")
    expect(page.locator(".meta")).to_contain_text("beam 5")
    expect(page.locator(".about .model")).to_contain_text("pre-norm · 2 + 2 layers × 4 heads")


def test_enter_translates(visit, learned_pairs):
    page = visit()
    for english, wanted in learned_pairs[:2]:
        translate(page, english)
        expect_spanish(page, wanted)


def test_an_example_is_put_into_the_field_and_translated(visit):
    page = visit()
    examples = page.locator(".bar .examples")
    expect(examples).to_be_hidden()  # though the field has the focus: the translation is to be seen first
    expect(page.get_by_label("English sentence")).to_be_focused()
    page.get_by_label("English sentence").click()
    page.get_by_role("button", name="She is tired, but she is happy.").click()
    expect(page.get_by_label("English sentence")).to_have_value("She is tired, but she is happy.")
    page.wait_for_url("**text=She+is+tired**")
    idle(page)
    expect(examples).to_be_hidden()


def test_the_examples_open_by_key_and_where_nothing_is_typed(visit):
    page = visit()
    examples, field = page.locator(".bar .examples"), page.get_by_label("English sentence")
    field.press("End")
    field.press("ArrowDown")
    expect(examples).to_be_visible()
    field.press("Escape")
    idle(page)
    expect(examples).to_be_hidden()
    field.fill("")
    expect(examples).to_be_visible()
    field.fill("The")
    idle(page)
    expect(examples).to_be_hidden()


def test_the_menu_opens_over_the_page_and_closes(visit):
    page = visit()
    button, beam = page.locator(".bar").get_by_role("button", name="Menu"), page.get_by_label("number input for Beam")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(beam).to_be_hidden()
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(beam).to_be_visible()
    page.keyboard.press("Escape")
    idle(page)
    expect(beam).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    page.locator(".large").click()
    idle(page)
    expect(beam).to_be_hidden()


COVERED = """panel => {
    const {left, top, right, bottom} = panel.getBoundingClientRect(), found = new Set();
    for (let x = Math.max(0, left) + 3; x < Math.min(right, innerWidth) - 3; x += 6)
        for (let y = Math.max(0, top) + 3; y < Math.min(bottom, innerHeight) - 3; y += 4) {
            const over = document.elementFromPoint(x, y);
            if (!panel.contains(over)) found.add(`${over.className}: ${over.textContent.trim().slice(0, 40)}`);
        }
    return [...found];
}"""


@pytest.mark.parametrize("width", [1280, 375])
def test_nothing_of_the_page_shines_through_what_opens_over_it(visit, width):
    page = visit(width=width)
    page.set_viewport_size({"width": width, "height": 800})
    field = page.get_by_role("textbox", name="English sentence")
    menu = page.locator(".bar .menu [data-testid=accordion-content]")
    for module in TABS:
        open_tab(page, module.ID)
        open_menu(page)
        idle(page)
        assert not menu.evaluate(COVERED), module.ID
        page.keyboard.press("Escape")
        idle(page)
        expect(menu).to_be_hidden()
        if field.is_visible():
            field.press("End")
            field.press("ArrowDown")
            idle(page)
            assert not page.locator(".bar .examples").evaluate(COVERED), module.ID
            field.press("Escape")
    open_tab(page, "attention")
    open_view(page)
    idle(page)
    assert not page.locator(".view-menu [data-testid=accordion-content]").evaluate(COVERED)
    page.keyboard.press("Escape")
    if width < 640:
        page.get_by_role("tab", name="Switch heads off").click()
        expect(page.locator(".drawer").get_by_role("button", name="Translate without them")).to_be_visible()
        idle(page)
        assert not page.locator(".drawer").evaluate(COVERED)


@pytest.mark.parametrize(("width", "height", "highest"), [(1280, 800, 100), (375, 812, 130)])
@pytest.mark.parametrize("path", ["/", "/es"])
def test_every_tab_is_in_one_line_and_its_content_begins_below_it(visit, path, width, height, highest):
    page = visit(path, width=width)
    page.set_viewport_size({"width": width, "height": height})
    for module in TABS:
        tab = page.locator(f"[role=tab][data-tab-id={module.ID}]")
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        idle(page)
        box = tab.bounding_box()  # the others are not far away either: the line scrolls so that it is in sight
        assert box["x"] > -1 and box["x"] + box["width"] < width + 1
        assert page.locator("[role=tabpanel]:visible > *").first.bounding_box()["y"] <= highest
    expect_fits(page, width)


@pytest.mark.parametrize(("width", "height", "highest"), [(1280, 800, 240), (375, 812, 380)])
def test_every_main_picture_begins_in_the_upper_part_of_the_first_screen(visit, learned_pairs, width, height, highest):
    page = visit(f"/?text={quote(learned_pairs[4][0])}", width=width)
    page.set_viewport_size({"width": width, "height": height})
    begins = {}
    for module in TABS:
        open_tab(page, module.ID)
        idle(page)
        begins[module.ID] = page.evaluate("""selector => Math.min(...[...document.querySelectorAll(selector)]
            .filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().top))""", PICTURES[module.ID])
        assert page.evaluate("scrollY") == 0
    assert not {tab: y for tab, y in begins.items() if y > highest}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_of_every_tab_can_be_read(visit, learned_pairs, theme):
    page = visit(f"/?__theme={theme}")
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    for module in TABS:
        open_tab(page, module.ID)
        found = contrasts(page)
        assert len(found) > 20
        assert not [one for one in found if one["ratio"] < 4.5], module.ID


def test_a_text_that_is_too_pale_is_found(same_page):
    same_page.evaluate("""document.body.insertAdjacentHTML('beforeend',
        '<p id="pale" style="color:#94a3b8; background:#fff">pale</p>')""")
    pale, *_ = contrasts(same_page)
    same_page.evaluate("document.querySelector('#pale').remove()")
    assert pale["text"] == "pale" and pale["ratio"] == pytest.approx(2.56, abs=0.01)


def test_the_keyboard_reaches_the_picture_in_three_steps(visit):
    page = visit()
    expect(page.get_by_label("English sentence")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Translate", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the picture")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(page.locator(".piece").first).to_be_focused()
    page.get_by_role("tab", name="Model", exact=True).click()
    expect(page.locator(".whole-pass svg.pass")).to_be_visible()
    skip.focus()
    page.keyboard.press("Enter")
    idle(page)
    assert page.evaluate("document.activeElement.closest('.whole-pass') !== null")


def test_a_group_of_radio_buttons_is_one_stop_and_arrow_keys_choose_in_it(visit):
    page = visit("/?tab=positions")
    group = page.locator("[role=tabpanel]:visible fieldset:has(input[type=radio]:checked)").first
    radios = group.locator("input[type=radio]")
    chosen = radios.evaluate_all("radios => radios.findIndex(radio => radio.checked)")
    radios.nth(chosen).focus()
    for step in (1, 2):
        page.keyboard.press("ArrowRight")
        expect(radios.nth((chosen + step) % radios.count())).to_be_checked()
        idle(page)
        assert page.evaluate(
            "new Set([...document.activeElement.closest('fieldset').elements].map(one => one.name)).size") == 1
    page.keyboard.press("Tab")
    idle(page)
    assert not group.evaluate("group => group.contains(document.activeElement)")


def test_a_window_zoomed_to_twice_the_size_needs_no_scrolling_sideways(visit):
    page = visit(width=640)
    page.set_viewport_size({"width": 640, "height": 400})
    for module in TABS:
        open_tab(page, module.ID)
        idle(page)
        expect_fits(page, 640)


def test_the_page_speaks_one_language_and_its_menu_leads_on(visit):
    page = visit("/es")
    expect(page.locator("footer")).to_be_hidden()
    open_menu(page, "Menú")
    page.get_by_role("button", name="Ajustes", exact=True).click()
    page.wait_for_url("**view=settings**")


def test_the_sentence_gives_way_where_a_tab_has_a_field_of_its_own(visit):
    page = visit("/?tab=sentiment")
    field = page.get_by_label("English sentence")
    expect(field).to_be_hidden()
    page.get_by_role("tab", name="Attention").click()
    expect(field).to_be_visible()
    page.get_by_role("tab", name="Sentiment").click()
    idle(page)
    expect(field).to_be_hidden()


def test_a_piece_shows_its_rivals_to_mouse_and_keyboard(visit, learned_pairs):
    page = visit()
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    first = page.locator(".piece").first
    rivals = first.locator(".rivals")
    idle(page)
    expect(rivals).to_be_hidden()
    first.hover()
    expect(rivals).to_be_visible()
    expect(rivals.locator("li")).to_have_count(5)
    expect(rivals.locator("li.chosen")).to_have_count(1)
    page.locator("h1").hover()
    idle(page)
    expect(rivals).to_be_hidden()
    first.focus()
    expect(rivals).to_be_visible()
    page.keyboard.press("ArrowRight")
    idle(page)
    expect(rivals).to_be_hidden()
    expect(page.locator(".piece").nth(1).locator(".rivals")).to_be_visible()


@pytest.mark.parametrize(("text", "said"), [
    ("", "There is nothing to translate: type a sentence in English."),
    ("word " * 10_000, "(10,000 words); at most 5,000 characters are read at once"),
    ("🙂", "never seen these characters: 🙂"),
    ("你好", "never seen these characters: 你好"),
    ("\u0007", "There is nothing to translate")])
def test_bad_input_gets_one_sentence_and_nothing_is_lost(same_page, learned_pairs, text, said):
    page = same_page
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    translate(page, text)
    expect(page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    idle(page)
    expect_spanish(page, learned_pairs[0][1])
    expect(page.locator(".belongs")).to_have_text(f"Still the translation of “{learned_pairs[0][0]}”")
    assert parse_qs(urlparse(page.url).query)["text"] == [learned_pairs[0][0]]  # what is still on the page
    assert page.get_by_label("English sentence").input_value() == text
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    idle(page)
    expect(page.get_by_role("alert").filter(has_text=said)).to_have_count(0)
    expect(page.locator(".belongs")).to_have_count(0)


def test_the_first_screen_shows_what_the_best_head_looked_at_and_a_click_opens_it(visit, learned_pairs):
    page = visit()
    page.set_viewport_size({"width": 1280, "height": 800})
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    picture = page.get_by_role("button", name="Open layer 2, head 1 in Attention")
    expect(picture.locator("g[lang=es] text")).to_have_text(["El", "perro", "come", "el", "pan", "."])
    expect(picture.locator("svg")).to_be_in_viewport(ratio=1)
    picture.click()
    expect(page.locator(".view .title")).to_contain_text("layer 2 of 2 · head 1 of 4")
    page.wait_for_url("**tab=attention**")
    page.go_back()
    expect(picture).to_be_visible()


def test_back_before_the_page_has_arrived_is_not_overtaken_by_what_it_was_on_the_way_to(visit, learned_pairs):
    (first, first_spanish), (second, second_spanish) = learned_pairs[:2]
    page = visit()
    for english, spanish in ((first, first_spanish), (second, second_spanish)):
        translate(page, english)
        expect_spanish(page, spanish)
        idle(page)
    picture = page.get_by_role("button", name="Open layer 2, head 1 in Attention")
    picture.evaluate("picture => { picture.click(); setTimeout(() => history.go(-2)); }")
    page.wait_for_url(lambda url: "text=The+cat" in url)
    idle(page)
    expect_spanish(page, first_spanish)
    assert "tab=translate" in page.url and "text=The+cat" in page.url
    expect(picture).to_be_visible()
    page.go_forward()
    page.wait_for_url(lambda url: "text=The+dog" in url)
    expect_spanish(page, second_spanish)


def test_spanish_is_warned_of(visit, learned_pairs):
    page = visit()
    translate(page, "¿Dónde está el coche rojo, que no lo sé?")
    expect(page.locator(".status .notice")).to_contain_text("looks like Spanish")
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    idle(page)
    expect(page.locator(".status .notice")).to_have_count(0)


def test_tabs_and_translations_are_steps_of_the_history(visit, learned_pairs):
    (first, first_spanish), (second, second_spanish) = learned_pairs[:2]
    page = visit()
    before = page.evaluate("history.length")
    field, selected = page.get_by_label("English sentence"), page.locator("[role=tab][aria-selected=true]").first
    translate(page, first)
    page.wait_for_url("**/?text=The+cat+sleeps.**")
    page.get_by_role("tab", name="Model").click()
    page.wait_for_url("**&tab=model**")
    idle(page)
    assert page.title() == "Model · xformer"
    page.get_by_role("tab", name="Translate").click()
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
    expect(selected).to_have_text("Model")
    page.go_back()
    expect(selected).to_have_text("Translate")
    expect(field).to_have_value(first)
    page.go_forward()
    expect(selected).to_have_text("Model")
    idle(page)
    assert page.evaluate("history.length") == before + 4, "a step back is no step of its own"


def test_steps_back_in_quick_succession_are_no_steps_of_their_own(visit):
    page = visit()
    before = page.evaluate("history.length")
    for name in ("Model", "Positions", "Translate"):
        page.get_by_role("tab", name=name).click()
        page.wait_for_url(f"**&tab={name.lower()}**")
    # Both at once, so that the second comes before the page has written the address of the first.
    page.evaluate("""() => {
        const back = () => new Promise(done => { addEventListener('popstate', done, {once: true}); history.back(); });
        return back().then(back);
    }""")
    page.wait_for_url("**&tab=model**")
    idle(page)
    expect(page.locator("[role=tab][aria-selected=true]").first).to_have_text("Model")
    assert page.evaluate("history.length") == before + 3


def test_what_was_typed_outlives_a_reload(visit, learned_pairs):
    page = visit()
    field = page.get_by_label("English sentence")
    type_into(field, learned_pairs[0][0])
    page.reload()
    idle(page)
    expect(field).to_have_value(learned_pairs[0][0])
    assert "text=The+cat" not in page.url, "nobody asked for a translation"


def test_what_was_asked_is_asked_again_after_a_reload(visit, learned_pairs):
    page = visit()
    page.route("**/queue/join*", lambda route: None)  # the server is away
    translate(page, learned_pairs[1][0])
    page.unroute("**/queue/join*")
    page.reload()
    expect_spanish(page, learned_pairs[1][1])
    expect(page.get_by_label("English sentence")).to_have_value(learned_pairs[1][0])


def test_a_page_that_is_loaded_anew_while_it_opens_is_of_its_address(visit, learned_pairs):
    page = visit("/?text=" + quote(learned_pairs[1][0]))
    page.route("**/queue/data*", lambda route: None)
    page.reload()
    page.locator(".bar .menu button[aria-expanded]").wait_for(state="attached")  # what notes the field has begun
    page.unroute("**/queue/data*")
    page.reload()
    idle(page)
    expect(page.get_by_label("English sentence")).to_have_value(learned_pairs[1][0])


def test_what_is_typed_while_the_page_opens_stays(visit, learned_pairs):
    page, answers = visit(), []
    page.route("**/queue/data*", lambda route: answers.append(route))
    with page.expect_request("**/queue/data*"):
        page.reload()
    field = page.get_by_label("English sentence")
    type_into(field, learned_pairs[1][0])
    assert not page.evaluate(f"{STATE}.then(state => state.settled)")
    for answer in answers:
        answer.continue_()
    page.unroute("**/queue/data*")
    idle(page)
    expect(field).to_have_value(learned_pairs[1][0])


def test_markup_is_shown_as_text_and_runs_nothing(visit):
    page = visit()
    translate(page, "<img src=x onerror=alert(1)> <script>alert(2)</script>")
    expect(page.locator(".notice")).to_contain_text("looks like HTML")
    idle(page)
    assert page.locator(".translation img, .translation script, .tables img").count() == 0


def test_more_translations_when_asked_for(visit):
    page = visit()
    expect(page.locator(".tables tbody tr")).to_have_count(3)
    open_menu(page)
    type_into(page.get_by_label("number input for Translations to show"), "7")
    page.get_by_label("number input for Translations to show").press("Enter")
    page.get_by_role("button", name="Translate", exact=True).click()
    expect(page.locator(".tables tbody tr")).to_have_count(7)


def test_a_link_searches_as_it_says_and_a_change_of_the_search_is_in_the_address(visit):
    page = visit("/?beam=2&n_best=2&off=cross+1+2")
    expect(page.locator(".tables tbody tr")).to_have_count(2)
    expect(page.locator(".meta")).to_contain_text("beam 2")
    open_menu(page)
    expect(page.get_by_label("number input for Beam")).to_have_value("2")
    type_into(page.get_by_label("number input for Length penalty"), "0.5")
    page.get_by_label("number input for Length penalty").press("Enter")
    wanted = ("beam=2", "n_best=2", "length_penalty=0.5", "off=cross.1.2")
    page.wait_for_url(lambda url: all(part in url for part in wanted))
    page.get_by_role("tab", name="Attention").click()
    page.get_by_role("tab", name="Switch heads off").click()
    expect(page.get_by_text("Cross · layer 1, head 2", exact=True)).to_be_visible()


def test_bleu_is_taken_apart(visit, learned_pairs):
    page = visit()
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    page.get_by_role("button", name="Compare with a reference translation").click()
    type_into(page.get_by_label("Reference translation"), learned_pairs[1][1])
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("BLEU 100.0")).to_be_visible()
    page.get_by_label("Reference translation").fill("")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("The reference is empty")).to_be_visible()


def test_the_page_is_whole_in_spanish(visit, learned_pairs):
    page = visit()
    page.get_by_role("link", name="Español").click()
    page.wait_for_url("**/es**")
    expect(page.locator("html")).to_have_attribute("lang", "es")
    expect(page.locator(".meta")).to_contain_text("haz 5")  # the sentence of the address has arrived
    translate(page, learned_pairs[0][0], "Oración en inglés")
    expect_spanish(page, learned_pairs[0][1])
    translate(page, "", "Oración en inglés")
    expect(page.get_by_role("alert").filter(has_text="No hay nada que traducir")).to_be_visible()
    page.get_by_role("tab", name="Atención").click()
    expect(page.locator(".view .title")).to_contain_text("capa 2 de 2 · cabeza 1 de 4")
    page.get_by_role("link", name="English").click()
    expect(page.get_by_label("English sentence")).to_be_visible()


# The end of each stream of answers comes 200 milliseconds late, after the reply to the request that follows it.
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


def test_no_answer_is_lost_where_the_end_of_the_answers_before_it_comes_late(visit, learned_pairs):
    page = visit(before=lambda page: page.add_init_script(LATE_ENDS))
    for english, spanish in learned_pairs[:2]:
        translate(page, english)
        expect_spanish(page, spanish)
    idle(page)
    assert page.evaluate("lateEnds") > 3


def test_two_people_see_their_own_sentences(visit, learned_pairs):
    one, two = visit(), visit(somebody_else=True)
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
        expect(page.locator(".view .title")).to_be_visible()
    idle(page)
    expect_fits(page, 375)


def test_a_password_is_asked_for_where_one_is_set(guarded, chromium):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(guarded.address)
    page.get_by_label("username").fill("ada")
    page.get_by_label("password").fill("a b:c")
    page.get_by_role("button", name="Login").click()
    page.locator(".piece").first.wait_for()
    context.close()
