"""Find the checkpoint to use: the one named, or in an environment variable, or the one that ships with the code."""

from __future__ import annotations

import os
from pathlib import Path

from xformer.results import UserError
from xformer.strings import PACKAGE

# The folder of checkpoints/: an installed package, or a clone with app.py, xformer/ and assets/.
ROOT = PACKAGE if (PACKAGE / "checkpoints").is_dir() else PACKAGE.parent
CHECKPOINTS = ROOT / "checkpoints"

DEFAULT_CHECKPOINT = "checkpoints/en-es"  # beneath ROOT
SENTIMENT_CHECKPOINT = "checkpoints/sentiment"
LECTURE_CHECKPOINT = "checkpoints/lecture"  # a classifier as small as a lecture's, offered beside the one that ships
WRITER_CHECKPOINT = "checkpoints/reviews-lm"

CHECKPOINT_VARIABLE = "XFORMER_CHECKPOINT"  # of the environment: a folder, or owner/name[@revision]
SENTIMENT_VARIABLE = "XFORMER_SENTIMENT"
WRITER_VARIABLE = "XFORMER_LANGUAGE_MODEL"

_HELP = "folder, or owner/name[@revision] on the Hub (or {}; else {} beside the code)"
CHECKPOINT_HELP = _HELP.format(CHECKPOINT_VARIABLE, DEFAULT_CHECKPOINT)
SENTIMENT_HELP = _HELP.format(SENTIMENT_VARIABLE, SENTIMENT_CHECKPOINT)
WRITER_HELP = _HELP.format(WRITER_VARIABLE, WRITER_CHECKPOINT)


def checkpoint_folder(given: str | Path | None) -> Path:
    """Return the folder of the translation model to use; a name that is no folder is looked for on the Hub.

    Raises UserError, also where none is named and none ships with this copy of the program.
    """
    return _folder(given, CHECKPOINT_VARIABLE, DEFAULT_CHECKPOINT)


def sentiment_folder(given: str | Path | None) -> Path:
    """Return the folder of the classifier of reviews to use, as `checkpoint_folder` does. Raises UserError."""
    return _folder(given, SENTIMENT_VARIABLE, SENTIMENT_CHECKPOINT)


def writer_folder(given: str | Path | None) -> Path:
    """Return the folder of the language model of reviews to use, as `checkpoint_folder` does. Raises UserError."""
    return _folder(given, WRITER_VARIABLE, WRITER_CHECKPOINT)


def _folder(given: str | Path | None, variable: str, default: str) -> Path:
    name = given or os.environ.get(variable)
    if not name:
        if not (ROOT / default).is_dir():
            raise UserError(f"No checkpoint is named, and there is none at {ROOT / default}: name a folder, or "
                            f"owner/name on the Hub, with --checkpoint or in {variable}; a clone of the repository has "
                            f"one.")
        return ROOT / default
    from xformer.hub import repository  # it loads torch and the Hub's client, which --help and the default need not
    return repository.find(name)
