"""Limits: how many are served at once, how long each may take, and an end to what nobody waits for any more."""

import http.client
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from tests.conftest import ROOT, free_port
from xformer import guard
from xformer.guard import Guard, most_people
from xformer.results import UserError
from xformer.sentiment import SentimentService
from xformer.service import Service

PEOPLE = 3
# The app, on a search that goes on until the word "go" comes, and says when it begins and when it was stopped.
STEERED = """
import sys, threading, time
from xformer import sentiment, service
from xformer.sentiment import SentimentService
from xformer.service import Service
from xformer.ui import create, launch

go, find, read = threading.Event(), service.translating, sentiment.read

def held(model, sources, *rest):
    print("began", len(sources), flush=True)
    try:
        while not go.is_set():
            time.sleep(0.01)
            yield
    except GeneratorExit:
        print("stopped", flush=True)
        raise
    return (yield from find(model, sources, *rest))

def held_reading(model, rows, progress=None):
    print("began", len(rows), flush=True)
    try:
        while not go.is_set():
            time.sleep(0.01)
            progress(0)
    except Exception:
        print("stopped", flush=True)
        raise
    return read(model, rows, progress)

service.translating, sentiment.read = held, held_reading
running, reader = Service.open(sys.argv[1], "cpu"), SentimentService.open(sys.argv[2], "cpu")
demo = create(running, reader)
print("Running on", launch(demo, server_port=int(sys.argv[3]), wait=False), flush=True)
for line in sys.stdin:
    go.set() if line == "go\\n" else go.clear() if line == "hold\\n" else None
    print("inside", running.guard.inside, flush=True)
"""


class Steered:
    """The app in a process of its own, steered by words, which are answered with how many are being served."""

    def __init__(self, *checkpoints):
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", STEERED, *map(str, checkpoints), str(port)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "XFORMER_MOST_PEOPLE": str(PEOPLE)})
        self.wait_for("Running on")

    def wait_for(self, beginning):
        """The next line that begins so."""
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line.strip()
        raise AssertionError(f"the app ended and never said {beginning!r}")

    def say(self, word):
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return int(self.wait_for("inside").split()[1])

    def close(self):
        self.process.terminate()
        self.process.communicate()


@pytest.fixture(scope="module")
def app(tiny_checkpoint, tiny_classifier):
    app = Steered(tiny_checkpoint, tiny_classifier)
    yield app
    app.close()


def post(address, endpoint, *values):
    """The number of a request that is under way now."""
    asked = Request(f"{address}/gradio_api/call/{endpoint}", json.dumps({"data": values}).encode(),
                    {"Content-Type": "application/json"})
    with urlopen(asked) as answer:
        return json.load(answer)["event_id"]


def read(address, endpoint, event):
    """What the server says at last: ("complete" or "error", data)."""
    with urlopen(f"{address}/gradio_api/call/{endpoint}/{event}") as stream:
        said = [line.decode().rstrip("\n").split(": ", 1) for line in stream if b": " in line]
    return said[-2][1], json.loads(said[-1][1])


def listen(address, endpoint, event):
    """A connection on which somebody waits for an answer, until it is closed."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    connection.request("GET", f"/gradio_api/call/{endpoint}/{event}")
    return connection


ASKED = {"translate": ("The cat sleeps.", 5, 1), "explain": ("The cat sleeps.", "", "cross", 0, 0),
         "classify": ("Bad.",)}


def test_of_many_at_once_each_is_served_or_told_to_come_again(app, learned_pairs):
    app.say("hold")
    english, spanish = learned_pairs[0]
    with ThreadPoolExecutor(20) as people:
        events = [post(app.address, "translate", english, 5, 1) for _ in range(20)]
        answers = [people.submit(read, app.address, "translate", event) for event in events]
        refused = [answer for answer in answers if answer.exception() is None] if False else []
        told = threading.Semaphore(0)
        for answer in answers:
            answer.add_done_callback(lambda _: told.release())
        for _ in range(20 - PEOPLE):  # while the others are still waiting
            assert told.acquire(timeout=60)
        refused = [answer.result() for answer in answers if answer.done()]
        assert len(refused) == 20 - PEOPLE
        assert {(kind, data["error"]) for kind, data in refused} == {
            ("error", f"{PEOPLE} people are being served, as many as this machine can at once; "
                      "try again in a few seconds.")}
        assert app.say("go") == PEOPLE
        served = [data[0]["text"] for kind, data in (answer.result() for answer in answers) if kind == "complete"]
    assert served == [spanish] * PEOPLE
    assert app.say("hold") == 0


@pytest.mark.parametrize("endpoint", ASKED)
def test_a_request_that_was_abandoned_ends(app, endpoint):
    app.say("hold")
    event = post(app.address, endpoint, *ASKED[endpoint])
    app.wait_for("began")
    connection = listen(app.address, endpoint, event)
    assert app.say("hold") == 1
    connection.close()
    app.wait_for("stopped")
    while app.say("hold"):  # until its thread has noticed
        pass
    assert app.say("go") == 0
    kind, _ = read(app.address, "translate", post(app.address, "translate", *ASKED["translate"]))
    assert kind == "complete"
