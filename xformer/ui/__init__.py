"""The page: one sentence, many lenses. One module a tab; no torch, no computation."""

from xformer.ui.page import create, launch

__all__ = ["create", "launch"]
