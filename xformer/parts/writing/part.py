"""The language model, a part of the Sentiment tab: a text is read and written on piece
by piece, and two compared."""

import json
from pathlib import Path
from typing import Any

import gradio as gr

from xformer.figures.labels import of_model
from xformer.figures.notice import notice
from xformer.parts.writing import draw as figures
from xformer.results import Message, Options, Scored, UserError
from xformer.serve.protocol import WriterService
from xformer.strings import Language
from xformer.ui.components import TRANSPORT, WIRE
from xformer.ui.controls import Real, Whole, Words
from xformer.ui.handlers import LATEST, QUIET, needs, number_of, refused, text_of
from xformer.ui.layout import Layout, narrow, wide

ID = "writer"
FOLDS = (("likelier", "lm_two", "writer"),)
BEGINNING = "This film was"
TEXTS: list[list[str]] = json.loads(
    Path(__file__).with_name("likelier.json").read_text(encoding="utf-8")
)
WINDOW = Whole(0, 0, 32)
MOST_PLACES = 100_000  # no text has as many pieces
SAMPLING: dict[str, Real | Whole] = {
    "lm_temperature": Real(0.8, 0, 2, 0.05),
    "lm_top_k": Whole(0, 0, 100),
    "lm_top_p": Real(0.95, 0.05, 1, 0.05),
    "lm_seed": Whole(1, 0, 999_999),
}


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    page = part.page
    say = part.say
    html = part.html
    writer = part.page.writer
    if writer is None or isinstance(writer, UserError):
        gr.HTML(
            notice(
                [say("lm_missing") if writer is None else writer.say(page.language)],
                "error",
            )
        )
        return
    part.ask = page.always(writer)
    info = writer.info
    of_two = part.inner()
    part.status()
    with gr.Row(elem_classes="detail"):
        with wide():
            picture = part["picture"] = part.canvas(
                "writer.js", TRANSPORT, "writer-view", frame="rows"
            )
        with narrow():
            # The last declared is set first: the place must be there before the text is
            # read.
            text = part.control(
                "lm_text",
                Words(BEGINNING),
                gr.Textbox,
                info="lm_text_info",
                lines=3,
                max_lines=8,
            )
            part.hidden("lm_place", Whole(0, 0, MOST_PLACES))
            button = gr.Button(say("lm_read"), variant="primary")
            sampling = [
                part.control(
                    "lm_temperature",
                    SAMPLING["lm_temperature"],
                    gr.Slider,
                    info="lm_temperature_info",
                ),
                part.control("lm_top_k", SAMPLING["lm_top_k"], gr.Slider),
                part.control("lm_top_p", SAMPLING["lm_top_p"], gr.Slider),
                part.control("lm_seed", SAMPLING["lm_seed"], gr.Number, precision=0),
                part.control("lm_window", WINDOW, gr.Slider, info="lm_window_info"),
            ]
            gr.HTML(
                f'<p class="note">{html("lm_about", name=info.name, layers=info.n_layers, heads=info.n_heads)} '
                f"{of_model(info, info.versioned, hidden=True)}</p>"
            )
    part["shown"] = gr.State()
    answered = ("shown", "picture", "lm_text", "lm_place")
    gr.on(
        [button.click, text.submit],
        **part.listener(read, *answered, problem="problem"),
        **LATEST,
    )
    opening = {
        **part.listener(read_first, *answered, problem="problem", only_here=True),
        **QUIET,
    }
    part.opened.change(trigger_mode="always_last", **opening)
    page.on_return.append(opening)
    # One listener: what is done to a text comes after what was done before, and its
    # answer too.
    picture.act(**part.listener(act, *answered, problem="problem"), **LATEST)
    picture.choose(**part.listener(look, "lm_place"), **LATEST)
    gr.on(
        [one.change for one in sampling],
        **part.listener(again, "shown", "picture", problem="problem"),
        **LATEST,
    )
    with part.folded("likelier"):
        _likelier(of_two)
    part.include(of_two)


def options_of(sampling: dict[str, Any]) -> Options:
    """The options of sampling that the controls stand for; an empty field is its
    default. Raises UserError."""
    values = dict[str, float]()
    for name, kind in SAMPLING.items():
        value = kind.default if sampling[name] is None else sampling[name]
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not kind.least <= value <= kind.most
        ):
            raise UserError(
                Message.of(
                    "live_error_number",
                    name=name.removeprefix("lm_"),
                    value=str(value)[:40],
                    least=kind.least,
                    most=kind.most,
                )
            )
        values[name.removeprefix("lm_")] = (
            int(value) if isinstance(kind, Whole) else float(value)
        )
    return Options(
        temperature=values["temperature"],
        top_k=int(values["top_k"]),
        top_p=values["top_p"],
        seed=int(values["seed"]),
    )


def window_of(sampling: dict[str, Any]) -> int:
    """From how many pieces the next is predicted; 0, all, where the field holds no
    number that can be."""
    value = sampling.get("lm_window")
    return (
        int(value)
        if isinstance(value, int) and WINDOW.least <= value <= WINDOW.most
        else 0
    )


def _place(value: Any) -> int:
    """The place that is looked at; the first where the field holds no number."""
    return (
        int(value)
        if isinstance(value, (int, float)) and 0 <= value <= MOST_PLACES
        else 0
    )


def _answer(text: Scored, place: int, language: Language) -> dict[str, Any]:
    return {
        "shown": text,
        "picture": figures.payload(text, place, language),
        "lm_text": text.text,
        "problem": notice(
            [warning.say(language) for warning in text.warnings], "warning"
        ),
    }


@refused(shown=None, picture=None)
def read(
    service: WriterService,
    language: Language,
    *,
    lm_text: str | None,
    **sampling: Any,
) -> dict[str, Any]:
    """Read the text in the field, and look at what may follow it."""
    return {
        **_answer(
            service.read(
                lm_text or "",
                options=options_of(sampling),
                window=window_of(sampling),
            ),
            0,
            language,
        ),
        "lm_place": 0,
    }


def read_first(
    service: WriterService,
    language: Language,
    *,
    shown: Scored | None,
    lm_text: str | None,
    lm_place: int | None,
    **sampling: Any,
) -> dict[str, Any]:
    """Read the text of the address where none is shown yet, or another, and look at the
    place of the address."""
    if shown is not None and shown.text == (lm_text or ""):
        return {}
    place = _place(lm_place)
    read = service.read(
        lm_text or "", options=options_of(sampling), window=window_of(sampling)
    )
    answer = _answer(read, place, language)
    return {**answer, "lm_place": place if place <= len(answer["shown"].tokens) else 0}


def again(
    service: WriterService,
    language: Language,
    *,
    shown: Scored | None,
    lm_place: int | None,
    **sampling: Any,
) -> dict[str, Any]:
    """Draw the text again, with other chances of what may follow it."""
    if shown is None:
        return {}
    text = service.choose(
        shown,
        len(shown.tokens),
        options=options_of(sampling),
        window=window_of(sampling),
    )
    return {"shown": text, "picture": figures.payload(text, _place(lm_place), language)}


def act(
    service: WriterService,
    language: Language,
    *,
    shown: Scored | None,
    event: gr.EventData,
    **sampling: Any,
) -> dict[str, Any]:
    """Write a piece, put another in a place and drop what follows, or take the last one
    away."""
    if shown is None:
        return {}
    options = options_of(sampling)
    window = window_of(sampling)
    what = text_of(event, "what")
    place = len(shown.tokens)
    if what == "more":
        text = service.write(shown, options, window)
    elif what == "take":
        place = number_of(event, "place") - 1
        listed = shown.likeliest[place] if 0 <= place < len(shown.likeliest) else ()
        rank = number_of(event, "rank")
        text = service.choose(
            shown,
            place,
            listed[rank].token if 0 <= rank < len(listed) else None,
            options,
            window,
        )
    else:
        text = service.choose(shown, max(0, place - 1), options=options, window=window)
    return {**_answer(text, 0, language), "lm_place": 0}


def look(
    service: WriterService, language: Language, *, event: gr.EventData
) -> dict[str, int]:
    """Keep the place that is looked at, for the address."""
    return {"lm_place": number_of(event, "place")}


def _likelier(part: Layout) -> None:
    """Lay out two texts, and say which is likelier."""
    say = part.say
    labels = {"lm_a": "lm_first", "lm_b": "lm_second"}
    part.note("lm_two_text")
    part.status()
    with gr.Row(elem_classes="detail"):
        fields = [
            part.control(
                key, Words(TEXTS[0][i]), gr.Textbox, label, lines=1, max_lines=4
            )
            for i, (key, label) in enumerate(labels.items())
        ]
    with gr.Row(elem_classes="run"):
        button = gr.Button(say("lm_compare"), variant="primary", scale=0, min_width=190)
        part["sample"] = gr.Dataset(
            components=[gr.Textbox(**WIRE)] * 2,
            samples=TEXTS,
            label=say("examples"),
            type="values",
            elem_classes="examples pairs-of-texts",
            headers=[say(label) for label in labels.values()],
        )
    part["result"] = part.table("likelier-view")
    gr.on(
        [button.click, *(field.submit for field in fields)],
        **LATEST,
        **part.listener(compare, "result", problem="problem"),
    )
    part["sample"].click(
        **part.listener(compare_example, "result", *labels, problem="problem"), **QUIET
    )


@needs(lm_a="lm_empty", lm_b="lm_empty")
@refused(result=None)
def compare(
    service: WriterService, language: Language, *, lm_a: str, lm_b: str
) -> dict[str, Any]:
    """Score two whole texts, and say which is likelier."""
    return {
        "result": figures.likelier(
            [service.read(text, whole=True) for text in (lm_a, lm_b)], language
        )
    }


def compare_example(
    service: WriterService, language: Language, *, sample: list[str]
) -> dict[str, Any]:
    """Put an example into the fields and compare it."""
    return {
        "lm_a": sample[0],
        "lm_b": sample[1],
        **compare(service, language, lm_a=sample[0], lm_b=sample[1]),
    }
