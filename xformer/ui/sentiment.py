"""The Sentiment tab: a review is judged, every word of it asked what it did, and the text changed under the reader's
eyes."""

from __future__ import annotations

import json
import time
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from xformer.figures import sentiment as figures
from xformer.figures.notice import notice
from xformer.figures.sentiment import Example, View
from xformer.results import Attribution, UserError
from xformer.serve.reviews import SentimentService
from xformer.strings import ASSETS, Language, speaker, text
from xformer.ui import many
from xformer.ui.components import figure, plot
from xformer.ui.handlers import QUIET, refusal

EXAMPLES: list[str] = json.loads((ASSETS / "examples.json").read_text(encoding="utf-8"))["reviews"]
PAIRS: list[dict[str, Any]] = json.loads((ASSETS / "pairs.json").read_text(encoding="utf-8"))
PATIENCE = 1.0  # seconds after which the progress is shown


def build(reader: SentimentService | UserError | None, language: Language, reviewed: gr.Textbox, tab: gr.Tab) -> None:
    """Lay the tab out, called inside it. reviewed: the review that the page's address carries, "" for the example."""
    say = speaker(language)
    if reader is None or isinstance(reader, UserError):
        gr.HTML(missing(reader, language))
        return
    info = reader.info
    model = say("review_model", name=info.name, norm=info.norm, layers=info.n_layers, heads=info.n_heads,
                millions=f"{info.parameters / 1e6:.1f}", device=info.device, precision=info.precision)
    gr.HTML(f'<p class="note">{escape(say("review_intro"))} <span data-name="{escape(info.name)}" '
            f'data-identity="{info.identity}">{escape(model)}</span></p>')
    found = gr.State()
    with gr.Row(elem_classes="ask"):
        box = gr.Textbox(EXAMPLES[0], label=say("review"), info=say("review_edit_hint"), lines=3, max_lines=14,
                         placeholder=say("review_placeholder"), scale=8)
        button = gr.Button(say("review_run"), variant="primary", scale=1, min_width=160)
    examples = gr.Dataset(components=[gr.Textbox(visible=False)], samples=[[example] for example in EXAMPLES],
                          label=say("examples"), layout="gallery", type="values", elem_classes="examples")
    problem, moved = gr.HTML(elem_classes="status"), gr.HTML(elem_classes="tables sentiment moves")
    verdict = gr.HTML(elem_classes="tables sentiment judged", min_height=120)
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            effects = gr.HTML(elem_classes="sentiment effects")
            strongest = gr.HTML(elem_classes="tables sentiment strongest")
        with gr.Column(min_width=300):
            looked = gr.HTML(elem_classes="sentiment looked")
            with gr.Row(elem_classes="controls"):
                kind = gr.Radio([(say(f"review_view_{name}"), name) for name in figures.VIEWS], value=View.kind,
                                label=say("review_view"), min_width=280)
            with gr.Row(visible=False, elem_classes="controls") as place:
                layer = gr.Radio(list(range(1, info.n_layers + 1)), value=info.n_layers, label=say("layer"),
                                 min_width=140)
                head = gr.Radio(list(range(1, info.n_heads + 1)), value=View.head, label=say("head"), min_width=140)
    _pairs(reader, language)
    _quality(reader, language)
    with gr.Accordion(say("texts_title"), open=False):
        many.build(reader, language)

    judge = _judge(reader, language)
    results = [problem, found, verdict, effects, reviewed]
    again: dict[str, Any] = {"show_progress_on": [verdict], "api_visibility": "private"}
    gr.on([button.click, box.submit], judge, box, results, **again)
    examples.click(_example(judge), examples, [box, *results], **again)
    tab.select(_opening(judge), [found, reviewed, box], [box, *results], **again)
    # One listener for each picture, whatever changes it: an older answer cannot come after a newer one.
    # (The input event of gradio's Textbox knows neither the backspace key nor pasting, nor the keyboard of a phone.)
    gr.on([box.change, found.change], partial(compare, reader, language), [found, box], moved,
          trigger_mode="always_last", **QUIET)
    gr.on([found.change, kind.input, layer.input, head.input], partial(draw, language), [found, kind, layer, head],
          [looked, strongest], trigger_mode="always_last", **QUIET)
    kind.input(_place, kind, place, **QUIET)


def missing(reason: UserError | None, language: Language) -> str:
    """What to do where there is no classifier."""
    return notice([text("review_missing", language) if reason is None else reason.say(language)], "error")


def _place(kind: str) -> Any:
    return gr.update(visible=kind == "head")


def _judge(reader: SentimentService, language: Language) -> Any:
    def judge(review: str, progress: gr.Progress = gr.Progress()) -> tuple[Any, ...]:  # noqa: B008
        """Judge a review and explain it: a problem, the attribution, the verdict, the effects, and for the address."""
        began = time.perf_counter()

        def tell(done: int, of: int) -> None:
            if time.perf_counter() - began > PATIENCE:
                progress((done, of))
        try:
            found = reader.attribute(review or "", tell)
        except Exception as error:
            return refusal(error, language), *[gr.skip()] * 4
        return ("", found, figures.reading(found, language), figures.effects(found, language),
                "" if review == EXAMPLES[0] else review)
    return judge


def _example(judge: Any) -> Any:
    def example(sample: list[str], progress: gr.Progress = gr.Progress()) -> tuple[Any, ...]:  # noqa: B008
        """An example, put into the field and judged."""
        return sample[0], *judge(sample[0], progress)
    return example


def _opening(judge: Any) -> Any:
    def opening(found: Attribution | None, reviewed: str, typed: str, progress: gr.Progress = gr.Progress()  # noqa: B008
                ) -> tuple[Any, ...]:
        """What the tab opens on: the review in the address, where there is one and nobody has typed; else the field."""
        if found is not None:
            return (gr.skip(),) * 6
        review = reviewed if reviewed and typed == EXAMPLES[0] else typed
        return review, *judge(review, progress)
    return opening


def compare(reader: SentimentService, language: Language, found: Attribution | None, review: str) -> Any:
    """The text as it is now beside the one that was judged last; one that cannot be judged is said to be so."""
    if found is None:
        return ""
    try:
        (now,) = reader.classify([review or ""])
    except Exception as error:
        return refusal(error, language)
    return figures.before_and_after(found.sentiment, now, language)


def draw(language: Language, found: Attribution | None, kind: str, layer: int, head: int) -> Any:
    """What is looked at, beside the effects, and the words that count most."""
    if found is None:
        return gr.skip(), gr.skip()
    view = View(kind, int(layer), int(head))
    return figures.looked(found, view, language), figures.strongest(found, view, language)


def _pairs(reader: SentimentService, language: Language) -> None:
    """Pairs of texts that differ in one thing."""
    say = speaker(language)
    gr.HTML(f'<h3>{escape(say("pairs_title"))}</h3><p class="note">{escape(say("pairs_text"))}</p>')
    with gr.Row(elem_classes="controls"):
        choice = gr.Radio([(pair["name"][language], number) for number, pair in enumerate(PAIRS)], value=None,
                          label=say("pairs_choose"))
    shown = gr.HTML(elem_classes="tables sentiment pair")
    choice.input(partial(read_pair, reader, language), choice, shown, api_visibility="private",
                 trigger_mode="always_last")


def read_pair(reader: SentimentService, language: Language, number: int | None) -> Any:
    """Both texts of a pair, read now, and how many of all pairs' texts are judged right."""
    if number is None:
        return gr.skip()
    try:
        chosen = PAIRS[int(number)]
        examples = [Example(reader.attribute(one["text"]), one["label"]) for one in chosen["texts"]]
        every = [one for pair in PAIRS for one in pair["texts"]]
        judged = reader.classify([one["text"] for one in every])
    except Exception as error:
        return refusal(error, language)
    right = sum(found.label == one["label"] for found, one in zip(judged, every, strict=True))
    return figures.pair(examples, chosen["look"][language], right, len(every), language)


def _quality(reader: SentimentService, language: Language) -> None:
    """What was measured when the classifier was trained; what was not measured is not there."""
    calibration, shares = reader.calibration, reader.label_shares
    if calibration is not None:
        with gr.Accordion(text("calibration_title", language), open=False) as part:
            gr.HTML(figures.calibration_text(calibration, language))
            picture = plot("calibration", language)
        part.expand(lambda: figure(figures.reliability(calibration, language)), None, picture, **QUIET)
    if shares:
        with gr.Accordion(text("shares_title", language), open=False) as part:
            gr.HTML(f'<p class="note">{escape(text("shares_text", language))}</p>')
            picture = plot("shares", language)
        part.expand(lambda: figure(figures.label_shares(shares, language)), None, picture, **QUIET)
