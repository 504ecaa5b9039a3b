"""Part of the Model tab: the figure of the paper for the loaded checkpoint; a block of
attention opens its heads.

Below it, the parameters and products of each kind of block, for the model's own sizes
and for any others.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import gradio as gr

from xformer.parts.architecture import draw as figure
from xformer.parts.architecture import sizes as counts
from xformer.parts.architecture import sizes_table as of_sizes
from xformer.parts.architecture.sizes import Sizes
from xformer.results import GENERATIONS, Message, ModelInfo, Trace, UserError
from xformer.serve.protocol import NORMS, ModelPool, TranslationService
from xformer.strings import Language
from xformer.ui import heads
from xformer.ui.components import PICTURES
from xformer.ui.controls import OneOf, Switch, Values, Whole
from xformer.ui.generations import generation
from xformer.ui.handlers import LATEST, QUIET, number_of, text_of
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.tabs import View

ID = "architecture"  # not OF_SENTENCE: each new trace draws it again anyway
FOLDS = (
    ("blocks", "fold_sizes"),
    ("orders", "arch_orders", "blocks"),
    ("seq2seq", "arch_seq2seq", "blocks"),
    ("reader", "arch_reader", "blocks"),
    ("terms", "arch_terms", "blocks"),
)
RECURRENT = GENERATIONS[:2]
# Name in the address, field of Sizes, and its limits; the default is the loaded
# model's.
NUMBERS = {
    "size_encoder": ("encoder_layers", 1, 200),
    "size_decoder": ("decoder_layers", 0, 200),
    "size_width": ("d_model", 2, 65_536),
    "size_heads": ("n_heads", 1, 1_024),
    "size_ff": ("d_ff", 1, 1_000_000),
    "size_vocabulary": ("vocabulary", 2, 10_000_000),
}
PIECES = Whole(20, 1, 1_000_000)


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    page = part.page
    language = part.language
    reader = part.page.reviews

    def blocks(value: str, **how: Any) -> gr.HTML:
        return part.canvas("blocks.js", "${value}", "architecture", value, **how)

    with gr.Row(elem_classes="controls names-as"):
        teacher = part.choice(
            "teacher",
            (figure.OWN, *figure.TEACHERS),
            figure.OWN,
            "arch_names_{}",
            "arch_names",
        )
    with gr.Row(elem_classes="detail by-teacher"):
        with wide():
            part["towers"] = blocks(towers_of(page.service, language), frame="chart")
        with narrow():
            heading = gr.HTML(heading_of(page.service, language))
    with gr.Column(elem_classes="folds"), part.folded("blocks"):
        numbers = part.inner()
        _sizes(numbers)
        part.include(numbers)
        with part.folded("orders"):
            part.note("arch_orders_text")
            orders = blocks(orders_of(page.service.info, language), files=PICTURES)
        if {*RECURRENT} <= {*page.models.names}:
            _both_recurrent(part, blocks)
        if reader is not None and not isinstance(reader, UserError):
            with part.folded("reader"):
                part.note("arch_reader_text")
                blocks(
                    figure.classifier(reader.info, reader.blocks(), language=language)
                )
        with part.folded("terms"):
            blocks(f'<div class="towers"{figure.taught(language)}></div>')
    gr.on(
        [page.trace.change, teacher.change],
        **part.listener(
            lambda service, language, *, trace, teacher: {
                "towers": towers_of(service, language, trace, teacher)
            },
            "towers",
        ),
        **QUIET,
    )

    def connect() -> None:
        if heads.TAB in page.opened:
            sheet = page.controls.get(heads.SHEET)
            opens = {
                "tabs": page.tabs,
                "tab": page.tab,
                "sheet": sheet.component if sheet else page.sheet,
                **page.controls.named("stack", "layer", "show", "heads"),
            }

            def open_layer(
                service: TranslationService, language: Language, *, event: gr.EventData
            ) -> dict[str, Any]:
                return heads.open_layer(
                    service,
                    language,
                    text_of(event, "stack"),
                    number_of(event, "layer"),
                )

            chosen = part["towers"].choose(
                **page.ask(
                    open_layer,
                    {},
                    opens,
                ),
                **QUIET,
            )
            for listener in page.on_choice:
                chosen = chosen.then(**listener)

    page.connections.append(connect)
    part.views |= {
        "heading": View(heading, lambda service, values: heading_of(service, language)),
        "towers": View(
            part["towers"],
            lambda service, values: towers_of(
                service, language, None, values["teacher"]
            ),
        ),
        "orders": View(
            orders, lambda service, values: orders_of(service.info, language)
        ),
    }


def _both_recurrent(part: Layout, blocks: Callable[..., gr.HTML]) -> None:
    """Lay out the two recurrent generations side by side, drawn when somebody opens
    what they stand in: both models are loaded for it."""
    with part.folded("seq2seq") as fold:
        part.note("arch_seq2seq_text")
        part["seq2seq"] = blocks("", frame="chart")
    fold.expand(
        **part.page.always(part.page.models)(
            draw_both, {}, {"seq2seq": part["seq2seq"]}
        ),
        **QUIET,
    )


def draw_both(models: ModelPool, language: Language) -> dict[str, Any]:
    """Draw the GRU and the one with attention, and say what differs."""
    found = []
    for name in RECURRENT:
        with generation(models, name) as service:
            found.append((service.info, service.blocks()))
    return {"seq2seq": figure.both(found, language)}


def _sizes(part: Layout) -> None:
    """Lay out a table of blocks, and the sizes that it counts."""
    part.look("sizes_look")
    part.status()
    with gr.Row(elem_classes="detail"):
        with wide():
            part["table"] = part.table("tables")
            part["said"] = gr.HTML(elem_classes="summary")
        with narrow(elem_classes="controls size-numbers"):
            for key, (field, least, most) in NUMBERS.items():
                part.number(
                    key, partial(_of_model, field, least, most), f"sizes_{field}"
                )
            part.control(
                "size_norm",
                _own_norm,
                gr.Radio,
                "train_order",
                choices=part.language.choices("train_order_{}", NORMS),
            )
            part.control("size_shared", Switch(True), gr.Checkbox, "sizes_shared")
            part.number("size_pieces", PIECES, "sizes_pieces")
    gr.on(
        [part.opened.change, *part.changes()],
        **part.listener(count, "table", "said", problem="problem", only_here=True),
        **LATEST,
    )


def _own_norm(service: TranslationService, _: Any) -> OneOf:
    return OneOf(tuple(NORMS), _own(service).norm)


def _own(service: TranslationService) -> Sizes:
    """The sizes of the loaded model; of a recurrent one, which has no such sizes, the
    paper's base model."""
    return counts.of_model(service.info, service.blocks()) or counts.BASE


def _of_model(
    field: str, least: int, most: int, service: TranslationService, _: Values
) -> Whole:
    return Whole(getattr(_own(service), field), least, most)


def count(
    service: TranslationService,
    language: Language,
    *,
    size_norm: str,
    size_shared: bool,
    **numbers: float | None,
) -> dict[str, Any]:
    """Count the blocks of a model of these sizes; raises UserError where there can be
    none."""
    limits = {key: bounds for key, (_, *bounds) in NUMBERS.items()} | {
        "size_pieces": [PIECES.least, PIECES.most]
    }
    for key, (least, most) in limits.items():
        value = numbers[key]
        if value is None or not least <= value <= most:
            name = language.say(
                f"sizes_{NUMBERS[key][0]}" if key in NUMBERS else "sizes_pieces"
            )
            raise UserError(
                Message.of(
                    "sizes_limit",
                    name=name,
                    value="" if value is None else language.number(value),
                    least=least,
                    most=most,
                )
            )
    whole = {key: int(numbers[key] or 0) for key in limits}
    pieces = whole["size_pieces"]
    sizes = Sizes(
        **{field: whole[key] for key, (field, _, _) in NUMBERS.items()},
        norm=size_norm,
        shared=size_shared,
    )
    counts.check(sizes)
    return {
        "table": of_sizes.table(counts.parts(sizes, pieces), pieces, language),
        "said": of_sizes.said(sizes, pieces, language),
    }


def heading_of(service: TranslationService, language: Language) -> str:
    """Explain the towers, and say how many wrong translations the mark of a guess
    catches, if that was measured."""
    try:
        counts = {
            name: int(service.metrics["guesses"][name])
            for name in ("marked", "sentences", "wrong", "caught")
        }
    except (KeyError, TypeError, ValueError):
        return figure.heading(service.info, language)
    return f'{figure.heading(service.info, language)}<p class="note">{language.html("arch_guesses", **counts)}</p>'


def orders_of(info: ModelInfo, language: Language) -> str:
    """Draw both orders of normalisation; a recurrent model has neither."""
    return figure.orders(
        info.norm if info.architecture == "transformer" else "", language
    )


def towers_of(
    service: TranslationService,
    language: Language,
    trace: Trace | None = None,
    teacher: str = figure.OWN,
) -> str:
    """Draw the towers of a model, with the lengths of the sentence where there is one,
    in a teacher's words."""
    source, target = (
        (None, None) if trace is None else (len(trace.source), len(trace.target))
    )
    return figure.architecture(
        service.info, service.blocks(), source, target, language, teacher
    )
