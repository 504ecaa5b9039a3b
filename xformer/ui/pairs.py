"""The Compare tab: two sentences that differ in a word, the BLEU laboratory, and the lecture's sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.figures import pairs as figures
from xformer.figures.notice import notice
from xformer.results import Comparison, Head, Options
from xformer.serve.protocol import TranslationService
from xformer.strings import ASSETS, Language
from xformer.ui import bleu, lecture
from xformer.ui.components import canvas, figure, plot
from xformer.ui.controls import Controls, OneOf, Words, one_head
from xformer.ui.handlers import QUIET, SWIFT, Ask, needs, refused
from xformer.ui.tabs import Listener, Page, Tab

ID = "pairs"
PARTS = ("sentences", bleu.PART, lecture.PART)
PRESETS: list[dict[str, Any]] = json.loads((ASSETS / "minimal_pairs.json").read_text(encoding="utf-8"))


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it: a choice of parts, of which one is shown."""
    say, controls = page.language.say, Controls(page.service)
    with gr.Row(elem_classes="controls parts"):
        part = controls.add("pairs_part", OneOf(PARTS, PARTS[0]), gr.Radio, label=say("pairs_part"), show_label=False,
                            container=False, choices=[(say(f"pairs_part_{name}"), name) for name in PARTS])
    columns: dict[str, gr.Column] = {}
    for name, lay_out in zip(PARTS, (_sentences, bleu.build, lecture.build), strict=True):
        with gr.Column(visible=name == PARTS[0]) as columns[name]:
            controls.include(lay_out(page, part, ID))
    part.change(**Ask.always(None, page.language)(show, {"pairs_part": part}, columns), **SWIFT)
    return Tab(controls, own_field=True)


def show(_: None, language: Language, *, pairs_part: str) -> dict[str, Any]:
    """Show the part that is chosen, and hide the others."""
    return {name: gr.update(visible=name == pairs_part) for name in PARTS}


# Two sentences


@dataclass(frozen=True, eq=False)
class Shown:
    """A comparison on the page, and what was asked for."""

    asked: tuple[Any, ...]
    compared: Comparison


def _sentences(page: Page, part: gr.Radio, tab: str) -> Controls:
    """Lay out two sentences side by side; -> its controls."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    with gr.Row(elem_classes="detail"):
        with gr.Column(scale=7, min_width=320):
            problem = gr.HTML(elem_classes="status")
            result, state = canvas("part.js", "${value}", "compared main", save=language), gr.State()
        with gr.Column(scale=3, min_width=280):
            preset = gr.Dropdown([(one["name"][language.code], i) for i, one in enumerate(PRESETS)], value=0,
                                 label=say("pairs_preset"), filterable=False)
            first, second = (controls.add(key, Words(PRESETS[0]["texts"][i]), gr.Textbox, label=say(label), lines=1,
                                          max_lines=4)
                             for i, (key, label) in enumerate((("pair_a", "pairs_first"), ("pair_b", "pairs_second"))))
            button = gr.Button(say("pairs_run"), variant="primary")
    with gr.Row(elem_classes="controls"):
        head = controls.add("pair_head", one_head(language), gr.Dropdown, label=say("pairs_head"), scale=0,
                            min_width=340)
    summary = gr.HTML(elem_classes="summary")
    with gr.Row(elem_classes="detail three-maps"):
        maps: dict[str, gr.HTML] = {}
        for name in ("first", "second", "difference"):
            with gr.Column(min_width=280):
                maps[name] = plot(f"pair-{name}", language)
    asked = {**controls.named(), "pairs_part": part, "shown": state,
             **{key: page.controls[key].component for key in ("beam", "length_penalty") if key in page.controls}}
    answer = {"shown": state, "preset": preset, "result": result, "summary": summary, **maps}
    shows: Listener = {"trigger_mode": "always_last", "api_visibility": "private", "show_progress_on": [result]}
    compare: Listener = {**page.ask(run, asked, answer, problem, only_in=tab), **shows}
    gr.on([page.opened[tab].change, part.change, button.click, first.submit, second.submit], **compare)
    preset.input(**page.ask(choose, {"preset": preset}, {"pair_a": first, "pair_b": second}), **QUIET).then(**compare)
    page.on_return.append(compare)
    head.input(**page.ask(draw, {"shown": state, "pair_head": head}, {"summary": summary, **maps}, problem), **QUIET)
    return controls


def choose(_: TranslationService, language: Language, *, preset: int | None) -> dict[str, Any]:
    """Put a minimal pair into the fields."""
    return {} if preset is None else dict(zip(("pair_a", "pair_b"), PRESETS[preset]["texts"], strict=True))


@needs(pair_a="pairs_empty", pair_b="pairs_empty")
@refused(shown=None, result=None, summary="", first=None, second=None, difference=None)
def run(service: TranslationService, language: Language, *, pairs_part: str, pair_a: str, pair_b: str,
        pair_head: str | None, shown: Shown | None, beam: float = Options.beam,
        length_penalty: float = Options.length_penalty) -> dict[str, Any]:
    """Translate both sentences and compare them; nothing where that is on the page already, or another part is."""
    asked = (pair_a, pair_b, int(beam), float(length_penalty))
    if pairs_part != "sentences" or (shown is not None and shown.asked == asked):
        return {}
    options = Options(beam=asked[2], length_penalty=asked[3], alternatives=1)
    known = {one.source: one for one in (shown.compared.translations if shown else ()) if one.options == options}
    compared = service.compare(known.get(pair_a, pair_a), known.get(pair_b, pair_b), options)
    shown = Shown(asked, compared)
    warnings = dict.fromkeys(one.say(language) for translation in compared.translations for one in translation.warnings)
    preset = next((i for i, one in enumerate(PRESETS) if one["texts"] == [pair_a, pair_b]), None)
    question = language.say("pairs_look_words") if preset is None else PRESETS[preset]["look"][language.code]
    return {"problem": notice([*warnings], "warning"), "shown": shown, "preset": preset,
            "result": figures.translations(compared, language, question),
            **draw(service, language, shown=shown, pair_head=pair_head)}


def draw(service: TranslationService, language: Language, *, shown: Shown | None, pair_head: str | None
         ) -> dict[str, Any]:
    """Draw a head in both passes, and the difference; or say that the model has no such maps.

    pair_head: None where the model has no head to choose.
    """
    if shown is None:
        return {}
    given = given_heads(service.info, service.alignment_errors)
    maps = figures.head_maps(shown.compared, Head.parse(pair_head), given, language) if pair_head else None
    if maps is None:
        said = language.html("pairs_no_maps", model=service.info.name)
        return {"summary": f"<p>{said}</p>", "first": None, "second": None, "difference": None}
    return {"summary": "".join(f"<p>{escape(one)}</p>" for one in maps.summary), "first": figure(maps.first),
            "second": figure(maps.second), "difference": figure(maps.difference)}
