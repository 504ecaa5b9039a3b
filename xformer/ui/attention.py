"""The Attention tab: all heads of a stack of the pass that made the translation, and one of them in detail."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import gradio as gr

from xformer.explain import roles
from xformer.figures import grid_payload as grid
from xformer.figures import head_payload
from xformer.figures.attention import SHOW, VIEWS, Choice, all_maps, picture, summary
from xformer.figures.labels import percent, place
from xformer.figures.notice import notice
from xformer.figures.palettes import PALETTES
from xformer.results import STACKS, Head, Trace, Translation
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui import ablation, attribution_methods, counterfactual, export
from xformer.ui.components import PICTURES, canvas, script
from xformer.ui.controls import Controls, Numbered, OneOf, Switch, Values, Whole, some_heads
from xformer.ui.handlers import QUIET, SWIFT, needs
from xformer.ui.tabs import Listener, Page, Tab

ID = "attention"
STACK = OneOf(STACKS, "cross")


def layer_of(service: TranslationService, so_far: Values) -> Numbered:
    """The layers of the stack that is chosen."""
    layers = service.info.layers(so_far["stack"])
    return Numbered(min(service.best_head.layer, layers), 1, layers)


def head_of(service: TranslationService, _: Values) -> Numbered:
    """The heads of a layer."""
    return Numbered(service.best_head.head, 1, service.info.n_heads)


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it. All that is declared in `look` is redrawn from the trace alone."""
    language, say = page.language, page.language.say
    inspected = gr.Dropdown([], value=None, allow_custom_value=True, label=say("inspected"),
                            info=say("inspected_info"), elem_classes="inspected")
    problem = gr.HTML(elem_classes="status")
    look = Controls(page.service)  # its keys are the fields of figures.attention.Choice
    with gr.Row(elem_classes="controls"):
        stack = look.add("stack", STACK, gr.Radio, always=True, label=say("stack"), scale=4, min_width=280,
                         choices=[(say(f"stack_{name}"), name) for name in STACKS])
        layer = look.add("layer", layer_of, gr.Radio, label=say("layer"), scale=3, min_width=180)
        head = look.add("head", head_of, gr.Radio, label=say("head"), scale=4, min_width=280)
    with gr.Row(elem_classes="detail"):
        with gr.Column(scale=4, min_width=300):
            gr.HTML(f'<h3>{language.html("grid_title")} <span class="sub">{language.html("grid_hint")}</span></h3>')
            heads = canvas("head_grid.js", '<canvas tabindex="0" role="img"></canvas>', "heads",
                           save=language, files=PICTURES)
            below = gr.HTML(elem_classes="summary")
            gr.HTML(f'<p class="note">{language.html("attention_note")}</p>')
        with gr.Column(scale=7, min_width=300):
            with gr.Row(elem_classes="controls"):
                look.add("show", OneOf(SHOW, Choice.show), gr.Radio, always=True, label=say("show"), scale=4,
                         min_width=280, choices=[(say(f"show_{name}"), name) for name in SHOW])
                look.add("view", OneOf(VIEWS, Choice.view), gr.Radio, always=True, label=say("view"), scale=2,
                         min_width=160, choices=[(say(f"view_{name}"), name) for name in VIEWS])
                look.add("palette", OneOf(tuple(PALETTES), Choice.palette), gr.Dropdown, always=True,
                         label=say("palette"), scale=1, min_width=110, filterable=False,
                         choices=[(say(f"palette_{name}"), name) for name in PALETTES])
            look.add("heads", some_heads(language, "stack"), gr.Dropdown, multiselect=True, visible=False,
                     label=say("joined"), info=say("joined_info"), elem_classes="joined")
            look.add("threshold", Whole(Choice.threshold, 1, 50), gr.Slider, always=True, visible=False,
                     label=say("threshold"))
            with gr.Row(elem_classes="controls checks"):
                look.add("words", Switch(), gr.Checkbox, always=True, label=say("words"), min_width=150)
                look.add("hide", Switch(), gr.Checkbox, always=True, label=say("hide_sinks"), min_width=150)
                look.add("weigh", Switch(), gr.Checkbox, always=True, label=say("weigh"), min_width=150)
            picture_of_head = canvas("head_view.js", '<div class="drawing"></div>', "view", save=language)
            export.build(page, look)
    with gr.Accordion(say("finder"), open=False):
        gr.HTML(f'<p class="note">{language.html("finder_text")}</p>')
        finder = gr.Dataset(components=[gr.Textbox(visible=False)] * 3, type="index", samples=[],
                            headers=[say("finder_role"), say("finder_head"), say("finder_score")], show_label=False,
                            elem_classes="finder")
    of_ablation = ablation.build(page, look)
    attribution_methods.build(page, look)
    counterfactual.build(page)
    best_heads, again = gr.State([]), gr.Textbox("", visible=False)

    pictures = {"grid": heads, "picture": picture_of_head, "below": below, **look.named("heads", "threshold")}
    shown = {"trace": page.trace, **look.named()}
    seen: Listener = {**page.ask(draw, shown, pictures), **SWIFT}
    # Another head changes only the frame in the grid: the maps in it need not travel again.
    another: Listener = {**page.ask(draw, shown, pictures, maps_too=False), **SWIFT}
    roles_of: Listener = {**page.ask(find, {"trace": page.trace, "stack": stack},
                                     {"finder": finder, "best_heads": best_heads}), **QUIET}
    # One listener for all of them, so that an older answer can never come after a newer one and stay.
    gr.on([page.trace.change, again.change,
           *(control.component.input for key, control in look.items() if key != "stack")],
          trigger_mode="always_last", **seen)
    page.trace.change(**roles_of)
    # What is chosen and its picture come in one answer: a second one would double the time to the picture.
    chosen = {**look.named("layer", "head", "show"), **pictures}
    stack.input(**page.ask(other_stack, shown, chosen), trigger_mode="always_last", **SWIFT).then(**roles_of)
    heads.choose(**page.ask(choose, shown, chosen), trigger_mode="multiple", **SWIFT)
    # A picture that answers what was asked before something else was chosen is asked for again.
    heads.change(None, [heads, again, stack, layer, head], again, js=script("askAgain"), **QUIET)
    finder.click(**page.ask(open_best, {"index": finder, "best_heads": best_heads},
                            look.named("layer", "head", "show")), **QUIET).then(**another)
    page.on_choice += [seen, roles_of]

    looked_into = {"trace": page.trace, "spanish": page.spanish}
    inspected.input(**page.ask(inspect, {"translation": page.translation, "target": inspected}, looked_into, problem),
                    api_visibility="private")
    offered = {"inspected": inspected, **looked_into}
    page.on_sentence.append({**page.ask(offer, {"translation": page.translation}, offered, problem), **QUIET})
    page.on_opening.append({**page.ask(offer, {"translation": page.translation, "spanish": page.spanish}, offered,
                                       problem), **QUIET})
    look.include(of_ablation)
    return Tab(look)


def choice_of(look: Values) -> Choice:
    """The choice that the controls of this tab stand for."""
    return Choice(**{**look, "heads": tuple(map(Head.parse, look.get("heads") or ()))})


def other_stack(service: TranslationService, language: Language, *, trace: Trace | None, **look: Any) -> dict[str, Any]:
    """Show another stack: the same layer where it has one, its own heads to join, none of them chosen."""
    layers, joined = layer_of(service, look), some_heads(language, "stack")(service, look)
    look |= {"layer": min(look["layer"], layers.most), "heads": []}
    answer = draw(service, language, trace=trace, **look)
    return {**answer, "layer": gr.update(**layers.properties(), value=look["layer"]),
            "heads": {**answer["heads"], **joined.properties(), "value": []}}


def choose(service: TranslationService, language: Language, *, trace: Trace | None, event: gr.EventData, **look: Any
           ) -> dict[str, Any]:
    """Show a head of the grid; or, with Shift, join it with others or leave it out of them again."""
    clicked = Head(look["stack"], int(event.layer), int(event.head))
    look |= {"layer": clicked.layer, "head": clicked.head}
    if event.add:
        others = [name for name in look["heads"] if name != str(clicked)]
        joined = others if len(others) < len(look["heads"]) else [*others, str(clicked)]
        look |= {"heads": joined, "show": look["show"] if look["show"] in ("mean", "max") else "mean"}
    else:
        look["show"] = "head"
    answer = draw(service, language, trace=trace, maps_too=False, **look)
    return {**answer, "layer": look["layer"], "head": look["head"], "show": look["show"],
            "heads": {**answer["heads"], "value": look["heads"]}}


def open_layer(service: TranslationService, language: Language, stack: str, layer: int) -> dict[str, Any]:
    """Open this tab at a stack and layer, one head at a time: values of `Page.tabs`, `Page.tab` and controls here."""
    so_far = {"stack": stack}
    return {"tabs": gr.Tabs(selected=ID), "tab": ID, "stack": stack, "show": "head",
            "layer": gr.update(**layer_of(service, so_far).properties(), value=layer),
            "heads": gr.update(**some_heads(language, "stack")(service, so_far).properties(), value=[])}


def offer(service: TranslationService, language: Language, *, translation: Translation | None, spanish: str = ""
          ) -> Iterator[dict[str, Any]]:
    """Offer the translations of a new sentence; the best one is looked into, or another where the address says so."""
    if translation is None:
        yield {"spanish": ""}
        return
    best, choices = translation.best.text, [candidate.text for candidate in translation.n_best]
    if not spanish or spanish == best:
        yield {"inspected": gr.update(choices=choices, value=best), "spanish": ""}
        return
    yield {"inspected": gr.update(choices=choices, value=spanish)}
    yield inspect(service, language, translation=translation, target=spanish)


@needs(translation="no_trace")
def inspect(service: TranslationService, language: Language, *, translation: Translation, target: str | None
            ) -> dict[str, Any]:
    """Trace another translation of the sentence: a hypothesis, piece by piece as it was, or one that was typed."""
    known = [candidate.tokens for candidate in translation.n_best if candidate.text == target]
    tokens, warnings = (known[0], []) if known else service.typed(target or "")
    return {"problem": notice([warning.say(language) for warning in warnings], "warning"),
            "trace": service.trace(translation.source, tokens),
            "spanish": "" if target == translation.best.text else target}


def open_best(service: TranslationService, language: Language, *, index: int, best_heads: list[Head]
              ) -> dict[str, Any]:
    """Show the head of a row of the finder."""
    return {"layer": best_heads[index].layer, "head": best_heads[index].head, "show": "head"}


def find(service: TranslationService, language: Language, *, trace: Trace | None, stack: str) -> dict[str, Any]:
    """The best head of the stack for every role, best first, as rows to click; and where each row leads."""
    if trace is None:
        return {"best_heads": []}
    maps, best = trace.of(stack), dict[str, roles.Role]()
    for role in roles.rank(stack, maps.probabilities, maps.asks, maps.seen):
        best.setdefault(role.role, role)
    rows = [[language.say(f"role_{role.role}"), place(role.head, language), percent(role.score)]
            for role in best.values()]
    return {"finder": gr.update(samples=rows), "best_heads": [role.head for role in best.values()]}


def draw(service: TranslationService, language: Language, *, trace: Trace | None, maps_too: bool = True, **look: Any
         ) -> dict[str, Any]:
    """Draw the grid of small maps and the picture of what is chosen; its rules, sink meter and summary in words.

    maps_too: whether the small maps are sent, or only which of them is chosen.
    """
    choice = choice_of(look)
    needed = {"heads": gr.update(visible=choice.show in ("mean", "max")),
              "threshold": gr.update(visible=choice.view == "arcs")}
    if trace is None:
        return {"grid": None, "picture": None, "below": f"<p>{language.html('no_trace')}</p>", **needed}
    maps = all_maps(trace, choice.stack, choice.weigh)
    seen = picture(trace, choice, language, maps)
    said = [*seen.rules]
    if choice.show == "head":
        said += filter(None, [_alignment(service, choice, language), _roles(trace, choice, language)])
    rules = "".join(f"<p>{escape(rule)}</p>" for rule in said)
    meter = language.html("sink_meter", percent=percent(seen.sinks))
    small = (grid.payload if maps_too else grid.chosen)(maps, choice, language)
    return {"grid": {**small, "about": [trace.number, choice.stack, choice.layer, choice.head]},
            "picture": head_payload.payload(seen, choice, f"{service.info.name} {service.info.identity}", language),
            "below": f'<div class="rules" role="status">{rules}<p><meter max="1" value="{seen.sinks:.3f}"></meter> '
                     f'{meter}</p></div><details><summary>{language.html("summary_label")}</summary>'
                     f"<p>{escape(summary(seen, language))}</p></details>", **needed}


def _alignment(service: TranslationService, choice: Choice, language: Language) -> str:
    """How well a head of the cross-attention aligns words, where that is known, and on how many sentences."""
    errors = service.alignment_errors(Head(choice.stack, choice.layer, choice.head))
    if errors is None or "sentences" not in service.metrics["alignment"]:
        return ""
    return language.say("aligns_given" if errors[1] < errors[0] else "aligns_predicted",
                        predicted=f"{errors[0]:.2f}", given=f"{errors[1]:.2f}",
                        count=service.metrics["alignment"]["sentences"])


def _roles(trace: Trace, choice: Choice, language: Language) -> str:
    """What a head does most on this sentence, if any role says something of it."""
    maps = trace.of(choice.stack)
    own = roles.of_head(choice.chosen, maps.probabilities, maps.asks, maps.seen)
    named = ", ".join(f"{language.say(f'role_{role.role}')} ({percent(role.score)})" for role in own[:3])
    return language.say("head_roles", roles=named) if named else ""
