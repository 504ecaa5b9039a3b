"""Part of the Training tab: the page's sentence through four generations of
translators, their scores and costs."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Any

import gradio as gr

from xformer.explain import alignment
from xformer.explain.doubts import looks_like
from xformer.figures import generation as named
from xformer.figures import head_payload
from xformer.figures.attention import Choice, picture
from xformer.figures.notice import notice
from xformer.parts.generations import draw as figures
from xformer.parts.generations.draw import CURVES, Answer, Generation
from xformer.results import GENERATIONS, Trace, Translation, UserError
from xformer.serve.protocol import ModelPool, StudyService, TranslationService
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.generations import at_hand, generation, kept_moment
from xformer.ui.handlers import LATEST, QUIET, needs
from xformer.ui.layout import Layout
from xformer.ui.tabs import Page

ID = "generations"
OF_SENTENCE = True  # drawn again for another sentence
FOLDS = (
    ("scores", "fold_generations"),
    ("trained", "gen_trained", "scores"),
    ("costs", "gen_costs", "scores"),
)
WITH_MAPS = GENERATIONS[1:]
WIDTH = 256  # of the layers that are compared, and measured in explain/complexity.py


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    page = part.page
    part.ask = part.page.always(part.page.models)
    part.status()
    part["table"] = gr.HTML(elem_classes="tables gen-said")
    part.look("gen_look")
    gr.HTML(named.missing(page.models.names, part.language))
    # never hidden: what is not mounted loses its value
    with gr.Row(elem_classes="detail maps-of-all"):
        for name in WITH_MAPS:
            with gr.Column(min_width=280, visible=name in page.models.names):
                part[name] = part.map(f"gen-{name}")
    with gr.Column(elem_classes="folds"), part.folded("scores"):
        part["facts"] = gr.HTML(elem_classes="tables")
        with gr.Row(elem_classes="detail"):
            with gr.Column(min_width=300):
                part["lengths"] = part.plot("gen-lengths")
            with gr.Column(min_width=300):
                curve = part.choice(
                    "gen_curve", CURVES, CURVES[0], "gen_curve_{}", container=False
                )
                part["curves"] = part.plot("gen-curves")
        with part.folded("trained"):
            part.note("gen_trained_text")
            part["trained"] = gr.HTML(elem_classes="tables")
        with part.folded("costs"):
            part.note("gen_costs_text")
            part["costs"] = gr.HTML(elem_classes="tables")
            part["gains"] = gr.HTML(elem_classes="summary")
            with gr.Row(elem_classes="detail"), gr.Column(min_width=300):
                part["picture"] = part.plot("gen-times")
                part["said"] = gr.HTML(elem_classes="summary")
    part |= {"compared": gr.State(), "found": gr.State(), "measured": gr.State()}
    part.opened.change(
        **part.listener(
            compare,
            "compared",
            "table",
            "costs",
            *WITH_MAPS,
            problem="problem",
            only_here=True,
        ),
        **LATEST,
    )
    gr.on(
        [part.opened.change, curve.input],
        **part.listener(
            draw,
            "found",
            "facts",
            "trained",
            "gains",
            "lengths",
            "curves",
            only_here=True,
        ),
        **LATEST,
    )
    part.opened.change(
        **part.listener(
            measure,
            "measured",
            "picture",
            "said",
            only_here=True,
            ask=page.always(page.study),
        ),
        **QUIET,
    )


def is_here(page: Page) -> bool:
    """Whether there is a generation to ask."""
    return bool(at_hand(page.models))


@needs(translation="no_trace")
def compare(
    models: ModelPool,
    language: Language,
    *,
    translation: Translation,
    compared: Translation | None,
) -> Iterator[dict[str, Any]]:
    """Translate the page's sentence with every generation at hand, one after the other,
    and show where each looks."""
    said = {
        "problem": notice(
            [language.say("gen_spanish")]
            if looks_like(translation.source, "es")
            else [],
            "warning",
        )
    }
    if compared is translation:
        yield said
        return
    names = at_hand(models)
    pieces = len(translation.source_tokens) + 1
    answer: dict[str, Any] = {
        **said,
        "compared": translation,
        "costs": figures.complexity(pieces, WIDTH, language),
    }
    if not names:
        yield {**answer, "table": ""}
        return
    answers: list[Answer] = []
    yield {**answer, "table": figures.translations(answers, names, language)}
    for done, name in enumerate(names, 1):
        try:
            with generation(models, name) as service:
                answered, trace = service.translate_and_trace(
                    translation.source, translation.alone
                )
                drawn = _map(service, name, trace, language)
                # The first translation may have loaded the model and made its buffers.
                seconds = median(
                    service.translate(translation.source, translation.alone).seconds
                    for _ in range(figures.WARM)
                )
            best = answered.best
            answers.append(
                Answer(
                    name, best.text, seconds, sum(best.log_probs) / len(best.log_probs)
                )
            )
        except UserError as error:
            drawn = {}
            answers.append(Answer(name, "", 0.0, 0.0, error.say(language)))
        yield {
            **said,
            "table": figures.translations(answers, names[done:], language),
            **drawn,
        }


def _map(
    service: TranslationService, name: str, trace: Trace, language: Language
) -> dict[str, Any]:
    """Draw the map of the head that aligns best, where a model has one, by words, with
    its error in the title."""
    if name not in WITH_MAPS or not service.info.layers("cross"):
        return {}
    head = service.best_head
    errors = service.alignment_errors(service.best_head)
    given = {head} if alignment.reading(errors) == "given" else set()
    choice = Choice(*head, words=True, view="heatmap")
    drawn = picture(trace, choice, language, given=given)
    title = language.say(
        "gen_map_title" if errors else "gen_map_title_unmeasured",
        name=named.label(name, language),
        layer=head.layer,
        head=head.head,
        error=f"{min(errors):.3f}" if errors else "",
    )
    # Three maps stand side by side: their rows have short names.
    short = (
        replace(drawn, title=title, queries=drawn.line)
        if given
        else replace(
            drawn,
            title=title,
            queries=tuple(f"→ {word}" for word in drawn.line),
            asks=language.say("gen_map_asks"),
        )
    )
    identity = service.info.versioned
    return {name: head_payload.payload(short, choice, identity, language)}


def draw(
    models: ModelPool,
    language: Language,
    *,
    found: list[Generation] | None,
    gen_curve: str,
) -> dict[str, Any]:
    """Draw what was measured of the generations at hand: their scores once, and the
    curve that is chosen."""
    if found is not None:
        return {"curves": figure(figures.curves(found, gen_curve, language))}
    found = []
    for name in at_hand(models):
        try:
            with generation(models, name) as service:
                found.append(_measured(service, name, language))
        except UserError:  # `compare` says why
            continue
    return {
        "found": found,
        "facts": figures.facts(found, language) if found else "",
        "trained": figures.trained(found, language),
        "gains": figures.gains(found, language),
        "lengths": figure(figures.lengths(found, language)),
        "curves": figure(figures.curves(found, gen_curve, language)),
    }


def _measured(service: TranslationService, name: str, language: Language) -> Generation:
    """Gather what was measured of a model."""
    try:
        history = service.history
        broken = ""
    except UserError as error:
        history = None
        broken = error.say(language)
    errors = service.alignment_errors(service.best_head)
    return Generation(
        name,
        service.info,
        service.best_head if service.info.layers("cross") else None,
        min(errors) if errors else None,
        service.metrics.get("bleu"),
        _scores(service),
        tuple(service.length_scores),
        history,
        kept_moment(service),
        broken,
        service.metrics,
    )


def _scores(service: TranslationService) -> dict[str, float]:
    """Return BLEU on sets of sentences as they stand, where `evaluate translation
    --save` measured it."""
    return {
        one.get("set", ""): one["bleu"]
        for one in service.metrics.get("scores", ())
        if one.get("bleu") is not None
        and not (one.get("plain") or one.get("lowercase"))
    }


def measure(
    study: StudyService, language: Language, *, measured: bool | None
) -> dict[str, Any]:
    """Measure once, on this machine, how long a recurrent layer and one of attention
    read."""
    if measured:
        return {}
    times = study.layer_times()
    return {
        "measured": True,
        "picture": figure(figures.times(times, language)),
        "said": figures.times_said(times, WIDTH, language),
    }
