"""Part of the Model tab: the figure of the paper for the loaded checkpoint; a block of attention opens its heads."""

from typing import Any

import gradio as gr

from xformer.parts.architecture import draw as figure
from xformer.results import ModelInfo, Trace, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui import heads
from xformer.ui.components import PICTURES
from xformer.ui.handlers import QUIET, number_of, text_of
from xformer.ui.layout import Layout
from xformer.ui.tabs import View

ID = "architecture"  # not OF_SENTENCE: each new trace draws it again anyway
FOLDS = (
    ("orders", "arch_orders"),
    ("reader", "arch_reader"),
    ("terms", "arch_terms"),
)


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    page, language, reader = part.page, part.language, part.page.reviews

    def blocks(value: str, **how: Any) -> gr.HTML:
        return part.canvas("blocks.js", "${value}", "architecture", value, **how)

    with gr.Row(elem_classes="controls names-as"):
        teacher = part.choice("teacher", (figure.OWN, *figure.TEACHERS), figure.OWN, "arch_names_{}", "arch_names")
    with gr.Row(elem_classes="detail by-teacher"):
        with gr.Column(scale=4, min_width=320):
            part["towers"] = blocks(towers_of(page.service, language))
        with gr.Column(scale=1, min_width=240):
            heading = gr.HTML(heading_of(page.service, language))
    with gr.Column(elem_classes="folds"):
        with part.folded("orders"):
            part.note("arch_orders_text")
            orders = blocks(orders_of(page.service.info, language), files=PICTURES)
        if reader is not None and not isinstance(reader, UserError):
            with part.folded("reader"):
                part.note("arch_reader_text")
                blocks(figure.classifier(reader.info, reader.blocks(), language=language))
        with part.folded("terms"):
            blocks(f'<div class="towers"{figure.taught(language)}></div>')
    gr.on([page.trace.change, teacher.change], **part.listener(lambda service, language, *, trace, teacher: {
        "towers": towers_of(service, language, trace, teacher)}, "towers"), **QUIET)

    def connect() -> None:
        if heads.TAB in page.opened:
            opens = {"tabs": page.tabs, "tab": page.tab, **page.controls.named("stack", "layer", "show", "heads")}
            chosen = part["towers"].choose(**page.ask(lambda service, language, *, event: heads.open_layer(
                service, language, text_of(event, "stack"), number_of(event, "layer")), {}, opens), **QUIET)
            for listener in page.on_choice:
                chosen = chosen.then(**listener)

    page.connections.append(connect)
    part.views |= {"heading": View(heading, lambda service, values: heading_of(service, language)),
                   "towers": View(part["towers"], lambda service, values: towers_of(
                       service, language, None, values["teacher"])),
                   "orders": View(orders, lambda service, values: orders_of(service.info, language))}


def heading_of(service: TranslationService, language: Language) -> str:
    """Explain the towers, and say how many wrong translations the mark of a guess catches, if that was measured."""
    try:
        counts = {name: int(service.metrics["guesses"][name]) for name in ("marked", "sentences", "wrong", "caught")}
    except (KeyError, TypeError, ValueError):
        return figure.heading(service.info, language)
    return f'{figure.heading(service.info, language)}<p class="note">{language.html("arch_guesses", **counts)}</p>'


def orders_of(info: ModelInfo, language: Language) -> str:
    """Draw both orders of normalisation; a recurrent model has neither."""
    return figure.orders(info.norm if info.architecture == "transformer" else "", language)


def towers_of(service: TranslationService, language: Language, trace: Trace | None = None, teacher: str = figure.OWN
              ) -> str:
    """Draw the towers of a model, with the lengths of the sentence where there is one, in a teacher's words."""
    source, target = (None, None) if trace is None else (len(trace.source), len(trace.target))
    return figure.architecture(service.info, service.blocks(), source, target, language, teacher)
