"""xformer: see how attention works, on a translation transformer trained from
scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from xformer.serve.reviews import SentimentService
    from xformer.serve.translation import Service
    from xformer.serve.writer import Writer
    from xformer.viewing import view

__version__ = "0.1.0"
__all__ = ["SentimentService", "Service", "Writer", "load", "view"]
# the modules that have them
_LATER = {
    "Service": "serve.translation",
    "SentimentService": "serve.reviews",
    "Writer": "serve.writer",
    "view": "viewing",
}


def load(checkpoint: str | Path | None = None, device: str | None = None) -> Service:
    """Load a checkpoint, a folder or owner/name[@revision] on the Hub (the one that
    ships, if none is named).

    Returns a service that translates, explains, and more.
    """
    from xformer.hub.shipped import TRANSLATION
    from xformer.serve.translation import Service

    return Service.open(TRANSLATION.find(checkpoint), device)


def __getattr__(name: str) -> Any:
    """What is imported only when it is asked for: services, which load torch, and
    `view`."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"xformer.{_LATER[name]}"), name)
