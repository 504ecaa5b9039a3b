"""Part of the Attention tab that asks the model again: heads switched off, or ranked by
what they are worth."""

from typing import Any

import gradio as gr

from xformer.parts.ablation import draw as figure
from xformer.results import Head, RankHeads, Translation
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import every_head, some_heads
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout

ID = "ablation"
NAME = "drawer_ablation"


def build(part: Layout, look: Layout) -> None:
    """Lay the part out; called inside it. look: the tab, whose stack, layer and head it
    adds."""
    say = part.say
    gr.HTML(f"<h3>{part.html('ablation')}</h3>")
    part.control(
        "off", some_heads(part.language), gr.Dropdown, "ablation_off", multiselect=True
    )
    with gr.Row():
        this = gr.Button(say("ablation_add"), size="sm", min_width=220)
        whole = gr.Button(say("ablation_add_layer"), size="sm", min_width=220)
        run_button = gr.Button(
            say("ablation_run"), variant="primary", size="sm", min_width=220
        )
        rank_button = gr.Button(say("ablation_rank"), size="sm", min_width=220)
    part["result"] = gr.HTML(elem_classes="tables ablation", min_height=80)
    part |= look.controls.named("stack", "layer", "head")
    this.click(**part.listener(add, "off"), **QUIET)
    whole.click(**part.listener(add, "off", head=None), **QUIET)
    for button, handler in ((run_button, run), (rank_button, rank)):
        button.click(
            **part.listener(handler, "result", problem="result"),
            api_visibility="private",
        )


def add(
    service: TranslationService,
    language: Language,
    *,
    off: list[str],
    stack: str,
    layer: int,
    head: int | None = None,
) -> dict[str, list[str]]:
    """Switch a head off too, or all of a layer where no head is given."""
    more = [
        str(one)
        for one in every_head(service, stack)
        if one.layer == layer and head in (None, one.head)
    ]
    return {"off": list(dict.fromkeys([*off, *more]))}


@needs(translation="ablation_none", off="ablation_none")
def run(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation,
    off: list[str],
) -> dict[str, str]:
    """Translate again without these heads, and say what became of every word of the old
    translation."""
    heads = [Head.parse(name) for name in off]
    best = translation.best
    again = service.translate(
        translation.source,
        translation.alone,
        max_length=translation.max_length,
        off=heads,
    )
    after = service.trace(translation.source, best.tokens, heads)
    before = service.trace(translation.source, best.tokens)
    return {
        "result": figure.before_and_after(
            best.text,
            again.best.text,
            before.predicted,
            before.log_probs,
            after.log_probs,
            language,
        )
    }


@needs(translation="no_trace")
def rank(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation,
    stack: str,
    progress: Any,
) -> dict[str, str]:
    """The heads of a stack by what they are worth to the translation on the page."""
    ranked = service.ask(
        RankHeads(translation.source, translation.best.tokens, [stack]),
        lambda done, of: progress((done, of)),
    )
    return {"result": figure.effects(ranked, language)}
