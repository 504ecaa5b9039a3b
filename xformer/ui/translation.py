"""The Translate tab: the Spanish, how sure the model was of each piece, what else was found, and BLEU taken apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from xformer.figures import translation as figure
from xformer.figures.notice import notice
from xformer.results import Translation
from xformer.search import Options
from xformer.serve.bleu import bleu
from xformer.serve.translation import Service
from xformer.strings import Language, speaker, text
from xformer.ui.address import Kind, Real, Take, Whole
from xformer.ui.handlers import Ask, refusal

BEAM, N_BEST, LENGTH_PENALTY = 5, 3, 1.0  # what the page begins with
MOST_BEAM = 16


@dataclass(frozen=True)
class Built:
    """What the frame of the page connects: settings that go into a translation, components that show it."""

    settings: dict[str, gr.components.Component]  # by their keys in the address
    shown: list[gr.components.Component]


def build(ask: Ask, translation: gr.State) -> Built:
    """Lay the tab out; called inside it."""
    say, most = speaker(ask.language), ask.service.max_pieces
    spanish = gr.HTML(elem_classes="spanish", min_height=170)
    n_best_table = gr.HTML(elem_classes="tables")
    with gr.Accordion(say("search_settings"), open=False), gr.Row():
        beam = gr.Slider(1, MOST_BEAM, BEAM, step=1, label=say("beam"), info=say("beam_info"))
        n_best = gr.Slider(1, MOST_BEAM, N_BEST, step=1, label=say("n_best"))
        alpha = gr.Slider(0, 2, LENGTH_PENALTY, step=0.1, label=say("length_penalty"),
                          info=say("length_penalty_info"))
        longest = gr.Slider(1, most, most, step=1, label=say("max_pieces"))
    with gr.Accordion(say("reference_title"), open=False):
        with gr.Row(elem_classes="ask"):
            reference = gr.Textbox(label=say("reference"), lines=1, max_lines=4, scale=8)
            compare = gr.Button(say("compare"), scale=1, min_width=120)
        scores = gr.HTML(elem_classes="tables")
        gr.on([compare.click, reference.submit], partial(run_bleu, ask.language), [translation, reference], scores,
              api_visibility="private")
    settings: dict[str, gr.components.Component] = {
        "beam": beam, "n_best": n_best, "length_penalty": alpha, "longest": longest}
    return Built(settings, [spanish, n_best_table])


def kinds(service: Service) -> dict[str, Kind]:
    """What the address says of this tab, in the order of its controls."""
    most = service.max_pieces
    return {"beam": Whole(BEAM, 1, MOST_BEAM), "n_best": Whole(N_BEST, 1, MOST_BEAM),
            "length_penalty": Real(LENGTH_PENALTY, 0, 2), "longest": Whole(most, 1, most)}


def arrive(service: Service, take: Take) -> list[Any]:
    """The values of the tab's controls for an address, in the order of `kinds`."""
    *found, longest = (take(name, kind) for name, kind in kinds(service).items())
    return [*found, gr.update(maximum=service.max_pieces, value=longest)]


def run(service: Service, language: Language, sentence: str, beam: float, n_best: float, alpha: float, longest: float
        ) -> tuple[Any, ...]:
    """Translate and trace: status, translation, trace, the Spanish, the n-best table. An error leaves the rest be."""
    try:
        options = Options(beam=max(int(beam), int(n_best)), n_best=int(n_best), length_penalty=float(alpha))
        with service.guard.enter():
            found = service.translate(sentence or "", options, max_length=int(longest))
            trace = service.trace(found.source, found.best.tokens)
    except Exception as error:
        return refusal(error, language), *[gr.skip()] * 4
    warnings = notice([warning.say(language) for warning in found.warnings], "warning")
    return warnings, found, trace, _spanish(found, options, language), figure.n_best(found.n_best, language)


def _spanish(found: Translation, options: Options, language: Language) -> str:
    total = sum(found.best.log_probs)
    meta = text("meta", language, seconds=f"{found.seconds:.2f}", beam=options.beam, pieces=len(found.best.pieces),
                log_prob=f"{total:.2f} ({100 * math.exp(total):.2g} %)")
    return f'{figure.translation(found.best, language)}<p class="meta">{escape(meta)}</p>'


def run_bleu(language: Language, found: Translation | None, reference: str) -> str:
    """BLEU of the translation on the page against what the reader typed."""
    if not (reference or "").strip() or found is None:
        return notice([text("error_reference_empty", language)], "error")
    try:
        return figure.bleu(bleu(found.best.text, reference), language)
    except Exception as error:
        return refusal(error, language)
