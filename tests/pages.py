"""Pages laid out for tests, which nobody serves."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import gradio as gr

from xformer.serve.pool import Models
from xformer.serve.study import Study
from xformer.strings import ENGLISH
from xformer.ui import lessons, page
from xformer.ui.server.gradio_private import laid_out_once


def run(coroutine):
    """Run a coroutine to its end, in a thread of its own: in that of the tests,
    Playwright's loop may be running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def laid_out(models, reviews=None, language=ENGLISH, **more):
    """The page as `xformer.ui.page.build` makes it, and its Blocks as `demo`, without a
    server. models: a pool, or one service."""
    pool = models if hasattr(models, "lease") else Models(models)

    # where no event loop is running, Gradio makes some that it never closes
    async def make():
        with laid_out_once(), gr.Blocks(analytics_enabled=False) as demo:
            made = page.build(demo, pool, Study(), reviews, language, **more)
        made.demo = demo
        return made

    return run(make())


def shown(pictures, service, language=ENGLISH, made=None, **values):
    """What `Pictures` draw where the controls that `values` do not name hold what they
    hold at first."""
    return pictures.draw(
        service,
        language,
        {} if made is None else made,
        **{**pictures.controls.defaults(service), "lock": "", "again": "", **values},
    )


def gone(page, service, to, language=ENGLISH):
    """What the page answers where the panel of lessons is to go on."""
    return lessons.go(service, language, event=SimpleNamespace(to=to), page=page)


def answered(page, service, at, answer, language=ENGLISH, **seen):
    """The reply to an answer at a step, where the page shows its defaults but for what
    is `seen`."""
    given = {"event": SimpleNamespace(answer=answer), "lesson": at}
    return _beside(lessons.answer, page, service, language, **given, **seen)["reply"]


def fact(page, service, at, language=ENGLISH, **seen):
    """What the page says of a slide, where it shows its defaults but for what is
    `seen`."""
    event = SimpleNamespace(at=at)
    return _beside(lessons.say_fact, page, service, language, event=event, **seen)


def _beside(handler, page, service, language, **given):
    """What a handler sets the panel of lessons to."""
    defaults = page.controls.defaults(service)
    shown = {key: defaults[key] for key in lessons.SEEN}
    nothing = {"translation": None, "trace": None, "lock": ""}
    return handler(service, language, page=page, **{**nothing, **shown, **given})[
        "panel"
    ]
