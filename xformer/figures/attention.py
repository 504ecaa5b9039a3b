"""What an attention picture shows, before it is drawn: which heads, joined how, with which labels, by which rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xformer.explain import maps
from xformer.figures.labels import percent, shown
from xformer.pieces import words
from xformer.results import Trace
from xformer.strings import text

SHOW = ("head", "mean", "max", "rollout")
VIEWS = ("heatmap", "arcs")
Head = tuple[int, int]  # layer and head, counted from 1


@dataclass(frozen=True)
class Choice:
    """What a person wants to see; layer and head count from 1. Its order is that of the page's controls."""

    stack: str = "cross"
    layer: int = 1
    head: int = 1
    show: str = "head"
    heads: tuple[Head, ...] = ()  # joined by mean or max; none: all of the layer
    view: str = "heatmap"
    threshold: int = 5  # percent; arcs below it are not drawn
    words: bool = False  # pieces joined into words
    hide: bool = False  # sinks hidden, rows renormalised
    weigh: bool = False  # attention times the norm of what is taken along
    palette: str = "blue"


@dataclass(frozen=True, eq=False)
class Picture:
    """A map ready to be drawn."""

    title: str
    rules: tuple[str, ...]  # how the numbers were made, in sentences; none for a head as it is
    queries: tuple[str, ...]  # label of each row: who asks
    keys: tuple[str, ...]  # label of each column: what is looked at
    values: np.ndarray  # (queries, keys), float32
    sinks: float  # share of the attention that lies on sinks, before they are hidden
    asks: str  # title of the axis of queries
    seen: str  # title of the axis of keys
    line: tuple[str, ...]  # the queries in short, as they stand in the sentence


def picture(trace: Trace, choice: Choice, language: str = "en") -> Picture:
    """Choose, weigh, join, and hide as asked; every step that changes a number adds its rule."""
    stack, encoder = (all_maps(trace, name, choice.weigh) for name in (choice.stack, "encoder_self"))
    layers, heads = stack.shape[:2]
    layer, head = min(choice.layer, layers), min(choice.head, heads)
    query_pieces = trace.source if choice.stack == "encoder_self" else trace.predicted
    key_pieces = trace.target if choice.stack == "decoder_self" else trace.source
    joined = [(a, b) for a, b in choice.heads if a <= layers and b <= heads]

    def say(key: str) -> str:
        return text(key, language, stack=text(choice.stack, language), layer=layer, layers=layers, head=head,
                    heads=len(joined) or heads,
                    names=", ".join(text("finder_where", language, layer=a, head=b) for a, b in joined))

    rules = [say("rule_weigh")] if choice.weigh else []
    across = "_cross" if choice.stack == "cross" else ""
    if choice.show == "head":
        values, title = stack[layer - 1, head - 1], say("picture_title")
    elif choice.show == "rollout":
        values = maps.cross_rollout(stack[layer - 1], encoder) if across else maps.rollout(stack)
        title = say(f"picture_title_rollout{across}")
        rules.append(say(f"rule_rollout{across}"))
    else:
        chosen = "_chosen" if joined else ""
        values = maps.combine(np.stack([stack[a - 1, b - 1] for a, b in joined]) if joined else stack[layer - 1],
                              choice.show)
        title = say(f"picture_title_{choice.show}{chosen}")
        rules.append(say(f"rule_{choice.show}{chosen}"))

    sinks = maps.sinks(key_pieces)
    share = maps.mass(values, sinks)
    if choice.hide:
        values = maps.hide(values, sinks)
        rules.append(say("rule_hidden"))
    if choice.words:
        query_groups, key_groups = words(query_pieces), words(key_pieces)
        values = maps.by_words(values, query_groups, key_groups)
        rules.append(say("rule_words"))
    else:
        query_groups, key_groups = ([[i] for i in range(len(pieces))] for pieces in (query_pieces, key_pieces))
    line = [_joined(query_pieces, group) for group in query_groups]
    keys = [_joined(key_pieces, group) for group in key_groups]
    if choice.stack == "encoder_self":
        queries = line
    else:  # what a position was given last, and what it is asked to predict
        given = [shown(trace.target[0]), *line[:-1]]
        queries = [text("row_target", language, given=g, wanted=w) for g, w in zip(given, line, strict=True)]
    return Picture(title, tuple(rules), tuple(queries), tuple(keys), values.astype(np.float32), share,
                   say("axis_asks_source" if choice.stack == "encoder_self" else "axis_asks_target"),
                   say("axis_seen_target" if choice.stack == "decoder_self" else "axis_seen_source"), tuple(line))


def all_maps(trace: Trace, stack: str, weighed: bool) -> np.ndarray:
    """The maps (layers, heads, queries, keys) of a stack, as they are or weighed."""
    values: np.ndarray = getattr(trace, stack)
    return maps.weigh(values, getattr(trace, f"{stack}_norms")) if weighed else values


def _joined(pieces: tuple[str, ...], group: list[int]) -> str:
    """A word as a label; a piece alone keeps the mark that it goes on with a word."""
    return shown("".join(pieces[i] for i in group))


def summary(shown_picture: Picture, language: str = "en") -> str:
    """The picture in words, for who cannot see it: its rules, and where every row looks most."""
    lines = [text("summary_start", language, title=shown_picture.title), *shown_picture.rules]
    for query, values in zip(shown_picture.queries, shown_picture.values, strict=True):
        best = int(values.argmax())
        lines.append(text("summary_row", language, query=query, key=shown_picture.keys[best],
                          percent=percent(float(values[best]))))
    return " ".join(lines)
