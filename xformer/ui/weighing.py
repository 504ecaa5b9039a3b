"""Part of the Attention tab that translates with hard, soft or wrong attention, and compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.explain.walkthrough import POWERS, at_power
from xformer.figures import head_payload
from xformer.figures import weighing as figures
from xformer.figures.attention import Choice
from xformer.results import SCOPES, WEIGHINGS, Head, Reweighed, Translation, Weighing
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas, figure, plot
from xformer.ui.controls import Controls, OneOf, Real, Values, one_head
from xformer.ui.handlers import QUIET, needs, refused
from xformer.ui.tabs import Page

TAB = "weighing"  # id of the part among the tabs of the drawer
POWER = Real(POWERS[1], *POWERS, step=0.25)  # hard attention at first


@dataclass(frozen=True, eq=False)
class Drawn:
    """What is on the page, and for what."""

    translation: Translation | None = None
    change: Weighing | None = None
    swept: Mapping[str, Sequence[float]] | None = None  # by stack, of the translation


def kind_of(service: TranslationService, so_far: Values) -> OneOf:
    """The ways to weigh: only the decoder's self-attention has a mask in a sentence that stands alone."""
    head = so_far["weigh_head"]
    own = head is not None and Head.parse(head).stack == "decoder_self"
    return OneOf(WEIGHINGS if own else WEIGHINGS[:-1], "beta")


def build(page: Page, look: Controls, is_open: gr.Checkbox) -> Controls:
    """Lay the part out, called inside its tab; -> its controls.

    look: the tab's, whose stack, layer and head it takes. is_open: whether the part is looked at.
    """
    language, say, controls = page.language, page.language.say, Controls(page.service)
    gr.HTML(f'<h3>{language.html("weigh_title")}</h3><p class="note">{language.html("weigh_look")}</p>')
    with gr.Row(elem_classes="experiment"):
        with gr.Column(scale=7, min_width=320):
            result = canvas("part.js", "${value}", "tables ablation weigh-result", save=language)
        with gr.Column(scale=4, min_width=300, elem_classes="controls"):
            head = controls.add("weigh_head", one_head(language), gr.Dropdown, label=say("weigh_head"))
            this = gr.Button(say("weigh_this"), size="sm")
            controls.add("weigh_scope", OneOf(SCOPES, "stack"), gr.Radio, label=say("weigh_scope"),
                         choices=[(say(f"weigh_scope_{name}"), name) for name in SCOPES])
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
                views[name] = canvas("head_view.js", '<div class="drawing"></div>', f"view weigh-{name}", save=language)
    drawn = gr.State(Drawn())
    gr.on([is_open.change, page.translation.change, head.change,
           *(controls[key].component.input for key in ("weigh_scope", "weigh_kind", "weigh_power"))],
          **page.ask(draw, {"drawn": drawn, "is_open": is_open, "translation": page.translation, **controls.named()},
                     {"drawn": drawn, "result": result, "words": table, "curve": curve, **views,
                      **controls.named("weigh_kind", "weigh_power")}, problem),
          trigger_mode="always_last", api_visibility="private", show_progress_on=[result])
    this.click(**page.ask(take, look.named("stack", "layer", "head"), {"weigh_head": head}), **QUIET)
    return controls


def take(service: TranslationService, language: Language, *, stack: str, layer: int, head: int) -> dict[str, str]:
    """Take the head that the tab shows."""
    return {"weigh_head": str(Head(stack, int(layer), int(head)))}


def kind_choices(service: TranslationService, language: Language, so_far: Values) -> list[tuple[str, str]]:
    """Name the ways to weigh that the stack of the head has."""
    return [(language.say(f"weigh_kind_{name}"), name) for name in kind_of(service, so_far).options]


@needs(translation="no_trace", weigh_head="no_maps_model")
@refused(drawn=Drawn(), result="", words=None, before=None, after=None, curve=None)
def draw(service: TranslationService, language: Language, *, drawn: Drawn, is_open: bool, translation: Translation,
         weigh_head: str, weigh_scope: str, weigh_kind: str, weigh_power: float) -> Iterator[dict[str, Any]]:
    """Translate with attention that weighs so, where that is not drawn yet: first both translations and the head, then
    the curve."""
    if not is_open:
        yield {}
        return
    head, so_far = Head.parse(weigh_head), {"weigh_head": weigh_head}
    kind = weigh_kind if weigh_kind in kind_of(service, so_far).options else "beta"
    change = Weighing(head, weigh_scope, kind, at_power(1.0, float(weigh_power)) if kind == "beta" else 1.0)
    if (drawn.translation, drawn.change) == (translation, change):
        yield {}
        return
    is_new = drawn.translation is not translation
    best = translation.best
    done = service.reweigh(translation, best.tokens, change, translation.alone, translation.max_length)
    width = service.info.d_model // service.info.n_heads
    answer = {"result": figures.translations(done, change, best.text, language),
              "words": figures.words_table(done, change, language), **_maps(service, done, change, language)}
    if drawn.change is None or (drawn.change.kind, drawn.change.head.stack) != (kind, head.stack):
        answer |= {"weigh_kind": gr.update(choices=kind_choices(service, language, so_far), value=kind),
                   "weigh_power": gr.update(visible=kind == "beta")}
    if drawn.swept is None or is_new:
        yield answer
        swept: Mapping[str, Sequence[float]] = service.sweep_beta(translation, best.tokens)
        answer = {}
    else:
        swept = drawn.swept
    yield {**answer, "curve": figure(figures.curve(swept, best.text, change, width, language)),
           "drawn": Drawn(translation, change, swept)}


def _maps(service: TranslationService, done: Reweighed, change: Weighing, language: Language) -> dict[str, Any]:
    """Draw the head before and after the change."""
    choice, identity = Choice(*change.head), f"{service.info.name} {service.info.identity}"
    given = given_heads(service.info, service.alignment_errors)
    before, after = (head_payload.payload(one, choice, identity, language)
                     for one in figures.maps(done, change, given, language))
    return {"before": before, "after": after}
