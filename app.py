"""Start the page; python app.py --help says with what. An installed xformer has it as
`xformer app`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xformer.commands import app

if TYPE_CHECKING:
    import gradio as gr

main = app.main
models = app.models


def __getattr__(name: str) -> gr.Blocks:
    """Make `demo`, for `gradio app.py` and for hosts that import this file, when it is
    asked for."""
    if name == "demo":
        return app.page()
    raise AttributeError(name)


if __name__ == "__main__":
    sys.exit(main())
