"""Part of the Attention tab that compares attributions: raw attention, value-weighted
attention, and leaving words out."""

from typing import Any

import gradio as gr

from xformer.explain.alignment import reading
from xformer.figures.labels import place, shown
from xformer.figures.locked_word import locked_target
from xformer.parts.attribution_methods.draw import compared, occlusion
from xformer.parts.attribution_methods.methods import answers
from xformer.pieces import words
from xformer.results import Head, Occlude, Occlusion, Trace
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import figure, script
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout

ID = "occlusion"
NAME = "drawer_occlusion"


def build(part: Layout, look: Layout) -> None:
    """Lay the part out; called inside it. It asks about the pair and the head that the
    tab, `look`, looks into."""
    say = part.say
    part.note("occlusion_text", "occlusion")
    with gr.Row(elem_classes="ask"):
        part["word"] = gr.Dropdown(
            [],
            value=None,
            label=say("compared_for"),
            min_width=160,
            elem_classes="compared-word",
        )
        button = gr.Button(say("occlusion_run"), min_width=160)
    part.status()
    part["table"] = gr.HTML(elem_classes="tables compared")
    part["picture"] = part.plot("occluded")
    # results.Occlusion of the pair; None until the button is pressed
    part["result"] = gr.State()
    # Stack, layer and head in one: when another model has others, they change one after
    # the other.
    part["head"] = gr.Textbox(str(look.page.service.best_head), visible=False)
    place = [look["stack"], look["layer"], look["head"]]
    gr.on(
        [one.change for one in place],
        None,
        place,
        part["head"],
        js=script("headName"),
        **QUIET,
    )
    again = {**part.listener(compare, "table"), **QUIET}
    part["trace"].change(
        **part.listener(offer_words, "word", "result", "table", "picture"), **QUIET
    )
    button.click(
        **part.listener(occlude, "picture", "result", problem="problem"),
        api_visibility="private",
    ).then(**again)
    gr.on([part["word"].change, part["head"].change], **again)
    part["lock"].change(**part.listener(follow, "word"), **QUIET)


def offer_words(
    service: TranslationService, language: Language, *, trace: Trace | None, lock: str
) -> dict[str, Any]:
    """Offer the target words of a new pair; all else is forgotten.

    First comes the one that is locked, or the first that is longer than three letters.
    """
    forgotten = {"result": None, "table": "", "picture": None}
    if trace is None:
        return forgotten
    names = _names(trace)
    first = next((i for i, name in enumerate(names) if len(name) > 3), 0)
    chosen = follow(service, language, trace=trace, lock=lock).get("word", first)
    return {
        **forgotten,
        "word": gr.update(
            choices=[(name, i) for i, name in enumerate(names)], value=chosen
        ),
    }


def follow(
    service: TranslationService, language: Language, *, trace: Trace | None, lock: str
) -> dict[str, Any]:
    """Choose the target word that is locked, if one is."""
    piece = locked_target(lock)
    if trace is None or piece is None:
        return {}
    holding = [i for i, group in enumerate(words(trace.predicted)) if piece in group]
    return {"word": holding[0]} if holding else {}


def _names(trace: Trace) -> list[str]:
    return [
        shown("".join(trace.predicted[i] for i in group))
        for group in words(trace.predicted)
    ]


@needs(trace="no_trace")
def occlude(
    service: TranslationService, language: Language, *, trace: Trace
) -> dict[str, Any]:
    """Leave out each source word, for what it did for each target piece: the heatmap,
    and the numbers."""
    result = service.ask(Occlude(trace.text, trace.tokens))
    return {"picture": figure(occlusion(result, language)), "result": result}


def compare(
    service: TranslationService,
    language: Language,
    *,
    trace: Trace | None,
    result: Occlusion | None,
    word: int | None,
    head: str,
) -> dict[str, str]:
    """The three answers for one target word, of the head that is shown or, in another
    stack, of the best aligned."""
    if trace is None or result is None or word is None:
        return {"table": ""}
    if not service.info.layers("cross"):
        return {"table": f'<p class="note">{language.html("no_maps_model")}</p>'}
    chosen = Head.parse(head)
    if chosen.stack != "cross":
        chosen = service.best_head
    group = words(trace.predicted)[int(word)]
    errors = service.alignment_errors(chosen)
    given = reading(errors) == "given"
    label = f"{language.say('cross')} · {place(chosen, language)}"
    return {
        "table": compared(
            answers(trace, result, chosen, group, given),
            _names(trace)[int(word)],
            label,
            language,
            errors,
        )
    }
