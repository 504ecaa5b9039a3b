"""from_pretrained, save_pretrained and push_to_hub for the services, as in other libraries."""

from pathlib import Path
from typing import TypeVar

from xformer.hub import repository

Loaded = TypeVar("Loaded", bound="Pretrained")


class Pretrained:
    """A loaded checkpoint. Use does not change it, so it is saved by copying its files."""

    folder: Path  # of the checkpoint

    @classmethod
    def open(cls: type[Loaded], folder: str | Path, device: str | None = None) -> Loaded:
        """Load the checkpoint in a folder. Raises UserError if it cannot be used."""
        raise NotImplementedError

    @classmethod
    def from_pretrained(cls: type[Loaded], name: str | Path, *, revision: str | None = None,
                        device: str | None = None, token: str | None = None, cache_dir: str | Path | None = None,
                        local_files_only: bool = False, force_download: bool = False) -> Loaded:
        """Load a folder, or owner/name[@revision] from the Hub's cache or the Hub. Raises UserError."""
        access = repository.Access(token, cache_dir, local_files_only, force_download)
        return cls.open(repository.find(f"{name}@{revision}" if revision else name, access), device)

    def save_pretrained(self, folder: str | Path) -> None:
        """Copy the checkpoint to a folder that is empty or does not exist yet. Raises UserError."""
        repository.copy(self.folder, Path(folder))

    def push_to_hub(self, repo_id: str, *, private: bool | None = None, token: str | None = None,
                    commit_message: str = "Upload checkpoint", branch: str | None = None,
                    create_pr: bool = False) -> str:
        """Upload the checkpoint to owner/name, created if it does not exist; return the address of the commit.

        branch: where it goes, created if it does not exist. create_pr: propose the commit as a pull request. Raises
        UserError.
        """
        return repository.push(self.folder, repo_id, private=private, token=token, commit_message=commit_message,
                               branch=branch, create_pr=create_pr)
