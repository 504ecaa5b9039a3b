"""Part of the Attention tab that translates with hard, soft or wrong attention, and compares."""

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.explain.principles import POWERS, at_power
from xformer.figures import head_payload
from xformer.figures import weighing as figures
from xformer.figures.attention import Choice
from xformer.results import SCOPES, WEIGHINGS, Head, Reweigh, Reweighed, SweepBeta, Translation, Weighing
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas, one_map, plot
from xformer.ui.controls import Controls, OneOf, Real, Values, one_head
from xformer.ui.handlers import QUIET, needs
from xformer.ui.pictures import Pictures
from xformer.ui.places import note
from xformer.ui.tabs import Page

TAB = "weighing"  # id of the part among the tabs of the drawer
POWER = Real(POWERS[1], *POWERS, step=0.25)  # hard attention at first
NOTHING: dict[str, Any] = {"result": "", "words": None, "before": None, "after": None, "curve": None}


def kind_of(service: TranslationService, so_far: Values) -> OneOf:
    """The ways to weigh: only the decoder's self-attention has a mask in a sentence that stands alone."""
    head = so_far["weigh_head"]
    own = head is not None and Head.parse(head).stack == "decoder_self"
    return OneOf(WEIGHINGS if own else WEIGHINGS[:-1], "beta")


def build(page: Page, look: Controls, drawer: gr.Textbox) -> Controls:
    """Lay the part out, called inside its tab; -> its controls.

    look: the tab's, whose stack, layer and head it takes. drawer: the id of the part that is looked at.
    """
    language, say, controls = page.language, page.language.say, Controls(page.service)
    gr.HTML(f'<h3>{language.html("weigh_title")}</h3>{note(language, "weigh_look")}')
    with gr.Row(elem_classes="experiment"):
        with gr.Column(scale=7, min_width=320):
            result = canvas("part.js", "${value}", "tables ablation weigh-result", save=language)
        with gr.Column(scale=4, min_width=300, elem_classes="controls"):
            head = controls.add("weigh_head", one_head(language), gr.Dropdown, label=say("weigh_head"))
            this = gr.Button(say("weigh_this"), size="sm")
            controls.add("weigh_scope", OneOf(SCOPES, "stack"), gr.Radio, label=say("weigh_scope"),
                         choices=language.choices("weigh_scope_{}", SCOPES))
            controls.add("weigh_kind", kind_of, gr.Radio, label=say("weigh_kind"),
                         properties=lambda values: {"choices": kind_choices(page.service, language, values)})
            controls.add("weigh_power", POWER, gr.Slider, label=say("weigh_power"), info=say("weigh_power_info"),
                         properties=lambda values: {"visible": values["weigh_kind"] == "beta"})
    problem = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            table = canvas("part.js", "${value}", "tables weigh-words", save=language)
        with gr.Column(min_width=300):
            curve = plot("weigh-curve", language)
    views = {}
    with gr.Row(elem_classes="detail"):
        for name in ("before", "after"):
            with gr.Column(min_width=300):
                views[name] = one_map(f"weigh-{name}", language)
    pictures = Pictures(page, controls, TAB, cleared=NOTHING)
    pictures.input("drawer", drawer)
    pictures.fact("stack", lambda weigh_head: Head.parse(weigh_head).stack)
    pictures.fact("kind", lambda service, weigh_head, weigh_kind: (
        weigh_kind if weigh_kind in kind_of(service, {"weigh_head": weigh_head}).options else "beta"))
    pictures.fact("change", change_of)
    pictures.fact("done", weigh_again)
    pictures.fact("maps", both_maps)
    # The curve comes when both translations and the head are there.
    for name, component, draw in (
            ("result", result, lambda done, change, translation, language: figures.translations(
                done, change, translation.best.text, language)),
            ("words", table, lambda done, change, language: figures.words_table(done, change, language)),
            ("weigh_kind", controls["weigh_kind"].component, offer_kinds),
            ("weigh_power", controls["weigh_power"].component, lambda kind: gr.update(visible=kind == "beta")),
            ("curve", curve, draw_curve)):
        pictures.add(name, component, draw, seen=in_sight, late=name == "curve")
    pictures.add_all("maps", views, seen=in_sight)
    pictures.fact("swept", lambda service, translation: service.ask(SweepBeta(translation, translation.best.tokens)))
    pictures.listen(problem, drawer.change, page.translation.change, by_change=["weigh_head"],
                    how={"api_visibility": "private", "show_progress_on": [result]})
    this.click(**page.ask(take, look.named("stack", "layer", "head"), {"weigh_head": head}), **QUIET)
    return controls


def in_sight(drawer: str) -> bool:
    """Whether this part of the drawer is the one that is looked at."""
    return drawer == TAB


def take(service: TranslationService, language: Language, *, stack: str, layer: int, head: int) -> dict[str, str]:
    """Take the head that the tab shows."""
    return {"weigh_head": str(Head(stack, int(layer), int(head)))}


def kind_choices(service: TranslationService, language: Language, so_far: Values) -> list[tuple[str, str]]:
    """Name the ways to weigh that the stack of the head has."""
    return language.choices("weigh_kind_{}", kind_of(service, so_far).options)


def offer_kinds(service: TranslationService, language: Language, stack: str, kind: str) -> Any:
    """Offer the ways to weigh of another stack."""
    return gr.update(choices=kind_choices(service, language, {"weigh_head": str(Head(stack, 1, 1))}), value=kind)


@needs(weigh_head="no_maps_model")
def change_of(weigh_head: str, weigh_scope: str, kind: str, weigh_power: float) -> Weighing:
    """The change that is asked for."""
    return Weighing(Head.parse(weigh_head), weigh_scope, kind,
                    at_power(1.0, float(weigh_power)) if kind == "beta" else 1.0)


@needs(translation="no_trace")
def weigh_again(service: TranslationService, translation: Translation, change: Weighing) -> Reweighed:
    """Translate with attention that weighs so."""
    return service.ask(Reweigh(translation, translation.best.tokens, change, translation.alone,
                               translation.max_length))


def both_maps(service: TranslationService, done: Reweighed, change: Weighing, language: Language
              ) -> dict[str, Any]:
    """Draw the head "before" and "after" the change."""
    names = (language.say("weigh_before"), figures.named(change, language))
    return head_payload.before_and_after((done.before, done.after), names, Choice(*change.head), service.info, language,
                                         given_heads(service.info, service.alignment_errors))


def draw_curve(service: TranslationService, swept: Mapping[str, Sequence[float]], translation: Translation,
               change: Weighing, language: Language) -> Any:
    """Draw how probable the translation is by β."""
    width = service.info.d_model // service.info.n_heads
    return figures.curve(swept, translation.best.text, change, width, language, translation.source)
