"""Part of the Translate tab: the whole pass in one picture, from the sentence to the
next word, played step by step."""

import threading
from typing import Any
from weakref import WeakKeyDictionary

import gradio as gr

from xformer.figures.locked_word import locked
from xformer.parts.whole_pass import draw as figure
from xformer.results import EmbedSource, Follow, Force, Options, Stream, Trace
from xformer.serve.protocol import TranslationService
from xformer.strings import ENGLISH, SPANISH, Language
from xformer.ui.components import TRANSPORT, script
from xformer.ui.controls import BEAM, OneOf, Values, Whole
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout
from xformer.ui.pictures import is_other
from xformer.ui.places import Place, question
from xformer.ui.tabs import examples

ID = "whole"
PLACES = (Place(ID, "part_whole", within="translate"),)
OF_TRANSLATION = True
MOST = (
    8  # pictures that are kept for those who ask for the same: a class, a first visit
)
# a step; a longer translation has fewer, and is then shown from its last
FIRST = Whole(1, 1, 999)


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    pictures = part.pictures(ID, cleared={"picture": None, "block": ""})
    question(part.language, ID)
    problem = part.status()
    pictures.follow(first_step, "whole_step")
    pictures.fact("layer_is_open", layer_is_open)
    pictures.fact("passed", passed_if_open)
    with gr.Column(elem_classes="whole"):
        picture = pictures.add(
            "picture",
            part.canvas("whole_pass.js", TRANSPORT, "whole-pass", frame="chart"),
            draw_picture,
        )
        with gr.Row(elem_classes="controls whole-heads"):
            part.choice(
                "whole_heads", figure.HOWS, "mean", "whole_heads_{}", container=False
            )
        pictures.add("block", part.table("tables whole-block"), draw_block)
    chosen = [
        part.hidden("whole_step", FIRST),
        part.hidden("whole_block", block_of, gr.Textbox),
    ]
    # What is chosen is set in the browser, and one listener draws it: an older answer
    # never comes after a newer one. (An event that Gradio sends again when the first is
    # answered has the data of the first.)
    picture.choose(
        None,
        None,
        [*chosen, part["lock"]],
        js=script("shownPass"),
        trigger_mode="multiple",
        **QUIET,
    )
    pictures.listen(
        problem,
        part.opened.change,
        part["lock"].change,
        by_change=["whole_step", "whole_block"],
    )


def block_of(service: TranslationService, so_far: Values) -> OneOf:
    """The layers that open, by side and number; "" for none."""
    return OneOf(
        (
            "",
            *(
                f"{side}.{layer}"
                for side, stacks in figure.SIDES.items()
                for layer in range(1, service.info.layers(stacks[0]) + 1)
            ),
        ),
        "",
    )


def first_step(
    trace: Trace | None, whole_step: int | None, before: dict[str, Any]
) -> dict[str, Any] | None:
    """Begin another pair at its first step; None where there is no pair yet."""
    if trace is None:
        return None
    is_new = is_other(before, trace=trace)
    step = 1 if is_new else min(max(1, int(whole_step or 1)), len(trace.target))
    return {} if step == whole_step else {"whole_step": step}


def layer_is_open(whole_block: str) -> bool:
    return bool(whole_block)


def passed_if_open(
    service: TranslationService, trace: Trace | None, layer_is_open: bool
) -> dict[str, Stream]:
    """Follow the states only where a layer is open, whose numbers want them."""
    return passed(service, trace) if trace is not None and layer_is_open else {}


def passed(service: TranslationService, trace: Trace) -> dict[str, Stream]:
    """Follow the states through both sides of the model; a recurrent one has none,
    which the service says."""
    return {
        side: service.ask(Follow(trace.text, trace.tokens, side))
        for side in figure.SIDES
    }


@needs(trace="no_trace")
def draw_picture(
    service: TranslationService,
    trace: Trace,
    whole_heads: str,
    whole_step: int,
    language: Language,
    before: dict[str, Any],
) -> Any:
    """Draw the pass; the script goes to other steps itself."""
    if before and before["trace"] is trace and before["whole_heads"] == whole_heads:
        return gr.skip()
    return {**_picture(service, trace, whole_heads, language), "step": whole_step}


_kept: WeakKeyDictionary[TranslationService, dict[Any, dict[str, Any]]] = (
    WeakKeyDictionary()
)
_keeping = threading.Lock()


def _picture(
    service: TranslationService, trace: Trace, how: str, language: Language
) -> dict[str, Any]:
    """The payload of a pass, from its first step; the latest of a service are kept."""
    key = (trace.text, trace.tokens, how, language.code)
    with _keeping:
        kept = _kept.setdefault(service, {})
        if key in kept:
            kept[key] = kept.pop(key)
            return kept[key]
    made = figure.payload(
        trace,
        passed(service, trace),
        service.ask(EmbedSource(trace.text)),
        service.ask(Force(trace.text, trace.tokens)),
        how,
        1,
        language,
    )
    with _keeping:
        kept[key] = made
        while len(kept) > MOST:
            del kept[next(iter(kept))]
    return made


def draw_block(
    service: TranslationService,
    trace: Trace,
    passed: dict[str, Stream],
    whole_block: str,
    whole_step: int,
    lock: str,
    language: Language,
) -> str:
    """Draw the layer that is open, for the word that is locked; else for the English
    word that matters most here."""
    if not whole_block or whole_block not in block_of(service, {}).options:
        return ""
    words = locked(lock)
    piece = whole_step - 1
    if whole_block.startswith("encoder"):
        [piece, *_] = [
            at
            for side, at in filter(None, (words.asks, words.seen))
            if side == "source" and at < len(trace.source)
        ] or [figure.looked_at(trace, whole_step)]
    return figure.block(trace, passed, whole_block, piece, language)


def warm_up(service: TranslationService) -> None:
    """Draw the pass of the sentence that a page opens with, in both languages, so that
    no visitor waits for that."""
    _, trace = service.translate_and_trace(
        examples(service)[0], Options(beam=BEAM.default)
    )
    for language in (ENGLISH, SPANISH):
        _picture(service, trace, figure.HOWS[0], language)
