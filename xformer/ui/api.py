"""The named endpoints, for gradio_client, HTTP and MCP; whatever else the page asks of its server is private to it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import gradio as gr
from gradio.utils import get_function_description

from xformer.results import STACKS, Message, UserError
from xformer.search import Options
from xformer.serve.reviews import SentimentService
from xformer.serve.translation import Service
from xformer.strings import text as say
from xformer.ui.translation import MOST_BEAM

log = logging.getLogger(__name__)


def publish(demo: gr.Blocks, service: Service, reader: SentimentService | None) -> None:
    """Offer `translate`, `explain` and, where there is a classifier, `classify`; called inside the Blocks."""

    def translate(text: str, beam: int = 5, n_best: int = 1) -> dict[str, Any]:
        """Translate an English sentence into Spanish with a small transformer.

        Args:
            text: An English sentence, of at most 5,000 characters and 256 pieces.
            beam: How many hypotheses the search keeps at each step, 1 (greedy) to 16.
            n_best: How many translations to return, 1 to beam.

        Returns:
            the best translation as "text", its "score", its "pieces" with their natural "log_probs" and the likeliest
            "alternatives" of each, all translations as "n_best", and "warnings" in English.
        """
        if not 1 <= beam <= MOST_BEAM:
            raise UserError(Message.of("error_beam", beam=beam, most=MOST_BEAM))
        return service.translate(text, Options(beam=beam, n_best=n_best)).to_json()

    def explain(text: str, target: str = "", stack: str = "cross", layer: int = 0, head: int = 0) -> dict[str, Any]:
        """Show what one attention head of the translation model looks at.

        Args:
            text: An English sentence.
            target: Its Spanish; if empty, the model's own translation.
            stack: "encoder_self", "decoder_self" or "cross" (Spanish looks at English).
            layer: From 1; 0 for the layer of the cross-attention head that aligns words best.
            head: From 1; 0 for that head.

        Returns:
            "probabilities", a row for each of "queries" and a column for each of "keys", where a row sums to 1; for a
            decoder "predicts", the piece that each query is about to predict, and the natural "log_probs" of these;
            the "checkpoint", "stack", "layer" and "head" that they are of.
        """
        if stack not in STACKS:
            raise UserError(Message.of("address_choice", key="stack", value=str(stack)[:40], options=", ".join(STACKS)))
        best_layer, best_head = service.best_head
        layer, head = layer or min(best_layer, service.info.layers(stack)), head or best_head
        for name, value, most in (("layer", layer, service.info.layers(stack)), ("head", head, service.info.n_heads)):
            if not 1 <= value <= most:
                raise UserError(Message.of("address_number", key=name, value=str(value)[:40], least=1, most=most))
        with service.guard.enter():
            trace = service.trace(text, target or service.translate(text).best.tokens)
        encoder = stack == "encoder_self"
        return {"checkpoint": {"name": service.info.name, "identity": service.info.identity}, "stack": stack,
                "layer": layer, "head": head, "queries": list(trace.source if encoder else trace.target),
                "predicts": [] if encoder else list(trace.predicted),
                "keys": list(trace.target if stack == "decoder_self" else trace.source),
                "probabilities": getattr(trace, stack)[layer - 1, head - 1].round(6).tolist(),
                "log_probs": list(trace.log_probs)}

    def classify(text: str) -> dict[str, Any]:
        """Tell whether an English review is positive or negative.

        Args:
            text: A review, from a few words to 30,000 characters; of a long one the middle is left out.

        Returns:
            "label", its calibrated "probability", the "probabilities" of both labels, the "pieces" that were read and
            the pooling's "weights" of them, how many pieces were "cut" out, and "warnings" in English.
        """
        assert reader is not None
        return reader.classify([text])[0].to_json()

    endpoints: list[Callable[..., Any]] = [translate, explain, *([classify] if reader is not None else [])]
    for offered in endpoints:
        description, arguments, returns = get_function_description(offered)
        gr.api(told(offered), api_name=offered.__name__, api_visibility="public",
               api_description=f"{description} Returns {' '.join(returns)}")
        *_, published = demo.fns.values()
        for component, said in zip(published.inputs, arguments.values(), strict=True):
            vars(component)["_api_info"]["additional_description"] = said  # Gradio itself tells MCP clients only


def told(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Whoever asks is told in one sentence what was wrong, and never how it came about."""
    kinds = {"str": (str, "a text"), "int": (int, "a whole number")}

    @wraps(ask)
    def asked(*values: Any) -> Any:
        try:
            for (name, parameter), value in zip(signature(ask).parameters.items(), values, strict=False):
                kind, called = kinds[parameter.annotation]
                if not isinstance(value, kind) or isinstance(value, bool):
                    raise ValueError(f"{name} is {str(value)[:40]!r}; it must be {called}")
            return ask(*values)
        except (UserError, ValueError) as error:
            raise gr.Error(str(error), print_exception=False) from None
        except Exception:
            log.exception("a request failed")
            raise gr.Error(say("error_unexpected"), print_exception=False) from None
    return asked
