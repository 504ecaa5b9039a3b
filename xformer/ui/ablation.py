"""Part of the Attention tab that asks the model again: heads switched off, or ranked by what they are worth."""

from __future__ import annotations

import gradio as gr

from xformer.figures import ablation
from xformer.figures.notice import notice
from xformer.results import STACKS, Head, Translation
from xformer.serve.translation import Service
from xformer.strings import Language, speaker, text
from xformer.ui.address import SomeOf
from xformer.ui.handlers import QUIET, Ask, refusal


def build(ask: Ask, translation: gr.State, stack: gr.Radio, layer: gr.Radio, head: gr.Radio) -> gr.Dropdown:
    """Lay the part out, called inside the tab, whose choice of stack, layer and head it adds to; -> the heads that are
    switched off."""
    say = speaker(ask.language)
    with gr.Accordion(say("ablation"), open=False):
        off = gr.Dropdown(every_head(ask.service, ask.language), value=[], multiselect=True, label=say("ablation_off"))
        with gr.Row():
            this = gr.Button(say("ablation_add"), size="sm", min_width=140)
            whole = gr.Button(say("ablation_add_layer"), size="sm", min_width=140)
            run_button = gr.Button(say("ablation_run"), variant="primary", size="sm", min_width=180)
            rank_button = gr.Button(say("ablation_rank"), size="sm", min_width=180)
        result = gr.HTML(elem_classes="tables ablation", min_height=80)
    this.click(_add, [off, stack, layer, head], off, **QUIET)
    whole.click(**ask(_add_layer, [off, stack, layer]), outputs=off, **QUIET)
    run_button.click(**ask(run, [translation, off]), outputs=result, api_visibility="private")
    rank_button.click(**ask(rank, [translation, stack]), outputs=result, api_visibility="private")
    return off


def head_names(service: Service) -> tuple[str, ...]:
    """Every head of the model, as "stack layer head"."""
    info = service.info
    return tuple(f"{stack} {layer} {head}" for stack in STACKS
                 for layer in range(1, info.layers(stack) + 1) for head in range(1, info.n_heads + 1))


def every_head(service: Service, language: Language) -> list[tuple[str, str]]:
    """Every head of the model, to choose from: what a reader calls it, and its name."""
    return [(f"{text(f'stack_{stack}', language)} · {text('finder_where', language, layer=layer, head=head)}",
             f"{stack} {layer} {head}") for stack, layer, head in map(str.split, head_names(service))]


def heads_off(service: Service) -> SomeOf:
    """What the address says of the heads that are switched off."""
    return SomeOf(head_names(service))


def _add(off: list[str], stack: str, layer: int, head: int) -> list[str]:
    name = f"{stack} {layer} {head}"
    return off if name in off else [*off, name]


def _add_layer(service: Service, language: Language, off: list[str], stack: str, layer: int) -> list[str]:
    for head in range(1, service.info.n_heads + 1):
        off = _add(off, stack, layer, head)
    return off


def run(service: Service, language: Language, found: Translation | None, off: list[str]) -> str:
    """Translate again without these heads, and say what became of every word of the old translation."""
    if found is None or not off:
        return notice([text("ablation_none", language)], "error")
    missing = [Head.parse(name) for name in off]
    try:
        again = service.translate(found.source, found.alone, max_length=found.max_length, off=missing)
        after = service.trace(found.source, found.best.tokens, missing)
        before = service.trace(found.source, found.best.tokens)
    except Exception as error:
        return refusal(error, language)
    return ablation.before_and_after(found.best.text, again.best.text, before.predicted, before.log_probs,
                                       after.log_probs, language)


def rank(service: Service, language: Language, found: Translation | None, stack: str,
         progress: gr.Progress = gr.Progress()) -> str:  # noqa: B008
    """The heads of a stack by what they are worth to the translation on the page."""
    if found is None:
        return notice([text("no_trace", language)], "error")
    try:
        ranked = service.head_effects(found.source, found.best.tokens, [stack],
                                      lambda done, of: progress((done, of)))
    except Exception as error:
        return refusal(error, language)
    return ablation.effects(ranked, language)
