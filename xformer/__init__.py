"""xformer: see how attention works, on a translation transformer trained from scratch."""

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


def load(checkpoint: str | Path | None = None, device: str | None = None) -> Service:
    """Load a checkpoint, a folder or owner/name[@revision] on the Hub (the one that ships, if none is named).

    Returns a service that translates, explains, and more.
    """
    from xformer.hub.shipped import TRANSLATION
    from xformer.serve.translation import Service
    return Service.open(TRANSLATION.find(checkpoint), device)


def __getattr__(name: str) -> Any:
    """`Service`, `SentimentService` and `Writer`, imported when they are asked for, as they load torch; and `view`."""
    if name == "Service":
        from xformer.serve.translation import Service
        return Service
    if name == "SentimentService":
        from xformer.serve.reviews import SentimentService
        return SentimentService
    if name == "Writer":
        from xformer.serve.writer import Writer
        return Writer
    if name == "view":
        from xformer.viewing import view
        return view
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
