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
from xformer.ui.handlers import QUIET
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
    pictures = part.pictures(ID)
    pictures.input("part", part["part"])
    pictures.fact("answers", translate)
    problem = part.status()
    pictures.add("summary", gr.HTML(elem_classes="summary"), summarize, seen=is_here)
    pictures.add("table", part.table("lecture"), tabulate, seen=is_here)
    pictures.listen(problem, part.opened.change, how=QUIET)
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


def is_here(part: str) -> bool:
    return part == ID


def translate(
    service: TranslationService, progress: Any
) -> Iterator[list[figures.Answer]]:
    """Translate the lecture's sentences in one batch, and score each."""
    if (service.info.source, service.info.target) != ("en", "es"):
        raise UserError(Message.of("lecture_reads", model=service.info.name))
    yield []
    count = 0

    def more(translated: int) -> None:
        nonlocal count
        count += translated
        progress((count, len(SENTENCES)))

    found = service.translate_many(
        [one.english for one in SENTENCES], Options(alternatives=1), progress=more
    )
    yield [
        figures.Answer(
            translation.best.text,
            bleu(one.answer, one.reference),
            bleu(figures.bare(translation.best.text), one.reference),
        )
        for one, translation in zip(SENTENCES, found, strict=True)
    ]


def tabulate(
    service: TranslationService, answers: list[figures.Answer], language: Language
) -> str:
    """Tabulate the sentences, with what the model says where that is there."""
    return figures.table(SENTENCES, answers, service.info.name, language)


def summarize(
    service: TranslationService, answers: list[figures.Answer], language: Language
) -> str:
    """Score all answers together; "" before they are there."""
    if not answers:
        return ""
    theirs, own = (
        corpus_bleu([getattr(answer, name) for answer in answers])
        for name in ("theirs", "own")
    )
    return paragraphs(
        figures.summary(answers, theirs, own, service.info.name, language)
    )
