"""What connects a control to a handler, the model of the page that asks, and what is said where it has no answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from inspect import Parameter, signature
from typing import Any, get_type_hints

import gradio as gr

from xformer.figures.notice import notice
from xformer.results import UserError
from xformer.serve.pool import Models
from xformer.serve.translation import Service
from xformer.strings import Language, text

log = logging.getLogger(__name__)
# How most listeners are: no endpoint of the API, and no progress shown. It is hidden, and nothing may show it either:
# whatever may, and all that is in it, gradio reads again at the beginning and the end of every call.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "show_progress_on": []}
# How those are that only draw: they need no place in gradio's queue, whose ways take 60 ms. (Then gradio does not tell
# that a gr.State has changed.)
SWIFT: dict[str, Any] = {**QUIET, "queue": False}


def refusal(error: Exception, language: Language) -> str:
    """What the page says where there is no answer, called in an `except`; what we did not foresee goes to the log."""
    if isinstance(error, UserError):
        return notice([error.say(language)], "error")
    log.exception("a handler of the page failed")
    return notice([text("error_unexpected", language)], "error")


@dataclass(frozen=True)
class Ask:
    """One page: its language, and where it keeps the name of its model."""

    models: Models
    name: gr.Textbox
    language: Language

    @property
    def service(self) -> Service:
        """What the page is laid out for; what another model needs otherwise is set when the page is opened with it."""
        return self.models.default

    def __call__(self, handler: Callable[..., Any], inputs: Sequence[Any] = (), **fixed: Any) -> dict[str, Any]:
        """`fn` and `inputs` of a listener that calls handler(service, language, *inputs, **fixed)."""
        return {"fn": bound(self.models, self.language, handler, **fixed), "inputs": [self.name, *inputs]}


def bound(models: Models, language: Language, handler: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    """A handler(service, language, *values) as one of (name of a model, *values); a refusal becomes a notice."""
    def ask(name: str, *values: Any) -> Any:
        try:
            with models.lease(name or "") as service:
                return handler(service, language, *values, **fixed)
        except UserError as error:
            gr.Warning(escape(error.say(language)))
            return gr.skip()

    # gradio looks here for a request, an event, or progress to hand over.
    _, _, *more = signature(handler).parameters.values()
    ask.__name__ = handler.__name__
    ask.__annotations__ = get_type_hints(handler)
    ask.__signature__ = signature(handler).replace(parameters=[  # type: ignore[attr-defined]
        Parameter("name", Parameter.POSITIONAL_OR_KEYWORD), *(one for one in more if one.name not in fixed)])
    return ask
