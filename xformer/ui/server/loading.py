"""Load Gradio without what it does for editors."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# of the classes of which Gradio writes a .pyi file
METACLASS = "ComponentMeta"


@contextmanager
def without_stubs() -> Iterator[None]:
    """While this lasts, Gradio finds no source of a component, so that it writes no
    .pyi file for it.

    Gradio parses the source of each of its components whenever it is loaded, to write
    that file again as it was: 1.1 of the 2.7 processor seconds of `import gradio`.
    """
    found = inspect.getfile

    def getfile(what: Any) -> str:
        if type(what).__name__ == METACLASS:
            raise OSError(f"{what.__name__} needs no .pyi file")
        return found(what)

    inspect.getfile = getfile  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.getfile = found


with without_stubs():
    import gradio as gradio
