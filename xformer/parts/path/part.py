"""Part of the Training tab: the path between two words of the sentence, drawn by kind
of layer, and measured."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from xformer.figures import generation as named
from xformer.parts.path import draw as figures
from xformer.pieces import WORD_START
from xformer.results import MeasureReach, Message, Reach, Translation, UserError
from xformer.serve.protocol import ModelPool
from xformer.strings import Language
from xformer.ui.components import figure, script
from xformer.ui.controls import Whole
from xformer.ui.generations import at_hand, generation
from xformer.ui.handlers import LATEST, QUIET, needs, refused
from xformer.ui.layout import Layout

ID = "path"
WITHIN = "scores"
# By generation, of sentences alone and of some read as one: `research study needed`.
NEEDED: dict[str, list[dict[str, float]]] = json.loads(
    Path(__file__).with_name("needed.json").read_text(encoding="utf-8")
)
# text, pieces; by generation a Reach, a refusal, or None yet
Measured = tuple[str, tuple[str, ...], dict[str, Any]]


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.ask = part.page.always(part.page.models)
    part.status()
    part.look("path_look")
    kernel = part.control(
        "path_kernel", Whole(named.KERNEL, 2, 7), gr.Slider, elem_classes="path-kernel"
    )
    part["drawn"] = part.canvas(
        "path.js", '<div class="drawing"></div>', "path-between", frame="chart"
    )
    part["measured"] = gr.State()
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            part["curves"] = part.plot("path-curves")
        with gr.Column(min_width=300):
            part["needed"] = part.plot("path-needed")
    gr.HTML(figures.needed_said(NEEDED, part.language), elem_classes="summary")
    gr.HTML(named.missing(part.page.models.names, part.language))
    # pieces, from 1
    ends = [
        part.hidden(key, Whole(0, 0, MeasureReach.MOST))
        for key in ("path_from", "path_to")
    ]
    part["drawn"].choose(
        None, None, ends, js=script("chosenPath"), trigger_mode="multiple", **QUIET
    )
    part.opened.change(
        **part.listener(
            measure,
            "measured",
            "path_from",
            "path_to",
            "drawn",
            "curves",
            problem="problem",
            only_here=True,
        ),
        **LATEST,
    )
    part.opened.change(**part.listener(draw_needed, "needed", only_here=True), **QUIET)
    gr.on(
        [part["measured"].change, kernel.input, ends[0].change, ends[1].change],
        **part.listener(draw, "drawn", "curves"),
        **LATEST,
    )


@refused(measured=None, drawn=None, curves=None)
@needs(translation="no_trace")
def measure(
    models: ModelPool,
    language: Language,
    *,
    translation: Translation,
    measured: Measured | None,
) -> Any:
    """Measure how far the pieces of the page's sentence reach in each generation at
    hand, one after the other."""
    text = translation.source
    names = at_hand(models)
    if measured and measured[0] == text and None not in measured[2].values():
        return
    found = dict[str, Any].fromkeys(names)
    pieces = models.default.split(text)[0].pieces
    if not 1 < len(pieces) < MeasureReach.MOST:
        raise UserError(
            Message.of(
                "path_error", pieces=len(pieces), least=2, most=MeasureReach.MOST - 1
            )
        )
    yield {
        "measured": (text, pieces, {**found}),
        **({"path_from": 0, "path_to": 0} if measured else {}),
    }
    for name in names:
        try:
            with generation(models, name) as service:
                found[name] = service.ask(MeasureReach(text))
        except UserError as error:
            found[name] = error.say(language)
        yield {"measured": (text, pieces, {**found})}


def draw_needed(models: ModelPool, language: Language) -> dict[str, Any]:
    """Draw what was measured of where the gradient of each translated word lies."""
    return {"needed": figure(figures.needed(NEEDED, language))}


def draw(
    models: ModelPool,
    language: Language,
    *,
    measured: Measured | None,
    path_kernel: int,
    path_from: int | None,
    path_to: int | None,
) -> dict[str, Any]:
    """Draw the path between the pieces that are chosen; from the first to the last with
    a letter if none are."""
    _, pieces, found = measured or ("", (), {})
    # all have these
    pieces = next(
        (one.pieces[:-1] for one in found.values() if isinstance(one, Reach)), pieces
    )
    first = int(path_from or 0) - 1
    last = int(path_to or 0) - 1
    if first == last or not all(0 <= place < len(pieces) for place in (first, last)):
        first = 0
        lettered = [
            i for i, piece in enumerate(pieces) if i and any(map(str.isalnum, piece))
        ]
        whole = [i for i in lettered if _is_word(pieces, i)]
        last = max(whole or lettered or [1])
    return (
        {}
        if not measured
        else {
            "drawn": figures.payload(
                pieces, found, (first, last), int(path_kernel), language
            ),
            "curves": figure(figures.curves(found, abs(last - first), language)),
        }
    )


def _is_word(pieces: Sequence[str], place: int) -> bool:
    """Whether a piece is a whole word, not the beginning of one or what follows it."""
    after = pieces[place + 1] if place + 1 < len(pieces) else WORD_START
    ends = after[:1] == WORD_START or not any(map(str.isalnum, after))
    return pieces[place][:1] == WORD_START and ends
