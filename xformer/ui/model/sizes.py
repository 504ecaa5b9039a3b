"""Part of the Model tab: a calculator for transformers of any size."""

from dataclasses import asdict
from typing import Any

import gradio as gr

from xformer.explain import sizes as counts
from xformer.explain.sizes import PRESET_PIECES, PRESETS, Sizes
from xformer.figures import sizes as figures
from xformer.results import Message, UserError
from xformer.serve.protocol import NORMS, TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas, figure, plot
from xformer.ui.controls import Controls, Kind, OneOf, Switch, Values, Whole
from xformer.ui.handlers import QUIET
from xformer.ui.places import folded, note
from xformer.ui.tabs import Page, Tab

ID = "sizes"
TAB = "model"
OF_SENTENCE = False
PIECES, BATCH = 20, 32
# Name in the address, field of Sizes, and its limits; the default is the loaded model's.
NUMBERS = {"size_encoder": ("encoder_layers", 1, 200), "size_decoder": ("decoder_layers", 0, 200),
           "size_width": ("d_model", 2, 65_536), "size_heads": ("n_heads", 1, 1_024), "size_ff": ("d_ff", 1, 1_000_000),
           "size_vocabulary": ("vocabulary", 2, 10_000_000)}
LENGTHS = {"size_pieces": (PIECES, 1, 1_000_000), "size_batch": (BATCH, 1, 1_000_000)}
OWN = "own"


def build(page: Page, opened: gr.Textbox) -> Tab:
    """Lay the part out; called inside it."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    problem = gr.HTML(elem_classes="status")
    gr.HTML(note(language, "sizes_look", ""), elem_classes="summary")
    with gr.Row(elem_classes="controls presets"):
        presets = [(name, gr.Button(say(f"sizes_preset_{name}"), size="sm")) for name in (OWN, *PRESETS)]
    with gr.Row(elem_classes="detail"):
        with gr.Column(scale=7, min_width=320):
            picture = plot("size-parameters", language)
            said = gr.HTML(elem_classes="summary", min_height=225)
        with gr.Column(scale=4, min_width=300, elem_classes="controls size-numbers"):
            for key, (field, least, most) in NUMBERS.items():
                controls.add(key, _of_model(field, least, most), gr.Number, label=say(f"sizes_{field}"), precision=0,
                             minimum=None, maximum=None)
            controls.add("size_norm", _norm, gr.Radio, label=say("train_order"),
                         choices=language.choices("train_order_{}", NORMS))
            controls.add("size_shared", Switch(True), gr.Checkbox, label=say("sizes_shared"))
            for key, (default, least, most) in LENGTHS.items():
                controls.add(key, Whole(default, least, most), gr.Number, label=say(f"sizes_{key[5:]}"), precision=0,
                             minimum=None, maximum=None)
    with folded(language, "blocks"):
        table = canvas("part.js", "${value}", "tables", save=language)
    inputs, outputs = controls.named(), {"picture": picture, "said": said, "table": table}
    gr.on([opened.change, *(control.component.change for control in controls.values())],
          **page.ask(draw, inputs, outputs, problem, only_in=TAB), trigger_mode="always_last", **QUIET)
    for name, button in presets:
        button.click(**page.ask(choose, {}, inputs, problem, preset=name), **QUIET)
    return Tab(controls)


def _own(service: TranslationService) -> Sizes:
    """The sizes of the loaded model; of a recurrent one, which has no such sizes, the paper's base model."""
    return counts.of_model(service.info, service.blocks()) or PRESETS["base"]


def _of_model(field: str, least: int, most: int) -> Any:
    def kind(service: TranslationService, so_far: Values) -> Kind:
        return Whole(getattr(_own(service), field), least, most)
    return kind


def _norm(service: TranslationService, so_far: Values) -> Kind:
    return OneOf(tuple(NORMS), _own(service).norm)


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
