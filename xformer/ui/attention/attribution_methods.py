"""Part of the Attention tab that compares attributions: raw attention, value-weighted attention, and leaving words out.
"""

from typing import Any

import gradio as gr

from xformer.explain.alignment import reading
from xformer.explain.attribution_methods import answers
from xformer.figures.attribution_methods import compared, occlusion
from xformer.figures.labels import place, shown
from xformer.figures.locked_word import locked_target
from xformer.pieces import words
from xformer.results import Head, Occlude, Occlusion, Trace
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import figure, plot, script
from xformer.ui.controls import Controls
from xformer.ui.handlers import QUIET, needs
from xformer.ui.places import note
from xformer.ui.tabs import Listener, Page


def build(page: Page, look: Controls) -> None:
    """Lay the part out, called inside the tab; it asks about the pair and the head that the tab looks into."""
    language, say = page.language, page.language.say
    gr.HTML(f'<h3>{language.html("occlusion")}</h3>{note(language, "occlusion_text")}')
    with gr.Row(elem_classes="ask"):
        word = gr.Dropdown([], value=None, label=say("compared_for"), min_width=160, elem_classes="compared-word")
        button = gr.Button(say("occlusion_run"), min_width=160)
    problem = gr.HTML(elem_classes="status")
    table = gr.HTML(elem_classes="tables compared")
    picture = plot("occluded", language)
    result = gr.State()  # results.Occlusion of the pair; None until the button is pressed
    # Stack, layer and head in one: when another model has others, they change one after the other.
    where = gr.Textbox(str(page.service.best_head), visible=False)
    place = list(look.named("stack", "layer", "head").values())
    gr.on([control.change for control in place], None, place, where, js=script("headName"), **QUIET)
    again: Listener = {**page.ask(compare, {"trace": page.trace, "result": result, "word": word, "head": where},
                                  {"table": table}), **QUIET}
    lock = look.named("lock")
    page.trace.change(**page.ask(offer_words, {"trace": page.trace, **lock},
                                 {"word": word, "result": result, "table": table, "picture": picture}), **QUIET)
    button.click(**page.ask(occlude, {"trace": page.trace}, {"picture": picture, "result": result}, problem),
                 api_visibility="private").then(**again)
    gr.on([word.change, where.change], **again)
    lock["lock"].change(**page.ask(follow, {"trace": page.trace, **lock}, {"word": word}), **QUIET)


def offer_words(service: TranslationService, language: Language, *, trace: Trace | None, lock: str) -> dict[str, Any]:
    """Offer the target words of a new pair; all else is forgotten.

    First comes the one that is locked, or the first that is longer than three letters.
    """
    forgotten = {"result": None, "table": "", "picture": None}
    if trace is None:
        return forgotten
    names = _names(trace)
    first = next((i for i, name in enumerate(names) if len(name) > 3), 0)
    chosen = follow(service, language, trace=trace, lock=lock).get("word", first)
    return {**forgotten, "word": gr.update(choices=[(name, i) for i, name in enumerate(names)], value=chosen)}


def follow(service: TranslationService, language: Language, *, trace: Trace | None, lock: str) -> dict[str, Any]:
    """Choose the target word that is locked, if one is."""
    piece = locked_target(lock)
    if trace is None or piece is None:
        return {}
    holding = [i for i, group in enumerate(words(trace.predicted)) if piece in group]
    return {"word": holding[0]} if holding else {}


def _names(trace: Trace) -> list[str]:
    return [shown("".join(trace.predicted[i] for i in group)) for group in words(trace.predicted)]


@needs(trace="no_trace")
def occlude(service: TranslationService, language: Language, *, trace: Trace) -> dict[str, Any]:
    """Leave out each source word, for what it did for each target piece: the heatmap, and the numbers."""
    result = service.ask(Occlude(trace.text, trace.tokens))
    return {"picture": figure(occlusion(result, language)), "result": result}


def compare(service: TranslationService, language: Language, *, trace: Trace | None, result: Occlusion | None,
            word: int | None, head: str) -> dict[str, str]:
    """The three answers for one target word, of the head that is shown or, in another stack, of the best aligned."""
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
    return {"table": compared(answers(trace, result, chosen, group, given),
                              _names(trace)[int(word)], label, language, errors)}
