"""The boxes of the architecture, the lines behind them and teachers' words: blocks.js
on figures of its part."""

import csv
import io
import re
import struct

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved
from xformer.hub.checkpoint import examine
from xformer.parts.architecture.part import towers_of
from xformer.strings import ENGLISH, SPANISH

MARGIN = 16  # pixels around a saved picture, by assets/html_picture.js
# The figures of the class in the order of the part: towers, both orders of
# normalisation, the classifier.
ORDERS = "architecture 2"
READER = "architecture 4"


@pytest.fixture
def figure(models, learned_pairs):
    """`figure(pair=0, teacher="own", language=ENGLISH)`: the towers, with the sizes of
    a pair."""
    service = models.default
    return lambda pair=0, teacher="own", language=ENGLISH: towers_of(
        service, language, service.trace(*learned_pairs[pair]), teacher
    )


def braces(drawn, key):
    """The button that shows the lines of a block."""
    return drawn.block.get_by_role(
        "button", name=ENGLISH.say("arch_code", name=ENGLISH.say(key))
    ).first


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_a_block_of_attention_opens_its_heads(bench, figure, language):
    drawn = bench.open(language=language.code).mount(
        "architecture", figure(language=language)
    )
    block = drawn.locator("button[data-stack=encoder_self][data-layer='1']")
    expect(block).to_contain_text(language.say("arch_encoder_self"))
    # of the sentence on the page
    expect(block).to_contain_text(re.compile(r"4 × \d+ × \d+"))
    bench.page.evaluate("document.body.style.minHeight = '3000px'; scrollTo(0, 300)")
    block.focus()
    bench.page.keyboard.press("Enter")
    assert drawn.told == [("choose", {"stack": "encoder_self", "layer": 1})]
    assert bench.page.evaluate("scrollY") == 0, "the tab is opened where it begins"


def test_one_layer_is_drawn_and_the_others_are_opened(bench, figure):
    drawn = bench.mount("architecture", figure())
    second = drawn.locator("button[data-stack=encoder_self][data-layer='2']")
    expect(drawn.locator(".times").first).to_have_text("× 2")
    expect(second).to_be_hidden()
    drawn.block.get_by_text("1 more of the same").first.press("Enter")
    expect(second).to_be_visible()


def test_the_towers_are_saved_with_a_row_for_each_box(bench, figure, tiny_checkpoint):
    drawn = bench.mount("architecture", figure())
    content, _ = saved(bench.page, drawn.save("CSV"))
    (corner, *columns), *rows = csv.reader(io.StringIO(content.decode()))
    assert corner.endswith(f" · tower · tiny-en-es {examine(tiny_checkpoint).identity}")
    assert columns == ["layer", "block", "output", "parameters", "weights"]
    assert len(rows) == drawn.locator(".box").count() and ["Encoder", "Layer 1"] in [
        row[:2] for row in rows
    ]


def test_the_towers_are_saved_whole_as_a_picture(bench, figure):
    drawn = bench.mount("architecture", figure())
    content, name = saved(bench.page, drawn.save("SVG"))
    assert (
        name.startswith("tiny")
        and b"<foreignObject" in content
        and b".architecture .box" in content
    )
    content, name = saved(bench.page, drawn.save("PNG"))
    width, height = struct.unpack(">II", content[16:24])
    box = drawn.locator(".towers").bounding_box()
    assert width == 2 * (round(box["width"]) + 2 * MARGIN)
    # and a line below
    assert 0 <= height / 2 - box["height"] - 2 * MARGIN < 0.1 * box["height"] + 30


def test_both_orders_of_normalisation_are_saved_as_a_picture(bench):
    drawn = bench.mount(ORDERS, bench.components["en"][ORDERS].value, width=1280)
    content, name = saved(bench.page, drawn.save("SVG"))
    assert name == "Post-norm-and-pre-norm.svg" and "LayerNorm" in content.decode()
    content, name = saved(bench.page, drawn.save("PNG"))
    assert (
        name == "Post-norm-and-pre-norm.png"
        and content.startswith(b"\x89PNG")
        and len(content) > 10_000
    )


def test_the_classifier_is_saved_under_its_own_name(bench, measured_classifier):
    drawn = bench.mount(READER, bench.components["en"][READER].value, width=1280)
    content, name = saved(bench.page, drawn.save("CSV"))
    about = examine(measured_classifier)
    assert name == f"The-classifier-of-reviews-{about.name}.csv"
    assert (
        content.decode()
        .split(",")[0]
        .endswith(f" · tower · {about.name} {about.identity}")
    )


def test_braces_show_the_lines_that_compute_a_block_and_escape_closes_them(
    bench, figure
):
    drawn = bench.mount("architecture", figure())
    panel = drawn.locator(".code-of")
    braces(drawn, "arch_cross").click()
    expect(panel).to_be_in_viewport()
    expect(panel).to_contain_text("def attend(")
    braces(drawn, "arch_feed_forward").press("Enter")
    expect(panel).to_contain_text("class FeedForward")
    expect(panel.get_by_text("def attend")).to_be_hidden()
    bench.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(braces(drawn, "arch_feed_forward")).to_be_focused()


def test_code_stays_open_when_another_sentence_comes(bench, figure):
    drawn = bench.mount("architecture", figure())
    panel = drawn.locator(".code-of")
    before = drawn.locator(".towers").text_content()
    braces(drawn, "arch_cross").click()
    drawn.show(figure(1))
    expect(drawn.locator(".towers")).not_to_have_text(before)
    expect(panel).to_be_in_viewport()
    expect(panel).to_contain_text("def attend(")
    expect(braces(drawn, "arch_cross")).to_have_attribute("aria-expanded", "true")
    expect(braces(drawn, "arch_cross")).to_be_focused()
    assert not drawn.told


@pytest.mark.parametrize("width", [1280, 375])
def test_a_teachers_words_frame_the_boxes_and_stand_in_a_table(bench, figure, width):
    drawn = bench.mount("architecture", figure(teacher="canziani"), width=width)
    decoder = drawn.locator("[data-side=decoder]")
    table = drawn.locator(".terms")
    expect(decoder.locator("h3")).to_have_text("y, the target sentence")
    expect(decoder.locator(".frame > .group:visible")).to_have_text(
        [
            "Encoder, after the unit delay",
            "Predictor → hidden representation h",
            "Decoder → ỹ, h^Dec",
        ]
    )
    predictor = decoder.locator(".frame:has(> .group:has-text('Predictor'))").first
    expect(predictor.locator("[data-box=cross] b")).to_have_text("Cross-attention")
    # that is the decoder's
    expect(predictor.locator("[data-box=feed_forward]")).to_have_count(0)
    expect(decoder.locator(".none:visible")).to_have_text(
        ["Latent variable: none enters here", "E: energy between ỹ and y"]
    )
    expect(table.locator("tr", has_text="DecoderLayer").first).to_contain_text(
        "predictor module, then decoder module"
    )
    table.get_by_role(
        "button", name=ENGLISH.say("arch_code", name="DecoderLayer")
    ).click()
    expect(drawn.locator(".code-of")).to_contain_text("class DecoderLayer")
    expect_fits(bench.page, width)


def test_another_teacher_groups_otherwise_and_without_one_there_are_no_frames(
    bench, figure
):
    drawn = bench.mount("architecture", figure(teacher="canziani"))
    drawn.show(figure(teacher="kak"))
    expect(drawn.locator(".frame > .group").first).to_contain_text("Master")
    drawn.show(figure())
    expect(drawn.locator(".frame, .terms")).to_have_count(0)


def test_the_figure_is_saved_in_the_words_of_its_teacher(bench, figure):
    drawn = bench.mount("architecture", figure(teacher="kak"))
    text = saved(bench.page, drawn.save("SVG"))[0].decode()
    assert (
        "MasterDecoderWithMasking" in text
        and "Number of layers" in text
        and "data-taught" not in text
    )
    assert "SelfAttention" in saved(bench.page, drawn.save("CSV"))[0].decode()


def test_a_table_that_scrolls_is_whole_in_a_file(bench, figure):
    drawn = bench.mount("architecture", figure(teacher="kak"))
    heights = "table => [table.scrollHeight, table.clientHeight]"
    whole, seen = drawn.locator(".terms").evaluate(heights)
    text = saved(bench.page, drawn.save("SVG"))[0].decode()
    assert int(re.search(r'height="(\d+)"', text)[1]) >= whole > seen + 100
    assert drawn.locator(".terms").evaluate(heights) == [whole, seen], (
        "on the page it scrolls as before"
    )


def test_the_table_of_all_teachers_has_a_row_for_each_thing(bench):
    terms = "architecture 5"
    drawn = bench.mount(terms, bench.components["en"][terms].value, width=1280)
    expect(drawn.locator(".terms tbody tr")).to_have_count(29)
    content, name = saved(bench.page, drawn.save("CSV"))
    assert name == "What-teachers-call-it.csv"
    assert len(list(csv.reader(io.StringIO(content.decode())))) == 1 + 29
