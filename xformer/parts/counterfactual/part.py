"""Part of the Attention tab that lets the reader choose: another word at a step, and
the translation from there on."""

import math
from typing import Any

import gradio as gr

from xformer.figures.labels import percent, shown
from xformer.figures.locked_word import locked_target
from xformer.figures.notice import warnings
from xformer.parts.counterfactual import draw as figures
from xformer.pieces import BOS, SPECIAL
from xformer.results import Candidate, Translation
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.handlers import QUIET, needs, refused
from xformer.ui.layout import Layout

ID = "rivals"
NAME = "drawer_rivals"
WITHIN = "ablation"
NOTHING: dict[str, Any] = {"choices": [], "value": None}


def build(part: Layout, look: Layout) -> None:
    """Lay the part out; called inside it."""
    say = part.say
    part.note("rivals_text", "rivals_part")
    with gr.Row(elem_classes="controls"):
        part["step"] = gr.Dropdown([], label=say("rivals_step"), scale=2, min_width=240)
        part["piece"] = gr.Radio([], label=say("rivals_piece"), scale=3, min_width=280)
    button = gr.Button(say("rivals_run"), variant="primary", size="sm")
    part["result"] = gr.HTML(elem_classes="tables another-word")
    part["picture"] = part.plot("difference")
    part["translation"].change(
        **part.listener(offer, "step", "piece", "result", "picture"), **QUIET
    )
    part["step"].input(**part.listener(offer_pieces, "piece"), **QUIET)
    part["lock"].change(**part.listener(follow, "step", "piece"), **QUIET)
    button.click(
        **part.listener(run, "result", "picture", problem="result"),
        api_visibility="private",
    )


def steps(candidate: Candidate, language: Language) -> list[tuple[str, int]]:
    """Label every step of a translation: the last piece given, the one chosen, and how
    sure the model was."""
    given = [SPECIAL[BOS], *candidate.pieces]
    return [
        (
            language.say(
                "rivals_step_choice",
                number=i + 1,
                given=shown(given[i]),
                piece=shown(piece),
                percent=percent(math.exp(log_prob)),
            ),
            i,
        )
        for i, (piece, log_prob) in enumerate(
            zip(candidate.pieces, candidate.log_probs, strict=True)
        )
    ]


def offer(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation | None,
    lock: str = "",
) -> dict[str, Any]:
    """Offer the steps of a new translation; nothing is compared yet.

    First comes the step that wrote the locked word, or the one at which the model was
    least sure.
    """
    if translation is None:
        return {
            "step": gr.update(**NOTHING),
            "piece": gr.update(**NOTHING),
            "result": "",
            "picture": None,
        }
    best = translation.best
    least = min(range(len(best.log_probs)), key=best.log_probs.__getitem__)
    at = _locked(best, lock)
    step = least if at is None else at
    return {
        "step": gr.update(choices=steps(best, language), value=step),
        "result": "",
        "picture": None,
        **offer_pieces(service, language, translation=translation, step=step),
    }


def follow(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation | None,
    lock: str,
) -> dict[str, Any]:
    """Choose the step that wrote the word that is locked, if one is."""
    step = None if translation is None else _locked(translation.best, lock)
    if step is None:
        return {}
    return {
        "step": step,
        **offer_pieces(service, language, translation=translation, step=step),
    }


def _locked(candidate: Candidate, lock: str) -> int | None:
    step = locked_target(lock)
    return step if step is not None and step < len(candidate.pieces) else None


def offer_pieces(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation | None,
    step: int | None,
) -> dict[str, Any]:
    """Offer the likeliest pieces at a step but the one that was chosen, the best of
    them first."""
    if translation is None or step is None:
        return {"piece": gr.update(**NOTHING)}
    choices = [
        (f"{shown(piece)} · {percent(math.exp(log_prob))}", piece)
        for piece, log_prob in translation.best.alternatives[step]
        if piece != translation.best.pieces[step]
    ]
    return {
        "piece": gr.update(choices=choices, value=choices[0][1] if choices else None)
    }


@needs(translation="no_trace", step="no_trace", piece="no_trace")
@refused(picture=None)
def run(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation,
    step: int,
    piece: str,
) -> dict[str, Any]:
    """Translate on from another piece; show both translations, and where the heads look
    after each choice."""
    again = service.choose(
        translation.source,
        translation.best,
        step,
        piece,
        translation.alone,
        translation.max_length,
    )
    old, new = (
        service.trace(translation.source, one.tokens)
        for one in (translation.best, again.best)
    )
    warned = [one for one in again.warnings if one not in translation.warnings]
    compared = figures.comparison(
        translation.best, again.best, old, new, step, language
    )
    return {
        "result": warnings(warned, language) + compared,
        "picture": figure(figures.difference(old, new, step, language)),
    }
