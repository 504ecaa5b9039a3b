"""What every service of a loaded model has: the model and its checkpoint, what was
measured of it, and `from_pretrained`, `save_pretrained` and `push_to_hub`, as in other
libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from xformer.device import prepare
from xformer.explain.passes import blocks
from xformer.hub import repository
from xformer.hub.checkpoint import Checkpoint, Model
from xformer.results import Block
from xformer.serve.limits import Guard

T = TypeVar("T")
Opened = TypeVar("Opened", bound="ModelService")


class ModelService(Generic[Model]):
    """A loaded checkpoint. Use does not change it, so threads may share it, and it is
    saved by copying its files."""

    _load: Callable[..., Checkpoint[Any]]  # reads a folder that holds such a model

    def __init__(
        self,
        loaded: Checkpoint[Model],
        device: str | None = None,
        precision: str = "auto",
    ) -> None:
        self.device, answers_in = prepare(loaded.model, device, precision)
        self.info = loaded.info(self.device, answers_in)
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.metrics = loaded.metrics
        self.folder = loaded.folder
        self.guard = Guard()

    @classmethod
    def open(
        cls: type[Opened],
        folder: str | Path,
        device: str | None = None,
        precision: str = "auto",
    ) -> Opened:
        """Load a checkpoint folder. Raises UserError if it cannot be used. precision:
        see `device.prepare`."""
        return cls(cls._load(folder), device, precision)

    @classmethod
    def from_pretrained(
        cls: type[Opened],
        name: str | Path,
        *,
        revision: str | None = None,
        device: str | None = None,
        **access: Any,
    ) -> Opened:
        """Load a folder, or owner/name[@revision] from the Hub's cache or the Hub.
        Raises UserError.

        access: what `repository.Access` has: token, cache_dir, local_files_only,
        force_download.
        """
        named = f"{name}@{revision}" if revision else name
        return cls.open(repository.find(named, repository.Access(**access)), device)

    def save_pretrained(self, folder: str | Path) -> None:
        """Copy the checkpoint to a folder that is empty or does not exist yet. Raises
        UserError."""
        repository.copy(self.folder, Path(folder))

    def push_to_hub(self, repo_id: str, **more: Any) -> str:
        """Upload the checkpoint to owner/name, as `repository.push` does, which says
        what `more` there is: private, token, commit_message, branch, create_pr. Returns
        the address of the commit. Raises UserError."""
        return repository.push(self.folder, repo_id, **more)

    def blocks(self) -> list[Block]:
        return blocks(self.model)

    def measured(self, read: Callable[[dict[str, Any]], T], otherwise: T) -> T:
        """What `read` finds in the metrics of the checkpoint; `otherwise` where they
        lack it, or have another form."""
        try:
            return read(self.metrics)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            return otherwise
