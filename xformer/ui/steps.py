"""The Step by step tab: how the decoder comes to its translation, and what it makes of yours.

Three parts, one at a time: the decoding step by step with the beam as a tree; a translation given to the model piece by
piece (teacher forcing); readings after each layer. All are of the pair that the page looks into.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from xformer.figures import beam_tree, lenses, step_player, teacher_forcing
from xformer.figures.ablation import changed_words
from xformer.figures.labels import sentence
from xformer.figures.notice import notice
from xformer.pieces import EOS
from xformer.results import BeamTree, Force, Forced, GrowTree, ReadDecoder, Trace, TranslateByLayer, Translation
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import TRANSPORT, canvas
from xformer.ui.controls import Controls, OneOf, Real, Whole
from xformer.ui.handlers import QUIET, SWIFT, needs, number_of
from xformer.ui.pictures import Pictures
from xformer.ui.places import note, question
from xformer.ui.tabs import Page, Tab, View

ID = "decoding"
WIDTH = Whole(5, 1, 8)
SMOOTHING = Real(0.1, 0, 0.9, step=0.01)
FIRST = Whole(1, 1, 999)  # a step; a longer translation has fewer, and is then shown from its last
NODE = Whole(0, 0, 99_999)  # of the tree, from 1; 0 for the winner
NO_TREE: dict[str, Any] = {"tree": None, "why": "", "went": "", "go": gr.update(visible=False)}


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    shown: dict[str, Any] = {}
    with gr.Column(elem_classes="decoding"):
        with gr.Row(elem_classes="controls parts"):
            controls.add("decode", OneOf((*PARTS,), "steps"), gr.Radio, label=say("decode_part"), container=False,
                         choices=language.choices("decode_{}", PARTS))
        problem = gr.HTML(elem_classes="status")
        with gr.Row(elem_classes="looked-into", visible=False) as shown["other"]:
            shown["other_text"] = gr.HTML()
            shown["back"] = gr.Button(say("decode_back"), size="sm", scale=0, min_width=200)
        for name, lay_out in PARTS.items():
            with gr.Column(elem_classes=f"part of-{name}"):
                question(language, name)
                shown |= lay_out(page, controls)
    controls.add("step", FIRST, gr.Number, visible=False, precision=0)
    controls.add("tree_node", NODE, gr.Number, visible=False, precision=0)
    _draw_pair(page, controls, shown, problem)
    _draw_tree(page, controls, shown)
    _listen(page, shown, problem)
    return Tab(controls, {"lens": View(shown["lens_note"], lambda service, values: lens_note(service, language))})


def _steps(page: Page, controls: Controls) -> dict[str, Any]:
    """Lay out the decoding step by step, and its beam as a tree; -> the components by name."""
    language, say, html = page.language, page.language.say, page.language.html
    player = canvas("step_player.js", TRANSPORT, "step-player", save=language)
    with gr.Row(elem_classes="tree-head"):
        gr.HTML(f'<h3>{html("tree_heading")}</h3>{note(language, "tree_text")}')
        controls.add("tree_width", WIDTH, gr.Slider, label=say("tree_width"), min_width=260, scale=0)
    problem = gr.HTML(elem_classes="status")
    tree = canvas("beam_tree.js", '<div class="drawing"></div>', "beam-tree", save=language)
    with gr.Row(elem_classes="of-node"):
        why = gr.HTML(elem_classes="tables why-node")
        with gr.Column(min_width=260):
            go = gr.Button(say("rivals_run"), variant="primary", size="sm")
            went = gr.HTML(elem_classes="went")
    return {"player": player, "tree": tree, "tree_problem": problem, "why": why, "go": go, "went": went}


def _yours(page: Page, controls: Controls) -> dict[str, Any]:
    """Lay out the translation that is given to the model piece by piece; -> the components by name."""
    language, say = page.language, page.language.say
    _note("force_text", language)
    with gr.Row(elem_classes="ask"):
        typed = gr.Textbox(label=say("force_field"), lines=1, max_lines=4, scale=8,
                           placeholder=say("force_placeholder"))
        give = gr.Button(say("force_run"), scale=1, min_width=220)
    remarks = gr.HTML(elem_classes="status")
    forced = canvas("readings.js", "${value}", "readings forced", save=language)
    free = gr.HTML(elem_classes="free")
    controls.add("smoothing", SMOOTHING, gr.Slider, label=say("force_smoothing"), info=say("force_smoothing_info"))
    shares = canvas("readings.js", "${value}", "readings distribution", save=language)
    return {"typed": typed, "give": give, "remarks": remarks, "forced": forced, "free": free, "shares": shares}


def _layers(page: Page, controls: Controls) -> dict[str, Any]:
    """Lay out the readings after each layer; -> the components by name."""
    language = page.language
    _note("layers_text", language)
    by_layer = canvas("readings.js", "${value}", "readings by-layer", save=language)
    _note("layers_caution", language)
    note = gr.HTML(lens_note(page.service, language))
    lens = canvas("readings.js", '${value}<p class="said" role="status"></p>', "readings of-lens", save=language)
    return {"by_layer": by_layer, "lens_note": note, "lens": lens}


PARTS = {"steps": _steps, "yours": _yours, "layers": _layers}


def _note(key: str, language: Language) -> None:
    gr.HTML(f'<p class="note">{language.html(key)}</p>')


def _draw_pair(page: Page, controls: Controls, shown: Mapping[str, Any], problem: gr.HTML) -> None:
    """Declare the pictures of the pair that the page looks into."""
    pictures = Pictures(page, controls, ID, tab=ID)
    pictures.follow(first_step, **controls.named("step"))
    pictures.fact("is_own", is_own)
    pictures.fact("given", lambda service, trace, smoothing: service.ask(
        Force(trace.text, trace.tokens, float(smoothing))))
    pictures.fact("free_text", free_text)
    pictures.add_each(shown, {
        "typed": lambda trace: sentence(trace.predicted),
        "other": lambda is_own: gr.update(visible=not is_own),
        "other_text": lambda is_own, trace, language: "" if is_own else (
            f'<p>{language.html("decode_other", text=sentence(trace.predicted))}</p>')})
    pictures.add("player", shown["player"], draw_player, seen=in_part("steps"))
    pictures.add_each(shown, {
        "forced": lambda given, trace, step, language: teacher_forcing.steps(given, trace.source, step, language),
        "shares": lambda given, trace, step, language: teacher_forcing.distribution(given, trace.source, step,
                                                                                    language),
        "free": lambda free_text: free_text}, seen=in_part("yours"))
    pictures.add_each(shown, {
        "by_layer": draw_by_layer,
        "lens": lambda service, trace, step, language: lenses.lens(
            service.ask(ReadDecoder(trace.text, trace.tokens)), trace.source, step, language)}, seen=in_part("layers"))
    pictures.listen(problem, page.opened[ID].change, page.trace.change)
    shown["player"].choose(**page.ask(step_to, {}, controls.named("step")), trigger_mode="always_last", **SWIFT)
    for table in ("forced", "lens"):
        shown[table].choose(**pictures.listener(problem, step_to), trigger_mode="always_last", **SWIFT)


def _draw_tree(page: Page, controls: Controls, shown: Mapping[str, Any]) -> None:
    """Declare the pictures of the beam, in which one chooses a hypothesis and goes on from it."""
    pictures, problem = Pictures(page, controls, f"{ID}.tree", tab=ID, cleared=NO_TREE), shown["tree_problem"]
    pictures.follow(first_node, **controls.named("tree_node"))
    pictures.fact("grown", grow)
    pictures.fact("node", lambda grown, tree_node: node_of(grown, int(tree_node or 0) - 1))
    pictures.add_each({**shown, **controls.named("tree_node")}, {
        "tree": draw_tree,
        "tree_node": lambda node, tree_node: node + 1 if node + 1 == tree_node else 0,
        "why": lambda grown, node, language: beam_tree.why(grown, node, language),
        "went": lambda grown, node: "",
        "go": lambda grown: gr.update(visible=True)}, seen=in_part("steps"))
    pictures.listen(problem, page.opened[ID].change, page.trace.change)
    shown["tree"].choose(**pictures.listener(problem, choose_node), trigger_mode="always_last", **SWIFT)
    shown["go"].click(**pictures.listener(problem, go_on, outputs={"trace": page.trace, "spanish": page.spanish}),
                      api_visibility="private", show_progress_on=[shown["went"]])


def _listen(page: Page, shown: Mapping[str, Any], problem: gr.HTML) -> None:
    """Look into the translation that is typed, or into the model's own again."""
    looked_into = {"trace": page.trace, "spanish": page.spanish, "remarks": shown["remarks"]}
    gr.on([shown["give"].click, shown["typed"].submit],
          **page.ask(look_into, {"translation": page.translation, "target": shown["typed"]}, looked_into, problem),
          api_visibility="private", show_progress_on=[shown["free"]])
    shown["back"].click(**page.ask(look_into, {"translation": page.translation}, looked_into, problem, target=""),
                        **QUIET)


def lens_note(service: TranslationService, language: Language) -> str:
    """Introduce the logit lens, in models of this order of normalisation; HTML."""
    return f'<p class="note">{language.html("lens_text_post" if service.info.norm == "post" else "lens_text")}</p>'


def in_part(part: str) -> Callable[..., bool]:
    """Make the test whether a part is the one that is open."""
    return lambda decode: decode == part


def first_step(trace: Trace | None, translation: Translation | None, step: int | None, before: dict[str, Any]
               ) -> dict[str, Any] | None:
    """Begin a new sentence at its first step, and keep the step inside the pair; None where there is no pair yet."""
    if trace is None or translation is None:  # it comes in a moment; or what is above the tabs says why not
        return None
    is_new = before and trace.text != before["trace"].text
    at = 1 if is_new else min(max(1, int(step or 1)), len(trace.target))
    return {} if at == step else {"step": at}


def is_own(trace: Trace, translation: Translation) -> bool:
    """Whether the pair that is looked into is the model's own."""
    return [*trace.tokens] == [token for token in translation.best.tokens if token != EOS]


def draw_player(service: TranslationService, given: Forced, trace: Trace, translation: Translation, is_own: bool,
                step: int, language: Language) -> dict[str, Any]:
    """Draw a step of the decoding."""
    masked = service.info.architecture == "transformer"
    by = "typed" if not is_own else "draw" if translation.options.sampling else "beam"
    return step_player.payload(trace.source, given, step, language, masked, by)


def free_text(given: Forced, trace: Trace, translation: Translation, language: Language) -> str:
    """Compare what was given with what the model says when nothing is given; whatever the smoothing."""
    best = translation.best
    tokens = [*trace.tokens, EOS] if best.finished else list(trace.tokens)
    return teacher_forcing.free(given, tokens, best, language)


def draw_by_layer(service: TranslationService, translation: Translation, language: Language) -> str:
    """Translate from each layer of the encoder."""
    asked = translation.options
    options = replace(asked, temperature=0.0, n_best=min(asked.n_best, asked.beam))
    found = service.ask(TranslateByLayer(translation, options, translation.max_length))
    return lenses.by_layer(translation.source, found, language)


def step_to(service: TranslationService, language: Language, *, event: gr.EventData) -> dict[str, int]:
    """Keep the step that the player shows, or that was chosen in a table, for the address and for the other parts."""
    return {"step": number_of(event, "step")}


def first_node(translation: Translation | None, tree_width: float, tree_node: int | None, before: dict[str, Any]
               ) -> dict[str, Any] | None:
    """Choose the winner in another tree; in the first one what the address says."""
    if translation is None:
        return None
    is_other = before and (before["translation"] is not translation or before["tree_width"] != tree_width)
    return {"tree_node": 0} if is_other and tree_node else {}


@needs(translation="decode_no_trace")
def grow(service: TranslationService, translation: Translation, tree_width: float) -> BeamTree:
    """Grow the tree of the sentence on the page."""
    width = int(tree_width)
    options = replace(translation.options, beam=width, n_best=min(translation.options.n_best, width), alternatives=1)
    return service.ask(GrowTree(translation, options, max_length=translation.max_length))


def node_of(tree: BeamTree, node: int) -> int:
    """The node that is chosen, from 0, where the tree has it; else the winner."""
    return node if 0 <= node < len(tree.branches) else beam_tree.winner(tree)


def draw_tree(grown: BeamTree, node: int, language: Language, before: dict[str, Any]) -> Any:
    """Draw the tree, which marks itself what is clicked in it."""
    return gr.skip() if before.get("grown") is grown else beam_tree.payload(grown, node, language)


def choose_node(service: TranslationService, language: Language, *, grown: BeamTree, event: gr.EventData
                ) -> dict[str, Any] | None:
    """Choose the hypothesis that was clicked."""
    node = number_of(event, "node")
    return {"tree_node": node + 1} if 0 <= node < len(grown.branches) else None


def go_on(service: TranslationService, language: Language, *, grown: BeamTree, node: int, translation: Translation,
          tree_width: float) -> dict[str, Any]:
    """Translate on from the hypothesis that is chosen in the tree; the page then looks into what results."""
    prefix = beam_tree.tokens(grown, node)
    again = service.translate(translation.source, replace(translation.alone, beam=int(tree_width)), prefix,
                              len(prefix) if prefix[-1] == EOS else translation.max_length)
    own, new = translation.best, again.best
    warnings = [warning.say(language) for warning in again.warnings if warning not in translation.warnings]
    total = language.html("tree_went_total", new=f"{sum(new.log_probs):.2f}", old=f"{sum(own.log_probs):.2f}")
    text = changed_words(own.text, new.text) if new.text else language.html("rivals_empty")
    same = language.html("tree_went_same" if new.text == own.text else "tree_went_into")
    return {"went": f'{notice(warnings, "warning")}<div role="status"><p class="sub">{language.html("tree_went")}</p>'
                    f'<p class="large" {language.writes}>{text}</p><p>{total} {same}</p></div>',
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

