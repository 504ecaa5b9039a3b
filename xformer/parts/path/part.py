"""Part of the Training tab: the path between two words of the sentence, drawn by kind
of layer, and measured."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout

ID = "path"
WITHIN = "scores"
ENDS = ("path_from", "path_to")  # pieces, from 1
# By generation, of sentences alone and of some read as one: `research study needed`.
NEEDED: dict[str, list[dict[str, float]]] = json.loads(
    Path(__file__).with_name("needed.json").read_text(encoding="utf-8")
)


class Measured(NamedTuple):
    """What is known of a text: its pieces, and by generation a Reach, a refusal, or
    None yet."""

    text: str
    pieces: tuple[str, ...]
    found: dict[str, Any]


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.ask = part.page.always(part.page.models)
    pictures = part.pictures(ID, cleared={"drawn": None, "curves": None})
    problem = part.status()
    part.look("path_look")
    part.control(
        "path_kernel", Whole(named.KERNEL, 2, 7), gr.Slider, elem_classes="path-kernel"
    )
    pictures.fact("text", text_of)
    pictures.fact("measured", measure)
    pictures.fact("ends", ends_of)
    pictures.follow(forget, *ENDS)
    drawn = pictures.add(
        "drawn",
        part.canvas(
            "path.js", '<div class="drawing"></div>', "path-between", frame="chart"
        ),
        draw,
        late=True,
    )
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            pictures.add("curves", part.plot("path-curves"), draw_curves, late=True)
        with gr.Column(min_width=300):
            part["needed"] = part.plot("path-needed")
    gr.HTML(figures.needed_said(NEEDED, part.language), elem_classes="summary")
    gr.HTML(named.missing(part.page.models.names, part.language))
    ends = [part.hidden(key, Whole(0, 0, MeasureReach.MOST)) for key in ENDS]
    drawn.choose(
        None, None, ends, js=script("chosenPath"), trigger_mode="multiple", **QUIET
    )
    opened = part.opened.change
    # Late ones too: what was measured while another tab was open is drawn on return.
    pictures.listen(problem, opened, by_change=ENDS, late_events=[opened], how=QUIET)
    part.opened.change(**part.listener(draw_needed, "needed", only_here=True), **QUIET)


@needs(translation="no_trace")
def text_of(translation: Translation) -> str:
    """The sentence of the page, however it was translated."""
    return translation.source


def measure(service: ModelPool, text: str, language: Language) -> Iterator[Measured]:
    """Measure how far the pieces of a sentence reach in each generation at hand, one
    after the other."""
    found = dict[str, Any].fromkeys(at_hand(service))
    pieces = service.default.split(text)[0].pieces
    if not 1 < len(pieces) < MeasureReach.MOST:
        raise UserError(
            Message.of(
                "path_error", pieces=len(pieces), least=2, most=MeasureReach.MOST - 1
            )
        )
    yield Measured(text, pieces, {**found})
    for name in found:
        try:
            with generation(service, name) as model:
                found[name] = model.ask(MeasureReach(text))
        except UserError as error:
            found[name] = error.say(language)
        yield Measured(text, pieces, {**found})


def forget(measured: Measured, before: dict[str, Any]) -> dict[str, int]:
    """Words that are chosen are of their sentence."""
    last = before.get("measured")
    is_new = last is not None and last.text != measured.text
    return dict.fromkeys(ENDS, 0) if is_new else {}


def draw_needed(models: ModelPool, language: Language) -> dict[str, Any]:
    """Draw what was measured of where the gradient of each translated word lies."""
    return {"needed": figure(figures.needed(NEEDED, language))}


def ends_of(
    measured: Measured, path_from: int | None, path_to: int | None
) -> tuple[int, int]:
    """Find the pieces that are chosen; the first and the last with a letter if none
    are."""
    pieces = _pieces(measured)
    first = int(path_from or 0) - 1
    last = int(path_to or 0) - 1
    if first == last or not all(0 <= place < len(pieces) for place in (first, last)):
        first = 0
        lettered = [
            i for i, piece in enumerate(pieces) if i and any(map(str.isalnum, piece))
        ]
        whole = [i for i in lettered if _is_word(pieces, i)]
        last = max(whole or lettered or [1])
    return first, last


def draw(
    measured: Measured, ends: tuple[int, int], path_kernel: int, language: Language
) -> dict[str, Any]:
    """Draw the path between the pieces at both ends."""
    pieces = _pieces(measured)
    return figures.payload(pieces, measured.found, ends, int(path_kernel), language)


def draw_curves(measured: Measured, ends: tuple[int, int], language: Language) -> Any:
    return figures.curves(measured.found, abs(ends[0] - ends[1]), language)


def _pieces(measured: Measured) -> Sequence[str]:
    """The pieces that all models have."""
    reaches = (one for one in measured.found.values() if isinstance(one, Reach))
    return next((one.pieces[:-1] for one in reaches), measured.pieces)


def _is_word(pieces: Sequence[str], place: int) -> bool:
    """Whether a piece is a whole word, not the beginning of one or what follows it."""
    after = pieces[place + 1] if place + 1 < len(pieces) else WORD_START
    ends = after[:1] == WORD_START or not any(map(str.isalnum, after))
    return pieces[place][:1] == WORD_START and ends
