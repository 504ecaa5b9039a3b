"""Part of the Compare tab with two sentences that differ in a word."""

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.figures import pairs as figures
from xformer.figures.labels import head_label, paragraphs
from xformer.figures.notice import notice
from xformer.results import Comparison, Head, Options, Translation, fixed
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.controls import Words, one_head
from xformer.ui.handlers import LATEST, QUIET, needs, refused
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.tabs import Listener, View, examples

ID = "sentences"
TAB = "pairs"
PRESETS: list[dict[str, Any]]
OWN = -1  # the place of the sentence of the page among the pairs
*PRESETS, OTHER = json.loads(
    Path(__file__).with_name("minimal_pairs.json").read_text(encoding="utf-8")
)


def presets(service: TranslationService) -> dict[int, dict[str, Any]]:
    """The pairs of a model's languages, by their places in PRESETS; for others than
    English and Spanish, two of its examples."""
    own = {
        i: one
        for i, one in enumerate(PRESETS)
        if one.get("reads", "en") == service.info.source
    }
    if own and {service.info.source, service.info.target} == {"en", "es"}:
        return own
    return {len(PRESETS): {**OTHER, "texts": examples(service)[:2]}}


NOTHING: dict[str, Any] = {
    "asked": None,
    "result": None,
    "summary": "",
    "first": None,
    "second": None,
    "difference": None,
}


class Asked(NamedTuple):
    """What is compared."""

    first: str
    second: str
    beam: int
    length_penalty: float


def build(part: Layout) -> None:
    """Lay the part out; called inside it: two sentences side by side."""
    page = part.page
    language = part.language
    say = part.say
    pictures = part.pictures(TAB, cleared=NOTHING)
    asked = pictures.input("asked", gr.State())  # what is on the page; None for nothing
    pictures.input("pairs_part", part["part"])
    pictures.fact("compared", compare)
    pictures.fact("ranked", ranked_of)
    pictures.follow(follow, "pair_head")
    pictures.fact("maps_of_head", maps_of_head)
    problem = pictures.add("problem", part.status(), warnings)
    with gr.Row(elem_classes="detail"):
        with wide():
            pictures.add("result", part.table("compared main"), draw_result)
        with narrow():
            preset = part["preset"] = gr.Dropdown(
                **_listed(page.service, language),
                label=say("pairs_preset"),
                filterable=False,
            )

            def listed(service: TranslationService, _: Any) -> Any:
                return gr.update(**_listed(service, language))

            page.views[f"{TAB}.preset"] = View(preset, listed)
            first, second = (
                part.control(
                    key, partial(_text, i), gr.Textbox, label, lines=1, max_lines=4
                )
                for i, (key, label) in enumerate(
                    (("pair_a", "pairs_first"), ("pair_b", "pairs_second"))
                )
            )
            button = gr.Button(say("pairs_run"), variant="primary")
            part.control("pair_head", one_head(language), gr.Dropdown, "pairs_head")
    summary = gr.HTML(elem_classes="summary over-maps")
    maps = part.beside(
        part.plot,
        {name: f"pair-{name}" for name in ("first", "second", "difference")},
        "detail three-maps",
        280,
    )
    pictures.add_all("maps_of_head", {"summary": summary, **maps})
    pictures.listen(problem, how=QUIET)

    def connect() -> None:
        """Compare by the search that is set in another tab."""
        for key in ("beam", "length_penalty"):
            if key in page.controls:
                pictures.input(key, page.controls[key].component)
        listener: Listener = {
            **pictures.listener(
                problem, run, outputs={"asked": asked, "preset": preset}
            ),
            **LATEST,
        }
        gr.on(
            [part.opened.change, button.click, first.submit, second.submit], **listener
        )
        preset.input(**part.listener(choose, "pair_a", "pair_b"), **LATEST).then(
            **listener
        )
        page.on_return.append(listener)

    page.connections.append(connect)


def ranked_of(compared: Any) -> list[Any]:
    return figures.ranked(compared) if compared else []


def _listed(service: TranslationService, language: Language) -> dict[str, Any]:
    """The choices of pairs for a model, of which the first is chosen, and the sentence
    of the page."""
    choices = [(one["name"][language.code], i) for i, one in presets(service).items()]
    own = language.say("pairs_of_page"), OWN
    return {"choices": [own, *choices], "value": choices[0][1]}


def _text(side: int, service: TranslationService, _: Any) -> Words:
    """The field of a side, with the text of the first pair."""
    return Words(next(iter(presets(service).values()))["texts"][side])


def follow(
    service: TranslationService,
    asked: Asked | None,
    pair_head: str | None,
    language: Language,
    before: dict[str, Any],
    ranked: list[tuple[Head, float]],
) -> dict[str, Any] | None:
    """Offer the heads by how much they change, and open on the first; on the head of
    the address, when that is opened."""
    if asked is None:
        return None
    if not ranked or before.get("asked") == asked:
        return {}
    choices = [
        (f"{head_label(head, language)} ({fixed(change, '+.2f')})", str(head))
        for head, change in ranked
    ]
    kept = (
        not before
        and pair_head != str(service.best_head)
        and pair_head in [name for _, name in choices]
    )
    return {
        "pair_head": gr.update(
            choices=choices, value=pair_head if kept else choices[0][1]
        )
    }


def choose(
    service: TranslationService,
    language: Language,
    *,
    preset: int | None,
    translation: Translation | None,
) -> dict[str, Any]:
    """Put a minimal pair into the fields; or into both the sentence of the page, of
    which a reader changes a word in one."""
    if preset is None or (preset == OWN and translation is None):
        return {}
    texts = (
        [translation.source] * 2
        if preset == OWN and translation
        else presets(service)[preset]["texts"]
    )
    return dict(zip(("pair_a", "pair_b"), texts, strict=True))


@needs(pair_a="pairs_empty", pair_b="pairs_empty")
@refused(**NOTHING)
def run(
    service: TranslationService,
    language: Language,
    *,
    asked: Asked | None,
    pairs_part: str,
    pair_a: str,
    pair_b: str,
    beam: float = Options.beam,
    length_penalty: float = Options.length_penalty,
) -> dict[str, Any] | None:
    """Compare both sentences; nothing where they are on the page already, or another
    part is."""
    wanted = Asked(pair_a, pair_b, int(beam), float(length_penalty))
    if pairs_part != ID or asked == wanted:
        return None
    return {"asked": wanted, "preset": preset_of(service, wanted)}


def preset_of(service: TranslationService, asked: Asked) -> int | None:
    """The pair of the list that is asked for; None for another."""
    return next(
        (
            i
            for i, one in presets(service).items()
            if one["texts"] == [asked.first, asked.second]
        ),
        None,
    )


def compare(
    service: TranslationService, asked: Asked | None, before: dict[str, Any]
) -> Comparison | None:
    """Translate both sentences and compare them; a translation that is on the page
    already is not made again. None where nothing is asked for."""
    if asked is None:
        return None
    options = Options(
        beam=asked.beam, length_penalty=asked.length_penalty, alternatives=1
    )
    last = before.get("compared")
    known = {
        one.source: one
        for one in (last.translations if last else ())
        if one.options == options
    }
    return service.compare(
        known.get(asked.first, asked.first),
        known.get(asked.second, asked.second),
        options,
    )


def warnings(compared: Comparison, language: Language) -> str:
    """What is to say about the sentences."""
    said = dict.fromkeys(
        one.say(language)
        for translation in compared.translations
        for one in translation.warnings
    )
    return notice([*said], "warning")


def draw_result(
    service: TranslationService, compared: Comparison, asked: Asked, language: Language
) -> str:
    """Show both translations, and what to look at in them."""
    preset = preset_of(service, asked)
    question = (
        language.say("pairs_look_words")
        if preset is None
        else presets(service)[preset]["look"][language.code]
    )
    return figures.translations(compared, language, question, service.info.name)


def maps_of_head(
    service: TranslationService,
    compared: Comparison,
    pair_head: str | None,
    language: Language,
) -> dict[str, Any]:
    """Draw a head in both passes, and the difference; or say that the model has no such
    maps.

    pair_head: None where the model has no head to choose.
    """
    given = given_heads(service.info, service.alignment_errors)
    maps = (
        figures.head_maps(compared, Head.parse(pair_head), given, language)
        if pair_head
        else None
    )
    if maps is None:
        return {
            "summary": f"<p>{language.html('pairs_no_maps', model=service.info.name)}</p>"
        }
    return {
        "summary": paragraphs(maps.summary),
        "first": figure(maps.first),
        "second": figure(maps.second),
        "difference": figure(maps.difference),
    }
