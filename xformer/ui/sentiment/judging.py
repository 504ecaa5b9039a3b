"""A part of the Sentiment tab: a review is judged, every word of it asked what it did, and the text changed."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import gradio as gr

from xformer.figures import maximum as of_maximum
from xformer.figures import sentiment as figures
from xformer.figures.labels import of_model
from xformer.figures.notice import notice
from xformer.figures.sentiment import Example, View
from xformer.results import Attribution, ModelInfo, Sentiment, UserError
from xformer.serve.protocol import ReviewService
from xformer.strings import ASSETS, Language
from xformer.ui.components import canvas, figure, plot
from xformer.ui.controls import Controls, OneOf, Words, numbers
from xformer.ui.handlers import QUIET, Ask
from xformer.ui.places import folded, note
from xformer.ui.sentiment import many
from xformer.ui.tabs import ALL_EXAMPLES, Page, Tab

ID = "judge"
OF_SENTENCE = False
TAB = "sentiment"
EXAMPLES: list[str] = ALL_EXAMPLES["reviews"]
PAIRS: list[dict[str, Any]] = json.loads((ASSETS / "pairs.json").read_text(encoding="utf-8"))
PATIENCE = 1.0  # seconds after which the progress is shown


def build(page: Page, opened: gr.Textbox) -> Tab:
    """Lay the part out; called inside it. opened: a box whose text changes when it comes into sight."""
    language, controls, reader = page.language, Controls(page.service), page.reviews
    # The review that was judged, for the address; "" for the example.
    keep = partial(controls.add, "review", Words(), gr.Textbox, visible=False)
    if reader is None or isinstance(reader, UserError):
        gr.HTML(missing(reader, language))
        keep()
        return Tab(controls)
    readers = {reader.info.name: reader, **page.other_reviews}
    which = page.reviewer = controls.add(
        "classifier", OneOf((*readers,), reader.info.name), gr.Radio, label=language.say("classifier"),
        choices=[(language.say(f"classifier_{i}", layers=one.info.n_layers), name)
                 for i, (name, one) in enumerate(readers.items())],
        visible=len(readers) > 1, render=False, elem_classes="which-reader")
    review = keep()  # the last declared is set first: it must be there before the classifier's choice is answered
    with gr.Row(elem_classes="reviewed"):
        shown = {"review": review, **_review(reader, which, language)}
    page.review = shown["text"]
    shown |= _gives(language)
    ask = Ask(lambda name: nullcontext(readers.get(name, reader)), language, which, page.tab)
    of_shipped = Ask.always(reader, language, page.tab)
    with gr.Column(elem_classes="folds"):
        shown |= _looked(reader.info, language)
        _pairs(ask)
        _quality(of_shipped, reader)
        _poolings(reader, language)
        with folded(language, "texts"):
            if len(readers) > 1:
                gr.HTML(f'<p class="note">{language.html("texts_by_shipped")}</p>')
            many.build(of_shipped)
    _listen(ask, which, opened, {"attribution": gr.State(), **shown})
    return Tab(controls)


def _review(reader: ReviewService, which: gr.Radio, language: Language) -> dict[str, Any]:
    """Lay out the review, and beside it the verdict; -> the components by name. which: the choice of a classifier."""
    say = language.say
    with gr.Column(scale=5, min_width=320):
        text = gr.Textbox(EXAMPLES[0], label=say("review"), lines=7, max_lines=14,
                          placeholder=say("review_placeholder"))
        with gr.Row(elem_classes="run"):
            button = gr.Button(say("review_run"), variant="primary", size="md", scale=0, min_width=190)
            canvas("shortcut.js", "${value}", "hint", f'<p class="note">{language.html("review_edit_hint")}</p>')
        examples = gr.Dataset(components=[gr.Textbox(visible=False)], samples=[[example] for example in EXAMPLES],
                              label=say("examples"), layout="gallery", type="values", elem_classes="examples")
        about = gr.HTML(_about(reader.info, language), elem_classes="about-reader")
        which.render()
    with gr.Column(scale=7, min_width=320):
        verdict = gr.HTML(elem_classes="tables sentiment judged", min_height=120)
        moves, stale = gr.HTML(elem_classes="sentiment moves"), gr.HTML(elem_classes="stale")
        effects = gr.HTML(elem_classes="sentiment effects explains")
        strongest = gr.HTML(elem_classes="tables sentiment strongest explains")
    return {"text": text, "button": button, "examples": examples, "about": about, "verdict": verdict, "moves": moves,
            "stale": stale, "effects": effects, "strongest": strongest}


def _looked(info: ModelInfo, language: Language) -> dict[str, Any]:
    """Lay out where the model looked; -> the components by name."""
    say, shown = language.say, dict[str, Any]()
    with folded(language, "looked"), gr.Column(elem_classes="explains"):
        with gr.Row(elem_classes="controls"):
            shown["kind"] = gr.Radio(language.choices("review_view_{}", figures.VIEWS), value=View.kind,
                                     label=say("review_view"), min_width=280)
        with gr.Row(visible=False, elem_classes="controls") as shown["of_head"]:
            shown["layer"] = gr.Radio(numbers(info.n_layers), value=info.n_layers, label=say("layer"), min_width=140)
            shown["head"] = gr.Radio(numbers(info.n_heads), value=View.head, label=say("head"), min_width=140)
        shown["looked"] = gr.HTML(elem_classes="sentiment looked")
    return shown


def _gives(language: Language) -> dict[str, Any]:
    """Lay out what a maximum over the pieces gives; -> the components by name."""
    shown = dict[str, Any]()
    with gr.Row(elem_classes="detail explains gives-row"):
        with gr.Column(scale=7, min_width=300):
            shown["gives"] = gr.HTML(elem_classes="sentiment gives-said")
            shown["gives_picture"] = plot("gives-picture", language)
        with gr.Column(scale=4, min_width=280):
            shown["gives_table"] = canvas("part.js", "${value}", "tables sentiment gives-table", save=language)
    return shown


def _listen(ask: Ask, which: gr.Radio, opened: gr.Textbox, shown: Mapping[str, Any]) -> None:
    """Judge the review when it is asked for, and draw what follows from that."""
    def named(*names: str) -> dict[str, Any]:
        return {name: shown[name] for name in names}

    text, kind, moves = shown["text"], shown["kind"], shown["moves"]
    live = named("verdict", "moves", "stale")
    explained = {**named("attribution", "effects", "review", "gives", "gives_picture", "gives_table"), **live}
    other = {"text": text, **explained}
    waits: dict[str, Any] = {"show_progress_on": [shown["effects"]], "api_visibility": "private"}
    at_hand = named("attribution", "review", "text")
    which.change(**ask(choose, at_hand, {**other, **named("about", "layer", "head")}, moves), **waits).then(
        **ask(offer, {}, named("layer", "head")), **QUIET)
    gr.on([shown["button"].click, text.submit], **ask(judge, {"text": text}, explained, moves), **waits)
    shown["examples"].click(**ask(judge_example, {"sample": shown["examples"]}, other, moves), **waits)
    opened.change(**ask(open_tab, at_hand, other, moves, only_in=TAB), **waits)
    # One listener for each picture, whatever changes it: an older answer cannot come after a newer one.
    # (The input event of gradio's Textbox knows neither the backspace key nor pasting, nor the keyboard of a phone.)
    judged = shown["attribution"].change
    gr.on([text.change, judged], **ask(follow, named("attribution", "text"), live, moves),
          trigger_mode="always_last", **QUIET)
    gr.on([judged, kind.input, shown["layer"].input, shown["head"].input],
          **ask(draw, named("attribution", "kind", "layer", "head"), named("looked", "strongest")),
          trigger_mode="always_last", **QUIET)
    kind.input(**ask(show_head, {"kind": kind}, named("of_head")), **QUIET)


def _about(info: ModelInfo, language: Language) -> str:
    """Say which classifier it is."""
    mask = language.say("arch_mask_causal" if info.causal else "arch_mask_full")
    said = language.html("review_intro", mask=mask)
    if info.pooling == "max":
        said += f' {language.html("review_lecture")}'
    return f'<p class="note">{said} {of_model(info, _line(info, language))}</p>'


def _line(info: ModelInfo, language: Language) -> str:
    """A classifier in a line."""
    key = "review_model_one" if info.n_layers == 1 else "review_model"
    return language.say(key, name=info.name, norm=info.norm, layers=info.n_layers, heads=info.n_heads,
                        millions=f"{info.parameters / 1e6:.1f}", device=info.device, precision=info.precision)


def missing(reason: UserError | None, language: Language) -> str:
    """Say what to do where there is no classifier."""
    return notice([language.say("review_missing") if reason is None else reason.say(language)], "error")


def show_head(_: ReviewService, language: Language, *, kind: str) -> dict[str, Any]:
    """Show the choice of a head where a head is looked at."""
    return {"of_head": gr.update(visible=kind == "head")}


def judge(service: ReviewService, language: Language, *, text: str | None, progress: Any) -> dict[str, Any]:
    """Judge a review and explain it; keep it for the address."""
    began = time.perf_counter()

    def tell(done: int, of: int) -> None:
        if time.perf_counter() - began > PATIENCE:
            progress((done, of))

    attribution = service.attribute(text or "", tell)
    return {"attribution": attribution, "effects": figures.effects(attribution, language),
            "review": kept(text), **_maximum(attribution, language),
            **_live(attribution.sentiment, language)}


def _maximum(attribution: Attribution, language: Language) -> dict[str, Any]:
    """Show which word gives each dimension, where the pooling is a maximum."""
    found = attribution.maximum
    if found is None:
        return {"gives": "", "gives_picture": None, "gives_table": ""}
    return {"gives": of_maximum.explained(attribution, found, language),
            "gives_picture": figure(of_maximum.picture(found, language)),
            "gives_table": of_maximum.table(attribution, found, language)}


def choose(service: ReviewService, language: Language, *, attribution: Attribution | None, review: str,
           text: str | None, progress: Any) -> dict[str, Any]:
    """Judge the review again with the classifier that was chosen; that of the address, where the address chose it."""
    answer: dict[str, Any] = {"about": _about(service.info, language), "layer": 1, "head": 1}
    if attribution is None:
        answer["text"] = text = chosen(review, text or "")
    return {**answer, **judge(service, language, text=text, progress=progress)}


def offer(service: ReviewService, language: Language) -> dict[str, Any]:
    """Offer the layers and heads that the chosen classifier has.

    First, `choose` sets both to 1, which all have: Gradio refuses a value that is under way and no more a choice.
    """
    return {"layer": gr.update(choices=numbers(service.info.n_layers)),
            "head": gr.update(choices=numbers(service.info.n_heads))}


def _live(judged: Sentiment, language: Language) -> dict[str, str]:
    """Show the verdict on a text that is explained as it stands."""
    return {"verdict": figures.reading(judged, language), "moves": "", "stale": ""}


def judge_example(service: ReviewService, language: Language, *, sample: list[str], progress: Any
                  ) -> Iterator[dict[str, Any]]:
    """Put an example into the field and judge it."""
    yield from _judge_in_field(service, language, sample[0], progress)


def open_tab(service: ReviewService, language: Language, *, attribution: Attribution | None, review: str, text: str,
             progress: Any) -> Iterator[dict[str, Any]]:
    """Judge the review in the address, where there is one and nobody has typed; else that in the field. Only once."""
    if attribution is not None:
        yield {"problem": gr.skip()}
        return
    yield from _judge_in_field(service, language, chosen(review, text), progress)


def chosen(review: str, text: str) -> str:
    """The review of the address, unless somebody has typed; else what is in the field."""
    return review if review and text == EXAMPLES[0] else text


def kept(text: str | None) -> str:
    """What the address keeps of a review: nothing of the first example."""
    return "" if text == EXAMPLES[0] else text or ""


def _judge_in_field(service: ReviewService, language: Language, text: str, progress: Any) -> Iterator[dict[str, Any]]:
    """Put a review into the field together with its judgement; without one, where it cannot be judged."""
    try:
        yield {"text": text, **judge(service, language, text=text, progress=progress)}
    except Exception:
        yield {"text": text}
        raise


def follow(service: ReviewService, language: Language, *, attribution: Attribution | None, text: str | None
           ) -> Iterator[dict[str, str]]:
    """Judge the text as it is now, compare it with the one that is explained, of which it may be an edit, and say that
    the explanation is not of this text. Nothing is classified while they are the same."""
    if attribution is None:
        yield {}
        return
    stale = notice([language.say("review_stale")], "warning")
    try:
        if service.clean(text or "")[0] == attribution.sentiment.text:
            yield _live(attribution.sentiment, language)
            return
        (now,) = service.classify([text or ""])
    except Exception:
        yield {"verdict": "", "stale": stale}
        raise
    yield {"verdict": figures.reading(now, language), "moves": figures.moved(attribution.sentiment, now, language),
           "stale": stale}


def draw(_: ReviewService, language: Language, *, attribution: Attribution | None, kind: str, layer: int, head: int
         ) -> dict[str, str]:
    """Draw where the model looked, beside the effects, and list the words that count most; nothing before a judgement.
    """
    if attribution is None:
        return {}
    layers, heads = attribution.heads.shape[:2]
    view = View(kind, min(int(layer), layers), min(int(head), heads))  # a moment ago they may have been another model's
    return {"looked": figures.looked(attribution, view, language),
            "strongest": figures.strongest(attribution, view, language)}


def _pairs(ask: Ask) -> None:
    """Lay out the pairs of texts that differ in one thing."""
    language = ask.language
    with folded(language, "pairs"):
        gr.HTML(note(language, "pairs_text"))
        with gr.Row(elem_classes="controls"):
            choice = gr.Radio([(pair["name"][language.code], number) for number, pair in enumerate(PAIRS)], value=None,
                              label=language.say("pairs_choose"))
        shown = gr.HTML(elem_classes="tables sentiment pair")
    choice.input(**ask(read_pair, {"number": choice}, {"pair": shown}, shown), api_visibility="private",
                 trigger_mode="always_last")


def read_pair(service: ReviewService, language: Language, *, number: int) -> dict[str, str]:
    """Explain both texts of a pair, and count how many of all pairs' texts are judged right."""
    pair = PAIRS[int(number)]
    examples = [Example(service.attribute(one["text"]), one["label"]) for one in pair["texts"]]
    texts = [one for each in PAIRS for one in each["texts"]]
    judged = service.classify([one["text"] for one in texts])
    right = sum(sentiment.label == one["label"] for sentiment, one in zip(judged, texts, strict=True))
    return {"pair": figures.pair(examples, pair["look"][language.code], right, len(texts), language)}


def _quality(ask: Ask, reader: ReviewService) -> None:
    """Lay out what was measured when the classifier was trained, if it was."""
    language = ask.language
    model = of_model(reader.info, _line(reader.info, language), hidden=True)  # another one may be chosen above
    if reader.calibration is not None:
        with folded(language, "calibration") as part:
            gr.HTML(figures.calibration_text(reader.calibration, language) + model)
            picture = plot("calibration", language)
            gr.HTML(figures.calibration_found(reader.calibration, language), elem_classes="summary")
        part.expand(**ask(draw_calibration, {}, {"picture": picture}), **QUIET)
    if reader.label_shares:
        with folded(language, "shares") as part:
            gr.HTML(f'{note(language, "shares_text")}{model}')
            picture = plot("shares", language)
            gr.HTML(figures.shares_found(reader.label_shares, language), elem_classes="summary")
        part.expand(**ask(draw_shares, {}, {"picture": picture}), **QUIET)


def _poolings(reader: ReviewService, language: Language) -> None:
    """Lay out the table of classifiers by pooling and mask, if anybody measured them."""
    if reader.pooling_scores:
        with folded(language, "poolings"):
            model = of_model(reader.info, _line(reader.info, language), hidden=True)
            gr.HTML(f'<p class="note">{figures.poolings_text(reader.pooling_scores, language)}</p>{model}')
            canvas("part.js", "${value}", "tables poolings-view", figures.poolings(reader.pooling_scores, language),
                   save=language)


def draw_calibration(service: ReviewService, language: Language) -> dict[str, Any]:
    """Draw how far the probabilities can be trusted, where that was measured."""
    calibration = service.calibration
    return {} if calibration is None else {"picture": figure(figures.reliability(calibration, language))}


def draw_shares(service: ReviewService, language: Language) -> dict[str, Any]:
    """Draw accuracy by the share of the labels that was learned from."""
    return {"picture": figure(figures.label_shares(service.label_shares, language))}
