"""The Step by step tab: how the decoder comes to its translation, and what it makes of yours.

Three parts, one at a time: the decoding step by step with the beam as a tree; a translation given to the model piece by
piece (teacher forcing); readings after each layer. All are of the pair that the page looks into.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import gradio as gr

from xformer.figures import beam_tree, layers, step_player, teacher_forcing
from xformer.figures.ablation import changed_words
from xformer.figures.labels import sentence
from xformer.figures.notice import notice
from xformer.pieces import EOS
from xformer.results import BeamTree, Forced, Message, Trace, Translation, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas
from xformer.ui.controls import Controls, OneOf, Real, Whole
from xformer.ui.handlers import QUIET, SWIFT, needs, number_of, refused
from xformer.ui.tabs import Page, Tab, View

ID = "decoding"
PARTS = ("steps", "yours", "layers")
WIDTH = Whole(5, 1, 8)
SMOOTHING = Real(0.1, 0, 0.9, step=0.01)
FIRST = Whole(1, 1, 999)  # a step; a longer translation has fewer, and is then shown from its last
NODE = Whole(0, 0, 99_999)  # of the tree, from 1; 0 for the winner


@dataclass(frozen=True, eq=False)
class Drawn:
    """What the pictures of the tab were drawn for."""

    trace: Trace | None = None
    forced: Forced | None = None  # of that trace
    views: dict[str, tuple[Any, ...]] = field(default_factory=dict)  # by name of a view: its inputs


@dataclass(frozen=True, eq=False)
class Grown:
    """The tree on the page, and what it was grown for."""

    translation: Translation | None = None
    width: int = 0
    tree: BeamTree | None = None


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it."""
    language, say, html, controls = page.language, page.language.say, page.language.html, Controls(page.service)

    def note(key: str) -> None:
        gr.HTML(f'<p class="note">{html(key)}</p>')

    with gr.Column(elem_classes="decoding"):
        with gr.Row(elem_classes="controls parts"):
            part = controls.add("decode", OneOf(PARTS, PARTS[0]), gr.Radio, label=say("decode_part"), container=False,
                                choices=[(say(f"decode_{name}"), name) for name in PARTS])
        problem = gr.HTML(elem_classes="status")
        with gr.Row(elem_classes="looked-into", visible=False) as other:
            other_text = gr.HTML()
            back = gr.Button(say("decode_back"), size="sm", scale=0, min_width=200)
        with gr.Column(elem_classes="part of-steps"):
            player = canvas("step_player.js", _player(language), "step-player", save=language)
            with gr.Row(elem_classes="tree-head"):
                gr.HTML(f'<h3>{html("tree_heading")}</h3><p class="note">{html("tree_text")}</p>')
                controls.add("tree_width", WIDTH, gr.Slider, label=say("tree_width"), min_width=260, scale=0)
            tree_problem = gr.HTML(elem_classes="status")
            tree = canvas("beam_tree.js", '<div class="drawing"></div>', "beam-tree", save=language)
            with gr.Row(elem_classes="of-node"):
                why = gr.HTML(elem_classes="tables why-node")
                with gr.Column(min_width=260):
                    go = gr.Button(say("rivals_run"), variant="primary", size="sm")
                    went = gr.HTML(elem_classes="went")
        with gr.Column(elem_classes="part of-yours"):
            note("force_text")
            with gr.Row(elem_classes="ask"):
                typed = gr.Textbox(label=say("force_field"), lines=1, max_lines=4, scale=8,
                                   placeholder=say("force_placeholder"))
                give = gr.Button(say("force_run"), scale=1, min_width=220)
            remarks = gr.HTML(elem_classes="status")
            forced = canvas("readings.js", "${value}", "readings forced", save=language)
            free = gr.HTML(elem_classes="free")
            controls.add("smoothing", SMOOTHING, gr.Slider, label=say("force_smoothing"),
                         info=say("force_smoothing_info"))
            shares = canvas("readings.js", "${value}", "readings distribution", save=language)
        with gr.Column(elem_classes="part of-layers"):
            note("layers_text")
            by_layer = canvas("readings.js", "${value}", "readings by-layer", save=language)
            of_lens = gr.HTML(lens_note(page.service, language))
            lens = canvas("readings.js", '${value}<p class="said" role="status"></p>', "readings of-lens",
                          save=language)
            note("layers_caution")
    controls.add("step", FIRST, gr.Number, visible=False, precision=0)
    controls.add("tree_node", NODE, gr.Number, visible=False, precision=0)

    drawn, grown = gr.State(Drawn()), gr.State(Grown())
    inputs = {"drawn": drawn, "trace": page.trace, "translation": page.translation,
              **controls.named("decode", "step", "smoothing")}
    pictures = {"drawn": drawn, **controls.named("step"), "player": player, "forced": forced, "shares": shares,
                "free": free, "typed": typed, "by_layer": by_layer, "lens": lens, "other": other,
                "other_text": other_text}
    gr.on([page.opened[ID].change, page.trace.change, part.input, controls["smoothing"].component.input],
          **page.ask(draw, inputs, pictures, problem, only_in=ID), trigger_mode="always_last", **SWIFT)
    player.choose(**page.ask(step_to, {}, controls.named("step")), trigger_mode="always_last", **SWIFT)
    for table in (forced, lens):
        table.choose(**page.ask(pick, inputs, pictures, problem), trigger_mode="always_last", **SWIFT)
    of_tree = {"grown": grown, "translation": page.translation, **controls.named("decode", "tree_width", "tree_node")}
    gr.on([page.opened[ID].change, page.trace.change, part.input, controls["tree_width"].component.input],
          **page.ask(grow, of_tree, {"grown": grown, "tree": tree, "why": why, "go": go, "went": went,
                                     **controls.named("tree_node")}, tree_problem, only_in=ID),
          trigger_mode="always_last", **SWIFT)
    tree.choose(**page.ask(tell, {"grown": grown}, {"why": why, "went": went, **controls.named("tree_node")},
                           tree_problem), trigger_mode="always_last", **SWIFT)
    looked_into = {"trace": page.trace, "spanish": page.spanish}
    go.click(**page.ask(go_on, {"grown": grown, **controls.named("tree_node")}, {"went": went, **looked_into},
                        tree_problem), api_visibility="private", show_progress_on=[went])
    gr.on([give.click, typed.submit],
          **page.ask(look_into, {"translation": page.translation, "target": typed},
                     {**looked_into, "remarks": remarks}, problem),
          api_visibility="private", show_progress_on=[free])
    back.click(**page.ask(look_into, {"translation": page.translation},
                          {**looked_into, "remarks": remarks}, problem, target=""), **QUIET)
    return Tab(controls, {"lens": View(of_lens, lambda service, values: lens_note(service, language))})


def lens_note(service: TranslationService, language: Language) -> str:
    """Introduce the logit lens, in models of this order of normalisation; HTML."""
    return f'<p class="note">{language.html("lens_text_post" if service.info.norm == "post" else "lens_text")}</p>'


def _player(language: Language) -> str:
    """The buttons and the slider of the player, and the place of its picture, as a template of `canvas`."""
    return (f'<div class="transport" role="group" aria-label="{language.html("decode_steps")}">'
            '<button type="button" data-by="-1">◀</button><button type="button" class="toggle"></button>'
            '<button type="button" data-by="1">▶</button><input type="range" min="1" max="1" value="1" step="1">'
            '<output></output></div><div class="drawing"></div>')


def draw(service: TranslationService, language: Language, *, drawn: Drawn, trace: Trace | None,
         translation: Translation | None, decode: str, step: int | None, smoothing: float) -> dict[str, Any]:
    """Draw what the open part shows and is not drawn yet. A new sentence begins at its first step."""
    answer: dict[str, Any] = {}
    if trace is None or translation is None:  # it comes in a moment; or what is above the tabs says why not
        return answer
    is_new = trace is not drawn.trace
    at = min(max(1, int(step or 1)), len(trace.target))
    if drawn.trace is not None and trace.text != drawn.trace.text:
        at = 1
    if at != step:
        answer["step"] = at
    if is_new:
        text, is_own = sentence(trace.predicted), _is_own(trace, translation)
        answer |= {"typed": text, "other": gr.update(visible=not is_own),
                   "other_text": "" if is_own else f'<p>{language.html("decode_other", text=text)}</p>'}
    views: dict[str, dict[str, tuple[Any, ...]]] = {
        "steps": {"player": (trace.number, at)},
        "yours": {"forced": (trace.number, float(smoothing), at), "free": (trace.number,)},
        "layers": {"by_layer": (translation,), "lens": (trace.number, at)}}
    wanted = views[decode]
    waiting = {name for name, key in wanted.items() if drawn.views.get(name) != key}
    forced = None if is_new else drawn.forced
    if waiting & {"player", "forced", "free"} and (forced is None or forced.smoothing != float(smoothing)):
        forced = service.force(trace.text, trace.tokens, float(smoothing))
    if forced is not None:
        answer |= _forced_views(waiting, forced, trace, translation, at, language)
        if "player" in waiting:
            masked = service.info.architecture == "transformer"
            by = "typed" if not _is_own(trace, translation) else "draw" if translation.options.sampling else "beam"
            answer["player"] = step_player.payload(trace.source, forced, at, language, masked, by)
    if "by_layer" in waiting:
        asked = translation.options
        options = replace(asked, temperature=0.0, n_best=min(asked.n_best, asked.beam))
        found = service.translate_by_layer(translation, options, translation.max_length)
        answer["by_layer"] = layers.by_layer(translation.source, found, language)
    if "lens" in waiting:
        answer["lens"] = layers.lens(service.read_decoder(trace.text, trace.tokens), trace.source, at, language)
    return {**answer, "drawn": Drawn(trace, forced, {**drawn.views, **wanted})}


def _is_own(trace: Trace, translation: Translation) -> bool:
    """Whether the pair that is looked into is the model's own."""
    return [*trace.tokens] == [token for token in translation.best.tokens if token != EOS]


def _forced_views(waiting: set[str], forced: Forced, trace: Trace, translation: Translation, step: int,
                  language: Language) -> dict[str, Any]:
    """Draw those views that wait for it from a target that was given piece by piece."""
    answer: dict[str, Any] = {}
    if "forced" in waiting:
        answer |= {"forced": teacher_forcing.steps(forced, trace.source, step, language),
                   "shares": teacher_forcing.distribution(forced, step, language)}
    if "free" in waiting:
        best = translation.best
        tokens = [*trace.tokens, EOS] if best.finished else list(trace.tokens)
        answer["free"] = teacher_forcing.free(forced, tokens, best, language)
    return answer


def pick(service: TranslationService, language: Language, *, event: gr.EventData, **shown: Any) -> dict[str, Any]:
    """Choose a step in a table, and draw it there."""
    step = number_of(event, "step")
    return {**draw(service, language, **{**shown, "step": step}), "step": step}


def step_to(service: TranslationService, language: Language, *, event: gr.EventData) -> dict[str, int]:
    """Keep the step that the player shows, for the address and for the other parts."""
    return {"step": number_of(event, "step")}


@refused(tree=None, why="", went="", go=gr.update(visible=False), grown=Grown())
def grow(service: TranslationService, language: Language, *, grown: Grown, translation: Translation | None,
         decode: str, tree_width: float, tree_node: int | None) -> dict[str, Any]:
    """Grow the tree of the sentence where the page shows another; the winner is chosen in it, or what the address says.
    """
    width = int(tree_width)
    if translation is None or decode != PARTS[0] or (grown.translation is translation and grown.width == width):
        return {}
    options = replace(translation.options, beam=width, n_best=min(translation.options.n_best, width), alternatives=1)
    tree = service.grow_tree(translation, options, max_length=translation.max_length)
    node = int(tree_node or 0) - 1 if grown.translation is None else -1
    chosen = node if 0 <= node < len(tree.branches) else beam_tree.winner(tree)
    return {"grown": Grown(translation, width, tree), "tree": beam_tree.payload(tree, chosen, language),
            "why": beam_tree.why(tree, chosen, language), "went": "", "go": gr.update(visible=True),
            "tree_node": node + 1 if chosen == node else 0}


def tell(service: TranslationService, language: Language, *, grown: Grown, event: gr.EventData) -> dict[str, Any]:
    """Say why the hypothesis that was clicked won or lost."""
    node = number_of(event, "node")
    if grown.tree is None or not 0 <= node < len(grown.tree.branches):
        return {}
    return {"why": beam_tree.why(grown.tree, node, language), "went": "", "tree_node": node + 1}


def go_on(service: TranslationService, language: Language, *, grown: Grown, tree_node: int | None) -> dict[str, Any]:
    """Translate on from the hypothesis that is chosen in the tree; the page then looks into what results."""
    tree, translation = grown.tree, grown.translation
    if tree is None or translation is None:
        raise UserError(Message.of("decode_no_trace"))
    node = int(tree_node or 0) - 1
    prefix = beam_tree.tokens(tree, node if 0 <= node < len(tree.branches) else beam_tree.winner(tree))
    again = service.translate(translation.source, replace(translation.alone, beam=grown.width), prefix,
                              len(prefix) if prefix[-1] == EOS else translation.max_length)
    own, new = translation.best, again.best
    warnings = [warning.say(language) for warning in again.warnings if warning not in translation.warnings]
    total = language.html("tree_went_total", new=f"{sum(new.log_probs):.2f}", old=f"{sum(own.log_probs):.2f}")
    text = changed_words(own.text, new.text) if new.text else language.html("rivals_empty")
    same = language.html("tree_went_same" if new.text == own.text else "tree_went_into")
    return {"went": f'{notice(warnings, "warning")}<div role="status"><p class="sub">{language.html("tree_went")}</p>'
                    f'<p class="large" lang="es">{text}</p><p>{total} {same}</p></div>',
            "trace": service.trace(translation, new.tokens),
            "spanish": "" if new.text == own.text else new.text}


@needs(translation="decode_no_trace")
def look_into(service: TranslationService, language: Language, *, translation: Translation, target: str | None
              ) -> dict[str, Any]:
    """Look into a typed translation of the sentence, piece by piece; into the model's own where nothing is typed."""
    best, text = translation.best, (target or "").strip()
    if not text or text == best.text:
        return {"trace": service.trace(translation, best.tokens), "spanish": "", "remarks": ""}
    tokens, warnings = service.typed(text)
    said = notice([warning.say(language) for warning in warnings], "warning")
    return {"trace": service.trace(translation, tokens), "spanish": text, "remarks": said}

