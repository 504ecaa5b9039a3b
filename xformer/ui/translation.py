"""The Translate tab: the Spanish, how sure the model was of each piece, the other hypotheses, and BLEU taken apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Any

import gradio as gr

from xformer.explain.alignment import reading
from xformer.explain.doubts import looks_spanish, unsure
from xformer.figures import translation as figure
from xformer.figures.notice import notice
from xformer.figures.strip import strip
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
    with gr.Row(elem_classes="translate"):
        with gr.Column(scale=7, min_width=300):
            spanish = gr.HTML(elem_classes="spanish", min_height=110)
            seen = gr.HTML(elem_classes="strip", min_height=300)
        with gr.Column(scale=5, min_width=300):
            n_best = gr.HTML(elem_classes="tables")
            reference, button, scores = _reference(page)
    with page.search:
        gr.HTML(f'<h3>{page.language.html("search_settings")}</h3>')
        settings.add("beam", BEAM, gr.Slider, label=say("beam"), info=say("beam_info"))
        settings.add("n_best", N_BEST, gr.Slider, label=say("n_best"))
        settings.add("length_penalty", LENGTH_PENALTY, gr.Slider, label=say("length_penalty"),
                     info=say("length_penalty_info"))
        settings.add("longest", longest, gr.Slider, label=say("max_pieces"))

    translate = {**page.ask(run, {"sentence": page.sentence, "former": page.translation, **settings.named()},
                            {"translation": page.translation, "trace": page.trace, "shown": spanish, "others": n_best,
                             "seen": seen, "asked": page.asked}, problem=page.status),
                 "show_progress_on": [spanish], "api_visibility": "private"}
    page.on_sentence.append(translate)
    page.on_opening.append(translate)
    gr.on([button.click, reference.submit],
          **page.ask(compare, {"translation": page.translation, "reference": reference}, {"scores": scores},
                     problem=scores), api_visibility="private")
    return Tab(settings)


def _reference(page: Page) -> tuple[gr.Textbox, gr.Button, gr.HTML]:
    """Lay out the field of a reference translation, and where BLEU is shown."""
    say = page.language.say
    with gr.Accordion(say("reference_title"), open=False):
        with gr.Row(elem_classes="ask"):
            reference = gr.Textbox(label=say("reference"), lines=1, max_lines=4, scale=8)
            button = gr.Button(say("compare"), scale=1, min_width=120)
        scores = gr.HTML(elem_classes="tables")
    return reference, button, scores


def run(service: TranslationService, language: Language, *, sentence: str, former: Translation | None, beam: float,
        n_best: float, length_penalty: float, longest: float) -> Iterator[dict[str, Any]]:
    """Translate and trace. An error leaves all on the page as it was, and says to which text that belongs."""
    options = Options(beam=max(int(beam), int(n_best)), n_best=int(n_best), length_penalty=float(length_penalty))
    try:
        translation, trace = service.translate_and_trace(sentence or "", options, int(longest))
    except Exception:
        if former is not None:
            yield {"shown": _old(former, language)}
        raise
    warnings = [warning.say(language) for warning in translation.warnings]
    if looks_spanish(translation.source):
        warnings.append(language.say("warning_spanish"))
    head = service.best_head
    yield {"problem": notice(warnings, "warning"), "translation": translation, "trace": trace,
           "shown": shown(translation, language), "others": figure.n_best(translation.n_best, language),
           "seen": strip(trace, head, reading(service.alignment_errors(head)) == "given", language), "asked": sentence}


def _old(translation: Translation, language: Language) -> str:
    """Show a translation of a text that is no longer in the field."""
    belongs = language.html("belongs_to", text=translation.source)
    return f'<p class="belongs">{belongs}</p><div class="old">{shown(translation, language)}</div>'


def shown(translation: Translation, language: Language) -> str:
    """Show a translation with how sure the model was of it, and how it was searched for."""
    best, total = translation.best, sum(translation.best.log_probs)
    meta = language.say("meta", seconds=f"{translation.seconds:.2f}", beam=translation.options.beam,
                        pieces=len(best.pieces), log_prob=f"{total:.2f} ({100 * math.exp(total):.2g} %)")
    doubt = f'<p class="doubt" role="status">{language.html("warning_unsure")}</p>' if unsure(best) else ""
    return f'{figure.translation(best, language)}{doubt}<p class="meta">{escape(meta)}</p>'


@needs(reference="error_reference_empty", translation="error_reference_empty")
def compare(service: TranslationService, language: Language, *, translation: Translation, reference: str
            ) -> dict[str, str]:
    """BLEU of the translation on the page against what the reader typed."""
    return {"scores": figure.bleu(bleu(translation.best.text, reference), language)}
