"""The page: one sentence, many lenses. One module a tab; no torch, no computation."""

# isort: off
from xformer.ui.server import loading as loading  # before anything that loads Gradio
from xformer.ui.page import create, launch, warm_up

# isort: on

__all__ = ["create", "launch", "warm_up"]
