"""Part of the Compare tab with the lecture's sentences: what its transformer said, and
what this model says now; and the lecture's run made small, without masks and with them.
"""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from xformer.figures.labels import paragraphs
from xformer.parts.lecture import draw as figures
from xformer.parts.lecture import unmasked as figures_unmasked
from xformer.parts.lecture.unmasked import KINDS, MAPS
from xformer.results import Message, Options, Unmask, Unmasked, UserError
from xformer.serve.bleu import bleu, corpus_bleu
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import Words
from xformer.ui.handlers import LATEST, QUIET
from xformer.ui.layout import Layout
from xformer.ui.places import note
from xformer.ui.tabs import opened_by

ID = "lecture"
FOLDS = (("unmasked", "fold_unmasked", "lecture"),)
# pairs that the small translators learned, and new ones
PAIRS = {
    "own": {
        "mary wore a white miniskirt": "mary llevaba una minifalda blanca",
        "the plane made a forced landing": "el avión hizo un aterrizaje de emergencia",
        "even monkeys fall from trees": "hasta los monos caen de los árboles",
    },
    "new": {
        "the concert was a success": "el concierto fue un éxito",
        "my house is near the school": "mi casa está cerca de la escuela",
        "i want a cup of tea": "quiero una taza de té",
    },
}
FIELDS = ("unmasked_text", "unmasked_target")
EXAMPLE = next(iter(PAIRS["own"].items()))
SENTENCES = figures.read()


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    language = part.language
    gr.HTML(
        f'{note(language, "lecture_look", "")}<details class="more"><summary>{language.html("lecture_more")}'
        f'</summary><p class="note">{figures.note(SENTENCES, language)}</p></details>',
        elem_classes="look",
    )
    part.status()
    part["summary"] = gr.HTML(elem_classes="summary")
    part["table"] = part.table("lecture")
    part["done"] = gr.State(False)
    part.opened.change(
        **part.listener(
            run, "table", "summary", "done", problem="problem", only_here=True
        ),
        **LATEST,
    )
    _unmasked(part)


def _unmasked(outer: Layout) -> None:
    """Lay out, folded, a sentence through two small translators of the lecture's kind,
    without masks and with them."""
    part = outer.inner(opened=outer.opened)
    pictures = part.pictures(f"{ID}.unmasked")
    with part.folded("unmasked", pictures, closed=True) as fold:
        part.note("unmasked_look")
        problem = part.status()
        pictures.fact("found", unmask)
        with gr.Row(elem_classes="controls"):
            example = gr.Dropdown(
                [
                    (part.say(f"unmasked_{name}", text=text), text)
                    for name, pairs in PAIRS.items()
                    for text in pairs
                ],
                value=EXAMPLE[0],
                label=part.say("unmasked_example"),
                filterable=False,
                min_width=240,
            )
            fields = {
                key: part.control(
                    key,
                    Words(text),
                    gr.Textbox,
                    info=f"{key}_info",
                    lines=1,
                    max_lines=2,
                )
                for key, text in zip(FIELDS, EXAMPLE, strict=True)
            }
        pictures.add(
            "said",
            part.table("tables unmasked-of"),
            figures_unmasked.said,
            seen="unmasked_open",
        )
        part.choice("unmasked_map", MAPS, MAPS[0], "unmasked_map_{}")
        part.note("unmasked_maps_note")
        maps = part.beside(part.plot, {kind: f"map-{kind}" for kind in KINDS})
        pictures.add("unmasked", maps["unmasked"], draw_bare, seen="unmasked_open")
        pictures.add("masked", maps["masked"], draw_masked, seen="unmasked_open")
        pictures.add(
            "scores",
            part.table("tables unmasked-measured"),
            figures_unmasked.scores,
            seen="unmasked_open",
        )
    # Not when the part is opened: the fold tells, and nobody is asked twice.
    pictures.listen(problem, *(one.submit for one in fields.values()), how=QUIET)
    example.input(
        **pictures.listener(
            problem, choose, inputs={"example": example}, outputs=fields
        ),
        **QUIET,
    )
    part.views["unmasked"] = opened_by(part.controls, fold)
    outer.include(part)


def choose(
    service: TranslationService, language: Language, *, example: str
) -> dict[str, str]:
    """Put an example into the fields."""
    found = {text: other for pairs in PAIRS.values() for text, other in pairs.items()}
    return dict(zip(FIELDS, (example, found[example]), strict=True))


def unmask(
    service: TranslationService, unmasked_text: str, unmasked_target: str
) -> Unmasked:
    """Put the visitor's sentence through both."""
    return service.ask(Unmask(unmasked_text, unmasked_target))


def draw_bare(found: Unmasked, unmasked_map: str, language: Language) -> Any:
    return figures_unmasked.drawn(found, "unmasked", unmasked_map, language)


def draw_masked(found: Unmasked, unmasked_map: str, language: Language) -> Any:
    return figures_unmasked.drawn(found, "masked", unmasked_map, language)


def run(
    service: TranslationService,
    language: Language,
    *,
    part: str,
    done: bool,
    progress: Any,
) -> Iterator[dict[str, Any]]:
    """Translate the lecture's sentences in one batch, and score them; once a page,
    where this part is shown."""
    if part != ID or done:
        yield {}
        return
    if (service.info.source, service.info.target) != ("en", "es"):
        raise UserError(Message.of("lecture_reads", model=service.info.name))
    model = service.info.name
    count = 0
    yield {"table": figures.table(SENTENCES, None, model, language), "summary": ""}

    def more(translated: int) -> None:
        nonlocal count
        count += translated
        progress((count, len(SENTENCES)))

    found = service.translate_many(
        [one.english for one in SENTENCES], Options(alternatives=1), progress=more
    )
    answers = [
        figures.Answer(
            translation.best.text,
            bleu(one.answer, one.reference),
            bleu(figures.bare(translation.best.text), one.reference),
        )
        for one, translation in zip(SENTENCES, found, strict=True)
    ]
    theirs, own = (
        corpus_bleu([getattr(answer, name) for answer in answers])
        for name in ("theirs", "own")
    )
    said = figures.summary(answers, theirs, own, model, language)
    yield {
        "table": figures.table(SENTENCES, answers, model, language),
        "done": True,
        "summary": paragraphs(said),
    }
