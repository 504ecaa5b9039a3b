"""Part of the Attention tab that translates with hard, soft or wrong attention, and
compares."""

from typing import Any

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.explain.principles import POWERS, at_power
from xformer.figures import head_payload
from xformer.figures.attention import Choice
from xformer.parts.weighing import draw as figures
from xformer.results import (
    SCOPES,
    WEIGHINGS,
    Head,
    Reweigh,
    Reweighed,
    SweepBeta,
    Translation,
    Weighing,
)
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import OneOf, Real, Values, one_head
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout, narrow, wide

ID = "weighing"
OPENED_BY_ADDRESS = True
NAME = "drawer_weighing"
WITHIN = "ablation"
POWER = Real(POWERS[1], *POWERS, step=0.25)  # hard attention at first
NOTHING: dict[str, Any] = {
    "result": "",
    "words": None,
    "before": None,
    "after": None,
    "curve": None,
}


def kind_of(service: TranslationService, so_far: Values) -> OneOf:
    """The ways to weigh: only the decoder's self-attention has a mask in a sentence
    that stands alone."""
    head = so_far["weigh_head"]
    own = head is not None and Head.parse(head).stack == "decoder_self"
    return OneOf(WEIGHINGS if own else WEIGHINGS[:-1], "beta")


def build(part: Layout, look: Layout) -> None:
    """Lay the part out; called inside it. look: the tab, whose stack, layer and head it
    takes."""
    language = part.language
    pictures = part.pictures(ID, tab=None, cleared=NOTHING)
    drawer = pictures.input("drawer", part.opened)
    pictures.fact("stack", lambda weigh_head: Head.parse(weigh_head).stack)
    pictures.fact(
        "kind",
        kind_chosen,
    )
    pictures.fact("change", change_of)
    pictures.fact("done", weigh_again)
    pictures.fact("maps", both_maps)
    pictures.fact(
        "swept",
        swept,
    )
    part.note("weigh_look", "weigh_title")
    with gr.Row(elem_classes="experiment"):
        with wide():
            pictures.add(
                "result",
                part.table("tables ablation weigh-result"),
                lambda done, change, translation, language: figures.translations(
                    done, change, translation.best.text, language
                ),
                seen=in_sight,
            )
        with narrow(elem_classes="controls"):
            part.control("weigh_head", one_head(language), gr.Dropdown)
            this = gr.Button(part.say("weigh_this"), size="sm")
            part.choice("weigh_scope", SCOPES, "stack", "weigh_scope_{}")
            kind = part.control(
                "weigh_kind",
                kind_of,
                gr.Radio,
                properties=lambda values: {
                    "choices": kind_choices(part.page.service, language, values)
                },
            )
            power = part.control(
                "weigh_power",
                POWER,
                gr.Slider,
                info="weigh_power_info",
                properties=lambda values: {"visible": values["weigh_kind"] == "beta"},
            )
    problem = part.status()
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            curve = part.plot("weigh-curve")
        with (
            gr.Column(min_width=300),
            gr.Accordion(part.say("weigh_each"), open=False),
        ):
            pictures.add(
                "words",
                part.table("tables weigh-words"),
                figures.words_table,
                seen=in_sight,
            )
    # those of another stack
    pictures.add(
        "weigh_kind",
        kind,
        offer_kinds,
        seen=in_sight,
    )
    pictures.add(
        "weigh_power",
        power,
        show_power,
        seen=in_sight,
    )
    # when both translations and the head are there
    pictures.add(
        "curve",
        curve,
        draw_curve,
        seen=in_sight,
        late=True,
    )
    pictures.add_all(
        "maps",
        part.beside(part.map, {"before": "weigh-before", "after": "weigh-after"}),
        seen=in_sight,
    )
    pictures.listen(
        problem,
        drawer.change,
        part["translation"].change,
        by_change=["weigh_head"],
        how=QUIET,
    )
    part |= look.controls.named("stack", "layer", "head")
    this.click(
        **part.listener(
            take_head,
            "weigh_head",
        ),
        **QUIET,
    )


def kind_chosen(service: TranslationService, weigh_head: str, weigh_kind: str) -> str:
    return (
        weigh_kind
        if weigh_kind in kind_of(service, {"weigh_head": weigh_head}).options
        else "beta"
    )


def swept(service: TranslationService, translation: Translation) -> Any:
    return service.ask(SweepBeta(translation, translation.best.tokens))


def offer_kinds(
    service: TranslationService, stack: str, kind: str, language: Language
) -> Any:
    return gr.update(
        choices=kind_choices(service, language, {"weigh_head": str(Head(stack, 1, 1))}),
        value=kind,
    )


def show_power(kind: str) -> Any:
    return gr.update(visible=kind == "beta")


def draw_curve(
    service: TranslationService,
    swept: Any,
    translation: Translation,
    change: Any,
    language: Language,
) -> Any:
    return figures.curve(
        swept,
        translation.best.text,
        change,
        service.info.d_model // service.info.n_heads,
        language,
        translation.source,
    )


def take_head(
    service: TranslationService,
    language: Language,
    *,
    stack: str,
    layer: int,
    head: int,
) -> dict[str, Any]:
    return {"weigh_head": str(Head(stack, int(layer), int(head)))}


def in_sight(drawer: str) -> bool:
    """Whether this part of the drawer is the one that is looked at."""
    return drawer == WITHIN


def kind_choices(
    service: TranslationService, language: Language, so_far: Values
) -> list[tuple[str, str]]:
    """Name the ways to weigh that the stack of the head has."""
    return language.choices("weigh_kind_{}", kind_of(service, so_far).options)


@needs(weigh_head="no_maps_model")
def change_of(
    weigh_head: str, weigh_scope: str, kind: str, weigh_power: float
) -> Weighing:
    """The change that is asked for."""
    return Weighing(
        Head.parse(weigh_head),
        weigh_scope,
        kind,
        at_power(1.0, float(weigh_power)) if kind == "beta" else 1.0,
    )


@needs(translation="no_trace")
def weigh_again(
    service: TranslationService, translation: Translation, change: Weighing
) -> Reweighed:
    """Translate with attention that weighs so."""
    return service.ask(
        Reweigh(
            translation,
            translation.best.tokens,
            change,
            translation.alone,
            translation.max_length,
        )
    )


def both_maps(
    service: TranslationService, done: Reweighed, change: Weighing, language: Language
) -> dict[str, Any]:
    """Draw the head "before" and "after" the change."""
    names = (language.say("weigh_before"), figures.named(change, language))
    return head_payload.before_and_after(
        (done.before, done.after),
        names,
        Choice(*change.head),
        service.info,
        language,
        given_heads(service.info, service.alignment_errors),
    )
