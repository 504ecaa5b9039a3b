"""xformer: see how attention works, on a translation transformer trained from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from xformer.serve.translation import Service

__version__ = "0.1.0"


def load(checkpoint: str | Path | None = None, device: str | None = None) -> Service:
    """A service on a checkpoint, a folder or owner/name[@revision] on the Hub (the one that ships, if none is named):
    translate, explain, and more."""
    from xformer.hub.shipped import checkpoint_folder
    from xformer.serve.translation import Service
    return Service.open(checkpoint_folder(checkpoint), device)
