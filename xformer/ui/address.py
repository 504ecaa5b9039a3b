"""What is on the page stands in its address, so that a copied link opens the same picture."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xformer.figures.attention import SHOW, VIEWS, Choice
from xformer.figures.palettes import PALETTES
from xformer.results import STACKS, Head, Message, ModelInfo, UserError

TABS = ("translate", "attention", "sentiment", "positions", "principles", "model")
LONGEST = 2_000  # characters of a sentence that an address carries
MOST_THRESHOLD = 50  # percent
KEYS = ("text", "tab", "spanish", "stack", "layer", "head", "show", "heads", "view", "threshold", "words", "hide",
        "weigh", "palette", "review")


class Kind(Protocol):
    """What may stand behind a key of an address."""

    @property
    def default(self) -> Any:
        """What stands for a key that is not there."""

    def read(self, key: str, value: str) -> Any:
        """The value as the page's control has it; raises UserError for nonsense."""


@dataclass(frozen=True)
class OneOf:
    """One of some names."""

    options: tuple[str, ...]
    default: str

    def read(self, key: str, value: str) -> str:
        if value not in self.options:
            raise UserError(Message.of("address_choice", key=key, value=value[:40], options=", ".join(self.options)))
        return value


@dataclass(frozen=True)
class Switch:
    """0 or 1."""

    default: bool = False

    def read(self, key: str, value: str) -> bool:
        return OneOf(("0", "1"), "0").read(key, value) == "1"


@dataclass(frozen=True)
class Whole:
    """A whole number; one of every `step` from the least on."""

    default: int
    least: int
    most: int
    step: int = 1

    def read(self, key: str, value: str) -> int:
        if value.isascii() and value.isdigit() and len(value) <= 6 and int(value) in range(
                self.least, self.most + 1, self.step):
            return int(value)
        raise UserError(Message.of("address_number", key=key, value=value[:40], least=self.least, most=self.most)
                        if self.step == 1 else
                        Message.of("address_step", key=key, value=value[:40], least=self.least, most=self.most,
                                   step=self.step))


@dataclass(frozen=True)
class Real:
    """A number."""

    default: float
    least: float
    most: float

    def read(self, key: str, value: str) -> float:
        try:
            number = float(value[:20])
        except ValueError:
            number = math.nan
        if not self.least <= number <= self.most:
            raise UserError(Message.of("address_real", key=key, value=value[:40], least=f"{self.least:g}",
                                       most=f"{self.most:g}"))
        return number


@dataclass(frozen=True)
class Several:
    """Whole numbers from 0 to `most`, with commas; at most `count` of them, all different."""

    default: tuple[int, ...]
    most: int
    count: int

    def read(self, key: str, value: str) -> list[int]:
        names = value.split(",")
        try:
            found = [Whole(0, 0, self.most).read(key, name) for name in names]
        except UserError:
            found = []
        if not found or len(found) > self.count or len(set(found)) < len(found):
            raise UserError(Message.of("address_several", key=key, value=value[:40], count=self.count, most=self.most))
        return found


@dataclass(frozen=True)
class SomeOf:
    """Some of some names, with commas; none where it says nothing."""

    options: tuple[str, ...]
    default: tuple[str, ...] = ()

    def read(self, key: str, value: str) -> list[str]:
        names = list(dict.fromkeys(value.split(",")))
        if not {*names} <= {*self.options}:
            raise UserError(Message.of("address_some", key=key, value=value[:40], example=self.options[-1]))
        return names


@dataclass(frozen=True)
class Words:
    """A text, not too long."""

    default: str
    longest: int = LONGEST

    def read(self, key: str, value: str) -> str:
        if len(value) > self.longest:
            raise UserError(Message.of("address_long", key=key, characters=len(value), limit=self.longest))
        return value


Take = Callable[[str, Kind], Any]  # what an address says for a key, or its default

# Runs in the browser after each change: the address says what is on the page, without a request or a jump. What has a
# default stands there only where it differs from it.
WRITE = """(own, ...values) => {
  const query = new URLSearchParams(), defaults = JSON.parse(own);
  // The theme, and whatever else is gradio's.
  new URLSearchParams(location.search).forEach((value, key) => key.startsWith('__') && query.set(key, value));
  const written = value => typeof value === 'boolean' ? String(Number(value)) : String(value ?? '');
  KEYS.forEach((key, i) => {
    const value = written(values[i]);
    if (value !== '' && value.length <= LONGEST && value !== defaults[key]) query.set(key, value);
  });
  history.replaceState(null, '', location.pathname + '?' + query + location.hash);
}"""


def write(more: Iterable[str]) -> str:
    """The script that writes the values of KEYS, and of `more` keys after them, into the address; it is given what
    `defaults` says first."""
    return WRITE.replace("KEYS", json.dumps([*KEYS, *more])).replace("LONGEST", str(LONGEST))


def defaults(found: Mapping[str, Any]) -> str:
    """Values that are not written, as the script of `write` reads them."""
    def written(value: Any) -> str:  # as the browser writes the same value
        if isinstance(value, list | tuple):
            return ",".join(map(written, value))
        return f"{value:.12g}" if isinstance(value, int | float) else str(value or "")

    return json.dumps({key: written(value) for key, value in found.items()})


@dataclass(frozen=True)
class Place:
    """What an address asks for; what it does not say, or says wrong, is as the page begins."""

    text: str
    tab: str
    spanish: str  # to look into instead of the model's translation; "" for that
    choice: Choice
    problems: tuple[Message, ...]
    review: str = ""  # to judge instead of the example; "" for that


def reader(query: Mapping[str, str], problems: list[Message]) -> Take:
    """Reads an address, made by this page or by hand, key by key; nonsense is named in `problems`, and passed over."""
    def take(key: str, kind: Kind) -> Any:
        if key in query:
            try:
                return kind.read(key, query[key])
            except UserError as error:
                assert isinstance(error.message, Message)
                problems.append(error.message)
        return kind.default
    return take


def read(query: Mapping[str, str], info: ModelInfo, text: str, layer: int, head: int) -> Place:
    """Read the keys of KEYS. text, layer and head: what the page begins with."""
    problems: list[Message] = []
    take = reader(query, problems)
    stack = take("stack", OneOf(STACKS, "cross"))
    layers = info.layers(stack)
    heads = read_heads(stack, query.get("heads", "").split(","), layers, info.n_heads)
    if heads is None:
        problems.append(Message.of("address_heads", value=query["heads"][:40]))
    choice = Choice(stack, take("layer", Whole(min(layer, layers), 1, layers)),
                    take("head", Whole(head, 1, info.n_heads)), take("show", OneOf(SHOW, "head")), heads or (),
                    take("view", OneOf(VIEWS, "heatmap")),
                    take("threshold", Whole(Choice.threshold, 1, MOST_THRESHOLD)), take("words", Switch()),
                    take("hide", Switch()), take("weigh", Switch()),
                    take("palette", OneOf(tuple(PALETTES), Choice.palette)))
    words = {"text": take("text", Words(text)), "spanish": take("spanish", Words("")),
             "review": take("review", Words(""))}
    tab = take("tab", OneOf(TABS, "translate"))
    return Place(**words, tab=tab, choice=choice, problems=tuple(problems))


def read_heads(stack: str, names: Iterable[str], layers: int, heads: int) -> tuple[Head, ...] | None:
    """Names such as "2.5" (layer 2, head 5) in a stack, empty names passed over; None where a head is not there."""
    known = {f"{layer}.{head}": Head(stack, layer, head)
             for layer in range(1, layers + 1) for head in range(1, heads + 1)}
    wanted = [name for name in names if name]
    return tuple(known[name] for name in wanted) if all(name in known for name in wanted) else None


def read_choice(stack: str, layer: int, head: int, show: str, joined: Sequence[str] | None, *more: Any) -> Choice:
    """A choice from the values of the page's controls."""
    heads = tuple(Head.parse(name, stack) for name in joined or ())
    return Choice(stack, int(layer), int(head), show, heads, *more)
