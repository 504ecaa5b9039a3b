"""Part of the Compare tab that takes BLEU apart on any two texts; no model is asked."""

from typing import Any

import gradio as gr

from xformer.parts.bleu import draw as figures
from xformer.results import Translation
from xformer.serve.bleu import bleu
from xformer.serve.text import clean
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.controls import Words
from xformer.ui.handlers import QUIET, SWIFT_LATEST, needs, refused
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.places import note

ID = "bleu"
FOLDS = (("brevity", "bleu_brevity_part", "bleu"),)
# The classic examples: of Papineni et al. (2002) for clipping; one that is only too
# short; one without n-grams of four; and an answer of the lecture's transformer.
PRESETS = {
    "the": ("the the the the the the the", "the cat is on the mat"),
    "short": ("the cat is", "the cat is on the mat"),
    "few": ("Muchas gracias.", "Muchas gracias."),
    "wedding": ("fue un hermoso hermoso", "fue un hermoso casamiento"),
}
PAGE = "page"  # the translation on the page


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.ask = part.page.always(None)
    say = part.say
    with gr.Row(elem_classes="ask two-sentences"):
        part["preset"] = gr.Dropdown(
            part.language.choices("bleu_preset_{}", (*PRESETS, PAGE)),
            value="the",
            label=say("bleu_preset"),
            filterable=False,
            scale=3,
            min_width=220,
        )
        fields = [
            part.control(
                key,
                Words(text),
                gr.Textbox,
                lines=1,
                max_lines=4,
                scale=4,
                min_width=240,
            )
            for key, text in zip(
                ("bleu_said", "bleu_wanted"), PRESETS["the"], strict=True
            )
        ]
    part.status()
    gr.HTML(note(part.language, "bleu_lab_look", ""), elem_classes="look")
    with gr.Row(elem_classes="detail bleu-lab"):
        with wide():
            part["ngrams"] = part.table("bleu-ngrams")
        with narrow():
            part["scores"] = part.table("bleu-sums")
            with part.folded("brevity"):
                part["curve"] = part.plot("brevity")
    gr.on(
        [part.opened.change, *(field.change for field in fields)],
        **part.listener(
            run,
            "preset",
            "ngrams",
            "scores",
            "curve",
            problem="problem",
            only_here=True,
        ),
        **SWIFT_LATEST,
    )
    part["preset"].input(**part.listener(choose, "bleu_said", "bleu_wanted"), **QUIET)


@needs(preset="bleu_preset")
def choose(
    _: None, language: Language, *, preset: str, translation: Translation | None
) -> dict[str, Any]:
    """Put an example into the fields; the translation on the page leaves the reference
    as it is."""
    if preset == PAGE:
        return {} if translation is None else {"bleu_said": translation.best.text}
    return dict(zip(("bleu_said", "bleu_wanted"), PRESETS[preset], strict=True))


@needs(bleu_wanted="error_reference_empty")
@refused(ngrams=None, scores=None, curve=None)
def run(
    _: None, language: Language, *, part: str, bleu_said: str | None, bleu_wanted: str
) -> dict[str, Any]:
    """Take BLEU of two texts apart; nothing where another part is shown."""
    if part != ID:
        return {}
    parts = bleu(
        clean(bleu_said, "error_target_empty")[0] if bleu_said else "", bleu_wanted
    )
    preset = next(
        (name for name, texts in PRESETS.items() if texts == (bleu_said, bleu_wanted)),
        None,
    )
    return {
        "preset": preset,
        "ngrams": figures.ngrams(parts, language),
        "scores": figures.scores(parts, language),
        "curve": figure(figures.brevity(parts, language)),
    }
