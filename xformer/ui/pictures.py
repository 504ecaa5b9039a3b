"""Pictures of the page, each declared once: what draws it, from what, and where it
stands.

What a picture is made from are the parameters of its function, by name: the key of a
control, a fact, an input of the page (`trace`, `translation`, `lock`, or what `input`
adds), `service`, `language`. A fact is asked of the service, or worked out, once an
input; its own parameters are such names too. One listener draws what is in sight and
whose inputs changed since it was drawn; a picture that is `late` comes with a second
answer, when the first is on the page. A fact whose function is a generator streams:
with each value that it yields, what depends on it is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, Signature, isgeneratorfunction, signature
from itertools import count
from typing import Any

import gradio as gr
import numpy as np
from plotly.basedatatypes import BaseFigure

from xformer.results import UserError
from xformer.strings import Language
from xformer.ui.components import WIRE, figure
from xformer.ui.controls import Controls
from xformer.ui.handlers import (
    ANNOTATED,
    DEFAULTS,
    PROBLEM,
    QUIET,
    REFUSAL,
    SWIFT,
    Ask,
    require,
    sentence,
)
from xformer.ui.tabs import Listener, Page

# parameters that are no inputs; before: see `Pictures.fact`
GIVEN = ("service", "language", "before")
# values that are kept for comparison however long
PLAIN = (str, int, float, tuple, list, type(None))
FOLLOWED = "followed"
TICK = "tick"
HALF = {"half": True}  # in place of the inputs of a fact that streams, until its end
TICKS = count()
Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Made:
    """A fact or a picture as it was made last: from what, by name, and a fact's
    value."""

    inputs: dict[str, Any]
    value: Any = None


@dataclass(frozen=True, eq=False)
class Run:
    """A fact that streams, as one listener makes it: from what, by name, and as it is
    so far."""

    inputs: dict[str, Any]
    values: Iterator[Any]
    last: Made | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture as `Pictures.add` declares it."""

    component: Any
    draw: Function
    seen: Function
    late: bool


class Pictures:
    """The pictures of a tab or of a part of one, which share their facts.

    What they were made from is a dictionary in one State, `made`. Handlers run in
    parallel threads and change it in place, each only the entries of what it drew.
    """

    def __init__(
        self,
        page: Page,
        controls: Controls,
        name: str,
        *,
        tab: str | None = None,
        ask: Ask | None = None,
        in_turn: bool = False,
        cleared: Mapping[str, Any] | None = None,
    ) -> None:
        """name: under which `page.pictures` has them. tab: the id of the tab that must
        be open, or nothing is drawn.
        ask: makes their listeners, `page.ask` if not given. in_turn: they are drawn in
        turn with all that computes.
        cleared: by name, what replaces the pictures where one cannot be drawn; by
        default they stay as they are.
        """
        self.ask = ask or page.ask
        self.tab = tab
        self.in_turn = in_turn
        self.cleared = dict(cleared or {})
        self.controls = controls
        self.made = gr.State({})
        self.tick = gr.Textbox(label=TICK, **WIRE)
        self.inputs: dict[str, Any] = {
            "trace": page.trace,
            "translation": page.translation,
            "lock": page.lock,
        }
        self.facts: dict[str, Function] = {}
        self.each: dict[str, str] = {}  # by facts, see `fact`
        self.streams: set[str] = set()  # facts
        self.pictures: dict[str, Picture] = {}
        self.following: Function = lambda: {}
        self.followed: tuple[str, ...] = ()  # keys of controls
        self.flags: dict[str, gr.State] = {}
        self.opening: dict[gr.Accordion, gr.State] = {}
        self.taken: dict[Function, list[str]] = {}
        self.in_place = False  # whether a problem is said where a picture stands
        page.pictures[name] = self

    def input(self, name: str, component: Any) -> Any:
        """Name what a component holds, which is no control; -> the component."""
        self.inputs[name] = component
        self.taken.clear()
        return component

    def opens(self, name: str, part: gr.Accordion) -> None:
        """Name an input that tells whether a part is open."""
        if part not in self.opening:
            # By a trip to the server: an address that opens the part has then set the
            # controls in it too.
            flag = self.opening[part] = gr.State(False)
            part.expand(lambda: True, None, flag, **QUIET)
            part.collapse(lambda: False, None, flag, **QUIET)
        self.flags[name] = self.input(name, self.opening[part])

    def fact(self, name: str, make: Function, each: str = "") -> None:
        """Declare what is made once an input. make: may take `before`, the inputs it
        was made from last and, under `name`, what came out; empty the first time; and
        `progress`, which is told (done, of). A generator streams: it yields the value
        as far as it is there, each time another object. One that was broken off begins
        again. It is made by listeners without an action, not by late ones, which are
        queued then; others take what was made last. While it is None, pictures of it
        stay as they are, and facts of it that do not stream are None too. A picture of
        it that changes by controls too is `late`, or these answer when it has ended.

        each: a list that `make` takes, and answers with a dictionary of its things. It
        is given only new ones, while all else that it takes stays the same.
        """
        self._name(name)
        self.facts[name] = make
        self.each[name] = each
        if isgeneratorfunction(make):
            self.streams.add(name)

    def add(
        self,
        name: str,
        component: Any,
        draw: Function,
        *,
        seen: str | Function = lambda: True,
        late: bool = False,
        **names: str,
    ) -> Any:
        """Declare a picture; -> its component. draw returns the component's value, or a
        Plotly figure of it, or `gr.skip()` to leave it; UserError says why there is
        none.

        draw: may take `before`, the inputs it was drawn from last; empty the first
        time. seen: the name of an input, or a function of some, that says whether it is
        in sight. late: it is drawn after an answer in which another was, and when
        something changes that only late ones depend on. names: what parameters of
        `draw` stand for that have other names. A picture named "problem" is said with
        each answer.
        """
        visible = (
            _named(lambda flag: flag, flag=seen) if isinstance(seen, str) else seen
        )
        self._name(name)
        self.pictures[name] = Picture(component, _named(draw, **names), visible, late)
        return component

    def _name(self, name: str) -> None:
        if name in self.facts or name in self.pictures:
            raise ValueError(f"two facts or pictures have the name {name!r}")
        self.taken.clear()

    def add_each(
        self, components: Mapping[str, Any], draws: Mapping[str, Function], **how: Any
    ) -> None:
        """Declare pictures that stand alike, by their names. how: as in `add`."""
        for name, draw in draws.items():
            self.add(name, components[name], draw, **how)

    def add_all(self, fact: str, components: Mapping[str, Any], **how: Any) -> None:
        """Declare pictures whose values a fact holds by their names; None for one that
        it lacks. how: as in `add`."""
        for name, component in components.items():
            self.add(name, component, partial(_held, name), values=fact, **how)

    def follow(self, function: Function, *controls: str) -> None:
        """Declare controls that follow others: before anything is drawn, the function
        answers with values or updates by name, which count as inputs then; `before` as
        in `add`. None: nothing can be drawn yet."""
        self.following = function
        self.followed = controls

    def listen(
        self,
        problem: gr.HTML | None,
        *events: Any,
        by_change: Collection[str] = (),
        late_events: Sequence[Any] = (),
        how: Mapping[str, Any] = SWIFT,
    ) -> None:
        """Draw after these events, after what a user changes in a control that a
        picture depends on, and when a part is opened. by_change: controls that others
        change too. how: properties of the listeners."""
        if self.streams and how.get("queue") is False:
            raise ValueError("a listener that streams must be queued")
        known: set[str] = set()
        for late, told in ((False, events), (True, (self.tick.change, *late_events))):
            names = [
                name for name in self._base(self._functions(late)) if name not in known
            ]
            known |= {*names}
            flags = dict.fromkeys(
                self.flags[name] for name in names if name in self.flags
            )
            changes = [flag.change for flag in flags]
            changes += [
                getattr(
                    self.controls[name].component,
                    "change" if name in by_change else "input",
                )
                for name in names
                if name in self.controls
            ]
            if not late or self.ticks:
                gr.on(
                    [*told, *changes],
                    **{
                        "trigger_mode": "always_last",
                        **how,
                        **self.listener(problem, late=late),
                    },
                )

    def listener(
        self,
        problem: gr.HTML | None = None,
        action: Function | None = None,
        late: bool = False,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> Listener:
        """Make a listener that draws what has changed, after an action if one is given.

        action: handler(service, language, **named) as in `handlers`, which names what
        inputs and facts it wants; its answer, of components in `outputs`, counts as
        inputs, and what depends on them is drawn even if it seems to be
        there: answers to two clicks may overtake each other. None: nothing is drawn.
        """
        inputs = dict(inputs or {})
        outputs = dict(outputs or {})
        functions = [*self._functions(late), *([] if action is None else [action])]
        taken = self._base(functions, inputs)
        special = [one for one in (*ANNOTATED, *DEFAULTS) if one in taken]
        wanted = {name: self._component(name) for name in taken if name not in special}
        streams = self.streams and action is None and not late
        drawing: Any = partial(
            Pictures.stream if streams else Pictures.draw,
            self,
            action=action,
            late=late,
        )
        drawing.__name__ = "drawing"
        names = dict.fromkeys((*wanted, *inputs, *special))
        self.in_place |= problem is not None and problem in [
            one.component for name, one in self.pictures.items() if name != PROBLEM
        ]
        shown = {
            name: one.component
            for name, one in self.pictures.items()
            if (one.late == late or name in self.cleared) and name != PROBLEM
        }
        ticks = {TICK: self.tick} if self.ticks and not late else {}
        followed = {name: self._component(name) for name in self.followed}
        return self.ask(
            takes("service", "language", "made", *names)(drawing),
            {**wanted, **inputs, "made": self.made},
            {**followed, **outputs, **shown, **ticks},
            problem,
            only_in=self.tab,
        )

    def draw(self, *given: Any, **values: Any) -> dict[str, Any]:
        """Answer once what `stream` answers in steps."""
        answers = self.stream(*given, **values)
        return {name: one for answer in answers for name, one in answer.items()}

    def stream(
        self,
        service: Any,
        language: Language,
        made: dict[str, Made],
        action: Function | None = None,
        late: bool = False,
        **values: Any,
    ) -> Iterator[dict[str, Any]]:
        """Answer as a listener does, again with each value of a fact that streams.
        made: facts and pictures by name, which this changes. values: inputs by name."""
        now = _Now(self, service, language, made, values, action is None and not late)
        try:
            while True:
                if late or self.in_place:
                    now.answer[PROBLEM] = gr.skip()
                if self._ask(now, action):
                    self._draw(now, self._choose(now, late))
                    is_new = len(now.drawn) > 1 or now.running
                    if is_new and self.ticks and not late:
                        now.answer[TICK] = str(next(TICKS))
                yield now.answer
                action = None
                if not now.go_on():
                    return
        except Exception as error:
            cleared = getattr(action, "refused", {}) if now.acting else self.cleared
            if not cleared:
                raise
            made.clear()
            there = {
                name: value
                for name, value in cleared.items()
                if name in self.pictures or name in self.inputs
            }
            yield {**there, REFUSAL: sentence(error, language)}

    def _ask(self, now: _Now, action: Function | None) -> bool:
        """Answer what the action sets, and then the controls that follow others. Return
        whether pictures can be drawn."""
        if action is not None:
            now.acting = True
            asked = now.call(action, "", now.inputs(action))
            now.acting = False
            if asked is None:
                return False
            now.set(asked)
        now.acted = {*now.answer}
        inputs = now.inputs(self.following)
        followed = now.call(self.following, FOLLOWED, inputs)
        if followed is None:
            return False
        now.set(followed)
        now.drawn[FOLLOWED] = Made(inputs)
        return True

    def _choose(self, now: _Now, late: bool) -> dict[str, dict[str, Any]]:
        """Choose the pictures in sight whose inputs have changed, or were set by the
        action. Return their inputs."""
        chosen = {}
        for name, one in self.pictures.items():
            is_due = (
                not now.is_going_on
                or name == PROBLEM
                or not self.streams.isdisjoint(self._all([one.draw]))
            )
            if one.late != late or not is_due:
                continue
            with now.noting():
                if not now.call(one.seen, "", now.inputs(one.seen)):
                    continue
                inputs = now.inputs(one.draw)
                last = now.made.get(name)
                if name != PROBLEM and not now.waiting.isdisjoint(inputs):
                    continue
                if (
                    name == PROBLEM
                    or last is None
                    or not _same(last.inputs, inputs)
                    or not now.acted.isdisjoint(self._base([one.draw]))
                ):
                    chosen[name] = inputs
        return chosen

    def _draw(self, now: _Now, chosen: Mapping[str, dict[str, Any]]) -> None:
        """Answer these pictures, drawn from these inputs, and the first problem."""
        turn = self.in_turn and chosen
        with now.service.guard.work() if turn else nullcontext(int) as pause:
            for name, inputs in chosen.items():
                with now.noting():
                    if name not in now.acted:
                        value = now.call(self.pictures[name].draw, name, inputs)
                        if not (isinstance(value, dict) and value == gr.skip()):
                            now.answer[name] = _with(now.answer.get(name), value)
                    now.drawn[name] = Made(inputs)
                    pause()
        if now.problem is not None:
            if self.cleared:
                raise now.problem
            now.answer[REFUSAL] = sentence(now.problem, now.language)
        now.keep()

    def takes(self, function: Function) -> list[str]:
        """List the parameters that a function is given: all but those that have a
        default and no known name."""
        if function not in self.taken:
            known = {*GIVEN, *self.facts, *self.inputs, *self.controls}
            self.taken[function] = [
                name
                for name, one in signature(function).parameters.items()
                if one.default is Parameter.empty or name in known
            ]
        return self.taken[function]

    @property
    def ticks(self) -> bool:
        """Whether there are late pictures, which the others tell when they are
        drawn."""
        return any(one.late for one in self.pictures.values())

    def _functions(self, late: bool) -> list[Function]:
        return [
            self.following,
            *(
                function
                for one in self.pictures.values()
                if one.late == late
                for function in (one.draw, one.seen)
            ),
        ]

    def _base(
        self, functions: Sequence[Function], own: Collection[str] = ()
    ) -> list[str]:
        """List the inputs and controls that functions depend on, directly or by facts,
        but for their `own`."""
        return [one for one in self._all(functions, own) if one not in self.facts]

    def _all(
        self, functions: Sequence[Function], own: Collection[str] = ()
    ) -> list[str]:
        """List what `_base` does, and the facts."""
        waiting = [*functions]
        names = dict[str, None]()
        while waiting:
            for name in self.takes(waiting.pop(0)):
                if name in self.facts and name not in names:
                    waiting.append(self.facts[name])
                if name not in (*GIVEN, *own):
                    names[name] = None
        return [*names]

    def _component(self, name: str) -> Any:
        if name in self.inputs:
            return self.inputs[name]
        if name not in self.controls:
            raise TypeError(
                f"{name!r}, which a picture depends on, is no control, fact or input"
            )
        return self.controls[name].component


class _Now:
    """The values of inputs and facts while one answer is made."""

    def __init__(
        self,
        pictures: Pictures,
        service: Any,
        language: Language,
        made: dict[str, Made],
        values: dict[str, Any],
        streaming: bool,
    ) -> None:
        self.pictures = pictures
        self.made = made
        self.values = values
        self.service = service
        self.language = language
        self.streaming = streaming  # whether facts that stream are made
        self.running: dict[str, Run] = {}  # those that have not ended
        self.is_going_on = False  # from the second values on
        self.waiting: set[str] = set()  # facts that are None until one of these goes on
        self.acting = False
        self.known: dict[str, Any] = {}  # facts
        self.failed: dict[str, UserError] = {}
        self.answer: dict[str, Any] = {}
        self.acted: set[str] = set()  # what the action has answered
        self.drawn: dict[str, Made] = {}
        self.problem: UserError | None = None  # the first

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Go on after a refusal, which is said with the answer."""
        try:
            yield
        except UserError as error:
            self.problem = self.problem or error

    def __getitem__(self, name: str) -> Any:
        """The value of an input or of a fact, which is made where its inputs have
        changed."""
        if name in self.failed:
            raise self.failed[name]
        if name in self.values:
            return self.values[name]
        if name not in self.known:
            try:
                self.known[name] = self.fact(name)
            except UserError as error:
                self.failed[name] = error
                raise
        return self.known[name]

    def fact(self, name: str) -> Any:
        """The value of a fact as it was made last, or made of what is new."""
        make = self.pictures.facts[name]
        if name in self.pictures.streams:
            return self.begin(name, make)
        each = self.pictures.each[name]
        inputs = self.inputs(make)
        if not self.waiting.isdisjoint(inputs):
            self.waiting.add(name)
            return None
        things = inputs.pop(each, ())
        last = self.made.get(name)
        if last is None or not _same(last.inputs, inputs):
            last = Made(inputs, {} if each else self.call(make, name, inputs))
        if new := [one for one in dict.fromkeys(things) if one not in last.value]:
            found = self.call(make, name, {**inputs, each: new})
            known = {**last.value, **found}
            last = Made(inputs, {one: known[one] for one in things})
        self.made[name] = last
        return last.value

    def begin(self, name: str, make: Function) -> Any:
        """The value so far of a fact that streams, which is begun where there is none
        of these inputs, or one that was broken off."""
        if self.streaming:
            inputs = self.inputs(make)
            there = self.running.get(name) or self.made.get(name)
            if there is None or not _same(there.inputs, inputs):
                self.step(name, Run(inputs, self.call(make, name, inputs)))
        run = self.running.get(name)
        last = run.last if run else self.made.get(name)
        if last is None or last.value is None:
            self.waiting.add(name)
            return None
        return last.value

    def step(self, name: str, run: Run) -> None:
        """Take the next value of a fact that streams, or note that it is whole."""
        try:
            last = Made(HALF, next(run.values))
        except StopIteration:
            if run.last is not None:
                self.made[name] = Made(run.inputs, run.last.value)
            return
        self.made[name] = last
        self.running[name] = replace(run, last=last)

    def go_on(self) -> bool:
        """Begin the next answer with the next values of what streams; return whether
        there is one."""
        self.is_going_on = True
        self.answer = {}
        self.drawn = {}
        self.problem = None
        self.known.clear()
        self.waiting.clear()
        runs = self.running
        self.running = {}
        for name, run in runs.items():
            self.step(name, run)
        return bool(self.running)

    def inputs(self, function: Function) -> dict[str, Any]:
        """What a function is to be given, for comparison: of a service, which model it
        runs."""
        return {
            name: getattr(self.service, "info", None)
            if name == "service"
            else self[name]
            for name in self.pictures.takes(function)
            if name not in ("language", "before", *DEFAULTS)
        }

    def call(self, function: Function, name: str, inputs: Mapping[str, Any]) -> Any:
        last = self.made.get(name)
        before = (
            {}
            if last is None
            else {
                **last.inputs,
                **({name: last.value} if name in self.pictures.facts else {}),
            }
        )
        given = {
            **inputs,
            "service": self.service,
            "language": self.language,
            "before": before,
            "progress": self.values.get("progress", DEFAULTS["progress"]),
        }
        require(function, given)
        return function(**{one: given[one] for one in self.pictures.takes(function)})

    def set(self, answer: Mapping[str, Any]) -> None:
        """Answer this, and take what it sets as the values of inputs."""
        self.answer.update(answer)
        self.known.clear()
        self.failed.clear()
        for name, value in answer.items():
            if not _is_update(value) or "value" in value:
                self.values[name] = value["value"] if _is_update(value) else value

    def keep(self) -> None:
        """Keep what was drawn from what, and drop what was made from records that are
        no more on the page."""
        self.made.update(self.drawn)
        for name in (*self.pictures.facts, *self.pictures.pictures):
            last = self.made.get(name)
            if last is not None and any(
                self._is_gone(one, value) for one, value in last.inputs.items()
            ):
                self.made.pop(name, None)

    def _is_gone(self, name: str, value: Any) -> bool:
        if isinstance(value, PLAIN) or name == "service":
            return False
        if name in self.values:
            return self.values[name] is not value
        return name in self.pictures.facts and (
            name not in self.made or self.made[name].value is not value
        )


def is_other(before: Mapping[str, Any], **now: Any) -> bool:
    """Whether one of these inputs is another than `before`; not the first time."""
    return bool(before) and not _same({name: before[name] for name in now}, now)


def takes(*names: str) -> Callable[[Function], Function]:
    """Declare the parameters, by name, of a function that takes them as **values."""

    def declare(function: Function) -> Function:
        function.__signature__ = Signature(  # type: ignore[attr-defined]
            [Parameter(name, Parameter.KEYWORD_ONLY) for name in names]
        )
        return function

    return declare


def _is_update(value: Any) -> bool:
    return isinstance(value, dict) and "__type__" in value


def _with(followed: Any, drawn: Any) -> Any:
    """What a component is set to: what is drawn, besides the properties that follow
    another control."""
    if isinstance(drawn, BaseFigure):
        return figure(drawn)
    return (
        {**followed, **drawn} if _is_update(followed) and _is_update(drawn) else drawn
    )


def _named(function: Function, **names: str) -> Function:
    """Give parameters of a function other names."""
    old = {new: name for name, new in names.items()}

    def named(**values: Any) -> Any:
        return function(
            **{old.get(name, name): value for name, value in values.items()}
        )

    named.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            one.replace(name=names.get(one.name, one.name), kind=Parameter.KEYWORD_ONLY)
            for one in signature(function).parameters.values()
        ]
    )
    named.needs = getattr(function, "needs", {})  # type: ignore[attr-defined]
    return named


def _held(name: str, values: Mapping[str, Any]) -> Any:
    return values.get(name)


def _same(some: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    return some.keys() == others.keys() and all(
        _equal(value, others[name]) for name, value in some.items()
    )


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return not isinstance(one, np.ndarray) and bool(one == other)
    except ValueError:  # arrays in it have no single truth
        return False
