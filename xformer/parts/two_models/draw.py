"""Two models with one sentence: a table, the small maps of all heads, one head of each,
and their difference."""

import math
from typing import Any

import plotly.graph_objects as go

from xformer.figures import grid_payload
from xformer.figures.attention import Choice, picture
from xformer.figures.heatmap import Axis
from xformer.figures.labels import percent, place
from xformer.figures.pairs import CELL, NAMES, HeadMaps, differing, head_maps, plot_head
from xformer.figures.templates import fill
from xformer.results import Comparison, Head, Trace, TwoModels, fixed
from xformer.strings import ENGLISH, Language

TALL = 220  # pixels of a map


def table(found: TwoModels, language: Language = ENGLISH) -> str:
    """Tabulate both translations, the words that differ marked, with how likely, how
    good and how quick they are. HTML."""
    columns = [
        "model",
        "translation",
        "sure",
        *(["bleu"] if found.scores else []),
        "seconds",
        "head",
    ]
    names = [language.say(f"models_column_{name}") for name in columns]
    texts = [one.best.text for one in found.translations]
    words = differing(*map(str.split, texts))
    rows = []
    notes = list[str]()
    for side, (info, head, error) in enumerate(
        zip(found.infos, found.heads(), found.errors, strict=True)
    ):
        log_prob = found.log_probs[side]
        where = "–" if head is None else place(head, language)
        rows.append(
            (
                f"{NAMES[side]} · {info.name}",
                words[side],
                f"{fixed(log_prob, '.2f')} ({percent(math.exp(log_prob))})",
                *([f"{found.scores[side].score:.1f}"] if found.scores else []),
                f"{found.translations[side].seconds:.2f} s",
                where
                if error is None
                else language.say("models_error", head=where, error=f"{error:.3f}"),
            )
        )
        notes += (
            [language.say("models_no_maps", model=info.name)] if head is None else []
        )
    notes.append(language.say("models_alike" if words[0] == words[1] else "models_key"))
    return fill(
        "two_models.table",
        language,
        title=found.translations[0].source,
        names=names,
        rows=rows,
        notes=notes,
        saved=[
            [first, text, *cells]
            for (first, _, *cells), text in zip(rows, texts, strict=True)
        ],
    )


def grid(
    found: TwoModels, side: int, head: Head, language: Language = ENGLISH
) -> dict[str, Any]:
    """Pack the small maps of all heads of the cross-attention of a model; the chosen
    one is outlined."""
    trace = found.traces[side]
    packed = grid_payload.payload(trace.cross, Choice(*head), language, _given(trace))
    return {
        **packed,
        "title": f"{NAMES[side]} · {found.infos[side].name} · {packed['title']}",
        "key": f"{packed['key']} {trace.number}",
    }


def own_map(
    found: TwoModels, side: int, head: Head, language: Language = ENGLISH
) -> go.Figure:
    """Plot where a head of a model looks, word by word, over its own translation."""
    trace = found.traces[side]
    translation = found.translations[side]
    shown = picture(trace, Choice(*head, words=True), language, given=_given(trace))
    return plot_head(
        shown.values,
        Axis(shown.asks, shown.line),
        Axis(shown.seen, shown.keys),
        f"{NAMES[side]} · {found.infos[side].name} · {place(head, language)}",
        (translation.source, translation.best.text),
        language,
        cell=max(4, min(CELL, TALL // len(shown.line))),
    )


def difference(
    found: TwoModels, head: Head, language: Language = ENGLISH
) -> HeadMaps | None:
    """Plot a head in both models over the first one's translation, and the second minus
    the first; None where the models have no heads that correspond."""
    if found.forced is None:
        return None
    same = Comparison((found.translations[0], found.translations[0]), found.forced, ())
    return head_maps(same, head, _given(found.forced[0]), language)


def _given(trace: Trace) -> frozenset[Head]:
    return trace.origin.given if trace.origin else frozenset()
