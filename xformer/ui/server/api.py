"""The named endpoints, for gradio_client, HTTP and MCP; all other listeners of the page
are private."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import gradio as gr

from xformer.results import Head, Message, Options, UserError
from xformer.serve.protocol import ReviewService, TranslationService
from xformer.strings import ENGLISH
from xformer.ui import heads as of_model
from xformer.ui.controls import BEAM
from xformer.ui.server import gradio_private

log = logging.getLogger(__name__)


def publish(
    demo: gr.Blocks, service: TranslationService, reader: ReviewService | None
) -> None:
    """Offer `translate`, `explain` and, where there is a classifier, `classify`; called
    inside the Blocks."""

    def translate(text: str, beam: int = 5, n_best: int = 1) -> dict[str, Any]:
        """Translate an English sentence into Spanish with a small transformer.

        Args:
            text: An English sentence, of at most 5,000 characters and 256 pieces.
            beam: How many hypotheses the search keeps at each step, 1 (greedy) to 16.
            n_best: How many translations to return, 1 to beam.

        Returns:
            the best translation as "text", its "score", its "pieces" with their natural
            "log_probs" and the likeliest "alternatives" of each, all translations as
            "n_best", and "warnings" in English.
        """
        if not BEAM.least <= beam <= BEAM.most:
            raise UserError(Message.of("error_beam", beam=beam, most=BEAM.most))
        return service.translate(text, Options(beam=beam, n_best=n_best)).to_json()

    def explain(
        text: str, target: str = "", stack: str = "cross", layer: int = 0, head: int = 0
    ) -> dict[str, Any]:
        """Show what one attention head of the translation model looks at.

        Args:
            text: An English sentence.
            target: Its Spanish; if empty, the model's own translation.
            stack: "encoder_self", "decoder_self" or "cross" (Spanish looks at English).
            layer: From 1; 0 for the layer of the cross-attention head that aligns best.
            head: From 1; 0 for that head.

        Returns:
            "probabilities", a row for each of "queries" and a column for each of
            "keys", where a row sums to 1; for a decoder "predicts", the piece that each
            query is about to predict, and the natural "log_probs" of these; the
            "checkpoint", "stack", "layer" and "head" that they are of.
        """
        stack = of_model.STACK.read("stack", str(stack))
        layers, heads = (
            kind(service, {"stack": stack})
            for kind in (of_model.layer_of, of_model.head_of)
        )
        where = Head(
            stack,
            layers.read("layer", str(layer or layers.default)),
            heads.read("head", str(head or heads.default)),
        )
        trace = service.explain(text, target or None)
        maps = trace.of(stack)
        return {
            "checkpoint": {
                "name": service.info.name,
                "identity": service.info.identity,
            },
            **where._asdict(),
            "queries": list(maps.asks),
            "predicts": list(maps.predicted),
            "keys": list(maps.seen),
            "probabilities": maps.probabilities[where.at].round(6).tolist(),
            "log_probs": list(trace.log_probs),
        }

    def classify(text: str) -> dict[str, Any]:
        """Tell whether an English review is positive or negative.

        Args:
            text: A review of at most 30,000 characters; a long one is cut in its middle.

        Returns:
            "label", its calibrated "probability", the "probabilities" of both
            labels, the "pieces" that were read and the pooling's "weights" of them, how
            many pieces were "cut" out, and "warnings" in English.
        """
        assert reader is not None
        return reader.classify([text])[0].to_json()

    endpoints: list[Callable[..., Any]] = [
        translate,
        explain,
        *([classify] if reader is not None else []),
    ]
    for endpoint in endpoints:
        gradio_private.publish(demo, endpoint, told(endpoint))


def told(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Check the arguments of an endpoint, and answer what goes wrong with one sentence
    that says nothing of the inside."""
    kinds = {"str": (str, "a text"), "int": (int, "a whole number")}

    @wraps(ask)
    def asked(*values: Any) -> Any:
        try:
            for (name, parameter), value in zip(
                signature(ask).parameters.items(), values, strict=False
            ):
                kind, called = kinds[parameter.annotation]
                if not isinstance(value, kind) or isinstance(value, bool):
                    raise ValueError(
                        f"{name} is {str(value)[:40]!r}; it must be {called}"
                    )
            return ask(*values)
        except (UserError, ValueError) as error:
            raise gr.Error(str(error), print_exception=False) from None
        except Exception:
            log.exception("a request failed")
            raise gr.Error(
                ENGLISH.say("error_unexpected"), print_exception=False
            ) from None

    return asked
