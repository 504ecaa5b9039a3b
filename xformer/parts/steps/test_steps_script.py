"""What the Step by step tab draws: the player, the beam as a tree, and readings, as
step_player.js, beam_tree.js and readings.js draw answers of the tab."""

import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved
from tests.pages import shown
from xformer.parts.steps import part as steps
from xformer.results import Options
from xformer.strings import ENGLISH

say = ENGLISH.say
NUMBERS = "all => all.map(one => parseFloat(one.textContent.replace('\u2212', '-')))"
EDGES = """() => {
  const svg = document.querySelector('svg'), whole = svg.getBoundingClientRect();
  const texts = document.createTreeWalker(svg.querySelector('foreignObject > div'), NodeFilter.SHOW_TEXT);
  const range = document.createRange(), edges = [];
  while (texts.nextNode()) {
    if (!texts.currentNode.data.trim() || texts.currentNode.parentElement.tagName === 'STYLE') continue;
    range.selectNodeContents(texts.currentNode);
    const box = range.getBoundingClientRect();
    if (box.width) edges.push(box.left - whole.left, whole.right - box.right, whole.bottom - box.bottom);
  }
  return edges; }"""


@pytest.fixture(scope="module")
def pair(models, learned_pairs):
    return models.default.translate_and_trace(learned_pairs[1][0], Options(beam=5))


@pytest.fixture(scope="module")
def longer(models, learned_pairs):
    return models.default.translate_and_trace(learned_pairs[4][0], Options(beam=5))


@pytest.fixture
def draw(models, made, pair):
    """`draw("forced", step=2)`: what the tab answers for one of its pictures."""
    parts = {
        "player": "steps",
        "forced": "yours",
        "shares": "yours",
        "lens": "layers",
        "by_layer": "layers",
    }

    def draw(name, of=pair, step=1, **values):
        translation, trace = of
        return shown(
            made.pictures[steps.ID],
            models.default,
            translation=translation,
            trace=trace,
            decode=parts[name],
            **{"step": step, "smoothing": 0.1, "rival": "", "twin": "", **values},
        )[name]

    return draw


@pytest.fixture
def grow(models, made, pair):
    """What the tab answers for the tree."""
    return lambda of=pair, node=0, width=5: shown(
        made.pictures[f"{steps.ID}.tree"],
        models.default,
        translation=of[0],
        decode="steps",
        tree_width=width,
        tree_node=node,
    )["tree"]


def rows_of(page, mounted):
    return [*csv.reader(io.StringIO(saved(page, mounted.save("CSV"))[0].decode()))]


# The player


def step_of(player, step):
    return say("play_of", step=step, steps=player.locator(".written button").count())


def test_the_player_goes_step_by_step_by_buttons_and_by_keys(bench, draw):
    player = bench.mount("step-player", draw("player"))
    expect(player.locator("output")).to_have_text(step_of(player, 1))
    expect(player.locator("[data-by='-1']")).to_be_disabled()
    player.block.get_by_role("button", name=say("play_next")).click()
    expect(player.locator("output")).to_have_text(step_of(player, 2))
    expect(player.locator("rect.new")).to_have_count(2)
    player.locator(".written .now").press("ArrowRight")
    expect(player.locator("output")).to_have_text(step_of(player, 3))
    expect(player.locator(".written .now")).to_be_focused()
    expect(player.locator(".likeliest li.chosen .number").first).to_have_text(
        re.compile(r"^(> )?\d+\.\d\s%$")
    )
    player.locator(".written button").first.click()
    assert player.told == [
        ("choose", {"step": 2}),
        ("choose", {"step": 3}),
        ("choose", {"step": 1}),
    ]


def test_the_slider_shows_each_step_and_tells_the_last(bench, draw):
    player = bench.mount("step-player", draw("player"))
    slider = player.block.get_by_role("slider")
    slider.evaluate(
        "slider => { slider.value = 2; slider.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(player.locator("output")).to_have_text(step_of(player, 2))
    assert player.told == []
    slider.evaluate(
        "slider => { slider.value = 3; slider.dispatchEvent(new Event('input', {bubbles: true}));"
        "slider.dispatchEvent(new Event('change', {bubbles: true})); }"
    )
    assert player.told == [("choose", {"step": 3})]


def test_what_is_played_goes_on_by_itself_until_it_is_paused(bench, draw):
    player = bench.mount("step-player", draw("player", step=3))
    player.block.get_by_role("button", name=say("play_start")).click()
    expect(player.locator("output")).to_have_text(step_of(player, 4))
    player.block.get_by_role("button", name=say("play_stop")).click()
    expect(player.locator(".toggle")).to_have_text(say("play_start"))


def test_the_player_pauses_when_it_is_out_of_sight(bench, draw):
    player = bench.mount("step-player", draw("player"))
    player.locator(".toggle").click()
    expect(player.locator(".toggle")).to_have_text(say("play_stop"))
    # as a tab or part that is closed
    player.block.evaluate("block => { block.style.display = 'none'; }")
    expect(player.locator(".toggle")).to_have_text(say("play_start"))


def test_the_names_of_the_mask_do_not_run_together(bench, draw, models, longer):
    """Where its rows are hardly higher than a name: 13 pixels."""
    typed = models.default.trace(longer[0], "Ella lee un libro y él canta pan.")
    player = bench.mount("step-player", draw("player", (longer[0], typed)))
    lines = player.locator(".masked svg text").evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect()).map(({top, bottom}) => [top, bottom])"
    )
    tops = [top for top, _ in lines]
    assert {below - above for above, below in zip(tops, tops[1:], strict=False)} == {13}
    assert all(
        bottom <= top + 1.5
        for (_, bottom), (top, _) in zip(lines, lines[1:], strict=False)
    )


def test_the_table_of_the_player_has_ten_rows_a_step(bench, draw):
    player = bench.mount("step-player", draw("player"))
    (corner, *_), *rows = rows_of(bench.page, player)
    assert (
        corner.startswith("Step by step: ")
        and len(rows) == 10 * player.locator(".written button").count()
    )
    content, _ = saved(bench.page, player.save("PNG"))
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


@pytest.mark.parametrize("figure", ["step-player", "beam-tree"])
def test_a_saved_picture_has_a_margin_and_names_what_it_is_of_but_not_its_use(
    bench, draw, grow, figure, models, learned_pairs
):
    mounted = bench.mount(figure, grow() if figure == "beam-tree" else draw("player"))
    drawing = saved(bench.page, mounted.save("SVG"))[0].decode()
    bench.page.set_content(drawing)
    assert min(bench.page.evaluate(EDGES)) >= 12
    text = bench.page.locator("svg").first.text_content()
    info = models.default.info
    assert (
        f"{info.name} {info.identity}" in text and " → ".join(learned_pairs[1]) in text
    )
    assert say("play_sentence") not in text, (
        "what is done on the page is not done in a file"
    )


# The beam as a tree


def test_a_beam_of_six_moves_nothing_that_stands_below_the_tree(bench, grow):
    tops = []
    for width in (1, 5, 6):
        tree = bench.mount("beam-tree", grow(width=width), width=1280)
        tops.append(
            tree.block.evaluate("block => block.getBoundingClientRect().height")
        )
    assert tops[0] == tops[1]


def test_the_tree_is_walked_by_keys_and_tells_which_node(bench, grow):
    value = grow()
    tree = bench.mount("beam-tree", value)
    expect(tree.locator(".node.winner")).to_have_count(1)
    dropped = tree.locator(".node.dropped").first
    dropped.click()
    at = int(dropped.get_attribute("data-node"))
    bench.page.keyboard.press("ArrowUp")
    nodes = json.loads(value["nodes"])
    above = nodes[int(tree.locator(".node:focus").get_attribute("data-node"))]
    below = nodes[at]
    assert (above["step"], above["row"]) == (below["step"], below["row"] - 1)
    tree.locator(".node.best").first.click()
    bench.page.keyboard.press("ArrowRight")
    expect(tree.locator(".node:focus")).to_have_attribute(
        "aria-label", re.compile("step 2")
    )
    expect(tree.locator(".node:focus")).to_have_class(re.compile("best"))
    bench.page.keyboard.press("ArrowLeft")
    expect(tree.locator(".node:focus")).to_have_attribute(
        "aria-label", re.compile("step 1")
    )
    nodes = [data["node"] for _, data in tree.told]
    assert nodes[0] == at and len(nodes) == 5 and nodes[2] == nodes[4]
    tree.locator(f'[data-node="{nodes[4]}"]').click()
    assert len(tree.told) == 5, "what is chosen already is not told again"


def test_a_tree_that_comes_again_keeps_the_focus_and_how_far_it_was_scrolled(
    bench, grow, longer
):
    tree = bench.mount("beam-tree", grow(longer), width=375)
    winner = tree.locator(".node.winner")
    winner.click()
    left = tree.locator(".scroll").evaluate("pane => pane.scrollLeft")
    node = winner.get_attribute("data-node")
    assert left > 100
    tree.show(grow(longer, int(node) + 1))
    expect(tree.locator(f'[data-node="{node}"]')).to_be_focused()
    assert tree.locator(".scroll").evaluate("pane => pane.scrollLeft") == left


@pytest.mark.parametrize(
    ("width", "name"), [(1280, "beam-tree"), (375, "beam-tree"), (375, "forced")]
)
def test_what_does_not_all_fit_fades_and_says_so_until_its_end_is_seen(
    bench, draw, grow, longer, width, name
):
    drawing = bench.mount(
        name,
        grow(longer) if name == "beam-tree" else draw("forced", longer),
        width=width,
    )
    bench.run("cut.js", "watchCut", say("more_right"))
    pane = drawing.locator(".scroll")
    expect(pane).to_have_attribute("data-cut", re.compile("right"))
    assert pane.evaluate("pane => getComputedStyle(pane).boxShadow !== 'none'")
    assert say("more_right") in pane.evaluate(
        "pane => getComputedStyle(pane, '::after').content"
    )
    # what is within keeps its style, or a whole tree would be styled twice
    within = "pane => getComputedStyle(pane.firstElementChild).scrollbarColor"
    cut = pane.evaluate(within)
    pane.evaluate("pane => { pane.scrollLeft = pane.scrollWidth; }")
    expect(pane).not_to_have_attribute("data-cut", re.compile("right"))
    assert pane.evaluate(within) == cut
    expect_fits(bench.page, width)


# Readings


def test_a_step_of_one_s_own_translation_is_chosen_and_keeps_the_focus(bench, draw):
    table = bench.mount("forced", draw("forced"), width=375)
    shares = bench.mount("distribution", draw("shares"))
    wanted = table.locator("tr.wanted button")
    wanted.nth(2).click()
    assert table.told == [("choose", {"step": 3})]
    before = table.locator(".scroll").evaluate("pane => pane.scrollLeft")
    table.show(draw("forced", step=3))
    shares.show(draw("shares", step=3))
    expect(table.locator("tr.wanted .chosen button")).to_have_text(
        wanted.nth(2).text_content()
    )
    expect(wanted.nth(2)).to_be_focused()
    assert table.locator(".scroll").evaluate("pane => pane.scrollLeft") == before
    expect(shares.locator(".caption")).to_contain_text("Step 3, after")


def test_the_table_of_losses_is_saved_as_numbers(bench, draw):
    rows = rows_of(bench.page, bench.mount("forced", draw("forced", smoothing=0)))
    assert [row[0] for row in rows[1:]] == [
        say(f"force_{name}") for name in ("given", "wanted", "log_prob", "loss")
    ]
    assert [-float(value) for value in rows[3][1:]] == pytest.approx(
        [float(value) for value in rows[4][1:]], abs=0.01
    )


def test_cells_of_the_lens_say_their_ranks_and_are_walked_by_keys(bench, draw):
    lens = bench.mount("of-lens", draw("lens"))
    lens.locator("[data-step='1'][data-layer='2']").focus()
    bench.page.keyboard.press("ArrowDown")
    bench.page.keyboard.press("ArrowLeft")
    expect(lens.locator(".said")).to_have_text(
        re.compile(r"^Step 2, layer 1: .+ rank \d+$")
    )
    bench.page.keyboard.press("Enter")
    assert lens.told == [("choose", {"step": 2})]
    lens.show(draw("lens", step=2))
    expect(lens.locator("tr.chosen th")).to_contain_text("2 · after")
    expect(lens.locator("[data-step='2'][data-layer='1']")).to_be_focused()


def test_each_layer_of_the_encoder_is_read(bench, draw, learned_pairs):
    rows = bench.mount("by-layer", draw("by_layer")).locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.last).to_contain_text(learned_pairs[1][1])
