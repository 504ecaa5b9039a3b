"""Part of the Compare tab that takes BLEU apart on any two texts; no model is asked."""

from typing import Any

import gradio as gr

from xformer.figures import bleu as figures
from xformer.results import Translation
from xformer.serve.bleu import bleu
from xformer.serve.text import clean
from xformer.strings import Language
from xformer.ui.components import canvas, figure, plot
from xformer.ui.controls import Controls, Words
from xformer.ui.handlers import QUIET, SWIFT, Ask, needs, refused
from xformer.ui.places import folded, note
from xformer.ui.tabs import Page

PART = "bleu"
# The classic examples: of Papineni et al. (2002) for clipping; one that is only too short; one without n-grams of four;
# and an answer of the lecture's transformer.
PRESETS = {"the": ("the the the the the the the", "the cat is on the mat"),
           "short": ("the cat is", "the cat is on the mat"),
           "few": ("Muchas gracias.", "Muchas gracias."),
           "wedding": ("fue un hermoso hermoso", "fue un hermoso casamiento")}
PAGE = "page"  # the translation on the page


def build(page: Page, part: gr.Radio, tab: str, opened: gr.Textbox) -> Controls:
    """Lay the part out, called inside the tab; -> its controls.

    part: which of the tab's is shown; tab: its id; opened: a box whose text changes when this part comes into sight.
    """
    language, say, controls = page.language, page.language.say, Controls(page.service)
    with gr.Row(elem_classes="ask two-sentences"):
        preset = gr.Dropdown(language.choices("bleu_preset_{}", (*PRESETS, PAGE)), value="the",
                             label=say("bleu_preset"), filterable=False, scale=3, min_width=220)
        said = controls.add("bleu_said", Words(PRESETS["the"][0]), gr.Textbox, label=say("bleu_said"), lines=1,
                            max_lines=4, scale=4, min_width=240)
        wanted = controls.add("bleu_wanted", Words(PRESETS["the"][1]), gr.Textbox, label=say("bleu_wanted"), lines=1,
                              max_lines=4, scale=4, min_width=240)
    problem = gr.HTML(elem_classes="status")
    gr.HTML(note(language, "bleu_lab_look", ""), elem_classes="look")
    with gr.Row(elem_classes="detail bleu-lab"):
        with gr.Column(scale=3, min_width=300):
            ngrams = canvas("part.js", "${value}", "bleu-ngrams", save=language)
        with gr.Column(scale=2, min_width=300):
            scores = canvas("part.js", "${value}", "bleu-sums", save=language)
            with folded(language, "brevity"):
                curve = plot("brevity", language)
    ask = Ask.always(None, language, page.tab)
    gr.on([opened.change, said.change, wanted.change],
          **ask(run, {"part": part, **controls.named()},
                {"preset": preset, "ngrams": ngrams, "scores": scores, "curve": curve}, problem, only_in=tab),
          trigger_mode="always_last", **SWIFT)
    preset.input(**ask(choose, {"preset": preset, "translation": page.translation},
                       {"bleu_said": said, "bleu_wanted": wanted}), **QUIET)
    return controls


@needs(preset="bleu_preset")
def choose(_: None, language: Language, *, preset: str, translation: Translation | None) -> dict[str, Any]:
    """Put an example into the fields; the translation on the page leaves the reference as it is."""
    if preset == PAGE:
        return {} if translation is None else {"bleu_said": translation.best.text}
    return dict(zip(("bleu_said", "bleu_wanted"), PRESETS[preset], strict=True))


@needs(bleu_wanted="error_reference_empty")
@refused(ngrams=None, scores=None, curve=None)
def run(_: None, language: Language, *, part: str, bleu_said: str | None, bleu_wanted: str) -> dict[str, Any]:
    """Take BLEU of two texts apart; nothing where another part is shown."""
    if part != PART:
        return {}
    parts = bleu(clean(bleu_said, "error_target_empty")[0] if bleu_said else "", bleu_wanted)
    preset = next((name for name, texts in PRESETS.items() if texts == (bleu_said, bleu_wanted)), None)
    return {"preset": preset, "ngrams": figures.ngrams(parts, language), "scores": figures.scores(parts, language),
            "curve": figure(figures.brevity(parts, language))}
