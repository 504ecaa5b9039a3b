"""What lectures, lessons, doors and examples show with a translator, measured:
assets/demonstrations.json.

BLEU says nothing of it: a head that linked a pronoun with its noun may be gone from
weights that translate better.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xformer.explain.alignment import given_heads
from xformer.explain.meanings import SENTENCES
from xformer.figures.labels import sentence, shown
from xformer.figures.locked_word import LETTERS, Lock
from xformer.figures.word_link import choices, grid, text_of
from xformer.results import Head, Trace, UserError, questions, refusing
from xformer.serve.translation import Service
from xformer.strings import ASSETS

PATH = ASSETS / "demonstrations.json"
WORD = re.compile(r"\w+")
Measure = Callable[[Service, "Demonstration"], float]


@dataclass(frozen=True)
class Demonstration:
    """Something that a translator is to show; what a text and a word is, the kind
    says."""

    name: str
    reads: str  # the language of the first text, "en" or "es"
    shows: str  # what a teacher shows with it
    kind: str  # one of KINDS
    texts: tuple[str, ...]
    words: tuple[str, ...]
    least: float  # of what is measured, for it to be shown
    fails: bool = False  # with the weights that ship, and the page says so


@dataclass(frozen=True)
class Kind:
    """How a demonstration is measured, and the fewest texts and words for it."""

    measure: Measure
    texts: int
    words: int


@dataclass(frozen=True)
class Shown:
    """What was measured for a demonstration."""

    name: str
    shows: str
    kind: str
    measured: float
    least: float
    passed: bool


KINDS: dict[str, Kind] = {}


def _kind(texts: int, words: int) -> Callable[[Measure], Measure]:
    """Declare a kind by what measures it."""

    def declare(measure: Measure) -> Measure:
        KINDS[measure.__name__] = Kind(measure, texts, words)
        return measure

    return declare


def read(path: Path = PATH) -> list[Demonstration]:
    """Read demonstrations. Raises UserError where there is no such file, or it is no
    list of them."""
    with refusing(
        OSError,
        lambda error: (
            f"The file {path} cannot be read ({error.strerror or error}); name a JSON list of demonstrations."
        ),
    ):
        content = path.read_bytes()
    with refusing(
        (ValueError, TypeError, KeyError),
        lambda error: (
            f"{path} is no list of demonstrations ({type(error).__name__}: {error}); write name, reads, shows, kind, "
            f"texts, words and least of each, as assets/demonstrations.json does."
        ),
    ):
        rows: list[dict[str, Any]] = [*map(dict, json.loads(content))]
        found = [
            Demonstration(
                **{**row, "texts": (*row["texts"],), "words": (*row["words"],)}
            )
            for row in rows
        ]
    for one in found:
        kind = KINDS.get(one.kind)
        if kind is None:
            raise UserError(
                f"The kind of “{one.name}” is {one.kind!r}; it must be one of {', '.join(KINDS)}."
            )
        if len(one.texts) != kind.texts or len(one.words) < kind.words:
            raise UserError(
                f"“{one.name}” has {len(one.texts)} texts and {len(one.words)} words; its kind, "
                f"{one.kind}, takes {kind.texts} and at least {kind.words}."
            )
    return found


def evaluate(service: Service, demonstrations: list[Demonstration]) -> list[Shown]:
    """Measure those that the model reads. Raises UserError where it reads none, or a
    word is not in its text."""
    own = [one for one in demonstrations if one.reads == service.info.source]
    if not own:
        raise UserError(
            f"{service.info.name} reads {service.info.source!r}, and none of the {len(demonstrations)} "
            f"demonstrations does; name another checkpoint, or write some with --rows."
        )
    found = []
    for one in own:
        measured = KINDS[one.kind].measure(service, one)
        found.append(
            Shown(
                one.name,
                one.shows,
                one.kind,
                round(measured, 3),
                one.least,
                measured >= one.least,
            )
        )
    return found


def _missing(one: Demonstration, word: str, text: str) -> UserError:
    return UserError(
        f"“{one.name}” is about the word “{word}”, which is not in “{text}”; write another word, or "
        f"another sentence."
    )


def _place(one: Demonstration, trace: Trace, side: str, word: str) -> tuple[str, int]:
    """The first place of a word in a pass, on the side "source" or "target". Raises
    UserError where it is not there."""
    for _, name in choices(trace):
        place = side, int(name[2:])
        if (
            name.startswith(LETTERS[side])
            and text_of(trace, place).lower() == word.lower()
        ):
            return place
    text = trace.text if side == "source" else sentence(trace.target)
    raise _missing(one, word, text)


def _in_heads(
    service: Service,
    trace: Trace,
    stack: str,
    asks: tuple[str, int],
    seen: tuple[str, int],
) -> np.ndarray:
    """How much a word looks at another in each head of a stack, (layers, heads), as the
    page shows it; 0 without."""
    return np.nan_to_num(
        grid(
            trace,
            stack,
            Lock(asks, seen),
            given_heads(service.info, service.alignment_errors),
        )
    )


def _looks(service: Service, one: Demonstration) -> list[np.ndarray]:
    """How much the first word looks at each of the others in every head of the
    encoder."""
    trace = service.translate_and_trace(one.texts[0])[1]
    asks, *seen = (_place(one, trace, "source", word) for word in one.words)
    return [_in_heads(service, trace, "encoder_self", asks, word) for word in seen]


@_kind(texts=1, words=2)
def share(service: Service, one: Demonstration) -> float:
    """How much the first word looks at the second in the encoder's head where it does
    so most, 0 to 1."""
    return float(_looks(service, one)[0].max())


@_kind(texts=1, words=3)
def rather(service: Service, one: Demonstration) -> float:
    """How much more the first word looks at the second than at any of the others, each
    in its own best head."""
    wanted, *others = (float(heads.max()) for heads in _looks(service, one))
    return wanted - max(others)


@_kind(texts=1, words=2)
def costs(service: Service, one: Demonstration) -> float:
    """How many nats more the translation loses without the second word than without the
    head that links both best."""
    trace = service.translate_and_trace(one.texts[0])[1]
    heads = _looks(service, one)[0]
    head = Head.highest("encoder_self", heads)
    off = service.trace(trace.text, trace.tokens, off=[head])
    found = service.ask(questions.Occlude(trace.text, trace.tokens))
    column = [shown(word).lower() for word in found.words].index(one.words[1].lower())
    return float(found.effect[:, column].sum()) - (
        sum(trace.log_probs) - sum(off.log_probs)
    )


@_kind(texts=1, words=2)
def aligned(service: Service, one: Demonstration) -> float:
    """How much the first word, of the translation, looks at the second, of the source,
    in the head that aligns best."""
    trace = service.translate_and_trace(one.texts[0])[1]
    asks, seen = (
        _place(one, trace, side, word)
        for side, word in zip(("target", "source"), one.words, strict=False)
    )
    head = service.best_head
    return float(_in_heads(service, trace, "cross", asks, seen)[head.at])


@_kind(texts=2, words=1)
def apart(service: Service, one: Demonstration) -> float:
    """1 minus the cosine of a word's states in two texts after the encoder's last
    layer, less the mean of others."""
    passes = [service.translate_and_trace(text)[1] for text in one.texts]
    found = service.ask(
        questions.MapMeanings(
            [(trace.text, trace.tokens) for trace in passes],
            "encoder",
            service.info.n_layers,
            SENTENCES[0],
        )
    )
    own = []
    for number, trace in enumerate(passes):
        _place(one, trace, "source", one.words[0])
        own.append(
            next(
                i
                for i, (text, at) in enumerate(found.places[: found.own].tolist())
                if text == number
                and shown(found.sentences[text][at]).lower() == one.words[0].lower()
            )
        )
    return 1 - float(found.alike[-1][own[0], own[1]])


@_kind(texts=1, words=1)
def says(service: Service, one: Demonstration) -> float:
    """The share of the words that the translation has, each of them one of several,
    divided by |."""
    said = {*WORD.findall(service.translate(one.texts[0]).best.text.lower())}
    return sum(
        not said.isdisjoint(word.lower().split("|")) for word in one.words
    ) / len(one.words)


@_kind(texts=3, words=2)
def likelier(service: Service, one: Demonstration) -> float:
    """How many nats likelier the second text is than the third, as translations of the
    first. They have the first word and the second."""
    for word, text in zip(one.words, one.texts[1:], strict=False):
        if word.lower() not in WORD.findall(text.lower()):
            raise _missing(one, word, text)
    right, wrong = (
        sum(service.explain(one.texts[0], text).log_probs) for text in one.texts[1:]
    )
    return right - wrong
