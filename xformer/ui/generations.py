"""The models of the four generations that a page has at hand."""

from collections.abc import Iterator
from contextlib import contextmanager

from xformer.results import GENERATIONS, Message, Moment, UserError
from xformer.serve.protocol import ModelPool, TranslationService


def at_hand(models: ModelPool) -> list[str]:
    """List the generations that a pool has, the oldest first."""
    return [name for name in GENERATIONS if name in models.names]


@contextmanager
def generation(models: ModelPool, name: str) -> Iterator[TranslationService]:
    """Lend the model of a generation; raises UserError where it cannot be had, or is
    not what its name says."""
    with models.lease(name) as service:
        info = service.info
        kind = (
            f"{info.norm}-norm"
            if info.architecture == "transformer"
            else info.architecture
        )
        if kind != name:
            raise UserError(Message.of("gen_other", name=name, kind=kind))
        yield service


def kept_moment(service: TranslationService) -> Moment | None:
    """Return the moment of the training whose weights were kept; None where it was not
    noted."""
    try:
        step, seen, minutes, done = (
            service.metrics[name] for name in ("step", "seen", "minutes", "done")
        )
        return Moment(int(step), 60 * float(minutes), int(seen), float(done))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
