"""The Translate tab: the Spanish, how sure the model was of each piece, the other
hypotheses, and BLEU taken apart.

In the menu of the bar stand the settings of the search. Where they say to sample, two
draws stand side by side.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from xformer.explain.doubts import looks_like
from xformer.figures import translation as figure
from xformer.figures.notice import notice
from xformer.results import Options, Trace, Translation
from xformer.serve.bleu import bleu
from xformer.serve.protocol import ModelPool, TranslationService
from xformer.strings import Language
from xformer.ui.components import WIRE, script
from xformer.ui.controls import BEAM, LONGEST, Real, Values, Whole
from xformer.ui.handlers import QUIET, SWIFT_LATEST, needs
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.tabs import Page, Tab, View, examples

ID = "translate"
NAME = "sheet_translate"
FOLDS = (("reference", "fold_reference"),)
N_BEST = Whole(3, 1, 16)
LENGTH_PENALTY = Real(1.0, 0, 2, step=0.1)
TEMPERATURE = Real(0, 0, 2, step=0.1)
TOP_K = Whole(0, 0, 100)
TOP_P = Real(1, 0.05, 1, step=0.05)
SEED = Whole(1, 0, 999_998)  # of the first draw; the second has the next
# What another part shows of a pair.
OfPair = Callable[[TranslationService, Language, Translation, Trace], Any]
# settings of one way alone
OF_BEAM = ("beam", "n_best", "length_penalty")
OF_SAMPLES = ("top_k", "top_p", "draw_seed")


def longest(service: TranslationService, _: Any = None) -> Whole:
    """The most pieces of a translation."""
    return Whole(service.max_pieces, 1, service.max_pieces)


def build(page: Page, inside: Sequence[Any] = ()) -> Tab:
    """Lay the tab out; called inside it. inside: the modules of other parts, with a
    NAME those that are folded, with OF_TRANSLATION those that draw a picture of it."""
    part = Layout(page, ID)
    say = page.language.say
    headline = gr.HTML(_headline(page.service, page.language), elem_classes="asked")
    folded = [module for module in inside if hasattr(module, "NAME")]
    pictures = [module for module in inside if hasattr(module, "OF_TRANSLATION")]
    beside = [one for one in inside if one not in folded and one not in pictures]
    with gr.Row(elem_classes="translate"):
        with wide():
            part["shown"] = gr.HTML(elem_classes="spanish frame-text")
        with narrow():
            for module in beside:
                module.build(part)
    drawn = dict[str, Layout]()
    for module in pictures:
        picture = part.inner(opened=gr.Textbox("0", **WIRE))
        module.build(picture)
        drawn[module.ID] = picture
        gr.on(
            [page.opened[ID].change, page.translation.change],
            None,
            [page.sheet, picture.opened],
            picture.opened,
            js=script("countHere", ID),
            **QUIET,
        )
    with gr.Row(elem_classes="translate"):
        with wide():
            for module in beside:
                getattr(module, "build_below", lambda part: None)(part)
            part["others"] = gr.HTML(elem_classes="tables")
        with narrow(), part.folded("reference"):
            with gr.Row(elem_classes="ask"):
                part["reference"] = gr.Textbox(
                    label=say("reference"), lines=1, max_lines=4, scale=8
                )
                button = gr.Button(say("compare"), scale=1, min_width=120)
            part["scores"] = gr.HTML(elem_classes="tables")
            for module in folded:
                with part.folded(module.ID):
                    module.build(part)
    with page.search:
        _settings(part)

    part["temperature"].change(
        **part.listener(dim, *OF_BEAM, *OF_SAMPLES, "again"),
        **SWIFT_LATEST,
    )
    seed = part["draw_seed"]
    part["again"].click(None, seed, seed, js=script("nextDraw"), **QUIET).then(
        None, None, None, js=script("pressTranslate"), **QUIET
    )
    part["shown"].change(None, part["shown"], None, js=script("noteFormer"), **QUIET)
    part |= {
        "sentence": page.sentence,
        "former": page.translation,
        "asked": page.asked,
        "status": page.status,
    }
    emptied = [name for module in inside for name in getattr(module, "EMPTIED", ())]
    of_pair = {
        module.ID: module.of_pair for module in inside if hasattr(module, "of_pair")
    }
    translate = {
        **part.listener(
            run,
            "translation",
            "trace",
            "shown",
            "others",
            "asked",
            *of_pair,
            *emptied,
            problem="status",
            models=page.models,
            of_pair=of_pair,
            emptied=emptied,
        ),
        **QUIET,
    }
    page.on_sentence.insert(0, translate)  # before what other tabs do with it
    page.on_opening.insert(0, translate)
    gr.on(
        [button.click, part["reference"].submit],
        **part.listener(compare, "scores", problem="scores"),
        api_visibility="private",
    )
    for name, picture in drawn.items():  # whose controls are no settings of the search
        part.include(picture, name)
    return Tab(
        part.controls,
        {
            **part.views,
            "again": View(part["again"], samples),
            "headline": View(
                headline, lambda service, _: _headline(service, page.language)
            ),
        },
    )


def samples(service: TranslationService, values: Values) -> Any:
    return gr.update(**of_samples(values))


def _headline(service: TranslationService, language: Language) -> str:
    info = service.info
    key = "headline_imported" if info.origin else "headline"
    return f'<p class="asks">{language.of(info).html(key, origin=info.origin)}</p>'


def _settings(part: Layout) -> None:
    """Lay out, in the menu of the bar, how translations are searched for."""
    gr.HTML(f"<h3>{part.html('search_settings')}</h3>")
    part.control("beam", BEAM, gr.Slider, info="beam_info", properties=of_beam)
    part.control("n_best", N_BEST, gr.Slider, properties=of_beam)
    part.control(
        "length_penalty",
        LENGTH_PENALTY,
        gr.Slider,
        info="length_penalty_info",
        properties=of_beam,
    )
    part.control("longest", longest, gr.Slider, "max_pieces")
    gr.HTML(
        f'<h3>{part.html("sampling")}</h3><p class="note">{part.html("sampling_text")}</p>'
    )
    part.control("temperature", TEMPERATURE, gr.Slider, info="temperature_info")
    part.control("top_k", TOP_K, gr.Slider, info="top_k_info", properties=of_samples)
    part.control("top_p", TOP_P, gr.Slider, info="top_p_info", properties=of_samples)
    part.number("draw_seed", SEED, "seed", properties=of_samples)
    part["again"] = gr.Button(
        part.say("draw_again"), size="sm", interactive=False, elem_classes="draw-again"
    )


def of_beam(values: Values) -> dict[str, Any]:
    """A setting of the beam is dimmed while pieces are drawn."""
    return {"interactive": not values.get("temperature")}


def of_samples(values: Values) -> dict[str, Any]:
    """A setting of the draws is dimmed while nothing is drawn."""
    return {"interactive": bool(values.get("temperature"))}


def dim(
    service: TranslationService, language: Language, *, temperature: float
) -> dict[str, Any]:
    """Dim the settings that do not count."""
    beam, samples = (
        gr.update(**way({"temperature": temperature})) for way in (of_beam, of_samples)
    )
    return {
        **dict.fromkeys(OF_BEAM, beam),
        **dict.fromkeys((*OF_SAMPLES, "again"), samples),
    }


def options_of(
    *,
    beam: float,
    n_best: float,
    length_penalty: float,
    temperature: float = 0,
    top_k: float = 0,
    top_p: float = 1,
    draw_seed: float | None = 0,
) -> Options:
    """The options of the search that the settings stand for."""
    options = Options(
        beam=max(int(beam), int(n_best)),
        n_best=int(n_best),
        length_penalty=float(length_penalty),
    )
    if not temperature:
        return options
    return replace(
        options,
        n_best=1,
        temperature=float(temperature),
        top_k=int(top_k),
        top_p=float(top_p),
        seed=min(max(0, int(draw_seed or 0)), SEED.most),
    )


def run(
    service: TranslationService,
    language: Language,
    *,
    sentence: str,
    former: Translation | None,
    longest: float,
    models: ModelPool | None = None,
    of_pair: Mapping[str, OfPair] | None = None,
    emptied: Sequence[str] = (),
    **settings: Any,
) -> Iterator[dict[str, Any]]:
    """Translate and trace; where samples are drawn, draw another beside it.

    of_pair: what other parts show of the pair, by name. emptied: names of what other parts show of the sentence before.

    An error leaves all on the page as it was, and says to which text that belongs.
    """
    options = options_of(**settings)
    second = None
    options = replace(
        options, quality="quality" in service.metrics and not options.sampling
    )
    try:
        translation, trace = service.translate_and_trace(
            sentence or "", options, int(longest)
        )
        if options.sampling:
            second = service.translate(
                sentence,
                replace(options, seed=options.seed + 1),
                max_length=int(longest),
            )
    except Exception:
        if former is not None:
            yield {"shown": figure.found([former], language, old=True)}
        raise
    is_other = looks_like(translation.source, service.info.target)
    way_out = ""
    # which says less
    warnings = [
        warning.say(language)
        for warning in translation.warnings
        if not (is_other and warning.key == "warning_guess_foreign")
    ]
    if is_other:
        warnings.append(language.say("warning_spanish"))
        # of the other direction, if there is one
        other = models.reading(service.info.target) if models else None
        way_out = (
            ""
            if other is None
            else figure.other_way(other, sentence[:LONGEST], language)
        )
    yield {
        "problem": notice(warnings, "warning", way_out),
        "translation": translation,
        "trace": trace,
        "shown": figure.found(
            [translation, *([] if second is None else [second])], language
        ),
        "others": figure.n_best(translation.n_best, language) if second is None else "",
        "asked": sentence,
        **{
            name: show(service, language, translation, trace)
            for name, show in (of_pair or {}).items()
        },
        **dict.fromkeys(emptied, ""),
    }


def warm_up(service: TranslationService) -> None:
    """Translate the sentence that a page opens with, as the page will ask for it: so no
    visitor waits for that."""
    options = options_of(
        beam=BEAM.default, n_best=N_BEST.default, length_penalty=LENGTH_PENALTY.default
    )
    service.translate_and_trace(
        examples(service)[0],
        replace(options, quality="quality" in service.metrics),
        service.max_pieces,
    )


@needs(reference="error_reference_empty", translation="error_reference_empty")
def compare(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation,
    reference: str,
) -> dict[str, str]:
    """BLEU of the translation on the page against what the reader typed."""
    return {"scores": figure.bleu(bleu(translation.best.text, reference), language)}
