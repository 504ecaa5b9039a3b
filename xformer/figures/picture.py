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


@dataclass(frozen=True)
class Choice:
    """What a person wants to see; layer and head count from 1."""

    stack: str = "cross"
    layer: int = 1
    head: int = 1
    show: str = "head"
    words: bool = False  # pieces joined into words
    hide: bool = False  # sinks hidden, rows renormalised


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


def picture(trace: Trace, choice: Choice, language: str = "en") -> Picture:
    """Choose, join, and hide as asked; every step that changes a number adds its rule."""
    stack = getattr(trace, choice.stack)
    layers, heads = stack.shape[:2]
    layer, head = min(choice.layer, layers), min(choice.head, heads)
    query_pieces = trace.source if choice.stack == "encoder_self" else trace.predicted
    key_pieces = trace.target if choice.stack == "decoder_self" else trace.source

    def say(key: str) -> str:
        return text(key, language, stack=text(choice.stack, language), layer=layer, layers=layers, head=head,
                    heads=heads)

    across = "_cross" if choice.stack == "cross" else ""
    if choice.show == "head":
        values, title, rules = stack[layer - 1, head - 1], say("picture_title"), []
    elif choice.show == "rollout":
        values = maps.cross_rollout(stack[layer - 1], trace.encoder_self) if across else maps.rollout(stack)
        title, rules = say(f"picture_title_rollout{across}"), [say(f"rule_rollout{across}")]
    else:
        values = maps.combine(stack[layer - 1], choice.show)
        title, rules = say(f"picture_title_{choice.show}"), [say(f"rule_{choice.show}")]

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
    wanted = [_joined(query_pieces, group) for group in query_groups]
    keys = [_joined(key_pieces, group) for group in key_groups]
    if choice.stack == "encoder_self":
        queries = wanted
    else:  # what a position was given last, and what it is asked to predict
        given = [shown(trace.target[0]), *wanted[:-1]]
        queries = [text("row_target", language, given=g, wanted=w) for g, w in zip(given, wanted, strict=True)]
    return Picture(title, tuple(rules), tuple(queries), tuple(keys), values.astype(np.float32), share,
                   say("axis_asks_source" if choice.stack == "encoder_self" else "axis_asks_target"),
                   say("axis_seen_target" if choice.stack == "decoder_self" else "axis_seen_source"))


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
