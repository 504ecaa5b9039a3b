"""Part of the Attention tab that lets the reader choose: another word at a step, and the translation from there on."""

from __future__ import annotations

import math
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from xformer.figures import counterfactual
from xformer.figures.labels import percent, shown
from xformer.figures.notice import notice
from xformer.pieces import BOS, SPECIAL
from xformer.results import Candidate, Translation
from xformer.serve.translation import Service
from xformer.strings import Language, speaker, text
from xformer.ui.components import figure, plot
from xformer.ui.handlers import QUIET, Ask, refusal


def build(ask: Ask, translation: gr.State) -> None:
    """Lay the part out; called inside the tab."""
    say = speaker(ask.language)
    with gr.Accordion(say("rivals_part"), open=False):
        gr.HTML(f'<p class="note">{escape(say("rivals_text"))}</p>')
        with gr.Row(elem_classes="controls"):
            step = gr.Dropdown([], label=say("rivals_step"), scale=2, min_width=240)
            piece = gr.Radio([], label=say("rivals_piece"), scale=3, min_width=280)
        button = gr.Button(say("rivals_run"), variant="primary", size="sm")
        result = gr.HTML(elem_classes="tables another-word")
        picture = plot("difference", ask.language)
    translation.change(partial(offer, ask.language), translation, [step, piece, result, picture], **QUIET)
    step.input(offer_rivals, [translation, step], piece, **QUIET)
    button.click(**ask(run, [translation, step, piece]), outputs=[result, picture], api_visibility="private")


def steps(found: Candidate, language: Language) -> list[tuple[str, int]]:
    """Every step of a translation: what was given last, what was chosen, and how sure the model was."""
    given = [SPECIAL[BOS], *found.pieces]
    return [(text("rivals_step_choice", language, number=i + 1, given=shown(given[i]), piece=shown(piece),
                  percent=percent(math.exp(log_prob))), i)
            for i, (piece, log_prob) in enumerate(zip(found.pieces, found.log_probs, strict=True))]


def offer(language: Language, found: Translation | None) -> tuple[Any, Any, str, Any]:
    """The steps of a new translation, first the one at which the model was least sure; nothing is compared yet."""
    if found is None:
        return gr.update(choices=[], value=None), offer_rivals(None, None), "", None
    least = min(range(len(found.best.log_probs)), key=found.best.log_probs.__getitem__)
    return gr.update(choices=steps(found.best, language), value=least), offer_rivals(found, least), "", None


def offer_rivals(found: Translation | None, step: int | None) -> Any:
    """The likeliest pieces at a step but the one that was chosen, the best of them first."""
    if found is None or step is None:
        return gr.update(choices=[], value=None)
    choices = [(f"{shown(piece)} · {percent(math.exp(log_prob))}", piece)
               for piece, log_prob in found.best.alternatives[step] if piece != found.best.pieces[step]]
    return gr.update(choices=choices, value=choices[0][1] if choices else None)


def run(service: Service, language: Language, found: Translation | None, step: int | None, piece: str | None
        ) -> tuple[str, Any]:
    """Translate on from the rival, and show both translations and where the heads look after each choice."""
    if found is None or step is None or piece is None:
        return notice([text("no_trace", language)], "error"), None
    try:
        again = service.choose(found.source, found.best, step, piece, found.alone, found.max_length)
        old, new = (service.trace(found.source, one.tokens) for one in (found.best, again.best))
        warnings = [warning.say(language) for warning in again.warnings if warning not in found.warnings]
        compared = counterfactual.comparison(found.best, again.best, old, new, step, language)
        return (notice(warnings, "warning") + compared,
                figure(counterfactual.difference(old, new, step, language)))
    except Exception as error:
        return refusal(error, language), None
