"""Part of the Sentiment tab that reads many texts at once: pasted lines, or a file; a table, and a file to keep.

An uploaded file is deleted as soon as it is read, and the answers are made a file by the browser: no texts are
left on the server's disk.
"""

import time
from collections.abc import Iterator
from html import escape
from pathlib import Path
from threading import Event
from typing import Any

import gradio as gr

from xformer.figures.notice import notice
from xformer.parts.judging import many_draw as figure
from xformer.results import Judged
from xformer.serve import many as texts
from xformer.serve.protocol import ReviewService
from xformer.strings import Language
from xformer.ui.components import canvas, download
from xformer.ui.handlers import OFF, ON, QUIET, end, refused
from xformer.ui.layout import Layout

MOST_SECONDS = 180.0  # that the texts of one person are read
AT_ONCE = 2  # people whose texts are read at the same time; the others wait in the queue


def build(part: Layout) -> None:
    """Lay the part out; called inside the tab. part: an empty one, which asks the classifier that ships."""
    say = part.say
    part.note("texts_intro")
    with gr.Row(elem_classes="detail"):
        part["block"] = gr.Textbox(label=say("texts_paste"), placeholder=say("texts_placeholder"), lines=6,
                                   max_lines=12, scale=3, min_width=280)
        # Any kind may be chosen: a wrong one gets our own sentence, in the reader's language.
        part["file"] = gr.File(label=say("texts_file", size=texts.MAX_BYTES // 1_000_000, rows=texts.MAX_ROWS),
                               height=190, scale=2, min_width=280)
    part.status()
    with gr.Row(visible=False, elem_classes="ask") as part["chosen"]:
        part["description"] = gr.HTML(elem_classes="texts-file")
        part["column"] = gr.Dropdown([], label=say("texts_column"), filterable=False, min_width=220)
        forget_button = gr.Button(say("texts_forget"), size="sm", min_width=140)
    with gr.Row():
        run_button = gr.Button(say("texts_run"), variant="primary", size="sm", min_width=160)
        part["stop"] = gr.Button(say("texts_stop"), interactive=False, size="sm", min_width=120)
        part["keep"] = gr.Button(say("texts_save"), interactive=False, size="sm", min_width=160)
    result = part["result"] = gr.HTML(elem_classes="tables texts", min_height=60)
    part["download"] = canvas("download.js", "<span></span>", "download")
    part |= {"sheet": gr.State(), "judged": gr.State(), "halt": gr.State()}
    of_file = ("sheet", "chosen", "description", "column")
    part["file"].upload(**part.listener(upload, "file", *of_file, problem="problem"), **QUIET)
    forget_button.click(**part.listener(forget, *of_file), **QUIET)
    run_button.click(**part.listener(run, "result", "judged", "stop", "keep", "halt", problem="problem"),
                     api_visibility="private", show_progress="minimal", show_progress_on=result,
                     concurrency_limit=AT_ONCE, concurrency_id="texts")
    part["stop"].click(**part.listener(end, "stop"), **QUIET)
    part["keep"].click(**part.listener(save, "download"), **QUIET)


@refused(file=None)
def upload(_: ReviewService, language: Language, *, file: str | None) -> dict[str, Any]:
    """Read a file and delete it; empty its field, and say what is in it and which column is read."""
    if file is None:
        return {}
    path = Path(file)
    try:
        sheet = texts.load(path)
    finally:
        path.unlink(missing_ok=True)
    labels = (language.say("texts_no_labels") if sheet.label is None else
              language.say("texts_labels", name=sheet.columns[sheet.label]))
    said = f"{language.say('texts_read', name=sheet.name, count=len(sheet.rows))} {labels}"
    return {"file": None, "sheet": sheet, "chosen": gr.update(visible=True), "description": f"<p>{escape(said)}</p>",
            "column": gr.update(choices=_columns(sheet), value=sheet.text, visible=len(sheet.columns) > 1)}


def _columns(sheet: texts.Sheet) -> list[tuple[str, int]]:
    """Every column to choose from: its name, and how its first cell begins."""
    first = sheet.rows[0]
    return [(f"{name} · {first[i][:24] if i < len(first) else ''}", i) for i, name in enumerate(sheet.columns)]


def forget(_: ReviewService, language: Language) -> dict[str, Any]:
    """Forget the file that was read."""
    return {"sheet": None, "chosen": gr.update(visible=False), "description": "",
            "column": gr.update(choices=[], value=None)}


@refused(stop=OFF, halt=None)
def run(service: ReviewService, language: Language, *, block: str, sheet: texts.Sheet | None, column: int | None
        ) -> Iterator[dict[str, Any]]:
    """Classify the texts of the file or, without a file, the pasted lines; show the progress after each chunk.

    If the visitor leaves the page or stops, the rest is not read, nor are those that are left after `MOST_SECONDS`;
    what was read until then, or until an error, is kept.
    """
    halt, judged, ends, ended = Event(), list[Judged](), time.monotonic() + MOST_SECONDS, ""
    try:
        rows = (sheet or texts.paste(block)).texts(column if sheet else None)
        yield {"result": figure.progress(0, len(rows), language), "judged": None, "stop": ON, "keep": OFF, "halt": halt}
        for done, judged in texts.judge(service, rows):
            if halt.is_set():
                ended = language.say("texts_stopped")
                break
            if time.monotonic() > ends and done < len(rows):
                ended = language.say("texts_late", seconds=round(MOST_SECONDS))
                break
            yield {"result": figure.progress(done, len(rows), language), "judged": judged}
        said = notice([ended], "warning") if ended else ""
        yield {"result": said + figure.results(judged, language), "judged": judged, "stop": OFF, "keep": ON,
               "halt": None}
    except Exception:
        if judged:
            yield {"result": figure.results(judged, language), "judged": judged, "keep": ON}
        raise


def save(service: ReviewService, language: Language, *, judged: list[Judged] | None) -> dict[str, Any]:
    """Offer the answers as a file, for assets/download.js."""
    if not judged:
        return {}
    return {"download": download(f"{service.info.name}-texts.csv", texts.as_csv(judged, language))}
