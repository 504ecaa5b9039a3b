"""The Attention tab: all heads of a stack of the pass that made the translation, and one of them in detail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
from xformer.results import STACKS, Trace, Translation
from xformer.serve.translation import Service
from xformer.strings import Language, speaker, text
from xformer.ui import ablation, attribution_methods, counterfactual, export
from xformer.ui.address import MOST_THRESHOLD, read_choice
from xformer.ui.components import PICTURES, canvas
from xformer.ui.handlers import QUIET, SWIFT, Ask, refusal

AGAIN = """(picture, again, ...chosen) => {
  if (!picture?.about) return again;
  const [pass, ...shown] = picture.about;
  window.newestPass = Math.max(pass, window.newestPass ?? 0);
  const late = pass < window.newestPass || shown.join() !== chosen.join();
  return late ? [window.newestPass, ...chosen].join() : again;
}"""


@dataclass(frozen=True)
class Built:
    """What the frame of the page connects."""

    inspected: gr.Dropdown
    problem: gr.HTML
    choice: list[gr.components.Component]  # what is seen, in the order of `Choice`
    off: gr.Dropdown  # the heads that are switched off
    redraw: list[dict[str, Any]]  # events, one after the other, after which all of it is seen


def build(ask: Ask, translation: gr.State, trace: gr.State, typed: gr.Textbox) -> Built:
    """Lay the tab out, called inside it. Every control above the ablation redraws from the trace alone."""
    language, service = ask.language, ask.service
    say = speaker(language)
    info, (best_layer, best_head) = service.info, service.best_head
    inspected = gr.Dropdown([], value=None, allow_custom_value=True, label=say("inspected"),
                            info=say("inspected_info"), elem_classes="inspected")
    problem = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="controls"):
        stack = gr.Radio([(say(f"stack_{name}"), name) for name in STACKS], value="cross", label=say("stack"),
                         scale=4, min_width=280)
        layer = gr.Radio(numbers(info.n_decoder_layers), value=best_layer, label=say("layer"), scale=3,
                         min_width=180)
        head = gr.Radio(numbers(info.n_heads), value=best_head, label=say("head"), scale=4, min_width=280)
    with gr.Row(elem_classes="detail"):
        with gr.Column(scale=4, min_width=300):
            gr.HTML(f'<h3>{escape(say("grid_title"))} <span class="sub">{escape(say("grid_hint"))}</span></h3>')
            heads = canvas("head_grid.js", '<canvas tabindex="0" role="img"></canvas>', "heads",
                           save=language, files=PICTURES)
            below = gr.HTML(elem_classes="summary")
            gr.HTML(f'<p class="note">{escape(say("attention_note"))}</p>')
        with gr.Column(scale=7, min_width=300):
            with gr.Row(elem_classes="controls"):
                show = gr.Radio([(say(f"show_{name}"), name) for name in SHOW], value=Choice.show, label=say("show"),
                                scale=4, min_width=280)
                drawn_as = gr.Radio([(say(f"view_{name}"), name) for name in VIEWS], value=Choice.view,
                                    label=say("view"), scale=2, min_width=160)
                palette = gr.Dropdown([(say(f"palette_{name}"), name) for name in PALETTES], value=Choice.palette,
                                      label=say("palette"), scale=1, min_width=110, filterable=False)
            joined = gr.Dropdown(_names(service, "cross", language), value=[], multiselect=True, visible=False,
                                 label=say("joined"), info=say("joined_info"), elem_classes="joined")
            threshold = gr.Slider(1, MOST_THRESHOLD, Choice.threshold, step=1, visible=False, label=say("threshold"))
            with gr.Row(elem_classes="controls checks"):
                words = gr.Checkbox(False, label=say("words"), min_width=150)
                hide = gr.Checkbox(False, label=say("hide_sinks"), min_width=150)
                weigh = gr.Checkbox(False, label=say("weigh"), min_width=150)
            picture_of_head = canvas("head_view.js", '<div class="drawing"></div>', "view", save=language)
            choice: list[Any] = [stack, layer, head, show, joined, drawn_as, threshold, words, hide, weigh, palette]
            export.build(ask, trace, choice)
    with gr.Accordion(say("finder"), open=False):
        gr.HTML(f'<p class="note">{escape(say("finder_text"))}</p>')
        finder = gr.Dataset(components=[gr.Textbox(visible=False)] * 3, type="index", samples=[],
                            headers=[say("finder_role"), say("finder_head"), say("finder_score")], show_label=False,
                            elem_classes="finder")
    off = ablation.build(ask, translation, stack, layer, head)
    attribution_methods.build(ask, trace, stack, layer, head)
    counterfactual.build(ask, translation)
    found = gr.State([])
    again = gr.Textbox("", visible=False)

    inspected.input(**ask(inspect, [translation, inspected]), outputs=[problem, trace, typed],
                    api_visibility="private")
    drawn: dict[str, Any] = {"outputs": [heads, picture_of_head, below, joined, threshold], **SWIFT}
    seen = {**ask(draw, [trace, *choice]), **drawn}
    # Another head changes only the frame in the grid: the maps in it need not travel again.
    another = {**ask(draw, [trace, *choice], maps_too=False), **drawn}
    roles_of = {"fn": partial(find, language), "inputs": [trace, stack], "outputs": [finder, found], **QUIET}
    # One listener for all of them, so that an older answer can never come after a newer one and stay.
    controls: list[Any] = [layer, head, show, joined, drawn_as, threshold, words, hide, weigh, palette]
    gr.on([trace.change, again.change, *(control.input for control in controls)], trigger_mode="always_last", **seen)
    trace.change(**roles_of)

    # What is chosen and its picture come in one answer: a second one would double the time to the picture.
    outputs: list[Any] = [layer, head, show, heads, picture_of_head, below, joined, threshold]
    # A picture that answers what was asked before something else was chosen is asked for again.
    heads.change(None, [heads, again, stack, layer, head], again, js=AGAIN, **QUIET)
    stack.input(**ask(_other_stack, [trace, *choice]), outputs=outputs, trigger_mode="always_last", **SWIFT).then(
        **roles_of)
    heads.choose(**ask(_choose, [trace, *choice]), outputs=outputs, trigger_mode="multiple", **SWIFT)
    finder.click(_open, [finder, found], [layer, head, show], **QUIET).then(**another)
    return Built(inspected, problem, choice, off, [seen, roles_of])


def _other_stack(service: Service, language: Language, trace: Trace | None, chosen: str, now: int, *more: Any
                 ) -> list[Any]:
    count = service.info.layers(chosen)
    at, (number, how, _, *rest) = min(int(now), count), more
    return [gr.update(choices=numbers(count), value=at), number, how,
            *_joining(draw(service, language, trace, chosen, at, number, how, [], *rest),
                      choices=_names(service, chosen, language), value=[])]


def _choose(service: Service, language: Language, event: gr.EventData, trace: Trace | None, chosen: str, *more: Any
            ) -> list[Any]:
    at, number, how, names = _chosen(event, more[2], more[3])
    return [at, number, how, *_joining(draw(service, language, trace, chosen, at, number, how, names, *more[4:],
                                            maps_too=False), value=names)]


def _names(service: Service, stack: str, language: Language) -> list[tuple[str, str]]:
    """The heads of a stack, to choose several from."""
    layers = service.info.layers(stack)
    return [(text("finder_where", language, layer=layer, head=head), f"{layer}.{head}")
            for layer in range(1, layers + 1) for head in range(1, service.info.n_heads + 1)]


def arrive(service: Service, language: Language, choice: Choice) -> list[Any]:
    """The values of the controls for a choice, in its order."""
    count = service.info.layers(choice.stack)
    return [choice.stack, gr.update(choices=numbers(count), value=choice.layer),
            gr.update(choices=numbers(service.info.n_heads), value=choice.head), choice.show,
            gr.update(choices=_names(service, choice.stack, language),
                      value=[f"{one.layer}.{one.head}" for one in choice.heads]),
            choice.view, choice.threshold, choice.words, choice.hide, choice.weigh, choice.palette]


def open_layer(service: Service, language: Language, stack: str, layer: int) -> list[Any]:
    """Open this tab at a stack and layer, one head at a time: the tabs, which is open, and the first five controls."""
    count = service.info.layers(stack)
    return [gr.Tabs(selected="attention"), "attention", stack,
            gr.update(choices=numbers(count), value=layer), gr.skip(), "head",
            gr.update(choices=_names(service, stack, language), value=[])]


def numbers(count: int) -> list[tuple[str, int]]:
    """Choices 1 to count."""
    return [(str(number), number) for number in range(1, count + 1)]


def offer(service: Service, language: Language, found: Translation | None, typed: str) -> tuple[Any, str, Any, str]:
    """The translations of a new sentence, to choose among; the best one is looked into, or the one `typed` if any."""
    if found is None:
        return gr.skip(), "", gr.skip(), ""
    choices = [c.text for c in found.n_best]
    if not typed or typed == found.best.text:
        return gr.update(choices=choices, value=found.best.text), "", gr.skip(), ""
    return gr.update(choices=choices, value=typed), *inspect(service, language, found, typed)


def inspect(service: Service, language: Language, found: Translation | None, spanish: str | None
            ) -> tuple[str, Any, Any]:
    """Trace another translation of the sentence: one that was found, piece by piece as it was, or one typed by hand.

    -> a problem, the trace, and what the address says of it.
    """
    if found is None:
        return notice([text("no_trace", language)], "error"), gr.skip(), gr.skip()
    try:
        known = [candidate.tokens for candidate in found.n_best if candidate.text == spanish]
        target, warnings = (known[0], []) if known else service.typed(spanish or "")
        said = notice([warning.say(language) for warning in warnings], "warning")
        return said, service.trace(found.source, target), "" if spanish == found.best.text else spanish
    except Exception as error:
        return refusal(error, language), gr.skip(), gr.skip()


def _chosen(event: gr.EventData, show: str, joined: list[str]) -> tuple[int, int, str, list[str]]:
    """A head of the grid, to be shown; or, with Shift, to be joined with others or left out of them again."""
    layer, head, name = int(event.layer), int(event.head), f"{event.layer}.{event.head}"
    if not event.add:
        return layer, head, "head", joined
    joined = [other for other in joined if other != name] if name in joined else [*joined, name]
    return layer, head, show if show in ("mean", "max") else "mean", joined


def _joining(drawn: tuple[Any, ...], **of_joined: Any) -> list[Any]:
    """What `draw` answers, with more to change of the control for joined heads."""
    small, large, below, joined, threshold = drawn
    return [small, large, below, {**joined, **of_joined}, threshold]


def _open(index: int, found: list[tuple[int, int]]) -> tuple[int, int, str]:
    return *found[index], "head"


def find(language: Language, trace: Trace | None, stack: str) -> tuple[Any, list[tuple[int, int]]]:
    """The best head of the stack for every role, best first, as rows to click; and where each row leads."""
    if trace is None:
        return gr.skip(), []
    attention = trace.of(stack)
    best: dict[str, roles.Role] = {}
    for role in roles.rank(stack, attention.probabilities, attention.asks, attention.seen):
        best.setdefault(role.role, role)
    rows = [[text(f"role_{role.role}", language), place(role.head, language), percent(role.score)]
            for role in best.values()]
    return gr.update(samples=rows), [(role.head.layer, role.head.head) for role in best.values()]


def draw(service: Service, language: Language, trace: Trace | None, *values: Any, maps_too: bool = True
         ) -> tuple[Any, ...]:
    """The small maps, the picture of what is chosen, its rules, sink meter and summary in words; controls it needs.

    maps_too: whether the small maps are sent, or only which of them is chosen.
    """
    choice = read_choice(*values)
    joining = gr.update(visible=choice.show in ("mean", "max"))
    thresholding = gr.update(visible=choice.view == "arcs")
    if trace is None:
        return None, None, f"<p>{escape(text('no_trace', language))}</p>", joining, thresholding
    stack_maps = all_maps(trace, choice.stack, choice.weigh)
    seen = picture(trace, choice, language, stack_maps)
    said = [*seen.rules]
    if choice.show == "head":
        said += [sentence for sentence in (_alignment(service, choice, language), _roles(trace, choice, language))
                 if sentence]
    rules = "".join(f"<p>{escape(rule)}</p>" for rule in said)
    meter = escape(text("sink_meter", language, percent=percent(seen.sinks)))
    label = escape(text("summary_label", language))
    identity = f"{service.info.name} {service.info.identity}"
    small = (grid.payload if maps_too else grid.chosen)(stack_maps, choice, language)
    return ({**small, "about": [trace.number, choice.stack, choice.layer, choice.head]},
            head_payload.payload(seen, choice, identity, language),
            f'<div class="rules" role="status">{rules}<p><meter max="1" value="{seen.sinks:.3f}"></meter> {meter}</p>'
            f"</div><details><summary>{label}</summary><p>{escape(summary(seen, language))}</p></details>",
            joining, thresholding)


def _alignment(service: Service, choice: Choice, language: Language) -> str:
    """How well a head of the cross-attention aligns words, where that is known, and on how many sentences."""
    errors = service.alignment_errors(choice.layer, choice.head) if choice.stack == "cross" else None
    if errors is None or "sentences" not in service.metrics["alignment"]:
        return ""
    return text("aligns_given" if errors[1] < errors[0] else "aligns_predicted", language,
                predicted=f"{errors[0]:.2f}", given=f"{errors[1]:.2f}", count=service.metrics["alignment"]["sentences"])


def _roles(trace: Trace, choice: Choice, language: Language) -> str:
    """What a head does most on this sentence, if any role says something of it."""
    attention = trace.of(choice.stack)
    own = roles.of_head(choice.chosen, attention.probabilities, attention.asks, attention.seen)
    named = ", ".join(f"{text(f'role_{role.role}', language)} ({percent(role.score)})" for role in own[:3])
    return text("head_roles", language, roles=named) if named else ""
