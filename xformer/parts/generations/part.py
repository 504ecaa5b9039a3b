"""Part of the Training tab: the page's sentence through four generations of
translators, their scores and costs."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
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
from xformer.serve.protocol import ModelPool, TranslationService
from xformer.strings import Language
from xformer.ui.generations import at_hand, generation, kept_moment
from xformer.ui.handlers import QUIET, needs
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
# by generation its answer and its map, if it has one; None: not yet
Compared = dict[str, tuple[Answer, Any] | None]


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    page = part.page
    part.ask = page.always(page.models)
    pictures = part.pictures(ID)
    pictures.fact("compared", compare)
    problem = pictures.add("problem", part.status(), said_of)
    pictures.add("table", gr.HTML(elem_classes="tables gen-said"), draw_answers)
    part.look("gen_look")
    gr.HTML(named.missing(page.models.names, part.language))
    # never hidden: what is not mounted loses its value
    with gr.Row(elem_classes="detail maps-of-all"):
        for i, name in enumerate(WITH_MAPS):
            pictures.fact(f"map_{i}", partial(map_of, name))
            with gr.Column(min_width=280, visible=name in page.models.names):
                pictures.add(name, part.map(f"gen-{name}"), draw_map, drawn=f"map_{i}")
    scores = part.pictures(f"{ID}.scores")
    scores.fact("found", gather)
    times = part.pictures(f"{ID}.times", ask=page.always(page.study))
    times.fact("times", lambda service: service.layer_times())
    with gr.Column(elem_classes="folds"), part.folded("scores"):
        scores.add("facts", gr.HTML(elem_classes="tables"), figures.facts)
        with gr.Row(elem_classes="detail"):
            with gr.Column(min_width=300):
                scores.add("lengths", part.plot("gen-lengths"), figures.lengths)
            with gr.Column(min_width=300):
                part.choice(
                    "gen_curve", CURVES, CURVES[0], "gen_curve_{}", container=False
                )
                scores.add(
                    "curves", part.plot("gen-curves"), figures.curves, curve="gen_curve"
                )
        with part.folded("trained"):
            part.note("gen_trained_text")
            scores.add("trained", gr.HTML(elem_classes="tables"), figures.trained)
        with part.folded("costs"):
            part.note("gen_costs_text")
            pictures.add("costs", gr.HTML(elem_classes="tables"), draw_costs)
            scores.add("gains", gr.HTML(elem_classes="summary"), figures.gains)
            with gr.Row(elem_classes="detail"), gr.Column(min_width=300):
                plot = part.plot("gen-times")
                times.add("picture", plot, figures.times, measured="times")
                said = gr.HTML(elem_classes="summary")
                say_times = partial(figures.times_said, width=WIDTH)
                times.add("said", said, say_times, measured="times")
    pictures.listen(problem, part.opened.change, how=QUIET)
    for others in (scores, times):
        others.listen(None, part.opened.change, how=QUIET)


def is_here(page: Page) -> bool:
    """Whether there is a generation to ask."""
    return bool(at_hand(page.models))


@needs(translation="no_trace")
def compare(
    service: ModelPool, translation: Translation, language: Language
) -> Iterator[Compared]:
    """Translate the page's sentence with every generation at hand, one after the other,
    and show where each looks."""
    found = Compared.fromkeys(at_hand(service))
    yield {**found}
    for name in found:
        try:
            with generation(service, name) as model:
                found[name] = _answered(model, name, translation, language)
        except UserError as error:
            found[name] = Answer(name, "", 0.0, 0.0, error.say(language)), None
        yield {**found}


def _answered(
    service: TranslationService, name: str, translation: Translation, language: Language
) -> tuple[Answer, Any]:
    """What a generation answers, and its map."""
    answered, trace = service.translate_and_trace(translation.source, translation.alone)
    # The first translation may have loaded the model and made its buffers.
    seconds = median(
        service.translate(translation.source, translation.alone).seconds
        for _ in range(figures.WARM)
    )
    best = answered.best
    sure = sum(best.log_probs) / len(best.log_probs)
    drawn = _map(service, name, trace, language)
    return Answer(name, best.text, seconds, sure), drawn


@needs(translation="no_trace")
def said_of(translation: Translation, language: Language) -> str:
    """Say it where a sentence is not in the language that the models read."""
    is_spanish = looks_like(translation.source, "es")
    return notice([language.say("gen_spanish")] if is_spanish else [], "warning")


@needs(translation="no_trace")
def draw_costs(translation: Translation, language: Language) -> str:
    return figures.complexity(len(translation.source_tokens) + 1, WIDTH, language)


def draw_answers(compared: Compared, language: Language) -> str:
    """Tabulate what was answered, and who is awaited."""
    answers = [one[0] for one in compared.values() if one]
    waiting = [name for name, one in compared.items() if one is None]
    return figures.translations(answers, waiting, language) if compared else ""


def map_of(name: str, compared: Compared) -> Any:
    """The map of a generation; None where there is none, or none yet."""
    return (compared.get(name) or (None, None))[1]


def draw_map(drawn: Any) -> Any:
    return gr.skip() if drawn is None else drawn


def _map(
    service: TranslationService, name: str, trace: Trace, language: Language
) -> Any:
    """Draw the map of the head that aligns best, by words, with its error in the title;
    None where a model has none."""
    if name not in WITH_MAPS or not service.info.layers("cross"):
        return None
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
    return head_payload.payload(short, choice, identity, language)


def gather(service: ModelPool, language: Language) -> list[Generation]:
    """Gather what was measured of the generations at hand."""
    found = []
    for name in at_hand(service):
        try:
            with generation(service, name) as model:
                found.append(_measured(model, name, language))
        except UserError:  # `compare` says why
            continue
    return found


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
