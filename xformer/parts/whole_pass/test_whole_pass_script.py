"""The whole pass in one picture: xformer/parts/whole_pass/whole_pass.js on answers of
its part."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, unreadable
from tests.pages import shown
from xformer.parts.whole_pass.draw import flows
from xformer.strings import ENGLISH

say = ENGLISH.say


@pytest.fixture
def trace(models, learned_pairs):
    return models.default.trace(*learned_pairs[0])


@pytest.fixture
def mount(bench, made, models, trace):
    """`mount(before, **how)`: the picture, in the column in which its panel opens.
    before: a script that runs first."""
    picture = shown(made.pictures["whole"], models.default, trace=trace)["picture"]

    def put(before="() => {}", **how):
        bench.open(**how)
        bench.page.evaluate(before)
        bench.page.evaluate("document.getElementById('bench').classList.add('whole')")
        return bench.mount("whole-pass", picture)

    return put


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


def test_it_fits_a_phone(bench, mount):
    mount(width=375, theme="dark")
    expect_fits(bench.page, 375)
    assert not unreadable(bench.page)


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


def test_it_is_uncovered_to_its_end(bench, mount):
    """What lays the picture down a second time would break off the motion by which it
    comes."""
    bench.page.emulate_media(reduced_motion="no-preference")
    try:
        drawn = mount(NOTES_COVERS)
        bench.page.wait_for_function("wereSeen.length > 0")
        assert bench.page.evaluate("wereSeen") == [True]
        expect(drawn.locator(".cover")).to_have_count(0)
    finally:
        bench.page.emulate_media(reduced_motion="reduce")
