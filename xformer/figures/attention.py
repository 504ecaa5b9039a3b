"""The data of an attention picture: values of one head or several combined, labels, and
how the numbers were made."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from xformer.explain import maps
from xformer.explain.alignment import READINGS
from xformer.figures.labels import percent, place, shown
from xformer.pieces import joined, words
from xformer.results import SIDES, Head, Maps, Trace
from xformer.strings import ENGLISH, Language

SHOW = ("head", "mean", "max", "rollout")
VIEWS = ("auto", "heatmap", "arcs")  # auto: arcs in a narrow window
# a decoder's rows are labelled with the word that the head reads, or with the next word
ROWS = ("own", "predicted")


@dataclass(frozen=True)
class Choice:
    """The picture to show: a head, or several joined, and how; a field is the key of a
    control of the page."""

    stack: str = "cross"  # of results.STACKS
    layer: int = 1  # from 1
    head: int = 1  # from 1
    show: str = "head"  # of SHOW
    # combined by mean or max; none: all heads of the layer
    heads: tuple[Head, ...] = ()
    view: str = "auto"  # of VIEWS
    threshold: int = 5  # percent; arcs below it are not drawn
    rows: str = "own"  # of ROWS
    words: bool = False  # pieces joined into words
    hide: bool = False  # sinks hidden, rows renormalised
    weigh: bool = False  # attention times the norm of the value vectors
    palette: str = "blue"  # of palettes.PALETTES

    @property
    def chosen(self) -> Head:
        """The head that is chosen."""
        return Head(self.stack, self.layer, self.head)

    @property
    def name(self) -> str:
        """The key of the text that names the stack."""
        return self.stack


@dataclass(frozen=True, eq=False)
class Units:
    """Maps (…, rows, columns) of pieces or of words, as a choice wants them, with
    labels of rows and columns."""

    values: np.ndarray
    queries: tuple[str, ...]  # label of each row
    keys: tuple[str, ...]  # label of each column
    line: tuple[str, ...]  # short labels of the queries, as they stand in the sentence
    # positions of each row's pieces in their sentence, counted as in `Lock`
    row_words: tuple[tuple[int, ...], ...]
    column_words: tuple[tuple[int, ...], ...]
    sink_columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Picture(Units):
    """A map that is ready to be drawn: its values are (queries, keys), float32."""

    title: str
    # how the numbers were made, in sentences; none for an unchanged head
    rules: tuple[str, ...]
    # share of the attention that lies on sinks; None if they are hidden
    sinks: float | None
    asks: str  # title of the axis of queries
    seen: str  # title of the axis of keys


def named_by(
    choice: Choice, given: Collection[Head], heads: Sequence[Head] = ()
) -> str:
    """Whether a decoder's rows are labelled with the piece "given" or "predicted"
    (alignment.READINGS).

    given: the cross-attention heads that align the piece they were given. heads: those
    of the picture; the majority decides. In self-attention a row stands for the piece
    given, as its column does.
    """
    if choice.rows == "predicted":
        return READINGS[0]
    if choice.stack != "cross":
        return READINGS[1]
    heads = heads or [choice.chosen]
    return READINGS[2 * sum(head in given for head in heads) > len(heads)]


def heads_of(choice: Choice, layers: int, heads: int) -> list[Head]:
    """List the heads of a picture. layers, heads: of the stack, and of each layer."""
    if choice.show == "head":
        return [choice.chosen]
    all_of = Head.every(choice.stack, layers, heads)
    if choice.show == "rollout":
        return [
            one
            for one in all_of
            if choice.stack != "cross" or one.layer == choice.layer
        ]
    joined = [one for one in choice.heads if one in all_of]
    return joined or [one for one in all_of if one.layer == choice.layer]


def picture(
    trace: Trace,
    choice: Choice,
    language: Language = ENGLISH,
    stack_maps: np.ndarray | None = None,
    given: Collection[Head] = (),
) -> Picture:
    """Make the picture of a choice; every step that changes a number adds its rule.

    stack_maps: `all_maps` of the choice, if already computed. given: the heads that
    align the piece they were given.
    """
    if stack_maps is None:
        stack_maps = all_maps(trace, choice.stack, choice.weigh)
    attention = trace.of(choice.stack)
    values, title, rule = _chosen(trace, choice, stack_maps, language)
    to_come = (
        named_by(choice, given, heads_of(choice, *stack_maps.shape[:2])) == READINGS[0]
    )
    share = None if choice.hide else maps.mass(values, maps.sinks(attention.seen))
    shown = units(values, attention, choice, to_come, language)
    rules = [
        said
        for said, used in (
            (language.say("rule_weigh"), choice.weigh),
            (rule, rule),
            (language.say("rule_words"), choice.words),
            (language.say("rule_hidden"), choice.hide),
        )
        if said and used
    ]
    unit = "word" if choice.words else "piece"
    asks = "source" if not attention.predicted else "predicted" if to_come else "given"
    return Picture(
        **{**vars(shown), "values": shown.values.astype(np.float32)},
        title=title,
        rules=tuple(rules),
        sinks=share,
        asks=language.say(f"axis_asks_{asks}_{unit}"),
        seen=language.say(f"axis_seen_{SIDES[choice.stack][1]}_{unit}"),
    )


def units(
    values: np.ndarray,
    attention: Maps,
    choice: Choice,
    to_come: bool,
    language: Language = ENGLISH,
) -> Units:
    """Join the pieces of maps (…, queries, keys) into words and hide sinks, as the
    choice says.

    to_come: whether a decoder's rows are labelled with the piece to predict. If there
    are only sinks, their columns stay, empty.
    """
    to_come = to_come and bool(attention.predicted)
    rows = attention.predicted if to_come else attention.asks
    row_groups, key_groups = (
        words(pieces) if choice.words else [[i] for i in range(len(pieces))]
        for pieces in (rows, attention.seen)
    )
    if choice.words:
        values = maps.by_words(values, row_groups, key_groups)
    line = [shown(text) for text in joined(rows, row_groups)]
    queries = line
    if to_come:  # the word given last, and the one to predict
        before = [shown(attention.asks[0]), *line[:-1]]
        row = "row_target_late" if attention.late else "row_target"
        queries = [
            language.say(row, given=g, wanted=w)
            for g, w in zip(before, line, strict=True)
        ]
    keys = [shown(text) for text in joined(attention.seen, key_groups)]
    # each is a word
    of_rows, of_keys = (
        [i for i, group in enumerate(groups) if group[0] in maps.sinks(pieces)]
        for pieces, groups in ((rows, row_groups), (attention.seen, key_groups))
    )
    if choice.hide:
        values = maps.hide(values, of_keys)
        kept, seen = (
            [i for i in range(len(groups)) if i not in sinks] or [*range(len(groups))]
            for groups, sinks in ((row_groups, of_rows), (key_groups, of_keys))
        )
        values = values[..., kept, :][..., seen]
        queries, line = ([labels[i] for i in kept] for labels in (queries, line))
        row_groups = [row_groups[i] for i in kept]
        key_groups = [key_groups[i] for i in seen]
        keys = [keys[i] for i in seen]
        of_keys = []
    return Units(
        values,
        tuple(queries),
        tuple(keys),
        tuple(line),
        tuple(tuple(i + to_come for i in group) for group in row_groups),
        tuple(map(tuple, key_groups)),
        tuple(of_keys),
    )


def _chosen(
    trace: Trace, choice: Choice, stack_maps: np.ndarray, language: Language
) -> tuple[np.ndarray, str, str | None]:
    """One map (queries, keys) of a head or of several combined, its title, and the rule
    of the combination."""
    layers, heads = stack_maps.shape[:2]
    layer = min(choice.layer, layers)
    head = min(choice.head, heads)
    joined = [
        one
        for one in choice.heads
        if choice.show != "head" and one.layer <= layers and one.head <= heads
    ]
    names = ", ".join(place(one, language) for one in joined)

    def say(key: str) -> str:
        return language.say(
            key,
            stack=language.say(choice.name),
            layer=layer,
            layers=layers,
            head=head,
            heads=len(joined) or heads,
            names=names,
        )

    if choice.show == "head":
        return stack_maps[layer - 1, head - 1], say("picture_title"), None
    if choice.show == "rollout" and choice.stack == "cross":
        values = maps.cross_rollout(
            stack_maps[layer - 1], all_maps(trace, "encoder_self", choice.weigh)
        )
        return values, say("picture_title_rollout_cross"), say("rule_rollout_cross")
    if choice.show == "rollout":
        return (
            maps.rollout(stack_maps),
            say("picture_title_rollout"),
            say("rule_rollout"),
        )
    together = stack_maps[layer - 1]
    kind = choice.show
    if joined:
        together = np.stack([stack_maps[one.at] for one in joined])
        kind = f"{kind}_chosen"
    return (
        maps.combine(together, choice.show),
        say(f"picture_title_{kind}"),
        say(f"rule_{kind}"),
    )


def all_maps(trace: Trace, stack: str, weighed: bool) -> np.ndarray:
    """The maps (layers, heads, queries, keys) of a stack, unchanged or weighed by the
    norms of the values."""
    attention = trace.of(stack)
    return (
        maps.weigh(attention.probabilities, attention.norms)
        if weighed
        else attention.probabilities
    )


def folded(picture: Picture, language: Language = ENGLISH) -> str:
    """The summary of a picture, to be unfolded; HTML."""
    return (
        f"<details><summary>{language.html('summary_label')}</summary>"
        f"<p>{escape(summary(picture, language))}</p></details>"
    )


def summary(picture: Picture, language: Language = ENGLISH) -> str:
    """Describe the picture in words, for readers who cannot see it: its rules, and
    where every row looks most."""
    lines = [language.say("summary_start", title=picture.title), *picture.rules]
    for query, values in zip(picture.queries, picture.values, strict=True):
        best = int(values.argmax())
        lines.append(
            language.say(
                "summary_row" if values[best] else "summary_row_empty",
                query=query,
                key=picture.keys[best],
                percent=percent(float(values[best])),
            )
        )
    return " ".join(lines)
