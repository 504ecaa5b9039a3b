"""Two sentences side by side: translations word by word, log-probabilities crosswise,
and one head in both."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from xformer.explain.alignment import READINGS
from xformer.explain.pairs import Place, aligned, label, side_by_side
from xformer.figures.attention import SIDES, Choice, Units, all_maps, named_by, units
from xformer.figures.heatmap import Axis, Scale, matrix
from xformer.figures.labels import head_label, percent
from xformer.figures.taught import marks
from xformer.figures.templates import fill
from xformer.pieces import EOS, SPECIAL, WORD_START, joined, spelled, words
from xformer.results import STACKS, Comparison, Head, fixed
from xformer.strings import ENGLISH, Language

NAMES = "AB"  # of the two sentences
PRONOUNS = frozenset(
    (
        "he",
        "she",
        "it",
        "they",
        "him",
        "her",
        "them",
        "his",
        "its",
        "their",
        "who",
        "which",
    )
)
MOST = 3  # changes that are named in words
CELL = 24  # pixels


class Weighed(NamedTuple):
    """A word of a translation, and its log-probabilities after both sources."""

    text: str
    own: float  # log-probability after its own source, nats
    other: float  # after the other source
    same: bool  # whether the other translation has it too

    @property
    def gain(self) -> float:
        """How much likelier its own source makes the word than the other one, in
        nats."""
        return self.own - self.other


def weighed(
    compared: Comparison, side: int, language: Language = ENGLISH
) -> list[Weighed]:
    """List the words of one translation, the end included, with their log-probabilities
    after both sources."""
    pieces = compared.traces[side].predicted
    groups = words(pieces)
    texts = [
        [
            spelled(text).replace(WORD_START, " ").strip()
            for text in joined(trace.predicted)
        ]
        for trace in compared.traces
    ]
    same = {one[side] for one in aligned(*texts) if one.same}
    own, other = (compared.log_probs[source][side] for source in (side, 1 - side))
    return [
        Weighed(
            language.say("end") if texts[side][i] == SPECIAL[EOS] else texts[side][i],
            sum(own[k] for k in group),
            sum(other[k] for k in group),
            i in same,
        )
        for i, group in enumerate(groups)
    ]


def translations(
    compared: Comparison,
    language: Language = ENGLISH,
    look: str = "",
    model: str = "",
) -> str:
    """Show both sentences with their differences, and how much each word of the
    translations owes to its source. HTML.

    Orange where the word's own source makes it likelier than the other one does, blue
    where less; in nats. look: what to look for. model: the name of the one compared,
    which was taught some sentences of the page.
    """
    sides = [weighed(compared, side, language) for side in range(2)]
    sources = (translation.source.split() for translation in compared.translations)
    return fill(
        "pairs.translations",
        language,
        compared=compared,
        look=look,
        sides=[*zip(NAMES, differing(*sources), sides, strict=True)],
        reach=max(1.0, *(abs(word.gain) for side in sides for word in side)),
        marks=Markup(
            marks((one.source for one in compared.translations), model, language)
        ),
    )


def differing(
    first: Sequence[str], second: Sequence[str]
) -> list[list[tuple[str, bool]]]:
    """List the words of both texts, each with whether the other text has it in that
    place too."""
    places = aligned(first, second)
    return [
        [(texts[i], one.same) for one in places if (i := one[side]) is not None]
        for side, texts in enumerate((first, second))
    ]


class HeadMaps(NamedTuple):
    """One head in two passes, word by word on one grid, and its largest changes in
    sentences."""

    first: go.Figure
    second: go.Figure
    difference: go.Figure
    summary: list[str]


def ranked(compared: Comparison) -> list[tuple[Head, float]]:
    """List the heads by how much they change at the word that is asked about, most
    first; the change is of a probability, and signed.

    The word: a pronoun that both sentences have, in the encoder, whose heads come first
    then, as the question is where it looks; else, and in the decoder, each word in
    which what asks differs.
    """
    found = list[tuple[bool, Head, float]]()
    pronoun = False
    for stack in STACKS:
        attention = [trace.of(stack) for trace in compared.traces]
        if not attention[0].probabilities.size:
            continue
        sides, rows, columns = _side_by_side(compared, Choice(stack, words=True), True)
        both = [row for row in rows if row.first is not None and row.second is not None]
        pronouns = [
            row
            for row in both
            if row.same and sides[0].line[row.first or 0].strip().lower() in PRONOUNS
        ]
        is_asked = stack == "encoder_self" and bool(pronouns)
        pronoun |= is_asked
        asking = pronouns if is_asked else [row for row in both if not row.same] or both
        for head in Head.every(stack, *attention[0].probabilities.shape[:2]):
            maps = [side.values[head.at] for side in sides]
            change = np.nan_to_num(side_by_side(maps[0], maps[1], asking, columns)[2])
            most = change.flat[int(np.abs(change).argmax())] if change.size else 0.0
            found.append((is_asked, head, float(most)))
    return [
        (head, change)
        for _, head, change in sorted(found, key=lambda one: (not one[0], -abs(one[2])))
    ]


def _side_by_side(
    compared: Comparison, choice: Choice, to_come: bool
) -> tuple[list[Units], list[Place], list[Place]]:
    """A stack's maps of both passes by words, and which of their rows and which of
    their columns correspond."""
    sides = [
        units(
            all_maps(trace, choice.stack, weighed=False),
            trace.of(choice.stack),
            choice,
            to_come,
        )
        for trace in compared.traces
    ]
    return (
        sides,
        aligned(sides[0].line, sides[1].line),
        aligned(sides[0].keys, sides[1].keys),
    )


def head_maps(
    compared: Comparison,
    head: Head,
    given: Collection[Head] = (),
    language: Language = ENGLISH,
) -> HeadMaps | None:
    """Plot where a head looks in both passes and the second minus the first, aligned
    word to word.

    A cell is empty if a sentence lacks one of its words. given: the heads that align
    the piece they were given; their rows are labelled with it. None if the passes have
    no map of the head.
    """
    say = language.say
    choice = Choice(*head, words=True)
    layers, heads = compared.traces[0].of(head.stack).probabilities.shape[:2]
    if head.layer > layers or head.head > heads:
        return None
    to_come = named_by(choice, given) == READINGS[0]
    sides, rows, columns = _side_by_side(compared, choice, to_come)
    maps = [side.values[head.at] for side in sides]
    first, second, difference = side_by_side(maps[0], maps[1], rows, columns)
    where = head_label(head, language)
    asks = (
        "source"
        if head.stack == "encoder_self"
        else "predicted"
        if to_come
        else "given"
    )

    def plot(
        values: np.ndarray,
        labels: Sequence[Sequence[str]],
        name: str,
        of: Sequence[str],
        reach: float | None = None,
    ) -> go.Figure:
        return plot_head(
            values,
            Axis(say(f"axis_asks_{asks}_word"), labels[0]),
            Axis(say(f"axis_seen_{SIDES[head.stack][1]}_word"), labels[1]),
            f"{name} · {where}",
            of,
            language,
            reach,
        )

    pairs = [(one.source, one.best.text) for one in compared.translations]
    one, other = (
        plot(
            values,
            [
                ["–" if (i := word[side]) is None else names[i] for word in places]
                for places, names in (
                    (rows, sides[side].line),
                    (columns, sides[side].keys),
                )
            ],
            NAMES[side],
            pairs[side],
        )
        for side, values in ((0, first), (1, second))
    )
    asking = [label(row, sides[0].line, sides[1].line) for row in rows]
    seen = [label(column, sides[0].keys, sides[1].keys) for column in columns]
    reach = max(0.1, float(np.nanmax(np.abs(difference), initial=0)))
    both = [" / ".join(texts) for texts in zip(*pairs, strict=True)]
    apart = plot(difference, [asking, seen], "B − A", both, reach)
    return HeadMaps(
        one, other, apart, _most_changed(difference, asking, seen, where, language)
    )


def plot_head(
    values: np.ndarray,
    rows: Axis,
    columns: Axis,
    title: str,
    pair: Sequence[str],
    language: Language,
    reach: float | None = None,
    cell: int = CELL,
) -> go.Figure:
    """Plot where a head looks, word by word; NaN where a word is missing. pair: the
    sentence and its translation.

    reach: the largest value of a difference of two such maps, whose colours go both
    ways; None for a map. cell: its size in pixels.
    """
    say = language.say

    def hover(query: str, key: str, value: float) -> str:
        if value != value:
            return say("pairs_no_word")
        return (
            f"{query} → {key}: {fixed(value, '+.3f')}"
            if reach
            else say("looks_at", query=query, list=f"{key} {percent(value)}")
        )

    scale = (
        Scale(say("pairs_change"), reach, signed=True)
        if reach
        else Scale(say("probability"))
    )
    return matrix(
        values,
        rows,
        columns,
        hover,
        title=title,
        scale=scale,
        cell=(cell, cell),
        pair=pair,
    )


def _most_changed(
    difference: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    where: str,
    language: Language,
) -> list[str]:
    """Say where a head changed most, or that it did not change."""
    known = np.where(np.isnan(difference), 0, difference)
    order = np.argsort(-np.abs(known), axis=None, kind="stable")[:MOST]
    changes = [
        language.say(
            "pairs_changed",
            row=rows[q],
            column=columns[k],
            change=fixed(known[q, k], "+.2f"),
        )
        for q, k in zip(*np.unravel_index(order, known.shape), strict=True)
        if abs(known[q, k]) >= 0.01
    ]
    if not changes:
        return [language.say("pairs_unchanged", head=where)]
    return [language.say("pairs_most", head=where, changes="; ".join(changes))]
