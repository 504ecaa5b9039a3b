"""One text through two models of one pair of languages; no torch."""

from contextlib import suppress
from dataclasses import replace

from xformer.results import (
    Message,
    ModelInfo,
    Options,
    Trace,
    Translation,
    TwoModels,
    UserError,
)
from xformer.serve.bleu import bleu
from xformer.serve.protocol import TranslationService

# of ModelInfo: heads that correspond
SHAPE = ("architecture", "n_layers", "n_decoder_layers", "n_heads", "d_model")


def check(first: ModelInfo, second: ModelInfo) -> None:
    """Raise UserError where two models cannot be compared: they are one, or of
    different languages."""
    if first.identity == second.identity:
        raise UserError(Message.of("models_same", first=first.name, second=second.name))
    pairs = {
        "first": f"{first.source}–{first.target}",
        "second": f"{second.source}–{second.target}",
    }
    if pairs["first"] != pairs["second"]:
        raise UserError(
            Message.of("models_languages", one=first.name, other=second.name, **pairs)
        )


def through_both(
    first: TranslationService,
    second: TranslationService,
    text: str,
    options: Options | None = None,
    reference: str = "",
) -> TwoModels:
    """Translate a text with two models, and trace each one's pass. Raises UserError, as
    `check` does too.

    reference: a translation to score both against; "" for none.
    """
    check(first.info, second.info)
    services = first, second
    (one, one_trace), (other, other_trace) = (
        service.translate_and_trace(text, options) for service in services
    )
    # The first translation may have made buffers; only the second one's time is the
    # model's.
    one, other = (
        replace(found, seconds=service.translate(text, options).seconds)
        for found, service in zip((one, other), services, strict=True)
    )
    scores = (
        (bleu(one.best.text, reference), bleu(other.best.text, reference))
        if reference.strip()
        else None
    )
    return TwoModels(
        (first.info, second.info),
        (one, other),
        (one_trace, other_trace),
        (_error(first), _error(second)),
        scores,
        _forced(first, second, one),
    )


def _error(service: TranslationService) -> float | None:
    rates = service.alignment_errors(service.best_head)
    return min(rates) if rates else None


def _forced(
    first: TranslationService, second: TranslationService, translation: Translation
) -> tuple[Trace, Trace] | None:
    """Trace a translation of the first model in both, where that gives maps of the same
    heads over the same pieces."""
    if any(getattr(first.info, name) != getattr(second.info, name) for name in SHAPE):
        return None
    with suppress(UserError):  # the second cannot spell it, or it is empty
        one, other = (
            service.trace(translation.source, translation.best.text)
            for service in (first, second)
        )
        if (one.source, one.predicted) == (other.source, other.predicted):
            return one, other
    return None
