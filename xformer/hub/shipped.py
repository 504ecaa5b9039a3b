"""What ships with the code: each checkpoint, its name, its folder, and how another is
named in its place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from xformer.hub.folders import ROOT
from xformer.results import GENERATIONS, UserError


@dataclass(frozen=True)
class Shipped:
    """A checkpoint that ships."""

    name: str  # of its folder in checkpoints/
    kind: str  # of what it holds, as `train` calls it
    # of the environment, which names another in its place: a folder, or
    # owner/name[@revision]
    variable: str = ""
    beside: Shipped | None = None  # the one that it is offered with

    @property
    def folder(self) -> str:
        """Its folder beneath ROOT."""
        return f"checkpoints/{self.name}"

    @property
    def path(self) -> Path:
        return ROOT / self.folder

    @property
    def help(self) -> str:
        """The text of a flag that names another."""
        return (
            f"folder, owner/name[@revision] on the Hub, or the name of one that ships, as en-es (or "
            f"{self.variable}; else {self.name}, which ships)"
        )

    def named(self, given: str | Path | None) -> str | Path | None:
        """Return what is named in its place, by a flag or the environment; None where
        it is the one to use itself."""
        return (
            given or (os.environ.get(self.variable) if self.variable else None) or None
        )

    def there(self, given: str | Path | None = None) -> bool:
        """Tell whether there is one to use: one is named, or the one that ships is
        there."""
        return bool(self.named(given)) or self.path.is_dir()

    def find(self, given: str | Path | None = None) -> Path:
        """Return the folder of the checkpoint to use; a name that is no folder is one
        that ships, or is looked for on the Hub. Raises UserError, also where none is
        named and none ships with this copy of the program."""
        if not self.there(given):
            raise UserError(
                f"No checkpoint is named, and there is none at {self.path}: name a folder, or owner/name "
                f"on the Hub, with --checkpoint or in {self.variable}; a clone of the repository has one."
            )
        name = self.named(given)
        if not name:
            return self.path
        # it loads torch and the Hub's client, which --help and the default need not
        from xformer.hub import repository

        return repository.find(name)


TRANSLATION = Shipped("en-es", "translation", "XFORMER_CHECKPOINT")
SENTIMENT = Shipped("sentiment", "sentiment", "XFORMER_SENTIMENT")
WRITER = Shipped(
    "reviews-lm", "language-model", "XFORMER_LANGUAGE_MODEL", beside=SENTIMENT
)
LECTURE = Shipped("lecture", "sentiment", beside=SENTIMENT)  # as small as a lecture's
# from Spanish into English
REVERSE = Shipped("es-en", "translation", beside=TRANSLATION)
SHIPPED = (
    TRANSLATION,
    REVERSE,
    *(Shipped(name, "translation", beside=TRANSLATION) for name in GENERATIONS),
    SENTIMENT,
    WRITER,
    LECTURE,
)
