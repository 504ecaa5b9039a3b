"""The whole pass in one picture: xformer/parts/whole_pass/whole_pass.js on answers of
its part."""

import itertools
import json
import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, unreadable
from tests.pages import shown
from xformer.parts.whole_pass.draw import OPENS, flows
from xformer.strings import ENGLISH

say = ENGLISH.say


@pytest.fixture
def trace(models, learned_pairs):
    return models.default.trace(*learned_pairs[0])


@pytest.fixture
def picture(made, models, trace):
    return shown(made.pictures["whole"], models.default, trace=trace)["picture"]


@pytest.fixture
def mount(bench, picture):
    """`mount(before, **how)`: the picture, in the column in which its panel opens.
    before: a script that runs first."""

    def put(before="() => {}", **how):
        bench.open(**how)
        bench.page.evaluate(before)
        bench.page.evaluate("document.getElementById('bench').classList.add('whole')")
        return bench.mount("whole-pass", picture)

    return put


def test_a_picture_that_is_taken_away_comes_again(mount, picture):
    drawn = mount()
    for value, empty in (("", "true"), ("", "true"), (picture, "false")):
        drawn.show(value)
        expect(drawn.element).to_have_attribute("data-empty", empty)


def test_keys_go_from_piece_to_piece_and_step_to_step_and_lock(bench, mount):
    drawn = mount()
    page = bench.page
    piece = drawn.locator("[data-piece='1']")
    drawn.locator("[data-piece='0']").focus()
    page.keyboard.press("ArrowDown")
    expect(piece).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(drawn.block.get_by_role("slider", name=say("play_step"))).to_have_value("2")
    page.keyboard.press("Enter")
    expect(piece).to_have_attribute("aria-pressed", "true")
    expect(piece).to_be_focused()
    assert bench.call("shownPass") == [2, "", "-en1"]
    layer = drawn.block.get_by_role(
        "button", name=say("whole_layer_name", side="encoder", layer=2)
    )
    layer.focus()
    page.keyboard.press("Enter")
    assert bench.call("shownPass")[1] == "encoder.2" and drawn.told[-1][0] == "choose"


# of each element, where its middle is: [along the page, across it]
MIDDLES = """each => each.map(one => {
    const {x, y, width, height} = one.getBoundingClientRect();
    return [y + height / 2, x + width / 2];
})"""


def middles(drawn, selector):
    return drawn.locator(selector).evaluate_all(MIDDLES)


def test_on_a_phone_it_stands_upright_and_fits(bench, mount, trace):
    drawn = mount(width=375, theme="dark")
    expect_fits(bench.page, 375)
    assert not unreadable(bench.page)
    assert drawn.locator(".scroll").evaluate("one => one.scrollWidth") <= 375
    layers = middles(drawn, "[data-block^=encoder] > text")
    # one layer a row, the decoder below the encoder
    assert [y for y, _ in layers] == sorted({y for y, _ in layers})
    assert middles(drawn, "[data-block^=decoder] > text")[0][0] > layers[-1][0]
    labels = drawn.locator("[data-piece] > text").all_text_contents()
    assert len(labels) == len(trace.source)
    # side by side, above the layers
    pieces = middles(drawn, "[data-piece] > text")
    assert [x for _, x in pieces] == sorted({x for _, x in pieces})
    assert max(y for y, _ in pieces) < layers[0][0]
    bench.resize(1280)
    layers = middles(drawn, "[data-block^=encoder] > text")
    assert len({y for y, _ in layers}) == 1


def test_on_a_phone_the_result_stays_in_sight(bench, mount, learned_pairs):
    drawn = mount(width=375, height=400)
    result = drawn.locator(".result")
    drawn.locator("[data-key=rivals]").scroll_into_view_if_needed()
    drawn.block.get_by_role("button", name=say("play_next")).click()
    expect(result).to_be_in_viewport()
    expect(drawn.locator("[data-key=rivals]")).to_be_in_viewport()
    first, second, *_ = learned_pairs[0][1].split()
    expect(result).to_contain_text(f"→ {second}")
    expect(result).to_contain_text(f"{first} {second}")


def test_sixty_pieces_stand_upright(bench, made, models):
    """They are all named, or every nth, and the page scrolls to what is written."""
    trace = models.default.trace(
        " ".join(["The cat sleeps."] * 9), " ".join(["El gato duerme."] * 9)
    )
    bench.open(width=375)
    bench.page.evaluate("document.getElementById('bench').classList.add('whole')")
    drawn = bench.mount(
        "whole-pass",
        shown(made.pictures["whole"], models.default, trace=trace)["picture"],
    )
    expect_fits(bench.page, 375)
    places = [x for _, x in middles(drawn, "[data-piece] > text")]
    assert len(places) > 20
    apart = [b - a for a, b in itertools.pairwise(places)]
    assert min(apart) >= 11
    drawn.block.get_by_role("slider", name=say("play_step")).press("End")
    now = drawn.locator("[data-numbers][data-block='decoder.1']")
    expect(now).to_be_in_viewport(ratio=0.9)


def test_what_stands_for_more_opens_it(bench, mount):
    """By a click and by a key: the rivals the step, the positions their tab."""
    drawn = mount("document.body.opened = []")
    bench.page.evaluate("""document.addEventListener('click', event =>
        document.body.opened.push(JSON.parse(event.target.closest('[data-address]').dataset.address)))""")
    drawn.locator(".transport input").focus()
    bench.page.keyboard.press("ArrowRight")
    bench.page.keyboard.press("ArrowRight")
    name = say("whole_open_step", piece=".*", step=3)
    drawn.block.get_by_role("button", name=re.compile(name)).focus()
    bench.page.keyboard.press("Enter")
    positions = drawn.block.get_by_role("button", name=say("whole_open_positions"))
    positions.locator("image").click()
    step, positions = bench.page.evaluate("document.body.opened")
    assert step == json.loads(OPENS["step"].replace("{step}", "3"))
    assert positions == json.loads(OPENS["positions"])


def test_a_strip_of_the_piece_that_is_followed_opens_its_numbers(
    bench, mount, models, made, trace
):
    drawn = mount()
    strips = drawn.locator("[data-numbers][data-block^=encoder]")
    expect(strips).to_have_count(0)
    drawn.locator("[data-piece='1']").click()
    expect(strips).to_have_count(models.default.info.n_layers)
    strips.nth(1).focus()
    bench.page.keyboard.press("Enter")
    assert bench.call("shownPass")[1] == "encoder.2"
    answer = shown(
        made.pictures["whole"],
        models.default,
        trace=trace,
        whole_block="encoder.2",
        lock="-en1",
    )["block"]
    panel = bench.mount("whole-block", answer)
    expect(panel.locator(".whole-panel details")).to_have_attribute("open", "")
    drawn.locator("[data-block='encoder.2']").first.click()
    assert bench.call("shownPass")[1] == ""


def test_it_is_as_high_as_the_page_tells_it_to_be(bench, mount, trace):
    drawn = mount()
    height = "document.querySelector('svg.pass').getBoundingClientRect().height"
    before = bench.page.evaluate(height)
    bench.page.add_style_tag(content=".whole-pass { --pass-height: 330px; }")
    bench.resize(1281)
    low = bench.page.evaluate(height)
    assert low <= 330 < before
    rows = [y for y, _ in middles(drawn, "[data-piece] > rect")]
    assert min(b - a for a, b in itertools.pairwise(rows)) >= 12
    assert len(rows) == len(trace.source)


def test_it_is_saved_with_both_sentences_and_the_numbers_of_its_flows(
    bench, mount, trace, learned_pairs, models
):
    drawn = mount()
    english, spanish = learned_pairs[0]
    content, name = saved(bench.page, drawn.save("SVG"))
    text = content.decode()
    assert (
        name.startswith("One-pass-")
        and english in text
        and spanish in text
        and models.default.info.name in text
    )
    assert "<foreignObject" not in text and text.count("<image") >= 10
    bench.resize(375)
    content, _ = saved(bench.page, drawn.save("SVG"))
    text = content.decode()
    # the page tells these beside the picture
    assert say("whole_so_far") in text and "→ " in text and "rotate(-90)" in text
    ElementTree.fromstring(text)
    content, _ = saved(bench.page, drawn.save("PNG"))
    assert content.startswith(b"\x89PNG") and len(content) > 20_000
    content, _ = saved(bench.page, drawn.save("JSON"))
    mean, _ = flows(trace.cross, "mean")
    found = [
        weight for part, *_, weight in json.loads(content)["rows"] if part == "cross.2"
    ]
    # four digits are saved
    assert found == pytest.approx([float(p) for p in mean[1, 0] if p >= 0.03], abs=1e-4)


NOTES_COVERS = """() => {
    const animate = Element.prototype.animate;
    window.wereSeen = [];
    Element.prototype.animate = function (...how) {
        const motion = animate.apply(this, how);
        const note = () => wereSeen.push(this.parentElement.isConnected);
        if (this.matches('.cover')) motion.finished.then(note);
        return motion;
    };
}"""


def test_it_is_uncovered_to_its_end(bench, mount, picture):
    """What lays the picture down a second time would break off the motion by which that
    of another sentence comes. The first stands there at once."""
    bench.page.emulate_media(reduced_motion="no-preference")
    try:
        drawn = mount(NOTES_COVERS)
        assert bench.page.evaluate("wereSeen") == []
        expect(drawn.locator(".cover")).to_have_count(0)
        drawn.show({**picture, "pair": ["Another.", "Otra."]})
        bench.page.wait_for_function("wereSeen.length > 0")
        assert bench.page.evaluate("wereSeen") == [True]
        expect(drawn.locator(".cover")).to_have_count(0)
    finally:
        bench.page.emulate_media(reduced_motion="reduce")
