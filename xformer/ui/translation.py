"""The Translate tab: the Spanish, how sure the model was of each piece, the other hypotheses, and BLEU taken apart."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import gradio as gr

from xformer.figures import translation as figure
from xformer.figures.notice import notice
from xformer.results import Options, Translation
from xformer.serve.bleu import bleu
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import Controls, Real, Whole
from xformer.ui.handlers import needs
from xformer.ui.tabs import Page, Tab

ID = "translate"
BEAM = Whole(5, 1, 16)
N_BEST = Whole(3, 1, 16)
LENGTH_PENALTY = Real(1.0, 0, 2, step=0.1)


def longest(service: TranslationService, _: Any = None) -> Whole:
    """The most pieces of a translation."""
    return Whole(service.max_pieces, 1, service.max_pieces)


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it."""
    say, settings = page.language.say, Controls(page.service)
    spanish = gr.HTML(elem_classes="spanish", min_height=170)
    n_best = gr.HTML(elem_classes="tables")
    with gr.Accordion(say("search_settings"), open=False), gr.Row():
        settings.add("beam", BEAM, gr.Slider, label=say("beam"), info=say("beam_info"))
        settings.add("n_best", N_BEST, gr.Slider, label=say("n_best"))
        settings.add("length_penalty", LENGTH_PENALTY, gr.Slider, label=say("length_penalty"),
                     info=say("length_penalty_info"))
        settings.add("longest", longest, gr.Slider, label=say("max_pieces"))
    with gr.Accordion(say("reference_title"), open=False):
        with gr.Row(elem_classes="ask"):
            reference = gr.Textbox(label=say("reference"), lines=1, max_lines=4, scale=8)
            button = gr.Button(say("compare"), scale=1, min_width=120)
        scores = gr.HTML(elem_classes="tables")

    translate = {**page.ask(run, {"sentence": page.sentence, **settings.named()},
                            {"translation": page.translation, "trace": page.trace, "shown": spanish, "others": n_best},
                            problem=page.status),
                 "show_progress_on": [spanish], "api_visibility": "private"}
    page.on_sentence.append(translate)
    page.on_opening.append(translate)
    gr.on([button.click, reference.submit],
          **page.ask(compare, {"translation": page.translation, "reference": reference}, {"scores": scores},
                     problem=scores), api_visibility="private")
    return Tab(settings)


def run(service: TranslationService, language: Language, *, sentence: str, beam: float, n_best: float,
        length_penalty: float, longest: float) -> dict[str, Any]:
    """Translate and trace. An error leaves all on the page as it was."""
    options = Options(beam=max(int(beam), int(n_best)), n_best=int(n_best), length_penalty=float(length_penalty))
    translation, trace = service.translate_and_trace(sentence or "", options, int(longest))
    return {"problem": notice([warning.say(language) for warning in translation.warnings], "warning"),
            "translation": translation, "trace": trace, "shown": _shown(translation, language),
            "others": figure.n_best(translation.n_best, language)}


def _shown(translation: Translation, language: Language) -> str:
    best, total = translation.best, sum(translation.best.log_probs)
    meta = language.say("meta", seconds=f"{translation.seconds:.2f}", beam=translation.options.beam,
                        pieces=len(best.pieces), log_prob=f"{total:.2f} ({100 * math.exp(total):.2g} %)")
    return f'{figure.translation(best, language)}<p class="meta">{escape(meta)}</p>'


@needs(reference="error_reference_empty", translation="error_reference_empty")
def compare(service: TranslationService, language: Language, *, translation: Translation, reference: str
            ) -> dict[str, str]:
    """BLEU of the translation on the page against what the reader typed."""
    return {"scores": figure.bleu(bleu(translation.best.text, reference), language)}
