"""Part of the Sentiment tab that reads many texts at once: pasted lines, or a file; a table, and a file to keep.

An uploaded file is deleted as soon as it is read, and the answers are made a file by the browser: nobody's texts are
left on the server's disk.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from functools import partial
from html import escape
from pathlib import Path
from threading import Event
from typing import Any

import gradio as gr

from xformer.figures import many as figure
from xformer.figures.notice import notice
from xformer.results import Judged
from xformer.serve import many as texts
from xformer.serve.reviews import SentimentService
from xformer.strings import Language, speaker, text
from xformer.ui.components import canvas
from xformer.ui.handlers import QUIET, refusal

AT_ONCE = 2  # people whose texts are read at the same time; the others wait in the queue


def build(reader: SentimentService, language: Language) -> None:
    """Lay the part out; called inside the tab."""
    say = speaker(language)
    gr.HTML(f'<p class="note">{escape(say("texts_intro"))}</p>')
    with gr.Row(elem_classes="detail"):
        block = gr.Textbox(label=say("texts_paste"), placeholder=say("texts_placeholder"), lines=6, max_lines=12,
                           scale=3, min_width=280)
        # Any kind may be chosen: a wrong one gets our own sentence, in the reader's language.
        file = gr.File(label=say("texts_file", size=texts.MAX_BYTES // 1_000_000, rows=texts.MAX_ROWS), height=190,
                       scale=2, min_width=280)
    problem = gr.HTML(elem_classes="status")
    with gr.Row(visible=False, elem_classes="ask") as chosen:
        named = gr.HTML(elem_classes="texts-file")
        column = gr.Dropdown([], label=say("texts_column"), filterable=False, min_width=220)
        forget = gr.Button(say("texts_forget"), size="sm", min_width=140)
    with gr.Row():
        run_button = gr.Button(say("texts_run"), variant="primary", size="sm", min_width=160)
        stop = gr.Button(say("texts_stop"), interactive=False, size="sm", min_width=120)
        keep = gr.Button(say("texts_save"), interactive=False, size="sm", min_width=160)
    result = gr.HTML(elem_classes="tables texts", min_height=60)
    download = canvas("download.js", "<span></span>", "download")
    sheet, found, halt = gr.State(), gr.State(), gr.State()
    of_file = [sheet, chosen, named, column]
    file.upload(partial(upload, language), file, [file, problem, *of_file], **QUIET)
    forget.click(_forget, None, of_file, **QUIET)
    run_button.click(partial(run, reader, language), [block, sheet, column],
                     [problem, result, found, stop, keep, halt], api_visibility="private", show_progress="minimal",
                     show_progress_on=result, concurrency_limit=AT_ONCE, concurrency_id="texts")
    stop.click(_halt, halt, stop, **QUIET)
    keep.click(partial(save, reader, language), found, download, **QUIET)


def upload(language: Language, path: str | None) -> tuple[Any, ...]:
    """Read a file and delete it: its field emptied, a problem, what is in it, and what to say and ask about that."""
    if path is None:
        return (gr.skip(),) * 6
    try:
        found = texts.load(Path(path))
    except Exception as error:
        return (None, refusal(error, language), *(gr.skip(),) * 4)
    finally:
        Path(path).unlink(missing_ok=True)
    labels = (text("texts_no_labels", language) if found.label is None else
              text("texts_labels", language, name=found.columns[found.label]))
    said = f"{text('texts_read', language, name=found.name, count=len(found.rows))} {labels}"
    return (None, "", found, gr.Row(visible=True), f"<p>{escape(said)}</p>",
            gr.update(choices=_columns(found), value=found.text, visible=len(found.columns) > 1))


def _columns(sheet: texts.Sheet) -> list[tuple[str, int]]:
    """Every column to choose from: its name, and how its first cell begins."""
    first = sheet.rows[0]
    return [(f"{name} · {first[i][:24] if i < len(first) else ''}", i) for i, name in enumerate(sheet.columns)]


def _forget() -> tuple[Any, ...]:
    return None, gr.Row(visible=False), "", gr.update(choices=[], value=None)


def run(reader: SentimentService, language: Language, block: str, sheet: texts.Sheet | None, column: int | None
        ) -> Iterator[tuple[Any, ...]]:
    """Read the file or, where there is none, the pasted lines: a problem, what is seen, the answers, whether one can
    stop or save, and what to stop it by. Told after each chunk; who leaves the page or stops is not read on for."""
    halt = Event()
    found: list[Judged] = []
    try:
        rows = (sheet or texts.paste(block)).texts(column if sheet else None)
        yield "", figure.progress(0, len(rows), language), None, gr.Button(interactive=True), _off(), halt
        for done, found in texts.judge(reader, rows):
            if halt.is_set():
                break
            yield gr.skip(), figure.progress(done, len(rows), language), found, *[gr.skip()] * 3
        said = notice([text("texts_stopped", language)], "warning") if halt.is_set() else ""
        yield "", said + figure.results(found, language), found, _off(), gr.Button(interactive=True), None
    except Exception as error:
        read = (figure.results(found, language), found, _off(), gr.Button(interactive=True)) if found else (
            gr.skip(), gr.skip(), _off(), gr.skip())  # what was read until then is not lost
        yield refusal(error, language), *read, None


def _off() -> gr.Button:
    return gr.Button(interactive=False)


def _halt(halt: Event | None) -> gr.Button:
    """End the reading after the chunk it is at; what was read is shown by the reading itself, so in order."""
    if halt is not None:
        halt.set()
    return _off()


def save(reader: SentimentService, language: Language, found: list[Judged] | None) -> Any:
    """What assets/download.js offers."""
    if not found:
        return gr.skip()
    return {"name": f"{reader.info.name}-texts.csv", "made": time.time(),  # the same file twice is offered again
            "data": base64.b64encode(texts.as_csv(found, language)).decode("ascii")}
