"""Pages with some of their parts replaced: `python -m tests.programs NAME ARGUMENTS`,
as tests.harness.App starts them.

A program ends when it is told to stop. Words on its standard input are answered on its
standard output.
"""

import sys
import threading
from functools import partial

from gradio import route_utils

from xformer.serve import batching, reviews
from xformer.serve.pool import Models
from xformer.serve.reviews import SentimentService
from xformer.serve.study import Study
from xformer.serve.translation import Service
from xformer.ui import create, launch, page
from xformer.ui.server import gradio_private, sessions
from xformer.ui.server.gradio_private import jobs


def tell(*words):
    """Print a line in one piece: several threads tell."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def serve(demo, answer=lambda word: ""):
    tell("Running on local URL:", launch(demo, wait=False))
    for line in sys.stdin:
        tell("answer:", answer(line.strip()))
    demo.block_thread()


def opened(checkpoint, classifier):
    return Service.open(checkpoint, "cpu"), SentimentService.open(classifier, "cpu")


def failing(checkpoint, classifier):
    """The app whose models fail in the middle of everything that is asked of them.
    After the word “forget” it looks for uploads that nobody has read five times a
    second, and tells so."""
    forget = threading.Event()

    def fail(*values, **named):
        raise RuntimeError("a secret of this machine")

    def fail_later(*values):
        yield
        fail()

    def look(*values):
        if forget.is_set():
            delete(*values)
            tell("looked for uploads")

    running, reader = opened(checkpoint, classifier)
    batching.translating = fail_later
    reviews.read = fail
    for name in ("trace", "ask", "embed"):
        setattr(running, name, fail)
    sessions.UPLOADS = (0.2, 0.2)
    delete = route_utils.delete_files_created_by_app
    route_utils.delete_files_created_by_app = look
    serve(
        create(Models(running), Study(), reader),
        lambda word: forget.set() if word == "forget" else None,
    )


def turned(checkpoint, classifier):
    """The app with its tabs in the opposite order."""
    page.build = partial(page.build, tabs=page.TABS[::-1])
    running, reader = opened(checkpoint, classifier)
    serve(create(Models(running), Study(), reader))


def steered(checkpoint, classifier):
    """The app, on searches and readings that stay at their beginning until the word
    “go” comes, and again after “hold”. It tells when one begins and when one was
    stopped; its answers are how many are served, and how many sessions kept, or to
    “size” the bytes of all that is asked of it, to “clients” the addresses of who
    asked. It tells “overdue” while a request has waited for longer than one waits for
    somebody to listen for its answer.
    """
    go = threading.Event()
    search = batching.translating
    read = reviews.read

    def held(model, sources, *rest):
        tell("began", len(sources))
        try:
            while not go.wait(0.01):
                yield
        except GeneratorExit:
            tell("stopped")
            raise
        return (yield from search(model, sources, *rest))

    def held_reading(model, rows, progress=None):
        tell("began", len(rows))
        try:
            while not go.wait(0.01):
                progress(0)
        except Exception:
            tell("stopped")
            raise
        return read(model, rows, progress)

    def looked_through(app):
        waiting = jobs(app)
        if any(job.seconds > 1.2 * sessions.UNHEARD for job in waiting):
            tell("overdue")
        return waiting

    def answer(word):
        if word == "size":
            return str(sum(job.size for job in jobs(demo.app)))
        if word == "clients":
            return " ".join(demo.app.state.clients.values())
        if word:
            go.set() if word == "go" else go.clear()
        return f"{running.guard.inside} {len(demo.state_holder.session_data)}"

    batching.translating = held
    reviews.read = held_reading
    gradio_private.jobs = looked_through
    running, reader = opened(checkpoint, classifier)
    demo = create(Models(running), Study(), reader)
    serve(demo, answer)


def main():
    """Run the program that the first argument names, on the others."""
    programs = (failing, steered, turned)
    {program.__name__: program for program in programs}[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
