"""Where everything stands: each part of the page with the question that it answers, and the overview that leads there.

A part's question is its first line. assets/places.js opens the overview, searches it, and brings a part into sight that
the fragment of an address names, such as /?tab=principles#store.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

import gradio as gr

from xformer.figures.templates import fill
from xformer.lessons.terms import entries, linked
from xformer.strings import Language
from xformer.ui.components import canvas


@dataclass(frozen=True)
class Place:
    """A part of the page. Its question is the text "asks_" and its key; name: the key of the text that names it.

    address: what of the page's address opens it, besides its tab. folded: whether it is a part that a reader opens, and
    that the fragment of the address names.
    """

    key: str
    name: str
    address: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False


def _folded(*names: tuple[str, str], **address: str) -> tuple[Place, ...]:
    return tuple(Place(key, name, address, folded=True) for key, name in names)


def _chosen(control: str, text: str, *keys: str) -> tuple[Place, ...]:
    """Parts of which a control shows one. text: the key of the text that names a part, with {} for its own key."""
    return tuple(Place(key, text.format(key), {control: key}) for key in keys)


PLACES: Mapping[str, tuple[Place, ...]] = {  # by the id of their tab
    "translate": (Place("translate", "tab_translate"), *_folded(
        ("reference", "reference_title"), ("back", "back_title"))),
    "attention": (Place("attention", "tab_attention"), *_folded(
        ("finder", "drawer_finder"), ("ablation", "drawer_ablation"), ("weighing", "drawer_weighing"),
        ("occlusion", "drawer_occlusion"), ("rivals", "drawer_rivals"), ("word-link", "drawer_link"))),
    "decoding": _chosen("decode", "decode_{}", "steps", "yours", "layers", "why"),
    "pairs": (*_chosen("pairs_part", "pairs_part_{}", "sentences", "models", "bleu", "lecture"),
              *_folded(("same-head", "models_apart"), pairs_part="models"),
              *_folded(("brevity", "bleu_brevity_part"), pairs_part="bleu")),
    "sentiment": (*_chosen("review_part", "part_{}", "judge", "maps", "writer"),
                  *_folded(("looked", "looked_title"), ("pairs", "pairs_title"), ("calibration", "calibration_title"),
                           ("shares", "shares_title"), ("poolings", "poolings_title"), review_part="judge"),
                  *_folded(("tuned", "maps_compare"), review_part="maps"),
                  *_folded(("likelier", "lm_two"), review_part="writer")),
    "positions": (Place("positions", "pos_title_change"), *_folded(
        ("pos-table", "pos_part_table"), ("pos-sentence", "pos_title_sentence"), ("pos-lengths", "pos_title_lengths"))),
    "principles": (Place("principles", "first_title_scores"), *_folded(
        ("vectors", "first_show_vectors"), ("reshape", "first_title_reshape"), ("rest", "rest_title"),
        ("map", "first_every_query"), ("variance", "first_title_variance"), ("split", "first_title_split"),
        ("slice", "first_title_slice"), ("initial", "first_title_initial"), ("additive", "first_title_additive"),
        ("kernels", "kernel_title"), ("store", "store_title"))),
    "training": (*_chosen("part", "part_{}", "generations", "beginning", "live", "recorded", "forming", "path",
                         "learned"),
                 *_folded(("scores", "gen_scores"), ("trained", "gen_trained"), ("costs", "gen_costs"),
                          part="generations"),
                 *_folded(("settings", "live_more"), part="live"),
                 *_folded(("errors", "form_plot_errors"), part="forming")),
    "model": (*_chosen("model_part", "part_{}", "whole", "architecture", "bugs", "vocabulary", "meanings"),
              *_folded(("blocks", "sizes_blocks"), ("orders", "arch_orders"), ("reader", "arch_reader"),
                       ("terms", "arch_terms"), model_part="architecture"),
              *_folded(("ways", "vocab_ways"), model_part="vocabulary")),
}
_linked: ContextVar[set[str]] = ContextVar("terms linked in the part being laid out")
NAMES = {place.key: place.name for places in PLACES.values() for place in places}


def question(language: Language, key: str) -> gr.HTML:
    """Ask, as the first line of a part, what it answers."""
    _linked.set(set())
    return gr.HTML(note(language, f"asks_{key}", "asks"), elem_classes="asked")


def note(language: Language, key: str, of: str = "note", /, **values: object) -> str:
    """Explain something of the part that is being laid out: a text of that key, its first terms linked. HTML.

    of: the paragraph's class.
    """
    return f'<p class="{of}">{linked(language.html(key, **values), language, _linked.get(set()))}</p>'


def overview(language: Language) -> gr.HTML:
    """Lay out the button that opens the overview of all parts, and the overview."""
    return canvas("places.js", fill("places.overview", language, places=PLACES) + entries(language), "places")
