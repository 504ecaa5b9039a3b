"""The Step by step tab as a person uses it, in Chromium: its four parts, by mouse, by keyboard, and on a phone."""

import csv
import io
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, expect_spanish, idle, open_menu, saved, translate, type_into
from xformer.hub.checkpoint import examine


def open_decoding(page, learned_pairs, number=1):
    translate(page, learned_pairs[number][0])
    expect_spanish(page, learned_pairs[number][1])
    page.locator("[role=tab][data-tab-id=decoding]").click()
    expect(page.locator(".step-player .written button").first).to_be_visible()
    expect(page.locator(".beam-tree .node.winner")).to_have_count(1)
    idle(page)


def part(page, name):
    page.locator(".decoding .parts").get_by_text(name, exact=True).click()


def test_the_ring_of_a_part_lies_inside_it_and_only_keys_show_it(visit, learned_pairs):
    page = visit(f"/?text={quote(learned_pairs[1][0])}&tab=decoding")
    chosen = page.locator(".decoding .parts label.selected")
    ring = "label => [getComputedStyle(label).outlineStyle, parseFloat(getComputedStyle(label).outlineOffset)]"
    part(page, "Your translation")
    expect(chosen).to_have_text("Your translation")
    idle(page)
    assert chosen.evaluate(ring)[0] == "none"
    page.keyboard.press("ArrowRight")
    expect(chosen).to_have_text("Layer by layer")
    idle(page)
    style, offset = chosen.evaluate(ring)
    assert style == "solid" and offset <= -2, "what lies outside is cut off"


def test_the_player_goes_step_by_step_by_buttons_and_keys_and_is_in_the_address(visit, learned_pairs):
    page = visit()
    open_decoding(page, learned_pairs)
    player = page.locator(".step-player.block")
    count = player.locator(".written button").count()
    expect(player.locator("output")).to_have_text(f"step 1 of {count}")
    player.get_by_role("button", name="Next step").click()
    expect(player.locator("output")).to_have_text(f"step 2 of {count}")
    expect(player.locator("rect.new")).to_have_count(2)
    player.locator(".written .now").press("ArrowRight")
    expect(player.locator("output")).to_have_text(f"step 3 of {count}")
    expect(player.locator(".written .now")).to_be_focused()
    page.wait_for_url("**step=3**")
    expect(player.locator(".likeliest li.chosen .number").first).to_have_text(re.compile(r"^(> )?\d+\.\d %$"))
    again = visit("/" + page.url.split("/", 3)[3])
    expect(again.locator(".step-player output")).to_have_text(f"step 3 of {count}")
    (corner, *_), *rows = csv.reader(io.StringIO(saved(
        page, player.get_by_role("button", name="Save as CSV").click)[0].decode()))
    assert corner.startswith("Step by step: ") and len(rows) == 10 * count
    content, _ = saved(page, player.get_by_role("button", name="Save as PNG").click)
    assert content.startswith(b"\x89PNG") and len(content) > 10_000
    player.get_by_role("button", name="▶ Play").click()
    expect(player.locator("output")).not_to_have_text(f"step 3 of {count}")
    player.get_by_role("button", name="⏸ Pause").click()


def test_the_player_pauses_when_it_is_out_of_sight(visit, learned_pairs):
    page = visit()
    open_decoding(page, learned_pairs)
    player = page.locator(".step-player.block")
    for leave, come_back in ((lambda: part(page, "Your translation"), lambda: part(page, "Step by step")),
                             (lambda: page.get_by_role("tab", name="Compare").click(),
                              lambda: page.get_by_role("tab", name="Step by step").click())):
        player.get_by_role("button", name="▶ Play").click()
        expect(player.locator(".toggle")).to_have_text("⏸ Pause")
        leave()
        expect(player.locator(".toggle")).to_have_text("▶ Play")
        come_back()
        expect(player.locator(".toggle")).to_be_visible()


def test_a_node_of_the_tree_says_why_it_lost_and_is_translated_on(visit, learned_pairs):
    page = visit()
    open_decoding(page, learned_pairs)
    why = page.locator(".block.why-node")
    expect(why).to_contain_text("The winner")
    tree = page.locator(".beam-tree.block")
    dropped = tree.locator(".node.dropped").first
    dropped.click()
    expect(why).to_contain_text("Dropped at step 1")
    page.keyboard.press("ArrowUp")
    expect(why).to_contain_text("Kept at step 1")
    tree.locator(".node.best").first.click()
    expect(why).to_contain_text("The winner goes through here")
    page.keyboard.press("ArrowRight")
    expect(tree.locator(".node:focus")).to_have_attribute("aria-label", re.compile("step 2"))
    expect(why).to_contain_text("at step 2")
    page.wait_for_url("**tree_node=**")
    dropped.click()
    expect(why).to_contain_text("Dropped at step 1")
    page.get_by_role("button", name="Translate on from there").first.click()
    expect(page.locator(".block.went")).to_contain_text("The page now looks into this one")
    expect(page.locator(".looked-into")).to_contain_text("not the model’s own translation")
    page.get_by_role("button", name="Back to the model’s own").click()
    idle(page)
    expect(page.locator(".looked-into")).to_be_hidden()
    assert len(saved(page, tree.get_by_role("button", name="Save as SVG").click)[0]) > 5_000


def test_a_saved_picture_has_a_margin_and_names_what_it_is_of_but_not_its_use(visit, learned_pairs, tiny_checkpoint):
    page = visit()
    open_decoding(page, learned_pairs)
    model, alone = f"tiny-en-es {examine(tiny_checkpoint).identity}", page.context.new_page()
    for figure in (".step-player.block", ".beam-tree.block"):
        drawing = saved(page, page.locator(figure).get_by_role("button", name="Save as SVG").click)[0].decode()
        alone.set_content(drawing)
        least, text = alone.evaluate("""() => {
            const svg = document.querySelector('svg'), whole = svg.getBoundingClientRect();
            const texts = document.createTreeWalker(svg.querySelector('foreignObject > div'), NodeFilter.SHOW_TEXT);
            const range = document.createRange(), edges = [];
            while (texts.nextNode()) {
                if (!texts.currentNode.data.trim() || texts.currentNode.parentElement.tagName === 'STYLE') continue;
                range.selectNodeContents(texts.currentNode);
                const box = range.getBoundingClientRect();
                if (box.width) edges.push(box.left - whole.left, whole.right - box.right, whole.bottom - box.bottom);
            }
            return [Math.min(...edges), svg.textContent];
        }""")
        assert least >= 12 and model in text and " → ".join(learned_pairs[1]) in text
        assert "Click a piece" not in text, "what is done on the page is not done in a file"
    alone.close()


@pytest.mark.parametrize(("width", "part", "pane"), [
    (1280, "steps", ".beam-tree .scroll"), (375, "steps", ".beam-tree .scroll"), (375, "yours", ".forced .scroll")])
def test_what_does_not_all_fit_fades_and_says_so_until_its_end_is_seen(visit, learned_pairs, width, part, pane):
    page = visit(f"/?text={quote(learned_pairs[4][0])}&tab=decoding&decode={part}", width=width)
    wide = page.locator(pane)
    expect(wide).to_have_attribute("data-cut", re.compile("right"))
    assert wide.evaluate("pane => getComputedStyle(pane).boxShadow !== 'none'")
    assert "scroll sideways" in wide.evaluate("pane => getComputedStyle(pane, '::after').content")
    wide.evaluate("pane => { pane.scrollLeft = pane.scrollWidth; }")
    idle(page)
    expect(wide).not_to_have_attribute("data-cut", re.compile("right"))


def test_one_s_own_spanish_is_given_and_its_losses_shown(visit, learned_pairs):
    page = visit()
    open_decoding(page, learned_pairs)
    part(page, "Your translation")
    field = page.get_by_label("Your translation", exact=True).last
    expect(field).to_have_value(learned_pairs[1][1])
    expect(page.locator(".block.free")).to_contain_text("Both are the same")
    type_into(field, "El gato come.")
    field.press("Enter")
    expect(page.locator(".block.free")).to_contain_text("They part at step")
    page.wait_for_url("**spanish=El+gato+come.**")
    wanted = page.locator(".forced tr.wanted button")
    wanted.nth(1).click()
    expect(page.locator(".distribution .caption")).to_contain_text("Step 2, after")
    expect(page.locator(".forced tr.wanted .chosen button")).to_have_text(wanted.nth(1).text_content())
    slider = page.get_by_label("number input for Label smoothing")
    type_into(slider, "0")
    slider.press("Enter")
    expect(page.locator(".forced .sums")).to_contain_text("ε = 0:")
    idle(page)
    table = page.locator(".forced.block")
    rows = [*csv.reader(io.StringIO(saved(page, table.get_by_role("button", name="Save as CSV").click)[0].decode()))]
    assert [row[0] for row in rows[1:]] == ["given", "wanted", "ln p", "loss"]
    assert [-float(value) for value in rows[3][1:]] == pytest.approx([float(value) for value in rows[4][1:]], abs=0.01)


def test_each_layer_is_read_and_cells_say_their_ranks(visit, learned_pairs):
    page = visit(f"/?text={quote(learned_pairs[1][0])}&tab=decoding&decode=layers")
    rows = page.locator(".by-layer tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.last).to_contain_text(learned_pairs[1][1])
    page.locator(".of-lens [data-step='1'][data-layer='2']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".of-lens .said")).to_have_text(re.compile(r"^Step 2, layer 1: .+ rank \d+$"))
    page.keyboard.press("Enter")
    page.wait_for_url("**step=2**")
    expect(page.locator(".of-lens tr.chosen th")).to_contain_text("2 · after")


NUMBERS = "all => all.map(one => parseFloat(one.textContent.replace('\u2212', '-')))"


def test_why_a_piece_stands_there_opens_on_its_address_and_is_asked_of_another_rival(visit, learned_pairs):
    page = visit(f"/?text={quote(learned_pairs[1][0])}&tab=decoding&decode=why&step=2")
    panel = page.locator(".why-panel.block")
    bars, rivals = panel.locator(".bars button"), panel.locator(".instead button")
    expect(panel.locator(".bars .now")).to_have_attribute("aria-label", re.compile(r"Step 2, “.+”: .+ from the Engl"))
    expect(rivals.first).to_have_attribute("aria-pressed", "true")
    said, parts = panel.locator(".instead .found"), panel.locator(".parts .number")
    for number in (0, 2):  # the likeliest rival, and another one
        rivals.nth(number).click()
        name = rivals.nth(number).locator("span").inner_text()
        expect(said).to_contain_text(f"less that of “{name}” is")
        idle(page)
        *added, total = parts.evaluate_all(NUMBERS)
        assert sum(added) == pytest.approx(total, abs=0.005 * len(parts.all()))
        expect(said).to_contain_text(f"{total:+.2f}".replace("-", "−"))
        cells = panel.locator(".heads td[title]").evaluate_all(
            "all => all.map(one => parseFloat(one.title.split(': ')[1].replace('\u2212', '-')))")
        of_heads = [added[i] for i in (2, 3, 5, 6)]  # self-attention and cross-attention of both layers
        assert len(cells) == 2 * 2 * 4 and sum(cells) == pytest.approx(sum(of_heads), abs=0.03)
    page.wait_for_url("**rival=**")
    panel.locator(".bars .now").press("ArrowRight")
    expect(panel.locator(".instead h3")).to_contain_text("At step 3 stands")
    expect(panel.locator(".bars .now")).to_be_focused()
    expect(bars.nth(2)).to_have_class("now")
    idle(page)
    assert "step=3" in page.url and "rival=" not in page.url


def test_a_twin_s_answers_are_put_into_each_head_and_another_length_is_refused(visit, learned_pairs):
    page = visit(f"/?text={quote(learned_pairs[1][0])}&tab=decoding&decode=why&step=2", width=375)
    panel = page.locator(".why-panel.block")
    field = panel.get_by_label("Twin sentence")
    type_into(field, "A very much longer sentence than that one is.")
    field.press("Enter")
    expect(panel.get_by_role("alert")).to_contain_text("The twin must have as many pieces")
    idle(page)
    expect(panel.locator(".swapped table")).to_have_count(0)
    type_into(field, learned_pairs[1][0])
    panel.get_by_role("button", name="Replace the heads").click()
    expect(panel.locator(".swapped table")).to_have_count(3)
    expect(panel.locator(".swapped .found")).to_contain_text("With the twin the difference is")
    idle(page)
    assert "twin=" in page.url
    expect_fits(page, 375)
    ways = panel.locator(".inputs .buttons button")
    before = panel.locator(".inputs .words small").all_inner_texts()
    ways.nth(1).click()
    idle(page)
    assert panel.locator(".inputs .words small").all_inner_texts() != before
    expect(panel.locator(".inputs .sub")).to_contain_text("Integrated gradients")
    rows = [*csv.reader(io.StringIO(saved(page, panel.get_by_role("button", name="Save as CSV").click)[0].decode()))]
    assert {len(row) for row in rows} == {3} and sum(row[0].startswith("Twin sentence") for row in rows) == 3 * 2 * 4
    content, _ = saved(page, panel.get_by_role("button", name="Save as PNG").click)
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_two_draws_stand_side_by_side_and_the_tree_says_that_samples_make_none(visit, learned_pairs):
    page = visit(f"/?text={quote(learned_pairs[1][0])}&temperature=1")
    expect(page.locator(".draws section h3")).to_have_text(["Draw with seed 1", "Draw with seed 2"])
    open_menu(page)
    expect(page.get_by_label("number input for Beam width").first).to_be_disabled()
    expect(page.get_by_label("number input for Top-k")).to_be_enabled()
    page.keyboard.press("Escape")
    page.locator(".draws + p").get_by_role("button", name="Draw again").click()
    expect(page.locator(".draws section h3")).to_have_text(["Draw with seed 3", "Draw with seed 4"])
    page.wait_for_url("**draw_seed=3**")
    page.locator("[role=tab][data-tab-id=decoding]").click()
    expect(page.get_by_text("Samples are drawn one by one and make no tree")).to_be_visible()
    expect(page.locator(".step-player .written button").first).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/es"])
def test_every_part_fits_a_phone(visit, learned_pairs, path):
    page = visit(f"{path}?text={quote(learned_pairs[4][0])}&tab=decoding", width=375)
    expect(page.locator(".beam-tree .node.winner")).to_have_count(1)
    expect_fits(page, 375)
    for number, drawn in ((2, ".forced tr.wanted button"), (3, ".of-lens td.reading"), (4, ".why-panel .parts tr.sum")):
        page.locator(".decoding .parts label").nth(number - 1).click()
        expect(page.locator(drawn).first).to_be_visible()
        idle(page)
        expect_fits(page, 375)
