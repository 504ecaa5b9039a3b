"""The app as a person starts it, and a Chromium to visit it with."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent.parent
CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
                None)
PATIENCE = 30_000  # milliseconds; what a person would wait for on a busy machine, and no test ever sleeps
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="session")
def serve():
    """`serve(checkpoint, *flags)` starts app.py and returns its address once it says that it runs."""
    started = []

    def start(checkpoint, *flags, **environment):
        port = free_port()
        command = [sys.executable, "app.py", "--checkpoint", str(checkpoint), *map(str, flags)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "GRADIO_SERVER_PORT": str(port), **environment})
        started.append(process)
        said = []
        for line in process.stdout:
            said.append(line)
            if "Running on local URL" in line:
                assert str(port) in line, "GRADIO_SERVER_PORT is not honoured"
                return f"http://127.0.0.1:{port}"
        raise AssertionError(f"the app ended without serving: {''.join(said)}")

    yield start
    for process in started:
        process.terminate()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="session")
def address(serve, tiny_checkpoint):
    return serve(tiny_checkpoint)


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.fail("the browser tests need Chromium: apt-get install chromium")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, address):
    """`visit(path, width)` opens the page for one more person; at the end nothing may have gone wrong in any."""
    contexts, errors, hosts = [], [], set()

    def open_page(path="/", width=1280):
        context = chromium.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: hosts.add(urlparse(request.url).hostname))
        page.goto(address + path)
        page.locator(".piece").first.wait_for(state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    # Gradio's own client complains of the requests that are broken off when somebody leaves a page.
    broken_off = ("AbortError", "Connection errored out")
    assert not [error for error in errors if not any(kind in error for kind in broken_off)]
    assert hosts <= {"127.0.0.1", None}, "the page asked for something outside this machine"
