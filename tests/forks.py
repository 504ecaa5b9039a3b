"""Starts apps quickly: this process has loaded what every app loads, and is forked for
each.

`Forked` tells it what to run, a line of JSON each: {"arguments": […], "program":
whether they are those of tests/programs.py rather than of app.py, "folder": …,
"environment": {…}, "input": …, "output": …}, the last two names of pipes. It answers
with the number of the new process. Linux alone has what this rests on.
"""

import json
import os
import runpy
import signal
import sys
import tempfile

# isort: off
import xformer.ui  # noqa: F401, as the app does, which loads Gradio in its way

# isort: on
from gradio import http_server

from tests import programs  # which loads torch and the page
from tests.harness import ROOT


def become(arguments, program, folder, environment):
    """Be the app, as a process of its own would be."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, how, buffering=1, closefd=False, encoding="utf-8")
        for number, how in enumerate("rww")
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # this and the port were looked up in another environment
    http_server.INITIAL_PORT_VALUE = int(environment["GRADIO_SERVER_PORT"])
    sys.argv = ["programs.py" if program else str(ROOT / "app.py"), *arguments]
    if program:
        programs.main()
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


def fork(pipes, **what):
    """Start an app that reads and writes pipes; -> the number of its process."""
    number = os.fork()
    if number:
        return number
    for descriptor, pipe in zip((0, 1, 2), (*pipes, pipes[1]), strict=True):
        os.dup2(pipe, descriptor)
    for pipe in pipes:
        os.close(pipe)
    status = 1
    try:
        become(**what)
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(bool(error.code))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        os._exit(status)


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how an app ended
    for line in sys.stdin:
        asked = json.loads(line)
        pipes = [
            os.open(asked.pop(name), how)
            for name, how in (("input", os.O_RDONLY), ("output", os.O_WRONLY))
        ]
        print(fork(pipes, **asked), flush=True)
        for pipe in pipes:
            os.close(pipe)


if __name__ == "__main__":
    main()
