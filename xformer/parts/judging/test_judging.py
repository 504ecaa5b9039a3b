"""What the Sentiment tab shows, read back: words, signs, numbers, sentences, figures;
and its handlers on bad input."""

import json
import re
import shutil
from contextlib import closing
from dataclasses import replace
from functools import partial
from html import escape, unescape
from itertools import product
from pathlib import Path

import gradio as gr
import numpy as np
import pytest

from tests.pages import laid_out
from xformer.classifier import ClassifierConfig, TransformerClassifier
from xformer.explain.recorded import read_pretraining
from xformer.figures.labels import percent
from xformer.hub import checkpoint
from xformer.parts.judging import draw as figures
from xformer.parts.judging import maximum as of_maximum
from xformer.parts.judging import part as tab
from xformer.parts.judging.draw import Example, View, rank_correlation, ranks
from xformer.results import (
    Attribution,
    Bin,
    Calibration,
    Maximum,
    ModelInfo,
    PoolingScore,
    Sentiment,
    UserError,
    fixed,
)
from xformer.results.reviews import PretrainingRun, PretrainingStudy
from xformer.serve.engine import Service
from xformer.serve.reviews import SentimentService
from xformer.strings import ASSETS, ENGLISH, SPANISH
from xformer.ui.controls import setting_order
from xformer.ui.handlers import Ask

WORDS = ("▁a", "▁<b>", "&", "▁dull", "▁film", ".")


def sentiment(text="A <b>& dull film.", probability=0.8, cut=0):
    label = "positive" if probability >= 0.5 else "negative"
    return Sentiment(
        text,
        label,
        max(probability, 1 - probability),
        {"negative": 1 - probability, "positive": probability},
        ("<s>", *WORDS, "</s>"),
        np.full(8, 1 / 8),
        cut,
        (),
        0.1,
    )


def test_what_stands_out_of_pre_training_is_said_by_its_numbers():
    shipped = read_pretraining(ASSETS / "pretraining.json")
    said = figures.pretraining_found(shipped, ENGLISH)
    # of the file's runs, three seeds each
    for each in (
        f"with 1 % “autoencoder” {percent(0.689)} and “two language models” {percent(0.648)}",
        f"with 10 % “autoencoder” {percent(0.761)} and “two language models” {percent(0.789)}",
        f"with 100 % “language model” {percent(0.837)} and “two, pre-trained” {percent(0.846)}",
        f"160 reviews, a classifier from nothing has {percent(0.578)}",
        f"one that begins from “autoencoder” {percent(0.689)}",
        f"loss 0.00; {percent(0.578)} of others right",
    ):
        assert each in said
    one = [run for run in shipped.runs if run.kind not in ("two", "two_language")]
    settled = figures.pretraining_settled(shipped, ENGLISH)
    assert settled in unescape(said)
    ahead, behind, undecided = (part.split(". ")[0] for part in settled.split(": ")[1:])
    first = "language model, against from nothing (1 % · 10 % · 100 %)"
    assert first in ahead
    assert "two, pre-trained, against two language models (1 % · 10 %)" in behind
    assert "two, pre-trained, against language model (1 %)" in undecided
    fewer = figures.pretraining_found(replace(shipped, runs=tuple(one)), ENGLISH)
    assert "What stands out" not in fewer


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_a_softmax_over_two_is_the_sigmoid_of_their_difference(language):
    drawn = figures.two_ways(replace(sentiment(), scores=(-0.5, 1.5)), language)
    assert "z = z₁ − z₀ = 2.000" in drawn
    # 1 / (1 + e^-2), and its losses
    for number in ("0.8808", "0.1269", "2.1269"):
        assert len(re.findall(rf"= {number}<", drawn)) == 2
    assert figures.two_ways(sentiment(), language) == ""
    three = replace(sentiment(), scores=(0.0, 1.0, 2.0))
    assert figures.two_ways(three, language) == ""


def attribution(effect=(0.01, 0.5, 1.25, -2.5, -0.3, 0.0), cut=None, **more):
    pooling = np.array([0.05, 0.1, 0.2, 0.4, 0.1, 0.05], np.float32)
    heads = np.stack([np.stack([pooling[::-1], pooling * 0 + 0.1])])
    return Attribution(
        sentiment(cut=12 if cut else 0, **more),
        "positive",
        WORDS,
        cut,
        np.array(effect, np.float32),
        pooling,
        heads,
        0.25,
    )


def spans(html):
    """Class, share of full colour, hint and text of each word."""
    return re.findall(
        r'<span class="word ([\w ]+)" style="--share:([\d.]+)" title="([^"]*)">([^<]*)</span>',
        html,
    )


def test_words_carry_their_sign_strength_and_number_and_are_escaped():
    found = spans(figures.effects(attribution()))[:6]
    assert [kind for kind, *_ in found] == [
        "for weak",
        "for",
        "for",
        "against",
        "against",
        "against weak",
    ]
    assert [share for _, share, *_ in found] == [
        "0.004",
        "0.200",
        "0.500",
        "1.000",
        "0.120",
        "0.000",
    ]
    assert (
        found[1][2:] == ("&lt;b&gt;: +0.50 nats", "&lt;b&gt;")
        and found[3][2] == "dull: −2.50 nats"
    )
    assert found[2][3] == "&amp;"
    assert "±2.50 nats" in figures.effects(attribution())


def test_where_no_word_does_much_all_stay_pale():
    assert [
        share for _, share, *_ in spans(figures.effects(attribution((0.05,) * 6)))[:6]
    ] == ["0.200"] * 6


def test_spaces_stand_where_words_begin():
    assert (
        re.sub(r"<[^>]+>", "", figures.marked(attribution(), 1))
        == "a &lt;b&gt;&amp; dull film."
    )


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (ENGLISH, "[12 pieces left out here]"),
        (SPANISH, "[aquí se han dejado fuera 12 piezas]"),
    ],
)
def test_the_cut_stands_where_it_was_made(language, said):
    html = figures.effects(attribution(cut=3), language)
    assert said in html and html.index("&amp;</span>") < html.index(said) < html.index(
        ">dull<"
    )
    assert said in figures.looked(attribution(cut=3), View(), language)
    within = re.sub(r"<[^>]+>", "", figures.marked(attribution(cut=2), 1, language))
    assert within == f"a &lt;b&gt; {said} &amp; dull film.", (
        "what is left of a word after the cut stands apart from it"
    )


def test_what_is_looked_at_is_that_of_the_view():
    found = attribution()
    assert [
        (share, hint) for _, share, hint, _ in spans(figures.looked(found, View()))
    ][3] == ("1.000", f"dull: {percent(0.4)}")
    assert [hint for _, _, hint, _ in spans(figures.looked(found, View("head", 1, 1)))][
        1:3
    ] == [f"&lt;b&gt;: {percent(0.1)}", f"&amp;: {percent(0.4)}"]
    assert "Layer 1, head 2:" in figures.looked(found, View("head", 1, 2))
    assert f"{percent(0.1)} lies on &lt;s&gt; and &lt;/s&gt;" in figures.looked(
        found, View()
    )


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        ((0.1, -0.3, 0.5, 0.9, 0.2, -0.1), "largely agree"),
        ((0.9, -0.3, 0.2, 0.1, 0.5, -1), "contradict each other"),
        ((0.3, 0.3, 0.3, 0.3, 0.3, 0.3), "No rank correlation can be computed"),
    ],
)
def test_agreement_is_one_sentence(effect, said):
    sentence = figures.agreement(attribution(effect), View())
    assert said in sentence
    if "Spearman" in sentence:
        assert re.search(r"is ([+−][\d.]+) over 6 words", sentence)


@pytest.mark.parametrize(
    ("language", "start"),
    [
        (ENGLISH, "{} lies on 3 of the 6 words: "),
        (SPANISH, "El {} recae en 3 de las 6 palabras: "),
    ],
)
@pytest.mark.parametrize("view", [View(), View("head", 1, 1)])
def test_the_words_that_carry_most_are_named_with_what_they_carry(
    view, language, start
):
    found = attribution()
    shares = sorted(view.of(found), reverse=True)[:3]
    said = figures.most_seen(found, view.of(found), language)
    assert said.startswith(start.format(percent(sum(shares)))), said
    assert re.findall(r"\(([\d.]+)\s%\)", said) == [
        f"{100 * share:.1f}" for share in shares
    ]
    first = found.words[int(view.of(found).argmax())].replace("▁", "")
    assert re.search("[“«](.*?)[”»]", said)[1] == first and escape(
        said
    ) in figures.looked(found, view, language)


def test_of_a_text_of_one_word_that_word_is_named():
    found = replace(
        attribution(),
        words=("▁Great",),
        effect=np.array([1.0]),
        pooling=np.array([0.625]),
    )
    assert (
        figures.most_seen(found, found.pooling)
        == f"{percent(0.625)} lies on 1 of the 1 words: “Great” ({percent(0.625)})."
    )


def test_agreement_with_a_flat_head_is_none():
    assert "No rank correlation" in figures.agreement(attribution(), View("head", 1, 2))


def test_the_words_that_count_most_come_first_with_both_numbers():
    rows = re.findall(
        r'<tr><td lang="en">([^<]*)</td>.*?>([^<]*)</span></td>.*?>([^<]*)</span></td></tr>',
        figures.strongest(attribution(), View()),
    )
    assert rows[:3] == [
        ("dull", "−2.50", percent(0.4)),
        ("&amp;", "+1.25", percent(0.2)),
        ("&lt;b&gt;", "+0.50", percent(0.1)),
    ]


def test_an_edit_says_how_far_it_moved_the_verdict_and_shows_no_verdict_again():
    html = figures.moved(
        sentiment("A dull <i> film."), sentiment("A great <i> film.", 0.25)
    )
    assert "A <del>dull</del> <ins>great</ins> &lt;i&gt; film." in html
    assert (
        f"The probability of “positive” goes from {percent(0.8)} to {percent(0.25)} (−55.0 points)"
        in html
    )
    assert "verdict" not in html and figures.moved(sentiment(), sentiment()) == ""


@pytest.mark.parametrize(
    ("new", "is_edit"),
    [
        ("Two hours wasted on wooden talk.", False),
        ("", False),
        ("This is one that everybody should see.", False),
        ("This film is a great joy.", True),
        ("film This", False),
        ("This film", True),
    ],
)
def test_another_text_is_not_compared_with_the_one_that_is_explained(new, is_edit):
    assert bool(figures.moved(sentiment("This film is"), sentiment(new))) == is_edit


def test_of_a_long_text_only_what_changed_is_shown():
    words = [f"w{i}" for i in range(100)]
    html = figures.moved(
        sentiment(" ".join(words)),
        sentiment(" ".join(["x", *words[1:50], *words[51:]])),
    )
    assert (
        "<del>w0</del> <ins>x</ins> w1 w2 w3 w4 w5 w6 w7 w8 … w42" in html
        and "w49 <del>w50</del> w51" in html
    )
    assert "w58 …" in html and "w30" not in html


def test_a_pair_says_what_is_right_and_what_is_wrong():
    html = figures.pair(
        [Example(attribution(), "positive"), Example(attribution(), "negative")],
        "Look & see.",
        9,
        16,
    )
    assert html.count("The model gets this right.") == 1
    assert "The model gets this wrong: it should be negative." in html
    assert (
        "Look &amp; see." in html
        and "Of the 16 texts of all pairs, the model gets 9 right." in html
    )


def test_every_pair_has_two_texts_and_a_line_in_both_languages():
    assert 6 <= len(tab.PAIRS) <= 8
    for pair in tab.PAIRS:
        assert len(pair["texts"]) == 2 and {one["label"] for one in pair["texts"]} <= {
            "negative",
            "positive",
        }
        assert all(
            pair[key][language] for key in ("name", "look") for language in ("en", "es")
        )


@pytest.mark.parametrize(
    ("language", "axes"),
    [
        (ENGLISH, ("confidence (%)", "judged right (%)")),
        (SPANISH, ("confianza (%)", "bien juzgados (%)")),
    ],
)
def test_the_reliability_diagram_shows_what_was_measured(language, axes):
    found = Calibration(1.37, 0.0213, 0.08, (Bin(10, 0.55, 0.6), Bin(1000, 0.97, 0.95)))
    figure = figures.reliability(found, language)
    diagonal, points = figure.data
    assert list(diagonal.x) == list(diagonal.y) == [0, 100]
    assert list(points.x) == pytest.approx([55, 97]) and list(
        points.y
    ) == pytest.approx([60, 95])
    assert points.marker.size[0] < points.marker.size[1]
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == axes
    said = figures.calibration_text(found, language)
    assert all(number in said for number in (percent(0.021), percent(0.08), "1.37"))
    assert re.search(r"1[,\u202f]010", said)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            ENGLISH,
            "Of the 1,000 texts that the model is surest of, with a confidence of {} on average, it judges "
            "{} right.",
        ),
        (
            SPANISH,
            "De los 1\u202f000 textos de los que el modelo está más seguro, con una confianza media del {}, "
            "juzga bien el {}.",
        ),
    ],
)
def test_how_often_the_model_is_right_where_it_is_surest(language, said):
    bins = (Bin(10, 0.55, 0.99), Bin(1000, 0.97, 0.95), Bin(2000, 0.8, 0.7))
    assert (
        figures.calibration_found(Calibration(1.37, 0.02, 0.08, bins), language)
        == f"<p>{said.format(percent(0.97), percent(0.95))}</p>"
    )
    (curve,) = [
        trace
        for trace in figures.reliability(
            Calibration(1.0, 0.0, 0.0, (Bin(0, 0.5, 0.5),))
        ).data
        if trace.marker.size
    ]
    assert curve.marker.size == (6,), "of no texts"
    assert figures.calibration_found(Calibration(1.37, 0.02, 0.08, ())) == ""


SCORES = {
    "nothing": (0.5, 0.54, 0.58),
    "language": (0.6, 0.7, 0.65),
    "autoencoder": (0.55, 0.56, 0.6),
    "two": (0.5, 0.6, 0.61),
    "two_language": (0.66, 0.68, 0.7),
}
STUDY = PretrainingStudy(
    {
        "layers": 2,
        "d_model": 16,
        "vocabulary": 4_000,
        "length": 64,
        "steps": 9,
        "rows": 4,
        "all_labels": 8_000,
        "unlabelled": 32_000,
        "pretraining": 77,
        "held_out": 2_500,
        "peak": 0.001,
        "pretrained": {
            "language": {"seconds": 150.0},
            "autoencoder": {"seconds": 186.0},
        },
    },
    tuple(
        PretrainingRun(
            kind, share, seed, int(8_000 * share), value + 0.2 * (share == 1), 0.6, 12.0
        )
        for (share, seeds), (kind, values) in product(
            ((0.01, 3), (1.0, 1)), SCORES.items()
        )
        for seed, value in enumerate(values[:seeds])
    ),
)


def test_pre_training_is_drawn_as_a_line_of_means_with_every_seed_and_the_spread():
    figure = figures.pretraining(STUDY)
    lines = figure.data[:5]
    points = figure.data[5:]
    assert [one.name for one in lines] == [
        "from nothing",
        "language model",
        "autoencoder",
        "two language models",
        "two, pre-trained",
    ]
    nothing, language, *_ = lines
    np.testing.assert_allclose(language.y, [65, 80])
    np.testing.assert_allclose(language.error_y.array, [5, 0], atol=1e-9)
    np.testing.assert_allclose(nothing.error_y.arrayminus, [4, 0], atol=1e-9)
    assert nothing.x[0] < language.x[0] < lines[4].x[0] < 0.0125, (
        "side by side at one share"
    )
    np.testing.assert_allclose(lines[2].x, [0.01, 1])
    np.testing.assert_allclose(points[1].y, [60, 70, 65, 80])
    assert (
        points[1].x[0] == points[1].x[2] == language.x[0]
        and points[1].showlegend is False
    )
    assert (
        points[1].text[1] == f"seed 1: {percent(0.7)}"
        and language.text[0] == f"80 labels: {percent(0.65)}, mean of 3"
    )
    assert figure.layout.xaxis.type == "log" and list(figure.layout.xaxis.ticktext) == [
        "1 %",
        "100 %",
    ]


def test_what_pre_training_is_worth_is_said_with_the_spread_seed_by_seed():
    said = unescape(figures.pretraining_said(STUDY))
    assert f'{percent(0.65)} <span class="sub">(60.0 to 70.0; 3 seeds)</span>' in said
    assert (
        all(f"<b>{percent(one)}</b>" in said for one in (0.68, 0.86))
        and f"<b>{percent(0.65)}" not in said
    ), "the best of each column"
    assert said.count("<b>") == 2
    gains = {
        row[0]: row[1:]
        for row in re.findall(
            r"<th scope=row>([^<]+)</th><td[^>]*>(\S+) <span class=\"sub\">\(([^;]+);",
            said,
        )
    }
    assert gains["language model, against from nothing"] == (
        "+11.0",
        "+7.0 to +16.0",
    ), "0.10, 0.16 and 0.07"
    assert gains["two, pre-trained, against language model"] == ("+3.0", "−2.0 to +6.0")
    for text in (
        "2.5 minutes",
        "the autoencoder 3.1",
        "about 0.9 points",
        "and all other runs",
        "cut to 64 pieces",
        "8,000 reviews",
        "77 steps",
        "32,000 reviews without labels",
    ):
        assert text in said, text
    assert "(de 60.0 a 70.0; 3 semillas)" in figures.pretraining_said(STUDY, SPANISH)
    some = replace(
        STUDY,
        runs=tuple(one for one in STUDY.runs if one.kind != "two" or one.share == 1),
    )
    assert (
        "–" in figures.pretraining_said(some)
        and len(figures.pretraining(some).data[3].x) == 1
    ), "what was not run"


# The tab, without a browser


@pytest.fixture(scope="module")
def running(tiny_classifier):
    return SentimentService.open(tiny_classifier, "cpu")


@pytest.fixture(scope="module")
def ask(running):
    return Ask.always(running, ENGLISH)


@pytest.fixture(scope="module")
def page(tiny_checkpoint, running):
    with closing(Service.open(tiny_checkpoint, "cpu")) as service:
        return laid_out(service, running)


@pytest.fixture(scope="module")
def draw(page, ask):
    """A function that draws what a judgement, a view and the text in the field have
    changed; made: what was drawn, of the judgement, of the view and of the text."""
    view = {"kind": View.kind, "layer": 1, "head": 1}
    of_it, of_view, of_edit = (
        page.pictures[f"{tab.ID}{name}"] for name in ("", ".look", ".edit")
    )

    def draw(found, text, ask=ask, made=None, **more):
        first, second, third = made or ({}, {}, {})
        seen = {**view, **more, "attribution": found}
        return {
            **ask.answer(of_it.stream, made=first, attribution=found),
            **ask.answer(of_view.stream, made=second, **seen),
            **ask.answer(of_edit.stream, made=third, attribution=found, text=text),
        }

    return draw


def judge(ask, text, progress=print):
    return ask.answer(tab.judge, text=text, progress=progress)


def test_numbers_on_the_page_are_those_of_the_service(running, ask, draw):
    text = "It's a clever story, beautifully told."
    answer = judge(ask, text)
    (alone,) = running.classify([text])
    assert answer["problem"] == "" and answer["review"] == text
    found = answer["attribution"]
    drawn = draw(found, text)
    assert percent(alone.probability) in drawn["verdict"]
    hints = [hint for _, _, hint, _ in spans(drawn["effects"])][: len(found.words)]
    assert [hint.rsplit(": ")[-1] for hint in hints] == [
        f"{fixed(value, '+.2f')} nats" for value in found.effect
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is nothing to judge"),
        (None, "There is nothing to judge"),
        ("🙂", "never seen these characters"),
        ("word " * 6001, "at most 30,000 characters"),
    ],
)
def test_bad_text_gets_a_sentence_and_leaves_the_rest(running, ask, draw, text, said):
    answer = judge(ask, text)
    assert (
        said in answer["problem"]
        and 'role="alert"' in answer["problem"]
        and answer.keys() == {"problem"}
    )
    made = ({}, {}, {})
    found = running.attribute("A film.")
    draw(found, "A film.", made=made)
    edited = draw(found, text, made=made)
    assert edited["verdict"] == "" and "not as it is now" in edited["stale"], (
        "no other verdict is left"
    )
    assert said in edited["problem"] and 'role="alert"' in edited["problem"]
    assert edited.keys() == {"problem", "verdict", "stale"}
    head = draw(found, text, made=made, kind="head", head=2)
    assert "Layer 1, head 2:" in head["looked"] and head["of_head"]["visible"], (
        "the judgement that stands is looked at all the same"
    )
    back = draw(found, "A film.", made=made)
    assert back["verdict"] and (back["moves"], back["stale"]) == ("", "")


@pytest.mark.parametrize(
    ("handler", "inputs"),
    [
        (tab.judge_example, {"sample": ["🙂"]}),
        (tab.open_tab, {"attribution": None, "review": "🙂", "text": tab.EXAMPLES[0]}),
    ],
)
def test_a_text_that_cannot_be_judged_is_in_the_field_all_the_same(
    running, handler, inputs
):
    answers = handler(running, ENGLISH, **inputs, progress=print)
    assert next(answers) == {"text": "🙂"}
    with pytest.raises(UserError, match="never seen these characters"):
        next(answers)


def test_the_tab_opens_on_the_review_of_the_address_unless_somebody_typed(running, ask):
    for review, text, wanted in (
        ("Bad.", tab.EXAMPLES[0], "Bad."),
        ("Bad.", "A film.", "A film."),
        ("", tab.EXAMPLES[0], tab.EXAMPLES[0]),
    ):
        answer = ask.answer(
            tab.open_tab, attribution=None, review=review, text=text, progress=print
        )
        assert answer["text"] == wanted
        assert answer["attribution"].sentiment.text == running.clean(wanted)[0]
        assert answer["review"] == ("" if wanted == tab.EXAMPLES[0] else wanted)
    again = ask.answer(
        tab.open_tab,
        attribution=answer["attribution"],
        review="Bad.",
        text="Good.",
        progress=print,
    )
    assert again == {"problem": gr.skip()}


def test_a_text_that_is_read_like_the_judged_one_is_not_classified_again(
    running, draw, monkeypatch
):
    found = running.attribute("A great  film.")
    classify = running.classify
    texts = []
    monkeypatch.setattr(
        running, "classify", lambda some: texts.extend(some) or classify(some)
    )
    for text in ("A great  film.", " A great film.\n"):
        answer = draw(found, text)
        assert answer["verdict"] == figures.reading(found.sentiment)
        assert (answer["moves"], answer["stale"]) == ("", "")
    assert {*draw(None, "A dull film.")} == {"problem", "of_head"} and not texts
    answer = draw(found, "A dull film.")
    assert (
        "<ins>dull</ins>" in answer["moves"] and "not as it is now" in answer["stale"]
    )
    assert percent(classify(["A dull film."])[0].probability) in answer["verdict"]
    other = draw(found, "Two hours wasted.")
    assert other["moves"] == "" and other["stale"] and other["verdict"]
    assert texts == ["A dull film.", "Two hours wasted."]


def test_of_a_text_that_is_too_long_both_ends_are_read_and_what_is_cut_is_said(
    running, draw
):
    text = "a great film and a story " * 333 + "not bad"
    answer = draw(running.attribute(text), text)
    assert "The text is longer than the model reads" in answer["verdict"]
    assert re.search(r'class="cut">\[[\d,]+ pieces left out here\]', answer["effects"])


def test_markup_in_a_review_is_told_and_shown_as_text(running, draw):
    text = "A <img src=x onerror=alert(1)> great <b>film</b>."
    found = running.attribute(text)
    answer = draw(found, text)
    assert "The text looks like HTML" in answer["verdict"]
    assert not re.search("<(img|b>)", answer["effects"]) and "&lt;" in answer["effects"]
    edited = draw(found, f"{text} <script>alert(2)</script>")
    assert "<ins>&lt;script&gt;alert(2)&lt;/script&gt;</ins>" in edited["moves"]


@pytest.mark.parametrize(("patience", "shown"), [(-1.0, True), (3600.0, False)])
def test_progress_is_shown_once_it_takes_long(ask, monkeypatch, patience, shown):
    monkeypatch.setattr(tab, "PATIENCE", patience)
    steps = []
    found = judge(ask, "I loved every minute of it!", steps.append)["attribution"]
    assert steps == ([(len(found.words),) * 2] if shown else [])


def test_a_failure_inside_is_one_sentence(running, ask, draw, monkeypatch, caplog):
    found = running.attribute("A film.")
    for name in ("classify", "attribute"):
        monkeypatch.setattr(running, name, lambda *_: 1 / 0)
    for answer in (
        judge(ask, "A film."),
        draw(found, "A dull film."),
        ask.answer(tab.read_pair, number=0),
    ):
        assert (
            "Something went wrong" in answer["problem"]
            and "ZeroDivisionError" not in answer["problem"]
        )
    assert "ZeroDivisionError" in caplog.text


def test_every_pair_is_read_by_the_model_and_counted(running):
    texts = [one for pair in tab.PAIRS for one in pair["texts"]]
    right = sum(
        found.label == one["label"]
        for found, one in zip(
            running.classify([one["text"] for one in texts]), texts, strict=True
        )
    )
    for number in range(len(tab.PAIRS)):
        html = tab.read_pair(running, SPANISH, number=number)["pair"]
        assert tab.PAIRS[number]["look"]["es"] in html
        assert (
            f"De los {len(texts)} textos de todos los pares, el modelo acierta {right}."
            in html
        )


def test_each_text_of_a_pair_has_its_verdict_and_what_it_should_be(running):
    number = next(
        i for i, pair in enumerate(tab.PAIRS) if pair["name"]["en"] == "Negation"
    )
    sections = tab.read_pair(running, ENGLISH, number=number)["pair"].split("<section")[
        1:
    ]
    pairs = zip(sections, tab.PAIRS[number]["texts"], strict=True)
    for section, wanted in pairs:
        (judged,) = running.classify([wanted["text"]])
        assert f"{judged.label} <b>{percent(judged.probability)}</b>" in section
        assert ("The model gets this right." in section) == (
            judged.label == wanted["label"]
        )


def test_without_a_classifier_the_tab_says_what_to_do():
    assert "No classifier of reviews is loaded: train one with" in tab.missing(
        None, ENGLISH
    )
    assert "It is broken &amp; old." in tab.missing(
        UserError("It is broken & old."), SPANISH
    )


def test_nothing_is_tabled_that_nobody_measured(generations, reader):
    assert reader.pooling_scores == []
    page = laid_out(generations, reader)
    assert not any(
        getattr(block, "label", "") == ENGLISH.say("poolings_title")
        for block in page.demo.blocks.values()
    )


def test_the_table_of_poolings_has_what_was_measured_and_nothing_else():
    scores = [
        PoolingScore(
            "max", False, 0.8123, 0.7012, 1, 32, 1_612_994, 99_976, 4_000, False
        ),
        PoolingScore(
            "attention", True, 0.9174, 0.8681, 4, 256, 5_208_322, 99_976, 3_403, True
        ),
    ]
    html = figures.poolings(scores)
    table = json.loads(unescape(re.search(r'data-table="(.*?)"', html)[1]))
    assert [row[:5] for row in table["rows"]] == [
        ["maximum", "both directions", 0.8123, 0.7012, "from nothing"],
        ["learned weights", "causal", 0.9174, 0.8681, "pre-trained"],
    ]
    assert (
        percent(0.8123) in html
        and html.count(" best") == 2
        and "1,612,994 parameters" in html
    )


def test_the_table_of_poolings_says_how_far_chance_goes():
    """The weights were chosen on the sets that are shown; the standard error of 88 % of
    2,517 texts is 0.65 points."""
    score = PoolingScore("max", False, 0.88, 0.7, 1, 32, 9, 9, 9, False)
    said = figures.poolings_text([replace(score, texts=2_517)])
    assert "chosen on these very sets" in said
    assert "With 2,517 reviews of IMDb the standard error is 0.65 points" in said
    assert "standard error" not in figures.poolings_text([score])
    kept = SentimentService.open(Path("checkpoints", "sentiment"), "cpu").pooling_scores
    assert kept and {one.texts for one in kept} == {2_517}


def test_the_temperature_was_fitted_on_the_texts_that_are_shown():
    found = Calibration(1.37, 0.0213, 0.08, (Bin(10, 0.55, 0.6),))
    assert "fitted on these very texts" in figures.calibration_text(found)


def test_a_classifier_is_introduced_by_its_mask():
    info = ModelInfo(
        "m",
        "1",
        9,
        "pre",
        4,
        0,
        4,
        32,
        "cpu",
        "float32",
        causal=True,
        pooling="attention",
    )
    said = tab._about(info, ENGLISH)
    assert (
        "layers like those of the translator’s encoder" in said
        and "only itself and those before it" in said
    )
    full = tab._about(replace(info, causal=False, pooling="max"), ENGLISH)
    assert (
        "each piece sees all others" in full
        and "here, as in its notebook, it comes before" in full
    )


def test_a_maximum_says_what_the_shares_of_words_are():
    found = attribution()
    said = figures.looked(replace(found, pooled="max"), View())
    text = ENGLISH.html("review_text_max")
    assert text in said and text not in figures.looked(found, View())


def maximum(words=4, dimensions=3):
    """The first word gives dimension 2, the second one 1 and 3, unless there are more
    of either."""
    values = np.zeros((words, dimensions), np.float32)
    values[0, 1] = 2
    values[1, 0] = 1
    values[1, 2] = 4
    # the first dimension speaks for the label
    weights = np.linspace(0.5, -1, dimensions, dtype=np.float32)
    return Maximum(
        ("<s>", "▁a<b>", *(f"▁w{i}" for i in range(words - 3)), "</s>"),
        values,
        weights,
        0.25,
        "negative",
    )


def test_the_word_that_gives_a_dimension_is_framed_and_the_bars_are_number_times_weight():
    figure = of_maximum.picture(maximum())
    drawn, bars = figure.data
    assert list(drawn.x) == list(bars.x) == ["3", "2", "1"], (
        "by weight: from most against to most for"
    )
    assert [(shape.x0 + 0.5, shape.y0 + 0.5) for shape in figure.layout.shapes] == [
        (0, 1),
        (1, 0),
        (2, 1),
    ]
    assert np.array(bars.y) == pytest.approx([-4, -0.5, 0.5]) and np.array(drawn.z)[
        1
    ].tolist() == [4, 0, 1]
    assert list(figure.layout.yaxis.ticktext) == [
        "&lt;s&gt;",
        "a&lt;b&gt;",
        "w0",
        "&lt;/s&gt;",
    ]
    assert drawn.text[1][0] == "a&lt;b&gt;, dimension 3: +4.000"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == (
        "dimension, by weight",
        "Word",
    )
    assert (
        bars.text[0]
        == "dimension 3, given by a&lt;b&gt;: × weight −1.000 = −4.000 nats"
    )
    said = of_maximum.explained(attribution(), maximum(), SPANISH)
    assert (
        "«a&lt;b&gt;» da más que ninguna: 2 de 3 dimensiones" in said
        and "−4.00 nats" in said
        and "−3.75" in said
    )


def test_of_a_long_text_and_many_dimensions_the_picture_has_what_counts():
    found = maximum(words=400, dimensions=256)
    found.values[np.arange(3, 256) % 380 + 2, np.arange(3, 256)] = 3
    figure = of_maximum.picture(found)
    drawn = figure.data[0]
    assert len(drawn.x) == of_maximum.DIMENSIONS and len(drawn.y) == of_maximum.ROWS + 1
    assert len(figure.layout.shapes) == of_maximum.DIMENSIONS, (
        "a word that is not drawn gives too"
    )
    assert (
        figure.layout.yaxis.ticktext[-1]
        == f"{len({*found.givers}) - of_maximum.ROWS} more words"
    )
    assert "64 of 256 dimensions" in figure.layout.title.text


def test_the_words_that_give_are_tabled_with_what_that_adds():
    html = of_maximum.table(attribution(), maximum())
    table = json.loads(unescape(re.search(r'data-table="(.*?)"', html)[1]))
    assert table["columns"] == ["Word", "gives", "dimensions", "nats added"]
    assert table["rows"] == [["a<b>", 2, "1 3", -3.5], ["<s>", 1, "2", -0.5]]
    assert "<b>" not in html.replace("&lt;b&gt;", "") and "−3.50" in html


def test_what_a_maximum_keeps_is_shown_of_a_maximum_only(
    running, draw, review_tokenizer, tmp_path
):
    text = "A dull film."
    plain = draw(running.attribute(text), text)
    assert (plain["gives"], plain["gives_picture"], plain["gives_table"]) == (
        "",
        None,
        "",
    )
    shape = {"d_model": 32, "n_heads": 2, "n_layers": 1, "d_ff": 64, "max_length": 24}
    model = TransformerClassifier(
        ClassifierConfig(vocab_size=len(review_tokenizer), pooling="max", **shape)
    )
    checkpoint.save(tmp_path / "max", model.eval(), review_tokenizer, {})
    service = SentimentService.open(tmp_path / "max", "cpu")
    assert "1 layer × 2 heads" in tab._about(service.info, ENGLISH)
    answer = draw(service.attribute(text), text, ask=Ask.always(service, ENGLISH))
    assert (
        "32 dimensions" in answer["gives"]
        and json.loads(answer["gives_picture"]["figure"])["data"]
    )
    assert "data-table" in answer["gives_table"]


def test_another_classifier_may_be_chosen_and_says_what_it_is(
    generations, tiny_classifier, tmp_path
):
    folder = tmp_path / "lecture"
    shutil.copytree(tiny_classifier, folder)
    reader, other = (
        SentimentService.open(one, "cpu") for one in (tiny_classifier, folder)
    )
    made = laid_out(generations, reader, other_reviews={other.info.name: other})
    which = made.controls["classifier"]
    assert which.component.visible and which.kind(generations.default, {}).options == (
        reader.info.name,
        "lecture",
    )
    assert not laid_out(generations, reader).controls["classifier"].component.visible
    in_order = setting_order(made.controls)
    review, classifier = (
        in_order.index(made.controls[key].component) for key in ("review", "classifier")
    )
    assert review < classifier, (
        "the review of a link is there when the choice of the classifier is answered"
    )
    choose = partial(
        Ask.always(other, ENGLISH).answer, tab.choose, progress=lambda done: None
    )
    answer = choose(attribution=attribution(), review="Bad.", text="A dull film.")
    assert answer["review"] == "A dull film." and "text" not in answer, (
        "an explained review is judged as it is typed"
    )
    linked = choose(attribution=None, review="Bad.", text=tab.EXAMPLES[0])
    assert linked["text"] == linked["review"] == "Bad.", (
        "a link names the classifier and the review"
    )
    refused = choose(attribution=attribution(), review="", text="")
    assert refused.pop("problem") and refused == {"layer": 1, "head": 1}
    assert (answer["layer"], answer["head"]) == (1, 1), "before what is judged is drawn"
    offered = Ask.always(other, ENGLISH).answer(tab.offer)
    assert 'data-name="lecture"' in offered["about"]
    for name, count in (("layer", other.info.n_layers), ("head", other.info.n_heads)):
        assert len(offered[name]["choices"]) == count and offered[name]["value"] == 1


def test_a_head_that_the_other_classifier_has_not_is_its_last(draw):
    found = attribution()
    drawn = draw(found, found.sentiment.text, kind="head", layer=9, head=9)
    last = draw(found, found.sentiment.text, kind="head", layer=1, head=2)
    assert drawn == last and "head 2" in drawn["looked"]


def test_no_head_that_is_no_more_a_choice_keeps_a_review_from_being_judged(page):
    """Gradio refuses a listener that is given one."""
    pictures = page.pictures[f"{tab.ID}.look"]
    judged, *view = (
        pictures.inputs[name] for name in ("attribution", "kind", "layer", "head")
    )
    listeners = page.demo.fns.values()
    asking = [one for one in listeners if judged in one.outputs]
    typing = [one for one in listeners if (page.review._id, "change") in one.targets]
    explained = page.pictures[tab.ID].pictures["effects"].component
    drawing = [one for one in listeners if explained in one.outputs]
    assert (len(asking), len(typing), len(drawing)) == (4, 1, 1)
    for one in (*asking, *typing, *drawing):
        assert {*view}.isdisjoint(one.inputs)
    (looking,) = [one.targets for one in listeners if view[1] in one.inputs]
    assert {(one._id, "change") for one in (judged, *view)} == {*looking}, (
        "also where another classifier sets it"
    )


def test_an_edit_a_head_and_a_judgement_draw_what_they_change_alone(
    running, draw, monkeypatch
):
    texts = []
    classify = running.classify
    monkeypatch.setattr(
        running, "classify", lambda some: texts.extend(some) or classify(some)
    )
    made = ({}, {}, {})
    found = running.attribute("A great film.")
    edit = {"problem", "verdict", "moves", "stale"}
    first = draw(found, "A great film.", made=made)
    assert first.keys() > edit | {"effects", "gives", "strongest", "two_ways"}
    assert draw(found, "A great film.", made=made) == {"problem": gr.skip()}
    assert draw(found, "A dull film.", made=made).keys() == edit
    head = draw(found, "A dull film.", made=made, kind="head")
    assert head.keys() == {"problem", "of_head", "looked", "strongest"}
    assert texts == ["A dull film."]
    again = draw(running.attribute("A great film."), "A dull film.", made=made)
    assert again.keys() > edit and "<ins>dull</ins>" in again["moves"], (
        "a judgement empties the place of problems, whatever stood there"
    )


def test_ranks_that_tie_share_their_mean():
    assert ranks(np.array([10, 20, 20, 5])).tolist() == [2, 3.5, 3.5, 1]


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ([1, 2, 3, 4], [10, 100, 1000, 10_000], 1),
        ([1, 2, 3], [3, 2, 1], -1),
        # the example of scipy.stats.spearmanr
        ([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], 0.8207826816681233),
        # Wikipedia's
        (
            [86, 97, 99, 100, 101, 103, 106, 110, 112, 113],
            [2, 20, 28, 27, 50, 29, 7, 17, 6, 12],
            -29 / 165,
        ),
        ([1, 2], [1, 2], None),
        ([1, 2, 3], [4, 4, 4], None),
        ([], [], None),
    ],
)
def test_rank_correlation_by_hand(first, second, wanted):
    found = rank_correlation(np.array(first, float), np.array(second, float))
    assert found == (wanted if wanted is None else pytest.approx(wanted, abs=1e-12))
