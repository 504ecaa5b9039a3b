"""from_pretrained, save_pretrained and push_to_hub, as other libraries have them, for what a checkpoint makes."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from xformer.hub import repository

T = TypeVar("T", bound="Pretrained")


class Pretrained:
    """A loaded checkpoint, which does not change while it is used; so it is saved by a copy of its files."""

    folder: Path

    @classmethod
    def open(cls: type[T], folder: str | Path, device: str | None = None) -> T:
        """One on a checkpoint folder; raises UserError where it cannot be used."""
        raise NotImplementedError

    @classmethod
    def from_pretrained(cls: type[T], name: str | Path, *, revision: str | None = None, device: str | None = None) -> T:
        """One on a folder, or on owner/name[@revision] from the Hub's cache or the Hub. Raises UserError."""
        return cls.open(repository.find(f"{name}@{revision}" if revision else name), device)

    def save_pretrained(self, folder: str | Path) -> None:
        """Copy the checkpoint to a folder that is empty or not there yet. Raises UserError."""
        repository.copy(self.folder, Path(folder))

    def push_to_hub(self, repo_id: str, *, private: bool | None = None, token: str | None = None,
                    commit_message: str = "Upload checkpoint") -> str:
        """Upload the checkpoint to owner/name, made if it is not there; the address of the commit. Raises UserError."""
        return repository.push(self.folder, repo_id, private=private, token=token, commit_message=commit_message)
