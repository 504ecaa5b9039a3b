"""Handlers by name: what connects components to a function of a service, and what is
said where it has no answer.

A handler is `handler(service, language, *, name=value, …) -> {name: value, …}`, or a
generator of such dictionaries. `Ask` makes a listener of it: inputs and outputs are
components by name, what the answer does not name stays as it is, and whatever goes
wrong is said in one place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from html import escape
from inspect import Parameter, Signature, isgeneratorfunction, signature
from threading import Event
from typing import Any, TypeVar

import gradio as gr

from xformer.figures.notice import notice
from xformer.results import Message, UserError
from xformer.serve.limits import TURNS
from xformer.strings import Language

log = logging.getLogger(__name__)
Handler = TypeVar("Handler", bound=Callable[..., Any])
# The properties of most listeners: no endpoint of the API, and no progress shown. No
# other component may show the progress either: at the beginning and the end of every
# call, Gradio would read that component again, with all that is inside it.
QUIET: dict[str, Any] = {
    "api_visibility": "private",
    "show_progress": "hidden",
    "show_progress_on": [],
}
# Of those that draw what controls say: while one answers, only the latest of further
# changes is kept.
LATEST: dict[str, Any] = {**QUIET, "trigger_mode": "always_last"}
# The properties of listeners that only draw: they bypass Gradio's queue, which takes 60
# ms. (Gradio then sends no event when a gr.State changes.)
SWIFT: dict[str, Any] = {**QUIET, "queue": False}
SWIFT_LATEST: dict[str, Any] = {**SWIFT, "trigger_mode": "always_last"}
# Parameters that gradio fills in, by their names: found by annotation, or by default
# value.
ANNOTATED: dict[str, Any] = {"event": gr.EventData, "request": gr.Request}
DEFAULTS: dict[str, Any] = {"progress": gr.Progress()}
# of buttons
ON = gr.update(interactive=True)
OFF = gr.update(interactive=False)
# inputs that the page adds to those of a handler
MODEL = "page_model"
TAB = "open_tab"
PROBLEM = "problem"  # the name of an answer that is shown in the listener's `problem`
# a translation that is missing is no error: at first one is under way
WAITING = "no_trace"
REFUSAL = "refusal"  # in place of an answer: the sentence that is said instead


def needs(**messages: str) -> Callable[[Handler], Handler]:
    """Declare inputs that a handler cannot do without: @needs(trace="no_trace") says
    that text where trace is missing.

    Missing is None, an empty list, and a text without a letter in it.
    """

    def declare(handler: Handler) -> Handler:
        handler.needs = messages  # type: ignore[attr-defined]
        return handler

    return declare


def refused(**values: Any) -> Callable[[Handler], Handler]:
    """Declare the answer of a handler where it fails, besides the problem:
    @refused(picture=None) empties a picture."""

    def declare(handler: Handler) -> Handler:
        handler.refused = values  # type: ignore[attr-defined]
        return handler

    return declare


def end(_: Any, language: Language, *, halt: Event | None) -> dict[str, Any]:
    """End what takes long after the step it is at: it looks at `halt`, and shows itself
    what was done until then."""
    if halt is not None:
        halt.set()
    return {"stop": OFF}


def number_of(event: Any, name: str) -> int:
    """Return a whole number that a script sends with an event. Raises UserError where
    it sends none."""
    value = getattr(event, name, None)
    if (
        isinstance(value, str)
        and value.isascii()
        and value.isdigit()
        and len(value) < 10
    ):
        return int(value)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not -1e9 < value < 1e9
    ):
        raise UserError(Message.of("error_event", name=name, value=str(value)[:40]))
    return int(value)


def text_of(event: Any, name: str) -> str:
    """Return a text that a script sends with an event. Raises UserError where it sends
    none."""
    value = getattr(event, name, None)
    if not isinstance(value, str):
        raise UserError(Message.of("error_event", name=name, value=str(value)[:40]))
    return value


@dataclass(frozen=True)
class Ask:
    """Makes listeners for one page: a handler is called with a service, the page's
    language, and inputs by name."""

    # a service, by the name of a model
    lease: Callable[[str], AbstractContextManager[Any]]
    language: Language
    model: gr.Textbox | gr.Radio | None = None  # holds the name of the page's model
    tab: gr.Textbox | None = None  # holds the id of the open tab

    @classmethod
    def always(
        cls, service: Any, language: Language, tab: gr.Textbox | None = None
    ) -> Ask:
        """Listeners that all use one service."""
        return cls(lambda name: nullcontext(service), language, tab=tab)

    def __call__(
        self,
        handler: Callable[..., Any],
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        problem: gr.HTML | None = None,
        only_in: str | None = None,
        **fixed: Any,
    ) -> dict[str, Any]:
        """`fn`, `inputs` and `outputs` of a listener that calls handler(service,
        language, **inputs, **fixed).

        outputs: the components that its answer may set, by name. problem: where a
        refusal is said, or what the answer names "problem"; emptied otherwise. Without
        one, a refusal is a notice that goes away by itself. only_in: the id of the tab
        that must be open, or nothing is done. Raises TypeError where the handler has
        other parameters.
        """
        inputs = dict(inputs or {})
        outputs = dict(outputs or {})
        special = _special(handler, {*inputs, *fixed})
        added = {
            name: component
            for name, component in (
                (MODEL, self.model),
                (TAB, self.tab if only_in else None),
            )
            if component is not None
        }
        targets = [
            *dict.fromkeys([*outputs.values(), *([] if problem is None else [problem])])
        ]

        def placed(answer: dict[str, Any]) -> Any:
            """Give gradio a value for each of the outputs."""
            values = {}
            if problem is None and REFUSAL in answer:
                (gr.Info if isinstance(answer[REFUSAL], Waits) else gr.Warning)(
                    escape(answer[REFUSAL])
                )
            said = _said(answer)
            if problem is not None and PROBLEM in said:
                values[problem] = said[PROBLEM]
            values.update(
                {
                    outputs[name]: value
                    for name, value in said.items()
                    if name != PROBLEM
                }
            )
            each = [values.get(component, gr.skip()) for component in targets]
            return each[0] if len(each) == 1 else each

        def tells(values: Any) -> list[bool]:
            """Of each output, whether what gradio is given says something: more than
            that there is no problem."""
            each = [values] if len(targets) == 1 else values
            return [
                not _is_skip(value) and not (target is problem and value == "")
                for target, value in zip(targets, each, strict=True)
            ]

        def answers(*arguments: Any) -> Generator[Any]:
            named = dict(zip([*added, *inputs, *special], arguments, strict=True))
            model = named.pop(MODEL, None)
            tab = named.pop(TAB, None)
            here = only_in is None or tab == only_in
            told = (
                self._answers(handler, model or "", {**named, **fixed})
                if here
                else iter(())
            )
            # Gradio empties the outputs of a generator that gives nothing
            yield placed(_next(told) or {})
            while (said := _next(told)) is not None:
                yield placed(said)

        def answer(*arguments: Any) -> Any:
            with closing(answers(*arguments)) as told:
                return next(told)

        called: Any = answers if isgeneratorfunction(handler) else answer
        # by which gradio_private keeps answers in order
        called.__name__ = handler.__name__
        called.tells = tells
        called.__annotations__ = {
            name: ANNOTATED[name] for name in special if name in ANNOTATED
        }
        called.__signature__ = Signature(
            [
                Parameter(
                    name,
                    Parameter.POSITIONAL_OR_KEYWORD,
                    default=DEFAULTS.get(name, Parameter.empty),
                )
                for name in (*added, *inputs, *special)
            ]
        )
        return {
            "fn": called,
            "inputs": [*added.values(), *inputs.values()],
            "outputs": targets,
        }

    def answers(
        self, handler: Callable[..., Any], model: str = "", **named: Any
    ) -> Iterator[dict[str, Any]]:
        """Answer as a listener does, by name and with the problem: once, or as often as
        a generator does."""
        return map(_said, self._answers(handler, model, named))

    def answer(
        self, handler: Callable[..., Any], model: str = "", **named: Any
    ) -> dict[str, Any]:
        """Give the last, or only, of the answers."""
        *_, last = self.answers(handler, model, **named)
        return last

    def _answers(
        self, handler: Callable[..., Any], model: str, named: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        language = self.language
        try:
            require(handler, named)
            with self.lease(model) as service:
                language = self.language.of(getattr(service, "info", None))
                answer: Any = handler(service, language, **named)
                if not isinstance(answer, Generator):
                    yield {PROBLEM: "", **answer}
                    return
                with closing(answer):
                    for part in answer:
                        yield {PROBLEM: "", **part}
        except Exception as error:
            yield {
                **getattr(handler, "refused", {}),
                REFUSAL: sentence(error, language),
            }


def _next(told: Iterator[dict[str, Any]]) -> dict[str, Any] | None:
    """Compute the next answer in a turn; None where there is none."""
    with TURNS.taken():
        return next(told, None)


def _is_skip(value: Any) -> bool:
    return isinstance(value, dict) and value == gr.skip()


class Waits(str):
    """A sentence that says what a part waits for; shown without alarm."""


def sentence(error: Exception, language: Language) -> str:
    """Tell a person what went wrong, called in an `except`; what we did not foresee is
    logged."""
    if isinstance(error, UserError):
        is_waiting = isinstance(error.message, Message) and error.message.key == WAITING
        return Waits(error.say(language)) if is_waiting else error.say(language)
    log.exception("a handler of the page failed")
    return language.say("error_unexpected")


def _said(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a refusal, if the answer is one, into a problem."""

    def said(value: Any) -> str:
        return notice([value], "waiting" if isinstance(value, Waits) else "error")

    return {
        PROBLEM if name == REFUSAL else name: said(value) if name == REFUSAL else value
        for name, value in answer.items()
    }


def require(handler: Callable[..., Any], named: Mapping[str, Any]) -> None:
    """Raise UserError where an input is missing that the handler `needs`."""
    for name, message in getattr(handler, "needs", {}).items():
        if _missing(named.get(name)):
            raise UserError(Message.of(message))


def _missing(value: Any) -> bool:
    return value is None or (
        not value.strip()
        if isinstance(value, str)
        else isinstance(value, list) and not value
    )


def _special(handler: Callable[..., Any], given: set[str]) -> list[str]:
    """List the parameters that gradio fills in; raises TypeError where the others are
    not those that are given."""
    _, _, *parameters = signature(handler).parameters.values()
    named = {
        one.name: one for one in parameters if one.kind is not Parameter.VAR_KEYWORD
    }
    special = [name for name in (*ANNOTATED, *DEFAULTS) if name in named]
    lacking = (
        {name for name, one in named.items() if one.default is Parameter.empty}
        - given
        - {*special}
    )
    unknown = given - {*named} if len(named) == len(parameters) else set()
    if lacking or unknown:
        raise TypeError(
            f"the listener of {handler.__name__} lacks the inputs {sorted(lacking)}, and gives it "
            f"{sorted(unknown)} that it does not take"
        )
    return special
