"""A part of the Sentiment tab: all heads of the classifier or of the language model, and what fine-tuning moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import gradio as gr

from xformer.figures import grid_payload as grid
from xformer.figures import head_payload
from xformer.figures import reading as figures
from xformer.figures.attention import SHOW, VIEWS, all_maps, picture, summary
from xformer.figures.labels import of_model
from xformer.figures.reading import OF, ReaderChoice
from xformer.results import ModelInfo, Trace, UserError
from xformer.strings import Language
from xformer.ui import judging
from xformer.ui.components import PICTURES, canvas, figure, plot
from xformer.ui.controls import Controls, OneOf, Switch, Whole, Words
from xformer.ui.handlers import QUIET, SWIFT, Ask, number_of, refused
from xformer.ui.tabs import Page, Tab

ID = "maps"
TAB = "sentiment"
OF_SENTENCE = False
TEXT = "The story is dull, but the acting is wonderful."
MOST = 256  # layers, and heads of a layer, that an address may name
PLOTS = ("before", "after", "difference")
LOOK = ("of", "layer", "head", "show", "view", "words", "hide", "weigh")
EMPTY: dict[str, Any] = {"shown": None, "grid": None, "picture": None, "below": "", "rules": "", "distances": None,
                         **dict.fromkeys(PLOTS)}
Readers = Mapping[str, Any]  # ReviewService and WriterService, by whose they are: figures.reading.OF, or a name


@dataclass(frozen=True, eq=False)
class Shown:
    """The passes over a text that the page shows, by whose they are."""

    text: str
    traces: dict[str, Trace]


def build(page: Page, opened: gr.Textbox) -> Tab:
    """Lay the part out; called inside it. opened: a box whose text changes when it comes into sight."""
    language, say, html = page.language, page.language.say, page.language.html
    controls, reader = Controls(page.service), page.reviews
    if reader is None or isinstance(reader, UserError):
        gr.HTML(judging.missing(reader, language))
        return Tab(controls)
    writer = None if isinstance(page.writer, UserError) else page.writer
    readers: Readers = {OF[0]: reader, **({} if writer is None else {OF[1]: writer}), **page.other_reviews}
    ask = Ask.always(readers, language, page.tab)
    gr.HTML(f'<p>{html("maps_look")}</p>', elem_classes="summary")
    problem = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="detail reading"):
        with gr.Column(scale=4, min_width=280):
            with gr.Row(elem_classes="controls"):
                controls.add("maps_of", OneOf((*readers,), OF[0]), gr.Radio, container=False, label=say("maps_of"),
                             choices=[(named(name, language), name) for name in readers], visible=len(readers) > 1)
            controls.add("maps_layer", Whole(reader.info.n_layers, 1, MOST), gr.Number, visible=False, precision=0)
            controls.add("maps_head", Whole(1, 1, MOST), gr.Number, visible=False, precision=0)
            heads = canvas("head_grid.js", '<div class="maps"><canvas tabindex="0" role="img"></canvas></div>',
                           "heads", save=language, files=PICTURES)
            with gr.Column(elem_classes="reading-settings"):
                text = controls.add("maps_text", Words(TEXT), gr.Textbox, label=say("review"), lines=2, max_lines=6)
                button = gr.Button(say("maps_run"), variant="primary")
                controls.add("maps_show", OneOf(SHOW, "head"), gr.Radio, label=say("show"),
                             choices=[(say(f"show_{name}"), name) for name in SHOW])
                controls.add("maps_view", OneOf(VIEWS, "auto"), gr.Radio, label=say("view"),
                             choices=[(say(f"view_{name}"), name) for name in VIEWS])
                with gr.Row(elem_classes="controls"):
                    controls.add("maps_words", Switch(), gr.Checkbox, label=say("words"), min_width=150)
                    controls.add("maps_hide", Switch(), gr.Checkbox, label=say("hide_sinks"), min_width=150)
                    controls.add("maps_weigh", Switch(), gr.Checkbox, label=say("weigh"), min_width=150)
        with gr.Column(scale=7, min_width=300):
            view = canvas("head_view.js", '<div class="drawing"></div>', "view reading-view", save=language)
            rules = gr.HTML(elem_classes="summary")
            about = gr.HTML(figures.about(reader.info, reader.info, language), elem_classes="summary about-mask")
            below = gr.HTML(elem_classes="summary words-of-picture")
    shown = gr.State()
    outputs: dict[str, Any] = {"shown": shown, "grid": heads, "picture": view, "below": below, "rules": rules,
                               "about": about, **controls.named("maps_layer", "maps_head")}
    if writer is not None:
        with gr.Column():
            gr.HTML(f'<h3>{html("maps_compare")}</h3><p class="note">{html("maps_compare_text")}</p>'
                    f'{_both(writer.info, reader.info)}')
            outputs["distances"] = canvas("part.js", "${value}", "moved-view", save=language)
            with gr.Row(elem_classes="detail three-maps"):
                for name in PLOTS:
                    with gr.Column(min_width=280):
                        outputs[name] = plot(f"maps-{name}", language)
    inputs = {"shown": shown, **controls.named()}
    gr.on([button.click, text.submit, opened.change], trigger_mode="always_last",
          **ask(run, inputs, outputs, problem, only_in=TAB), **QUIET)
    page.on_return.append({**ask(run, inputs, outputs, problem, only_in=TAB, again=True), **QUIET})
    gr.on([controls[key].component.input for key in controls if key not in ("maps_text", "maps_layer", "maps_head")],
          trigger_mode="always_last", **ask(draw, inputs, outputs, problem), **SWIFT)
    heads.choose(**ask(choose, inputs, outputs, problem), trigger_mode="multiple", **SWIFT)
    if page.reviewer is not None:
        page.reviewer.input(**ask(follow, {"name": page.reviewer}, {"shown": shown, **controls.named("maps_of")}),
                            **QUIET)
    return Tab(controls)


def named(of: str, language: Language) -> str:
    """Name a model that reads, as a choice."""
    return language.say(f"maps_of_{of}") if of in OF else f'{language.say("maps_of_classifier")}: {of}'


def _both(before: ModelInfo, after: ModelInfo) -> str:
    """Name the two models that are compared, for what is saved."""
    pair = replace(after, name=f"{before.name} → {after.name}", identity=f"{before.identity} → {after.identity}")
    return of_model(pair, f"{before.name} {before.identity} → {after.name} {after.identity}", hidden=True)


def follow(readers: Readers, language: Language, *, name: str) -> dict[str, Any]:
    """Take the classifier that was chosen in another part: its maps are drawn when this part is opened."""
    return {"shown": None, "maps_of": name if name in readers else OF[0]}


@refused(**EMPTY)
def run(readers: Readers, language: Language, *, shown: Shown | None, maps_text: str | None, again: bool = False,
        **look: Any) -> dict[str, Any]:
    """Let all models read the text, where another one is on the page.

    again: draw what is on the page already too. (Otherwise it stays: a head may have been chosen since this was asked.)
    """
    text = maps_text or ""
    if shown is None or shown.text != text:
        shown = Shown(text, {of: reader.trace(text) for of, reader in readers.items()})
    elif not again:
        return {}
    return {"shown": shown, **draw(readers, language, shown=shown, maps_text=maps_text, **look)}


def choose(readers: Readers, language: Language, *, event: gr.EventData, **values: Any) -> dict[str, Any]:
    """Show the head of the grid that was clicked."""
    return draw(readers, language, **{**values, "maps_layer": number_of(event, "layer"),
                                      "maps_head": number_of(event, "head"), "maps_show": "head"})


def draw(readers: Readers, language: Language, *, shown: Shown | None, maps_text: str | None, **look: Any
         ) -> dict[str, Any]:
    """Draw the grid of small maps, the picture of what is chosen, and what fine-tuning moved."""
    if shown is None:
        return {}
    of = look["maps_of"] if look["maps_of"] in shown.traces else OF[0]
    classifier = OF[0] if of == OF[1] else of
    trace, info = shown.traces[of], readers[of].info
    values = {name: look[f"maps_{name}"] for name in LOOK}
    layer, head = (min(max(1, int(values[name] or 1)), most) for name, most in
                   (("layer", info.n_layers), ("head", info.n_heads)))
    choice = ReaderChoice(**{**values, "of": of, "layer": layer, "head": head})
    stack_maps = all_maps(trace, choice.stack, choice.weigh)
    drawn = picture(trace, choice, language, stack_maps)
    # The locked words of the translation stand in another text.
    small = {**grid.payload(stack_maps, choice, language), "sides": ["", ""]}
    note = language.say("maps_note_causal" if info.causal else "maps_note_full")
    answer = {"grid": {**small, "about": [trace.number, choice.layer, choice.head]},
              "picture": head_payload.payload(drawn, choice, f"{info.name} {info.identity}", language),
              "rules": figures.rules(drawn.rules, note), "maps_layer": layer, "maps_head": head,
              "about": figures.about(info, readers[classifier].info, language),
              "below": f"<details><summary>{language.html('summary_label')}</summary>"
                       f"<p>{escape(summary(drawn, language))}</p></details>"}
    return {**answer, **_compared(shown, classifier, choice, language)} if OF[1] in readers else answer


def _compared(shown: Shown, classifier: str, choice: ReaderChoice, language: Language) -> dict[str, Any]:
    """Show the head before and after fine-tuning, where the classifier began as the language model: of the shipped one,
    where both have the same shape and read the same pieces."""
    if classifier != OF[0]:
        return {"distances": f"<p>{language.html('maps_not_begun', name=classifier)}</p>", **dict.fromkeys(PLOTS)}
    before, after = shown.traces[OF[1]], shown.traces[OF[0]]
    if before.source != after.source or before.encoder_self.shape != after.encoder_self.shape:
        return {"distances": f"<p>{language.html('maps_apart')}</p>", **dict.fromkeys(PLOTS)}
    plots = figures.before_after(before, after, choice.chosen, language)
    return {"distances": figures.distances(before, after, choice.chosen, language),
            **{name: figure(drawn) for name, drawn in zip(PLOTS, plots, strict=True)}}
