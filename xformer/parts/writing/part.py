"""The language model, a part of the Sentiment tab: a text is read and written on piece
by piece, and two compared."""

import json
from pathlib import Path
from typing import Any

import gradio as gr

from xformer.figures.labels import of_model
from xformer.figures.notice import notice, warnings
from xformer.parts.writing import draw as figures
from xformer.results import Message, Options, Scored, UserError
from xformer.serve.protocol import WriterService
from xformer.strings import Language
from xformer.ui.components import TRANSPORT, WIRE
from xformer.ui.controls import Real, Whole, Words
from xformer.ui.handlers import LATEST, QUIET, needs, number_of, refused, text_of
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.pictures import takes

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
    pictures = part.pictures(ID, cleared={"picture": None})
    # the text as it was read or written last, and the settings that it was scored with
    shown = pictures.input("shown", gr.State())
    pictures.fact("settings", settings_of)
    pictures.fact("place", place_of)
    pictures.fact("text", score)
    problem = pictures.add(
        "warned",
        part.status(),
        lambda text, language: warnings(text.warnings, language),
        seen="shown",
    )
    with gr.Row(elem_classes="detail"):
        with wide():
            picture = pictures.add(
                "picture",
                part.canvas("writer.js", TRANSPORT, "writer-view", frame="rows"),
                figures.payload,
                seen="shown",
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
            part.control(
                "lm_temperature",
                SAMPLING["lm_temperature"],
                gr.Slider,
                info="lm_temperature_info",
            )
            part.control("lm_top_k", SAMPLING["lm_top_k"], gr.Slider)
            part.control("lm_top_p", SAMPLING["lm_top_p"], gr.Slider)
            part.control("lm_seed", SAMPLING["lm_seed"], gr.Number, precision=0)
            part.control("lm_window", WINDOW, gr.Slider, info="lm_window_info")
            gr.HTML(
                f'<p class="note">{html("lm_about", name=info.name, layers=info.n_layers, heads=info.n_heads)} '
                f"{of_model(info, info.versioned, hidden=True)}</p>"
            )
    outputs = {"shown": shown, **part.controls.named("lm_text", "lm_place")}
    reading = pictures.listener(problem, read, outputs=outputs)
    gr.on([button.click, text.submit], **reading, **LATEST)
    opening = {**pictures.listener(problem, read_first, outputs=outputs), **QUIET}
    part.opened.change(trigger_mode="always_last", **opening)
    page.on_return.append(opening)
    # One listener: what is done to a text comes after what was done before, and its
    # answer too.
    picture.act(**pictures.listener(problem, act, outputs=outputs), **LATEST)
    picture.choose(**part.listener(look, "lm_place"), **LATEST)
    pictures.listen(problem, by_change=(*SAMPLING, "lm_window"), how=QUIET)
    with part.folded("likelier"):
        _likelier(of_two)
    part.include(of_two)


@takes(*SAMPLING, "lm_window")
def settings_of(lm_window: Any, **sampling: Any) -> dict[str, Any]:
    """What the controls tell the service of how to read and write; an empty field is
    its default, and a window that is no number is none. Raises UserError."""
    values = dict[str, Any]()
    for key, kind in SAMPLING.items():
        value = kind.default if sampling[key] is None else sampling[key]
        name = key.removeprefix("lm_")
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not kind.least <= value <= kind.most
        ):
            raise UserError(
                Message.of(
                    "live_error_number",
                    name=name,
                    value=str(value)[:40],
                    least=kind.least,
                    most=kind.most,
                )
            )
        values[name] = int(value) if isinstance(kind, Whole) else float(value)
    is_window = isinstance(lm_window, int) and WINDOW.least <= lm_window <= WINDOW.most
    return {"options": Options(**values), "window": int(lm_window) if is_window else 0}


def place_of(lm_place: Any) -> int:
    """The place that is looked at; the first where the field holds no number."""
    return (
        int(lm_place)
        if isinstance(lm_place, (int, float)) and 0 <= lm_place <= MOST_PLACES
        else 0
    )


def score(
    service: WriterService,
    shown: tuple[Scored, dict[str, Any]],
    settings: dict[str, Any],
) -> Scored:
    """The text as it was read or written; with other settings, what may follow it has
    other chances."""
    text, its_own = shown
    if settings == its_own:
        return text
    return service.choose(text, len(text.tokens), **settings)


@refused(shown=None, picture=None)
def read(
    service: WriterService,
    language: Language,
    *,
    lm_text: str | None,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Read the text in the field, and look at what may follow it."""
    return _answer(service.read(lm_text or "", **settings), settings)


def _answer(text: Scored, settings: dict[str, Any]) -> dict[str, Any]:
    return {"shown": (text, settings), "lm_text": text.text, "lm_place": 0}


def read_first(
    service: WriterService,
    language: Language,
    *,
    shown: tuple[Scored, dict[str, Any]] | None,
    lm_text: str | None,
    place: int,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Read the text of the address where none is shown yet, or another, and look at the
    place of the address."""
    if shown is not None and shown[0].text == (lm_text or ""):
        return {}
    text = service.read(lm_text or "", **settings)
    return {
        **_answer(text, settings),
        "lm_place": place if place <= len(text.tokens) else 0,
    }


def act(
    service: WriterService,
    language: Language,
    *,
    shown: tuple[Scored, dict[str, Any]] | None,
    settings: dict[str, Any],
    event: gr.EventData,
) -> dict[str, Any]:
    """Write a piece, put another in a place and drop what follows, or take the last one
    away."""
    if shown is None:
        return {}
    text, _ = shown
    what = text_of(event, "what")
    if what == "more":
        new = service.write(text, **settings)
    elif what == "take":
        place = number_of(event, "place") - 1
        new = service.choose(text, place, number_of(event, "token"), **settings)
    else:
        new = service.choose(text, max(0, len(text.tokens) - 1), **settings)
    return _answer(new, settings)


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
