"""Keep what an evaluation measured in the files of the checkpoint."""

import json
from pathlib import Path
from typing import Any

from xformer.results import UserError


def own_folder(folder: Path, save: bool) -> Path:
    """Return a checkpoint folder; raises UserError for one in the Hub's cache if results are to be kept in it."""
    if save and folder.resolve().parent.name == "snapshots":
        raise UserError("--save writes into the checkpoint, but the Hub's cache is kept as it was fetched; copy it out "
                        "with “python -m xformer checkpoint pull owner/name DIR” and name that folder.")
    return folder


def keep(folder: Path, key: str, value: Any) -> None:
    """Put an entry into the metrics of a checkpoint, in place of an earlier one."""
    from xformer.hub import checkpoint
    metrics = {**checkpoint.read_metrics(folder), key: value}
    try:
        checkpoint.write(folder / "metrics.json", (json.dumps(metrics, indent=2) + "\n").encode())
    except OSError as error:
        raise UserError(f"The file {folder / 'metrics.json'} cannot be written ({error.strerror}); "
                        f"copy the checkpoint to where it can.") from error


def set_name(file: Path) -> str:
    """Return the name under which the score on a file is kept: the file's, without .tsv and .xz."""
    return file.name.removesuffix(".xz").removesuffix(".tsv")


def keep_score(folder: Path, name: str, score: dict[str, Any]) -> None:
    """Put a score on the set of this name into the metrics and the card of a checkpoint."""
    from xformer.hub import card
    try:
        card.keep(folder, {"set": name, **score})
    except OSError as error:
        raise UserError(f"The files of {folder} cannot be written ({error.strerror}); copy the checkpoint to where "
                        f"they can.") from error
