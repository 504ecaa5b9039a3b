"""Part of the Model tab: a calculator for transformers of any size."""

from dataclasses import asdict
from functools import partial
from typing import Any

import gradio as gr

from xformer.parts.sizes import draw as figures
from xformer.parts.sizes import sizes as counts
from xformer.parts.sizes.sizes import PRESET_PIECES, PRESETS, Sizes
from xformer.results import Message, UserError
from xformer.serve.protocol import NORMS, TranslationService
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.controls import OneOf, Switch, Values, Whole
from xformer.ui.handlers import LATEST, QUIET
from xformer.ui.layout import Layout

ID = "sizes"
FOLDS = (("blocks", "sizes_blocks"),)
PIECES, BATCH = 20, 32
# Name in the address, field of Sizes, and its limits; the default is the loaded model's.
NUMBERS = {"size_encoder": ("encoder_layers", 1, 200), "size_decoder": ("decoder_layers", 0, 200),
           "size_width": ("d_model", 2, 65_536), "size_heads": ("n_heads", 1, 1_024), "size_ff": ("d_ff", 1, 1_000_000),
           "size_vocabulary": ("vocabulary", 2, 10_000_000)}
LENGTHS = {"size_pieces": (PIECES, 1, 1_000_000), "size_batch": (BATCH, 1, 1_000_000)}
OWN = "own"


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.status()
    part.look("sizes_look")
    with gr.Row(elem_classes="controls presets"):
        presets = [(name, gr.Button(part.say(f"sizes_preset_{name}"), size="sm")) for name in (OWN, *PRESETS)]
    with gr.Row(elem_classes="detail"):
        with gr.Column(scale=7, min_width=320):
            part["picture"] = part.plot("size-parameters")
            part["said"] = gr.HTML(elem_classes="summary", min_height=225)
        with gr.Column(scale=4, min_width=300, elem_classes="controls size-numbers"):
            for key, (field, least, most) in NUMBERS.items():
                part.number(key, partial(_of_model, field, least, most), f"sizes_{field}")
            part.control("size_norm", lambda service, _: OneOf(tuple(NORMS), _own(service).norm), gr.Radio,
                         "train_order", choices=part.language.choices("train_order_{}", NORMS))
            part.control("size_shared", Switch(True), gr.Checkbox, "sizes_shared")
            for key, (default, least, most) in LENGTHS.items():
                part.number(key, Whole(default, least, most), f"sizes_{key[5:]}")
    with part.folded("blocks"):
        part["table"] = part.table("tables")
    gr.on([part.opened.change, *part.changes()],
          **part.listener(draw, "picture", "said", "table", problem="problem", only_here=True), **LATEST)
    for name, button in presets:
        button.click(**part.listener(choose, *part.controls, problem="problem", preset=name), **QUIET)


def _own(service: TranslationService) -> Sizes:
    """The sizes of the loaded model; of a recurrent one, which has no such sizes, the paper's base model."""
    return counts.of_model(service.info, service.blocks()) or PRESETS["base"]


def _of_model(field: str, least: int, most: int, service: TranslationService, _: Values) -> Whole:
    return Whole(getattr(_own(service), field), least, most)


def choose(service: TranslationService, language: Language, *, preset: str) -> dict[str, Any]:
    """Set all sizes as a known model has them."""
    sizes = asdict(_own(service) if preset == OWN else PRESETS[preset])
    return {**{key: sizes[field] for key, (field, _, _) in NUMBERS.items()}, "size_norm": sizes["norm"],
            "size_shared": sizes["shared"], "size_pieces": PRESET_PIECES.get(preset, PIECES)}


def draw(service: TranslationService, language: Language, *, size_norm: str, size_shared: bool,
         **numbers: float | None) -> dict[str, Any]:
    """Count and draw a model of these sizes; raises UserError where there can be none."""
    limits = {key: (least, most) for key, (_, least, most) in (NUMBERS | LENGTHS).items()}
    whole = {key: _whole(key, numbers[key], *limits[key], language) for key in limits}
    sizes = Sizes(**{field: whole[key] for key, (field, _, _) in NUMBERS.items()}, norm=size_norm, shared=size_shared)
    counts.check(sizes)
    pieces = whole["size_pieces"]
    found = counts.parts(sizes, pieces)
    return {"picture": figure(figures.parameters(found, language)), "table": figures.table(found, pieces, language),
            "said": figures.said(sizes, found, pieces, whole["size_batch"], language)}


def _whole(key: str, value: float | None, least: int, most: int, language: Language) -> int:
    if value is None or not least <= value <= most:
        name = language.say(f"sizes_{NUMBERS[key][0] if key in NUMBERS else key[5:]}")
        raise UserError(Message.of("sizes_limit", name=name, value="" if value is None else f"{value:,.0f}",
                                   least=least, most=most))
    return int(value)
