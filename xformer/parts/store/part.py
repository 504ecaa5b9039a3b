"""Part of the First principles tab that reads a key–value store by attention: titles,
texts, a query, and the temperature between retrieving one and blending all."""

import json
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import principles as explain
from xformer.parts.store import draw as figures
from xformer.parts.store import records as records_of
from xformer.results import Message, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import Real, Words
from xformer.ui.handlers import LATEST, QUIET
from xformer.ui.layout import Layout
from xformer.ui.tabs import opened_by

ID = "store"
NAME = "store_title"
WITHIN = "before"
RECIPES: dict[str, Any] = json.loads(
    Path(__file__).with_name("recipes.json").read_text(encoding="utf-8")
)
RECORDS = Words("\n".join(": ".join(record) for record in RECIPES["records"]))
QUERY = Words(RECIPES["query"])
POWER = Real(0, *explain.POWERS, step=0.25)


def build(part: Layout) -> None:
    """Lay the part out, and what it folds into."""
    say = part.say
    # They need no model, and are drawn whatever tab is open.
    pictures = part.pictures(ID, tab=None, ask=part.page.always(None))
    part["matches"] = pictures.input("matches", gr.State())
    with part.folded("store") as fold:
        part.note("store_text")
        part["records"] = part.controls.add(
            "records",
            RECORDS,
            gr.Textbox,
            label=say("store_records"),
            lines=6,
            max_lines=14,
            info=say("store_records_info", limit=records_of.MOST_RECORDS),
        )
        with gr.Row(elem_classes="ask"):
            query = part.control("store_query", QUERY, gr.Textbox, lines=1, scale=8)
            button = gr.Button(
                say("store_run"), variant="primary", scale=1, min_width=120
            )
        part.status()
        part.control("store_power", POWER, gr.Slider, "first_power", "store_power_info")
        table = gr.HTML(elem_classes="tables store", min_height=120)
        pictures.add("table", table, retrieve, seen="matches")
    gr.on(
        [part.opened.change, button.click, query.submit],
        **part.listener(look_up, "matches", problem="problem", only_here=True),
        **LATEST,
    )
    pictures.listen(None, part["matches"].change, how=QUIET)
    part.views["store"] = opened_by(part.controls, fold)


def look_up(
    service: TranslationService, language: Language, *, records: str, store_query: str
) -> dict[str, Any]:
    """Compare the query with the title of every record."""
    read = records_of.read(records or "")
    try:
        vectors = service.embed([title for title, _ in read] + [store_query or ""])
    except UserError:
        for title, _ in read:
            _check_title(service, records, title)
        raise
    return {"matches": (read, records_of.likeness(vectors[:-1], vectors[-1]))}


def _check_title(service: TranslationService, records: str, title: str) -> None:
    """Raise UserError, which names the line, where the model can read nothing of a
    title."""
    try:
        service.embed([title])
    except UserError as error:
        if isinstance(error.message, Message) and error.message.key in (
            "error_empty",
            "error_unknown",
        ):
            number = records_of.line_of(records, title)
            raise UserError(
                Message.of("store_error_title", number=number, title=title[:40])
            ) from error
        raise


def retrieve(
    matches: tuple[records_of.Records, np.ndarray],
    store_power: float,
    language: Language,
) -> str:
    """Show the records that were compared with the query, blended at a temperature."""
    records, cosines = matches
    beta = explain.at_power(records_of.BETA, float(store_power))
    return figures.store(records, cosines, beta, language)
