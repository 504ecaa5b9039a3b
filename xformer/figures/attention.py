"""An attention picture before it is drawn: the values of one head or of several joined, labels, and the rules used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xformer.explain import maps
from xformer.figures.labels import percent, place, shown
from xformer.pieces import words
from xformer.results import Head, Trace
from xformer.strings import ENGLISH, Language

SHOW = ("head", "mean", "max", "rollout")
VIEWS = ("heatmap", "arcs")
AXES = {"encoder_self": ("axis_asks_source", "axis_seen_source"),  # titles of the axes of queries and of keys
        "decoder_self": ("axis_asks_target", "axis_seen_target"), "cross": ("axis_asks_target", "axis_seen_source")}


@dataclass(frozen=True)
class Choice:
    """The picture to show: a head, or several joined, and how. Its order is that of the page's controls."""

    stack: str = "cross"  # of results.STACKS
    layer: int = 1  # from 1
    head: int = 1  # from 1
    show: str = "head"  # of SHOW
    heads: tuple[Head, ...] = ()  # joined by mean or max; none: all of the layer
    view: str = "heatmap"  # of VIEWS
    threshold: int = 5  # percent; arcs below it are not drawn
    words: bool = False  # pieces joined into words
    hide: bool = False  # sinks hidden, rows renormalised
    weigh: bool = False  # attention times the norm of the value vectors
    palette: str = "blue"  # of palettes.PALETTES

    @property
    def chosen(self) -> Head:
        """The head that is chosen."""
        return Head(self.stack, self.layer, self.head)


@dataclass(frozen=True, eq=False)
class Picture:
    """A map ready to be drawn."""

    title: str
    rules: tuple[str, ...]  # how the numbers were made, in sentences; none for a head as it is
    queries: tuple[str, ...]  # label of each row
    keys: tuple[str, ...]  # label of each column
    values: np.ndarray  # (queries, keys), float32
    sinks: float  # share of the attention that lies on sinks, before they are hidden
    asks: str  # title of the axis of queries
    seen: str  # title of the axis of keys
    line: tuple[str, ...]  # the queries in short, as they stand in the sentence


def picture(trace: Trace, choice: Choice, language: Language = ENGLISH, stack_maps: np.ndarray | None = None
            ) -> Picture:
    """Choose, weigh, join, and hide as asked; every step that changes a number adds its rule.

    stack_maps: `all_maps` of the choice, where they are at hand.
    """
    if stack_maps is None:
        stack_maps = all_maps(trace, choice.stack, choice.weigh)
    attention = trace.of(choice.stack)
    values, title, rule = _chosen(trace, choice, stack_maps, language)
    rules = [language.say("rule_weigh")] if choice.weigh else []
    if rule:
        rules.append(rule)
    sinks = maps.sinks(attention.seen)
    share = maps.mass(values, sinks)
    rows = attention.predicted or attention.asks  # a row of a decoder is counted for the piece it is to predict
    if choice.words:
        row_groups, key_groups = words(rows), words(attention.seen)
        values = maps.by_words(values, row_groups, key_groups)
        rules.append(language.say("rule_words"))
    else:
        row_groups, key_groups = ([[i] for i in range(len(pieces))] for pieces in (rows, attention.seen))
    if choice.hide:
        values = maps.hide(values, [i for i, group in enumerate(key_groups) if group[0] in sinks])
        rules.append(language.say("rule_hidden"))
    line = [_label(rows, group) for group in row_groups]
    queries = line
    if attention.predicted:  # the word given last, and the one to predict
        given = [shown(attention.asks[0]), *line[:-1]]
        queries = [language.say("row_target", given=g, wanted=w) for g, w in zip(given, line, strict=True)]
    asks, seen = AXES[choice.stack]
    return Picture(title, tuple(rules), tuple(queries), tuple(_label(attention.seen, group) for group in key_groups),
                   values.astype(np.float32), share, language.say(asks), language.say(seen), tuple(line))


def _chosen(trace: Trace, choice: Choice, stack_maps: np.ndarray, language: Language
            ) -> tuple[np.ndarray, str, str | None]:
    """One map (queries, keys) of a head or of several joined, its title, and the rule by which they were joined."""
    layers, heads = stack_maps.shape[:2]
    layer, head = min(choice.layer, layers), min(choice.head, heads)
    joined = [one for one in choice.heads if one.layer <= layers and one.head <= heads]
    names = ", ".join(place(one, language) for one in joined)

    def say(key: str) -> str:
        return language.say(key, stack=language.say(choice.stack), layer=layer, layers=layers, head=head,
                            heads=len(joined) or heads, names=names)

    if choice.show == "head":
        return stack_maps[layer - 1, head - 1], say("picture_title"), None
    if choice.show == "rollout" and choice.stack == "cross":
        encoder = all_maps(trace, "encoder_self", choice.weigh)
        values = maps.cross_rollout(stack_maps[layer - 1], encoder)
        return values, say("picture_title_rollout_cross"), say("rule_rollout_cross")
    if choice.show == "rollout":
        return maps.rollout(stack_maps), say("picture_title_rollout"), say("rule_rollout")
    together, kind = stack_maps[layer - 1], choice.show
    if joined:
        together, kind = np.stack([stack_maps[one.layer - 1, one.head - 1] for one in joined]), f"{kind}_chosen"
    return maps.combine(together, choice.show), say(f"picture_title_{kind}"), say(f"rule_{kind}")


def all_maps(trace: Trace, stack: str, weighed: bool) -> np.ndarray:
    """The maps (layers, heads, queries, keys) of a stack, as they are or weighed by the norms of the values."""
    attention = trace.of(stack)
    return maps.weigh(attention.probabilities, attention.norms) if weighed else attention.probabilities


def _label(pieces: tuple[str, ...], group: list[int]) -> str:
    """Label a word; a piece alone keeps the mark that it goes on with a word."""
    return shown("".join(pieces[i] for i in group))


def summary(picture: Picture, language: Language = ENGLISH) -> str:
    """Describe the picture in words, for those who cannot see it: its rules, and where every row looks most."""
    lines = [language.say("summary_start", title=picture.title), *picture.rules]
    for query, values in zip(picture.queries, picture.values, strict=True):
        best = int(values.argmax())
        if not values[best]:
            lines.append(language.say("summary_row_empty", query=query))
            continue
        lines.append(language.say("summary_row", query=query, key=picture.keys[best],
                                  percent=percent(float(values[best]))))
    return " ".join(lines)
