"""Part of the Model tab: the figure of the paper for the loaded checkpoint; a block of attention opens its heads."""

from typing import Any

import gradio as gr

from xformer.figures import architecture as figure
from xformer.results import ModelInfo, Trace, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.attention import tab as attention
from xformer.ui.components import PICTURES, canvas
from xformer.ui.controls import Controls
from xformer.ui.handlers import QUIET, number_of, text_of
from xformer.ui.places import folded, note
from xformer.ui.tabs import Page, Tab, View

ID = "architecture"
OF_SENTENCE = False  # each new trace draws it again anyway


def build(page: Page, opened: gr.Textbox) -> Tab:
    """Lay the part out; called inside it."""
    language, info = page.language, page.service.info
    with gr.Row(elem_classes="detail"):
        with gr.Column(scale=4, min_width=320):
            towers = canvas("blocks.js", "${value}", "architecture", towers_of(page.service, language), save=language)
        with gr.Column(scale=1, min_width=240):
            heading = gr.HTML(heading_of(page.service, language))
    reader = page.reviews
    with gr.Column(elem_classes="folds"):
        with folded(language, "orders"):
            gr.HTML(note(language, "arch_orders_text"))
            orders = canvas("blocks.js", "${value}", "architecture", orders_of(info, language), save=language,
                            files=PICTURES)
        if reader is not None and not isinstance(reader, UserError):
            with folded(language, "reader"):
                gr.HTML(note(language, "arch_reader_text"))
                canvas("blocks.js", "${value}", "architecture", figure.classifier(
                    reader.info, reader.blocks(), language=language), save=language)
        with folded(language, "terms"):
            gr.HTML(figure.terms(language))
    page.trace.change(**page.ask(draw, {"trace": page.trace}, {"towers": towers}), **QUIET)

    def connect() -> None:
        if attention.ID in page.opened:
            chosen = towers.choose(**page.ask(open_attention, {}, {
                "tabs": page.tabs, "tab": page.tab, **page.controls.named("stack", "layer", "show", "heads")}), **QUIET)
            for listener in page.on_choice:
                chosen = chosen.then(**listener)

    page.connections.append(connect)
    return Tab(Controls(page.service), {
        "heading": View(heading, lambda service, values: heading_of(service, language)),
        "towers": View(towers, lambda service, values: towers_of(service, language)),
        "orders": View(orders, lambda service, values: orders_of(service.info, language))})


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


def towers_of(service: TranslationService, language: Language, trace: Trace | None = None) -> str:
    """Draw the towers of a model, with the lengths of the sentence where there is one."""
    source, target = (None, None) if trace is None else (len(trace.source), len(trace.target))
    return figure.architecture(service.info, service.blocks(), source, target, language)


def draw(service: TranslationService, language: Language, *, trace: Trace | None) -> dict[str, str]:
    """Draw the towers for the sentence on the page."""
    return {"towers": towers_of(service, language, trace)}


def open_attention(service: TranslationService, language: Language, *, event: gr.EventData) -> dict[str, Any]:
    """Open the Attention tab at the block that was clicked."""
    return attention.open_layer(service, language, text_of(event, "stack"), number_of(event, "layer"))
