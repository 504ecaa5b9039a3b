"""The page: one sentence, many lenses. One module a tab; no torch, no computation."""

from xformer.ui.page import create, launch, warm_up

__all__ = ["create", "launch", "warm_up"]
