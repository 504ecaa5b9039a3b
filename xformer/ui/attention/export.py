"""Answer of the Attention tab that saves the numbers of every head, as JSON, NPZ or one HTML page.

The file travels in the answer and is made by the browser: no sentence is left on the server's disk.
"""

from typing import Any

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.explain.export import encode
from xformer.results import Head, Trace
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import download
from xformer.ui.handlers import needs, text_of

KINDS = ("json", "npz", "html")


@needs(trace="no_trace")
def save(service: TranslationService, language: Language, *, trace: Trace, stack: str, layer: int, head: int,
         event: gr.EventData) -> dict[str, Any]:
    """The whole pass as a file, for assets/download.js."""
    info, kind = service.info, text_of(event, "kind")
    given = given_heads(info, service.alignment_errors)
    content = encode(trace, info, f".{kind}", Head(stack, layer, head), language, given)
    return {"file": download(f"{info.name.replace('/', '-')}-attention.{kind}", content)}
