"""Controls of the page, each declared once: its key in the address, what it may hold,
and the component that holds it.

From the declaration follow the component's own limits and value, the keys and defaults
of the address, reading and writing it, and what is set when a page is opened with
another model. A new control is one `Controls.add`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

import gradio as gr

from xformer.figures.labels import head_label, place
from xformer.results import STACKS, Head, Message, UserError, decimal
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.former import renewed

LONGEST = 2_000  # characters of a text that an address carries
MOST_DIGITS = 6
Values = Mapping[str, Any]  # what controls hold, by their keys
C = TypeVar("C", bound=gr.components.Component)


class Kind:
    """What a control may hold: its default, its limits, and how it is read from an
    address."""

    # the value of a control that the address does not name, as a dataclass of each kind
    # declares it
    default: Any

    def read(self, key: str, value: str) -> Any:
        """Read the value that an address gives, as the component has it; raises
        UserError for nonsense."""
        raise NotImplementedError

    def properties(self) -> dict[str, Any]:
        """Give the limits or choices, if any, as properties of the component that suits
        this kind."""
        return {}


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some names; their labels are given to the component where it is
    declared."""

    options: tuple[str, ...]
    default: str

    def read(self, key: str, value: str) -> str:
        if value not in self.options:
            raise UserError(
                Message.of(
                    "address_choice",
                    key=key,
                    value=value[:40],
                    options=", ".join(self.options),
                )
            )
        return value


@dataclass(frozen=True)
class Switch(Kind):
    """On or off, 1 or 0 in the address: a checkbox."""

    default: bool = False

    def read(self, key: str, value: str) -> bool:
        return OneOf(("0", "1"), "0").read(key, value) == "1"


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number on a slider, from `least` to `most` in steps."""

    default: int
    least: int
    most: int
    step: int = 1

    def read(self, key: str, value: str) -> int:
        if (
            value.isascii()
            and value.isdigit()
            and len(value) <= MOST_DIGITS
            and int(value) in range(self.least, self.most + 1, self.step)
        ):
            return int(value)
        limits = {
            "key": key,
            "value": value[:40],
            "least": self.least,
            "most": self.most,
        }
        raise UserError(
            Message.of("address_number", **limits)
            if self.step == 1
            else Message.of("address_step", **limits, step=self.step)
        )

    def properties(self) -> dict[str, Any]:
        return {"minimum": self.least, "maximum": self.most, "step": self.step}


@dataclass(frozen=True)
class Numbered(Whole):
    """A whole number among a few that are all shown, from 1 on, such as a layer."""

    def properties(self) -> dict[str, Any]:
        return {"choices": numbers(self.most)}


@dataclass(frozen=True)
class Real(Kind):
    """A number on a slider, from `least` to `most`; the address may be finer than the
    slider's step."""

    default: float
    least: float
    most: float
    step: float | None = None

    def read(self, key: str, value: str) -> float:
        try:
            number = float(value[:20])
        except ValueError:
            number = math.nan
        if not self.least <= number <= self.most:
            raise UserError(
                Message.of(
                    "address_real",
                    key=key,
                    value=value[:40],
                    least=decimal(self.least, 6),
                    most=decimal(self.most, 6),
                )
            )
        return number

    def properties(self) -> dict[str, Any]:
        return {
            "minimum": self.least,
            "maximum": self.most,
            **({} if self.step is None else {"step": self.step}),
        }


@dataclass(frozen=True)
class Several(Kind):
    """At most `count` different whole numbers from 0 to `most`, with commas in the
    address."""

    default: tuple[int, ...]
    most: int
    count: int

    def read(self, key: str, value: str) -> list[int]:
        try:
            chosen = [
                Whole(0, 0, self.most).read(key, name) for name in value.split(",")
            ]
        except UserError:
            chosen = []
        if not chosen or len(chosen) > self.count or len(set(chosen)) < len(chosen):
            raise UserError(
                Message.of(
                    "address_several",
                    key=key,
                    value=value[:40],
                    count=self.count,
                    most=self.most,
                )
            )
        return chosen

    def properties(self) -> dict[str, Any]:
        return {"choices": [(str(number), number) for number in range(self.most + 1)]}


@dataclass(frozen=True)
class Heads(Kind):
    """Some attention heads to choose from, each written "cross.1.2"; labels: of the
    heads, in their order."""

    options: tuple[Head, ...]
    labels: tuple[str, ...]

    def properties(self) -> dict[str, Any]:
        return {"choices": [*zip(self.labels, map(str, self.options), strict=True)]}


@dataclass(frozen=True)
class OneHead(Heads):
    """One of some attention heads; None in a model that has none."""

    default: str | None = None

    def read(self, key: str, value: str) -> str:
        head = _head(value)  # which older links spell otherwise
        return (
            str(head)
            if head in self.options
            else OneOf((*map(str, self.options),), "").read(key, value)
        )


@dataclass(frozen=True)
class SomeHeads(Heads):
    """Any of some attention heads, with commas in the address. none: whether an address
    may name none."""

    none: bool = False
    default: tuple[str, ...] = ()

    def read(self, key: str, value: str) -> list[str]:
        heads = [_head(name) for name in value.split(",") if name or not self.none]
        if not {*heads} <= {*self.options}:
            raise UserError(
                Message.of(
                    "address_some",
                    key=key,
                    value=value[:40],
                    example=str(self.options[-1]),
                )
            )
        return list(dict.fromkeys(map(str, heads)))


@dataclass(frozen=True)
class Words(Kind):
    """A text of at most `longest` characters."""

    default: str = ""
    longest: int = LONGEST

    def read(self, key: str, value: str) -> str:
        if len(value) > self.longest:
            raise UserError(
                Message.of(
                    "address_long", key=key, characters=len(value), limit=self.longest
                )
            )
        return value


def one_head(language: Language) -> Callable[[TranslationService, Values], OneHead]:
    """Make the kind of a control that holds one of all heads of a model, the best
    aligned one by default."""

    def kind(service: TranslationService, _: Values) -> OneHead:
        heads = every_head(service)
        best = service.best_head
        labels = tuple(head_label(head, language) for head in heads)
        return OneHead(heads, labels, str(best) if best in heads else None)

    return kind


def some_heads(
    language: Language, stack: str = ""
) -> Callable[[TranslationService, Values], SomeHeads]:
    """Make the kind of a control that holds any heads of a model; stack: the key of the
    control that names it."""

    def kind(service: TranslationService, so_far: Values) -> SomeHeads:
        heads = every_head(service, *([so_far[stack]] if stack else []))
        label = place if stack else head_label
        return SomeHeads(
            heads, tuple(label(head, language) for head in heads), none=bool(stack)
        )

    return kind


def every_head(service: TranslationService, *stacks: str) -> tuple[Head, ...]:
    """List every head of a model, or of some of its stacks."""
    info = service.info
    return tuple(
        head
        for stack in stacks or STACKS
        for head in Head.every(stack, info.layers(stack), info.n_heads)
    )


def _head(name: str) -> Head | None:
    try:
        return Head.parse(name)
    except ValueError:
        return None


def numbers(count: int) -> list[tuple[str, int]]:
    """List the choices from 1 to count."""
    return [(str(number), number) for number in range(1, count + 1)]


def only_own(key: str) -> Callable[[Values], dict[str, Any]]:
    """Make the properties of a control that offers its own value alone, until it is
    known what else there is."""
    return lambda values: {"choices": [(str(values[key]), values[key])]}


@dataclass(frozen=True, eq=False)
class Control:
    """One control: made by `Controls.add`, which says what the fields mean."""

    key: str
    kind: Callable[[TranslationService, Values], Kind]
    # of Gradio, which makes the methods that listen to events at run time
    component: Any
    properties: Callable[[Values], dict[str, Any]]
    always: bool
    made_with: dict[str, Any]  # the properties that the component has from the start

    def update(self, service: TranslationService, values: Values) -> dict[str, Any]:
        """Set the component to its value, and to the properties in which it differs
        from when it was made."""
        wanted = {**self.kind(service, values).properties(), **self.properties(values)}
        changed = {
            name: value
            for name, value in wanted.items()
            if value != self.made_with.get(name, value)
        }
        return gr.update(**changed, value=_own(values[self.key]))


class Controls(dict[str, Control]):
    """Controls by their keys, in the order of declaration, which is that of the
    address.

    A page has one for all its tabs; a tab adds its controls to one of its own and
    returns it.
    """

    def __init__(self, service: TranslationService) -> None:
        """service: the one that components are made for; `updates` sets them for
        others."""
        super().__init__()
        self.service = service

    def add(
        self,
        key: str,
        kind: Kind | Callable[[TranslationService, Values], Kind],
        make: Callable[..., C],
        *,
        properties: Callable[[Values], dict[str, Any]] = lambda values: {},
        always: bool = False,
        **fixed: Any,
    ) -> C:
        """Declare a control and make its component.

        key: its name in the address and in handlers. kind: what it may hold; or a
        function of the model and the values of the controls declared before it, where
        it depends on them. make: the component's class; it is given the default, what
        the kind says of limits or choices where it knows such properties, and the
        `fixed` ones (labels, widths). properties: what more of the component depends on
        the values of this control and others. always: the address names it even where
        it has its default.
        """
        of: Callable[[TranslationService, Values], Kind] = (
            kind if callable(kind) else lambda service, so_far: kind
        )
        defaults = self.defaults(self.service)
        wanted = of(self.service, defaults)
        made_with = {
            name: value
            for name, value in (
                {**wanted.properties(), **properties({**defaults, key: wanted.default})}
            ).items()
            if name in signature(make).parameters
        }
        component = make(value=_own(wanted.default), **{**made_with, **fixed})
        self.include({key: Control(key, of, component, properties, always, made_with)})
        return component

    def include(self, others: Mapping[str, Control]) -> None:
        """Add the controls of another part of the page after the own ones; raises
        ValueError for a key twice."""
        for key, control in others.items():
            if key in self:
                raise ValueError(f"two controls have the key {key!r}")
            self[key] = control

    def named(self, *keys: str) -> dict[str, Any]:
        """List components by their keys, all if none are given, as inputs and outputs
        of handlers."""
        return {key: self[key].component for key in keys or self}

    def kinds(
        self, service: TranslationService, values: Values | None = None
    ) -> dict[str, Kind]:
        """List the kind of each control, for a model and the values of the controls;
        their defaults if not given."""

        def held(key: str, kind: Kind) -> Any:
            return kind.default if values is None else values[key]

        return {
            key: kind
            for key, kind, _ in self._each(
                service,
                held,
            )
        }

    def defaults(self, service: TranslationService) -> dict[str, Any]:
        """List what the controls hold where an address says nothing."""
        return {
            key: value
            for key, _, value in self._each(service, lambda key, kind: kind.default)
        }

    def asked(self, service: TranslationService, values: Values) -> bool:
        """Whether an address asks something of them: one holds something else than its
        default."""
        return any(
            values[key] != default for key, default in self.defaults(service).items()
        )

    def read(
        self, service: TranslationService, query: Mapping[str, str]
    ) -> tuple[dict[str, Any], list[Message]]:
        """Read what the controls hold for an address, made by this page or by hand; and
        what of it is nonsense.

        Nonsense is passed over: such a control has its default.
        """
        problems = []
        query = renewed(query)

        def read(key: str, kind: Kind) -> Any:
            if key in query:
                try:
                    return kind.read(key, query[key])
                except UserError as error:
                    assert isinstance(error.message, Message)
                    problems.append(error.message)
            return kind.default

        return {key: value for key, _, value in self._each(service, read)}, problems

    def updates(
        self, service: TranslationService, values: Values
    ) -> dict[Any, dict[str, Any]]:
        """Set each component, for a model and the values that `read` gave."""
        return {
            control.component: control.update(service, values)
            for control in self.values()
        }

    def left_out(self, service: TranslationService) -> str:
        """List every key with the value that the address leaves out, as JSON for
        `write` in assets/page.js."""
        defaults = self.defaults(service)
        kinds = self.kinds(service)
        longer = {
            key: most
            for key, kind in kinds.items()
            if (most := getattr(kind, "longest", 0)) > LONGEST
        }
        return json.dumps(
            {
                "longest": LONGEST,
                "longer": longer,
                "left_out": {
                    key: "" if control.always else written(defaults[key])
                    for key, control in self.items()
                },
            }
        )

    def _each(
        self, service: TranslationService, value_of: Callable[[str, Kind], Any]
    ) -> Iterator[tuple[str, Kind, Any]]:
        so_far: dict[str, Any] = {}
        for key, control in self.items():
            kind = control.kind(service, so_far)
            so_far[key] = value_of(key, kind)
            yield key, kind, so_far[key]


def written(value: Any) -> str:
    """Write a value as the browser writes it into the address."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(written, value))
    return f"{value:.12g}" if isinstance(value, (int, float)) else str(value or "")


def _own(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def setting_order(controls: Controls) -> list[Any]:
    """Give the order in which controls are set when a page is opened: from the last
    declared to the first.

    Gradio tells of each change before it makes the next. A control may depend on those
    declared before it; so, when a listener hears of one, all that depend on it must be
    set already: the dimensions before the width of the table, everything before the tab
    that is opened, and the model before everything.
    """
    return [control.component for control in reversed(controls.values())]


def in_steps(updates: Mapping[Any, Any]) -> Iterator[dict[Any, Any]]:
    """Set the choices and limits of components first, then their values.

    Gradio refuses a value that is not among the choices, and tells of some values
    before it sets others if their choices come with these.
    """
    steps: list[dict[Any, Any]] = [{}, {}]
    for component, update in updates.items():
        if not isinstance(update, dict):
            steps[1][component] = update
            continue
        if properties := {
            name: value
            for name, value in update.items()
            if name not in ("value", "__type__")
        }:
            steps[0][component] = gr.update(**properties)
        if "value" in update:
            steps[1][component] = update["value"]
    yield from filter(None, steps)  # Gradio takes an empty dictionary for a value


BEAM = Whole(5, 1, 16)  # hypotheses that a search keeps, on the page and in the API
