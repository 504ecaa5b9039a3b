"""A part of the Sentiment tab: a review is judged, every word of it asked what it did,
and the text changed."""

import json
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import gradio as gr

from xformer.figures.labels import of_model
from xformer.figures.notice import notice
from xformer.parts.judging import draw as figures
from xformer.parts.judging import maximum as of_maximum
from xformer.parts.judging.draw import Example, View
from xformer.results import Attribution, ModelInfo, Sentiment, UserError
from xformer.serve.protocol import ReviewService, StudyService
from xformer.strings import Language
from xformer.ui.components import WIRE, canvas, figure
from xformer.ui.controls import OneOf, Words, numbers
from xformer.ui.handlers import QUIET, Ask, refused
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.reviews import EXAMPLES, chosen, kept, missing

ID = "judge"
FOLDS = (
    ("calibration", "fold_trust"),
    ("looked", "looked_title", "calibration"),
    ("pairs", "pairs_title", "calibration"),
    ("shares", "shares_title", "calibration"),
    ("poolings", "poolings_title", "calibration"),
)
PAIRS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("pairs.json").read_text(encoding="utf-8")
)
GIVES = ("gives", "gives_picture", "gives_table")
PATIENCE = 1.0  # seconds after which the progress is shown


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    page = part.page
    language = part.language
    reader = part.page.reviews
    if reader is None or isinstance(reader, UserError):
        gr.HTML(missing(reader, language))
        part.hidden("review", Words(), gr.Textbox)
        return
    readers = {reader.info.name: reader, **page.other_reviews}
    which = page.reviewer = part.control(
        "classifier",
        OneOf((*readers,), reader.info.name),
        gr.Radio,
        choices=[
            (language.say(f"classifier_{i}", layers=one.info.n_layers), name)
            for i, (name, one) in enumerate(readers.items())
        ],
        visible=len(readers) > 1,
        render=False,
        elem_classes="which-reader",
    )
    # The review that was judged, for the address; "" for the example. The last declared
    # is set first: it must be there before the classifier's choice is answered.
    part.hidden("review", Words(), gr.Textbox)

    def reader_of(name: str) -> Any:
        return nullcontext(readers.get(name, reader))

    part.ask = Ask(reader_of, language, which, page.sheet)
    with gr.Row(elem_classes="reviewed"):
        _review(part, reader)
    page.review = part["text"]
    # what a maximum over the pieces gives
    with gr.Row(elem_classes="detail explains gives-row"):
        with wide():
            part["gives"] = gr.HTML(elem_classes="sentiment gives-said frame-text")
            part["gives_picture"] = part.plot("gives-picture")
        with narrow():
            part["gives_table"] = part.table("tables sentiment gives-table")
    shipped = part.inner(page.always(reader))
    with gr.Column(elem_classes="folds"):
        _quality(shipped, reader, part)
    _listen(part)


def _review(part: Layout, reader: ReviewService) -> None:
    """Lay out the review, and beside it the verdict."""
    language = part.language
    say = part.say
    with narrow():
        part["text"] = gr.Textbox(
            EXAMPLES[0],
            label=say("review"),
            lines=7,
            max_lines=14,
            placeholder=say("review_placeholder"),
        )
        with gr.Row(elem_classes="run"):
            part["button"] = gr.Button(
                say("review_run"), variant="primary", size="md", scale=0, min_width=190
            )
            canvas(
                "shortcut.js",
                "${value}",
                "hint",
                f'<p class="note">{language.html("review_edit_hint")}</p>',
            )
        part["sample"] = gr.Dataset(
            components=[gr.Textbox(**WIRE)],
            samples=[[one] for one in EXAMPLES],
            label=say("examples"),
            layout="gallery",
            type="values",
            elem_classes="examples",
        )
        part["about"] = gr.HTML(
            _about(reader.info, language), elem_classes="about-reader"
        )
        part["classifier"].render()
    with wide():
        part["verdict"] = gr.HTML(
            elem_classes="tables sentiment judged", min_height=120
        )
        part["moves"] = gr.HTML(elem_classes="sentiment moves")
        part["stale"] = gr.HTML(elem_classes="stale")
        part["effects"] = gr.HTML(elem_classes="sentiment effects explains frame-text")
        part["strongest"] = gr.HTML(elem_classes="tables sentiment strongest explains")


def _looked(part: Layout, info: ModelInfo) -> None:
    """Lay out where the model looked."""
    say = part.say
    with part.folded("looked"), gr.Column(elem_classes="explains"):
        with gr.Row(elem_classes="controls"):
            part["kind"] = gr.Radio(
                part.language.choices("review_view_{}", figures.VIEWS),
                value=View.kind,
                label=say("review_view"),
                min_width=280,
            )
        with gr.Row(visible=False, elem_classes="controls") as part["of_head"]:
            part["layer"] = gr.Radio(
                numbers(info.n_layers),
                value=info.n_layers,
                label=say("layer"),
                min_width=140,
            )
            part["head"] = gr.Radio(
                numbers(info.n_heads), value=View.head, label=say("head"), min_width=140
            )
        part["looked"] = gr.HTML(elem_classes="sentiment looked frame-rows")


def _listen(part: Layout) -> None:
    """Judge the review when it is asked for."""
    judged = part["attribution"] = gr.State()
    explained = "attribution", "review"
    gr.on(
        [part["button"].click, part["text"].submit],
        **part.listener(judge, *explained, problem="moves"),
        **QUIET,
    )
    part["sample"].click(
        **part.listener(judge_example, "text", *explained, problem="moves"), **QUIET
    )
    part.opened.change(
        **part.listener(open_tab, "text", *explained, problem="moves", only_here=True),
        **QUIET,
    )
    of_head = "layer", "head"
    part["classifier"].change(
        **part.listener(choose, "text", *explained, *of_head, problem="moves"), **QUIET
    ).then(**part.listener(offer, "about", *of_head), **QUIET)
    _follow(part, judged, ("kind", *of_head))


def _follow(part: Layout, judged: gr.State, view: tuple[str, ...]) -> None:
    """Draw what explains the judgement that stands, where its model looks, and what an
    edit of its text has moved: each by itself, as what is typed may be refused, and so
    is, by Gradio, a head that is no more a choice.

    view: the names of what says where to look.
    """
    explaining = part.pictures(ID, tab=None)
    looking = part.pictures(f"{ID}.look", tab=None)
    stale = notice([part.say("review_stale")], "warning")
    cleared = {"verdict": "", "stale": stale}
    editing = part.pictures(f"{ID}.edit", tab=None, cleared=cleared)
    for pictures in (explaining, looking, editing):
        pictures.input("attribution", judged)
        pictures.fact("sentiment", lambda attribution: attribution.sentiment)
    # changes by code too: another classifier has layers and heads of its own
    changes = [looking.input(name, part[name]).change for name in view]
    seen = "attribution"
    explaining.fact("maximum", show_maximum)
    explaining.add_each(
        part, {"effects": figures.effects, "two_ways": figures.two_ways}, seen=seen
    )
    explaining.add_all("maximum", {name: part[name] for name in GIVES}, seen=seen)
    explaining.listen(None, judged.change, how=QUIET)
    looking.fact("view", view_of)
    looking.add("of_head", part["of_head"], show_head)
    looking.add_each(
        part, {"looked": figures.looked, "strongest": figures.strongest}, seen=seen
    )
    looking.listen(None, judged.change, *changes, how=QUIET)
    # The input event of gradio's Textbox knows neither the backspace key nor pasting,
    # nor the keyboard of a phone.
    text = editing.input("text", part["text"])
    editing.fact("judged", judge_now)
    editing.add_each(
        part,
        {
            "verdict": figures.reading,
            "moves": figures.moved,
            "stale": lambda sentiment, judged: "" if judged is sentiment else stale,
        },
        seen=seen,
    )
    editing.listen(part["moves"], text.change, judged.change, how=QUIET)


def show_head(kind: str) -> Any:
    return gr.update(visible=kind == "head")


def _about(info: ModelInfo, language: Language) -> str:
    """Say which classifier it is."""
    mask = language.say("arch_mask_causal" if info.causal else "arch_mask_full")
    said = language.html("review_intro", mask=mask)
    if info.pooling == "max":
        said += f" {language.html('review_lecture')}"
    return f'<p class="note">{said} {of_model(info, _line(info, language))}</p>'


def _line(info: ModelInfo, language: Language) -> str:
    """A classifier in a line."""
    key = "review_model_one" if info.n_layers == 1 else "review_model"
    return language.say(
        key,
        name=info.name,
        norm=info.norm,
        layers=info.n_layers,
        heads=info.n_heads,
        millions=f"{info.parameters / 1e6:.1f}",
        device=info.device,
        precision=info.precision,
    )


def judge(
    service: ReviewService, language: Language, *, text: str | None, progress: Any
) -> dict[str, Any]:
    """Judge a review and explain it; keep it for the address."""
    began = time.perf_counter()

    def tell(done: int, of: int) -> None:
        if time.perf_counter() - began > PATIENCE:
            progress((done, of))

    return {"attribution": service.attribute(text or "", tell), "review": kept(text)}


@refused(layer=1, head=1)
def choose(
    service: ReviewService,
    language: Language,
    *,
    attribution: Attribution | None,
    review: str,
    text: str | None,
    progress: Any,
) -> dict[str, Any]:
    """Judge the review again with the classifier that was chosen; that of the address,
    where the address chose it."""
    answer: dict[str, Any] = {"layer": 1, "head": 1}
    if attribution is None:
        answer["text"] = text = chosen(review, text or "")
    return {**answer, **judge(service, language, text=text, progress=progress)}


def offer(service: ReviewService, language: Language) -> dict[str, Any]:
    """Say which classifier is chosen, and offer the layers and heads that it has.

    First, `choose` sets both to 1, which all have: Gradio refuses a value that is under
    way and no more a choice.
    """
    info = service.info
    return {
        "about": _about(info, language),
        "layer": gr.update(choices=numbers(info.n_layers), value=1),
        "head": gr.update(choices=numbers(info.n_heads), value=1),
    }


def judge_example(
    service: ReviewService, language: Language, *, sample: list[str], progress: Any
) -> Iterator[dict[str, Any]]:
    """Put an example into the field together with its judgement; without one, where it
    cannot be judged. What somebody types meanwhile stays, as assets/gradio_answers.js
    sees to."""
    (text,) = sample
    try:
        yield {"text": text, **judge(service, language, text=text, progress=progress)}
    except Exception:
        yield {"text": text}
        raise


def open_tab(
    service: ReviewService,
    language: Language,
    *,
    attribution: Attribution | None,
    review: str,
    text: str,
    progress: Any,
) -> Iterator[dict[str, Any]]:
    """Judge the review in the address, where there is one and nobody has typed; else
    that in the field. Only once."""
    if attribution is not None:
        yield {"problem": gr.skip()}
        return
    sample = [chosen(review, text)]
    yield from judge_example(service, language, sample=sample, progress=progress)


def judge_now(
    service: ReviewService, text: str | None, sentiment: Sentiment
) -> Sentiment:
    """Judge the text as it is now. Nothing is classified while it is the one that is
    explained."""
    if service.clean(text or "")[0] == sentiment.text:
        return sentiment
    (now,) = service.classify([text or ""])
    return now


def show_maximum(attribution: Attribution, language: Language) -> dict[str, Any]:
    """Show which word gives each dimension, where the pooling is a maximum."""
    found = attribution.maximum
    if found is None:
        return {"gives": "", "gives_table": ""}
    return {
        "gives": of_maximum.explained(attribution, found, language),
        "gives_picture": of_maximum.picture(found, language),
        "gives_table": of_maximum.table(attribution, found, language),
    }


def view_of(attribution: Attribution, kind: str, layer: int, head: int) -> View:
    """Whose shares are shown."""
    layers, heads = attribution.heads.shape[:2]
    # a moment ago they may have been another model's
    return View(kind, min(int(layer), layers), min(int(head), heads))


def _pairs(part: Layout) -> None:
    """Lay out the pairs of texts that differ in one thing."""
    with part.folded("pairs"):
        part.note("pairs_text")
        with gr.Row(elem_classes="controls"):
            part["number"] = gr.Radio(
                [(pair["name"][part.language.code], i) for i, pair in enumerate(PAIRS)],
                value=None,
                label=part.say("pairs_choose"),
            )
        part["pair"] = gr.HTML(elem_classes="tables sentiment pair")
    part["number"].input(
        **part.listener(read_pair, "pair", problem="pair"),
        api_visibility="private",
        trigger_mode="always_last",
    )


def read_pair(
    service: ReviewService, language: Language, *, number: int | None
) -> dict[str, str]:
    """Explain both texts of a pair, and count how many of all pairs' texts are judged
    right; nothing before one is chosen."""
    if number is None:
        return {}
    pair = PAIRS[int(number)]
    examples = [
        Example(service.attribute(one["text"]), one["label"]) for one in pair["texts"]
    ]
    texts = [one for each in PAIRS for one in each["texts"]]
    judged = service.classify([one["text"] for one in texts])
    right = sum(
        sentiment.label == one["label"]
        for sentiment, one in zip(judged, texts, strict=True)
    )
    return {
        "pair": figures.pair(
            examples, pair["look"][language.code], right, len(texts), language
        )
    }


def _quality(part: Layout, reader: ReviewService, chosen: Layout) -> None:
    """Lay out what was measured of the classifier that ships, as far as it was: when it
    was trained, and others by pooling and mask. chosen: the layout of the one that is
    chosen, which reads, and judges pairs."""
    language = part.language
    scores = reader.pooling_scores
    # another one may be chosen above
    model = of_model(reader.info, _line(reader.info, language), hidden=True)
    with part.folded("calibration") as fold:
        if reader.calibration is not None:
            gr.HTML(figures.calibration_text(reader.calibration, language) + model)
            part["calibration"] = part.plot("calibration")
            gr.HTML(
                figures.calibration_found(reader.calibration, language),
                elem_classes="summary",
            )
            fold.expand(**part.listener(draw_calibration, "calibration"), **QUIET)
        chosen["two_ways"] = chosen.table("tables sentiment")
        _looked(chosen, reader.info)
        _pairs(chosen)
        with part.folded("shares"):
            part.note("shares_look")
            part["shares"] = part.plot("shares")
            part["shares_found"] = part.table("tables sentiment")
            part["shares_said"] = gr.HTML(elem_classes="tables sentiment")
        if scores:
            with part.folded("poolings"):
                said = figures.poolings_text(scores, language)
                gr.HTML(f'<p class="note">{said}</p>{model}')
                part.canvas(
                    "part.js",
                    "${value}",
                    "tables poolings-view",
                    figures.poolings(scores, language),
                )
    fold.expand(
        **part.listener(
            draw_shares,
            "shares",
            "shares_found",
            "shares_said",
            ask=part.page.always(part.page.study),
        ),
        **QUIET,
    )


def draw_shares(service: StudyService, language: Language) -> dict[str, Any]:
    study = service.pretraining()
    return {
        "shares": figure(figures.pretraining(study, language)),
        "shares_found": figures.pretraining_found(study, language),
        "shares_said": figures.pretraining_said(study, language),
    }


def draw_calibration(service: Any, language: Language) -> dict[str, Any]:
    return {"calibration": figure(figures.reliability(service.calibration, language))}
