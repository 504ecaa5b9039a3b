"""Find the checkpoint to use: the one named, or in an environment variable, or the one that ships with the code."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the folder of app.py, xformer/, assets/ and checkpoints/
CHECKPOINTS = ROOT / "checkpoints"

DEFAULT_CHECKPOINT = "checkpoints/en-es"  # beneath ROOT
SENTIMENT_CHECKPOINT = "checkpoints/sentiment"

CHECKPOINT_VARIABLE = "XFORMER_CHECKPOINT"  # of the environment: a folder, or owner/name[@revision]
SENTIMENT_VARIABLE = "XFORMER_SENTIMENT"

_HELP = "folder, or owner/name[@revision] on the Hub (or {}; else {} beside the code)"
CHECKPOINT_HELP = _HELP.format(CHECKPOINT_VARIABLE, DEFAULT_CHECKPOINT)
SENTIMENT_HELP = _HELP.format(SENTIMENT_VARIABLE, SENTIMENT_CHECKPOINT)


def checkpoint_folder(given: str | Path | None) -> Path:
    """Return the folder of the translation model to use; a name that is no folder is looked for on the Hub.

    Raises UserError.
    """
    return _folder(given or os.environ.get(CHECKPOINT_VARIABLE), DEFAULT_CHECKPOINT)


def sentiment_folder(given: str | Path | None) -> Path:
    """Return the folder of the classifier of reviews to use, as `checkpoint_folder` does. Raises UserError."""
    return _folder(given or os.environ.get(SENTIMENT_VARIABLE), SENTIMENT_CHECKPOINT)


def _folder(name: str | Path | None, default: str) -> Path:
    if not name:
        return ROOT / default
    from xformer.hub import repository  # it loads torch and the Hub's client, which --help and the default need not
    return repository.find(name)
