"""The heads of a model to choose from: its stacks, layers and heads; and the Attention
tab opened at one of them."""

from typing import Any

import gradio as gr

from xformer.parts import choice
from xformer.results import STACKS
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import Numbered, OneOf, Values, some_heads

TAB = "attention"  # the id of the tab
SHEET = choice(TAB)
STACK = OneOf(STACKS, "cross")


def layer_of(service: TranslationService, so_far: Values) -> Numbered:
    """The layers of the stack that is chosen; 1 where it has none, of which `draw` says
    so."""
    layers = max(1, service.info.layers(so_far["stack"]))
    return Numbered(min(service.best_head.layer, layers), 1, layers)


def head_of(service: TranslationService, _: Values) -> Numbered:
    """The heads of a layer."""
    return Numbered(service.best_head.head, 1, service.info.n_heads)


def no_maps(service: TranslationService, stack: str) -> str:
    """Return the key of the sentence that says why a stack of a model has no maps; ""
    where it has some."""
    if service.info.layers(stack):
        return ""
    return "no_maps_stack" if service.info.layers("cross") else "no_maps_model"


def open_layer(
    service: TranslationService, language: Language, stack: str, layer: int
) -> dict[str, Any]:
    """Open the Attention tab at a stack and layer, one head at a time: values of
    `Page.tabs`, `Page.tab`, the choice of its sheet and controls there."""
    so_far = {"stack": stack}
    return {
        "tabs": gr.Tabs(selected=TAB),
        "tab": TAB,
        "sheet": TAB,
        "stack": stack,
        "show": "head",
        "layer": min(layer, layer_of(service, so_far).most),
        "heads": gr.update(
            **some_heads(language, "stack")(service, so_far).properties(), value=[]
        ),
    }
