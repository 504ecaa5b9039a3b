"""What every service of a loaded model has: the model and its checkpoint, and what was measured of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from xformer.device import prepare
from xformer.hub.checkpoint import Checkpoint, Model
from xformer.hub.pretrained import Pretrained
from xformer.serve.limits import Guard

T = TypeVar("T")


class ModelService(Pretrained, Generic[Model]):
    """A loaded model. It stores nothing of a request, so threads may share it."""

    def __init__(self, loaded: Checkpoint[Model], device: str | None = None, precision: str = "auto") -> None:
        """precision: see `device.prepare`."""
        self.device, answers_in = prepare(loaded.model, device, precision)
        self.info = loaded.info(self.device, answers_in)
        self.model, self.tokenizer, self.metrics, self.folder = (
            loaded.model, loaded.tokenizer, loaded.metrics, loaded.folder)
        self.guard = Guard()

    def _measured(self, read: Callable[[dict[str, Any]], T], otherwise: T) -> T:
        """What `read` finds in the metrics of the checkpoint; `otherwise` where they lack it, or have another form."""
        try:
            return read(self.metrics)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            return otherwise
