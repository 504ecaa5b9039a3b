"""The payload of assets/head_view.js: one attention picture with the two sentences
beside it, as heatmap or arcs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

from xformer.figures.attention import SIDES, Choice, Picture, picture
from xformer.figures.layout import PALETTES
from xformer.figures.locked_word import LETTERS
from xformer.figures.packed import packed
from xformer.results import Head, ModelInfo, Trace
from xformer.strings import ENGLISH, Language

# Texts that the script fills in itself.
TEXTS = (
    "looks_at",
    "looks_at_nothing",
    "looked_at_by",
    "looked_at_by_nobody",
    "view_hint",
    "view_locked",
    "arcs_drawn",
    "probability",
    "line_asks",
    "line_seen",
    "more_rows",
    "remove_choice",
)


def payload(
    picture: Picture,
    choice: Choice,
    checkpoint: str,
    language: Language = ENGLISH,
    pair: Sequence[str] = (),
    chips: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Pack a picture: labels as text, which the script escapes, and values (queries,
    keys) as float32 bytes.

    checkpoint: name and identity, written under an exported picture. pair: both
    sentences, written in it. chips: the choices that are not the default, by the keys
    of their controls. In the payload, `same` says whether rows and columns are of the
    same sentence, and `key` differs for pictures that look different: it begins with
    the title, which alone names the head.
    """
    values = picture.values.astype("<f4")
    look = astuple(replace(choice, layer=1, head=1))
    key = (picture.title, *values.shape, *look)
    return {
        "data": packed(values),
        "queries": picture.queries,
        "keys": picture.keys,
        "line": picture.line,
        "title": picture.title,
        "rules": picture.rules,
        "row_words": picture.row_words,
        "column_words": picture.column_words,
        "sides": [LETTERS[side] for side in SIDES[choice.stack]],
        "pair": list(pair),
        "asks": picture.asks,
        "seen": picture.seen,
        "view": choice.view,
        "threshold": choice.threshold / 100,
        "palette": PALETTES[choice.palette],
        "same": choice.stack != "cross",
        "checkpoint": checkpoint,
        "chips": dict(chips or {}),
        "texts": language.unfilled(TEXTS),
        "key": " ".join(map(str, key)),
    }


def before_and_after(
    passes: Sequence[Trace],
    names: Sequence[str],
    choice: Choice,
    info: ModelInfo,
    language: Language = ENGLISH,
    given: Collection[Head] = (),
) -> dict[str, Any]:
    """Pack the pictures of a head in a pass "before" and in one "after" a change; each
    title ends with a name.

    given: the heads that align the piece they were given.
    """
    pictures = [picture(one, choice, language, given=given) for one in passes]
    return {
        key: payload(
            replace(one, title=f"{one.title} · {name}"),
            choice,
            info.versioned,
            language,
        )
        for key, one, name in zip(("before", "after"), pictures, names, strict=True)
    }
