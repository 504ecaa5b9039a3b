"""Part of the Attention tab that compares attributions: raw attention, value-weighted
attention, and leaving words out."""

from collections.abc import Mapping
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
from xformer.ui.components import WIRE, script
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout

ID = "occlusion"
NAME = "drawer_occlusion"
WITHIN = "word-link"


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
    # Stack, layer and head in one: when another model has others, they change one after
    # the other.
    part["head"] = gr.Textbox(str(look.page.service.best_head), **WIRE)
    place = [look["stack"], look["layer"], look["head"]]
    gr.on(
        [one.change for one in place],
        None,
        place,
        part["head"],
        js=script("headName"),
        **QUIET,
    )
    pictures = part.pictures("occlusion", tab=None)
    pictures.input("word", part["word"])
    pictures.input("head", part["head"])
    # results.Occlusion of the pair; None until the button is pressed
    result = pictures.input("result", gr.State())
    pictures.follow(follow, "word", "result")
    pictures.add("table", gr.HTML(elem_classes="tables compared"), compare)
    pictures.add("picture", part.plot("occluded"), left_out)
    pictures.listen(
        part["problem"],
        *(part[name].change for name in ("trace", "lock", "word", "head")),
        how=QUIET,
    )
    button.click(
        **pictures.listener(part["problem"], occlude, outputs={"result": result}),
        api_visibility="private",
    )


def follow(trace: Trace | None, lock: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the target word that is locked, if one is. For a new pair, offer its words
    and forget what was left out: chosen is the locked one, or the first that is longer
    than three letters."""
    is_new = trace is not before.get("trace")
    if trace is None:
        return {"result": None}
    piece = locked_target(lock)
    groups = words(trace.predicted)
    locked = [i for i, group in enumerate(groups) if piece in group]
    if not is_new:
        return {"word": locked[0]} if locked and lock != before["lock"] else {}
    names = _names(trace)
    first = next((i for i, name in enumerate(names) if len(name) > 3), 0)
    choices = [(name, i) for i, name in enumerate(names)]
    return {
        "result": None,
        "word": gr.update(choices=choices, value=[*locked, first][0]),
    }


def _names(trace: Trace) -> list[str]:
    return [
        shown("".join(trace.predicted[i] for i in group))
        for group in words(trace.predicted)
    ]


@needs(trace="no_trace")
def occlude(
    service: TranslationService, language: Language, *, trace: Trace
) -> dict[str, Any]:
    """Leave out each source word, for what it did for each target piece."""
    return {"result": service.ask(Occlude(trace.text, trace.tokens))}


def left_out(language: Language, result: Occlusion | None) -> Any:
    """The heatmap of what was left out, once it was."""
    return None if result is None else occlusion(result, language)


def compare(
    service: TranslationService,
    language: Language,
    trace: Trace | None,
    result: Occlusion | None,
    word: int | None,
    head: str,
) -> str:
    """The three answers for one target word, of the head that is shown or, in another
    stack, of the best aligned."""
    if trace is None or result is None or word is None:
        return ""
    if not service.info.layers("cross"):
        return f'<p class="note">{language.html("no_maps_model")}</p>'
    chosen = Head.parse(head)
    if chosen.stack != "cross":
        chosen = service.best_head
    group = words(trace.predicted)[int(word)]
    errors = service.alignment_errors(chosen)
    given = reading(errors) == "given"
    label = f"{language.say('cross')} · {place(chosen, language)}"
    return compared(
        answers(trace, result, chosen, group, given),
        _names(trace)[int(word)],
        label,
        language,
        errors,
    )
