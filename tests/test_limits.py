"""Limits: how many are served at once, how long each may take, and an end to what
nobody waits for any more."""

import http.client
import json
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from tests.fixtures import endless
from tests.harness import patience
from xformer.results import Move, Occlude, Positions, RankHeads, UserError
from xformer.serve import batching
from xformer.serve.limits import (
    AT_WORK,
    COMPUTING,
    MOST_OF_ONE,
    MOST_RUNS,
    Guard,
    Places,
    Turns,
    most_people,
)
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask

PEOPLE = 3


@pytest.fixture(scope="module")
def app(start, tiny_checkpoint, tiny_classifier):
    """The app, whose searches and readings wait at their beginning until it is told to
    let them go."""
    return start(
        tiny_checkpoint,
        tiny_classifier,
        program="steered",
        XFORMER_MOST_PEOPLE=str(PEOPLE),
    )


def inside(app, word):
    """Tell the app a word; -> how many it serves."""
    return int(app.say(word).split()[0])


def sessions(app):
    return int(app.say("").split()[1])


def post(address, endpoint, *values):
    """The number of a request that is under way now."""
    asked = Request(
        f"{address}/gradio_api/call/{endpoint}",
        json.dumps({"data": values}).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(asked) as answer:
        return json.load(answer)["event_id"]


def read(address, endpoint, event):
    """What the server says at last: ("complete" or "error", data)."""
    with urlopen(f"{address}/gradio_api/call/{endpoint}/{event}") as stream:
        said = [
            line.decode().rstrip("\n").split(": ", 1)
            for line in stream
            if b": " in line
        ]
    return said[-2][1], json.loads(said[-1][1])


def listen(address, endpoint, event):
    """A connection on which somebody waits for an answer, until it is closed."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    connection.request("GET", f"/gradio_api/call/{endpoint}/{event}")
    return connection


def soon(happened):
    """Ask the app, which takes its time to answer, until something has happened
    there."""
    seconds = patience()
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"it has not happened in {seconds} s"


ASKED = {
    "translate": ("The cat sleeps.", 5, 1),
    "explain": ("The cat sleeps.", "", "cross", 0, 0),
    "classify": ("Bad.",),
}


@pytest.mark.full
def test_of_many_at_once_each_is_served_or_told_to_come_again(app, learned_pairs):
    app.say("hold")
    english, spanish = learned_pairs[0]
    with ThreadPoolExecutor(20) as people:
        events = [post(app.address, "translate", english, 5, 1) for _ in range(20)]
        answers = [
            people.submit(read, app.address, "translate", event) for event in events
        ]
        told = threading.Semaphore(0)
        for answer in answers:
            answer.add_done_callback(lambda _: told.release())
        for _ in range(20 - PEOPLE):  # while the others are still waiting
            assert told.acquire(timeout=60)
        refused = [answer.result() for answer in answers if answer.done()]
        assert len(refused) == 20 - PEOPLE
        assert {(kind, data["error"]) for kind, data in refused} == {
            (
                "error",
                f"This machine serves {PEOPLE} people at once, and all places are taken; "
                "try again in a few seconds.",
            )
        }
        assert inside(app, "go") == PEOPLE
        served = [
            data[0]["text"]
            for kind, data in (answer.result() for answer in answers)
            if kind == "complete"
        ]
    assert served == [spanish] * PEOPLE
    assert inside(app, "hold") == 0


@pytest.mark.parametrize("endpoint", ASKED)
def test_a_request_that_was_abandoned_ends(app, endpoint):
    app.say("hold")
    event = post(app.address, endpoint, *ASKED[endpoint])
    app.wait_for("began")
    connection = listen(app.address, endpoint, event)
    assert inside(app, "hold") == 1
    connection.close()
    app.wait_for("stopped")
    soon(lambda: inside(app, "hold") == 0)  # when its thread has noticed
    assert inside(app, "go") == 0
    kind, _ = read(
        app.address, "translate", post(app.address, "translate", *ASKED["translate"])
    )
    assert kind == "complete"


def test_nothing_is_kept_of_a_call_that_was_answered(app):
    app.say("go")
    for endpoint, values in ASKED.items():
        read(app.address, endpoint, post(app.address, endpoint, *values))
    # the last stream may still be closing
    soon(lambda: inside(app, "go") == sessions(app) == 0)


@pytest.fixture
def limited(running, reader, monkeypatch):
    """`limited(**limits)` lets both services, until the test ends, do no more than
    that."""

    def limit(**limits):
        one = Guard(**limits)
        for some in (running, reader):
            monkeypatch.setattr(some, "guard", one)
        return one

    return limit


def requests(running, reader, english, review):
    """One of each kind that takes long enough to be limited."""
    found = running.translate(english)
    return {
        "translate": lambda: running.translate(english),
        "trace": lambda: running.trace(english, "El gato"),
        "occlude": lambda: running.ask(Occlude(english, found.best.tokens)),
        "head_effects": lambda: running.ask(RankHeads(english, found.best.tokens)),
        "with_positions": lambda: running.ask(
            Move(english, found.best.tokens, Positions("none"))
        ),
        "classify": lambda: reader.classify([review]),
        "attribute": lambda: reader.attribute(review),
    }


def test_whoever_comes_when_it_is_full_is_told_so_whatever_they_ask(
    running, reader, limited, learned_pairs
):
    every = requests(running, reader, learned_pairs[0][0], "Bad.")
    door = limited(people=1)
    inside = threading.Event()
    leave = threading.Event()

    def somebody():
        with door.enter(), door.enter():  # one who asks for two things is one person
            inside.set()
            leave.wait()

    other = threading.Thread(target=somebody)
    other.start()
    inside.wait()
    for name, ask in every.items():
        with pytest.raises(
            UserError,
            match="^This machine serves 1 people at once, .* try again in a few seconds.$",
        ):
            pytest.fail(f"{name} was served: {ask()}")
    leave.set()
    other.join()
    for ask in every.values():
        ask()
    assert door.inside == 0


def test_whatever_takes_too_long_is_given_up(running, reader, limited, learned_pairs):
    every = requests(running, reader, learned_pairs[0][0], "Bad.")
    door = limited(seconds=0.0)
    for name in ("translate", "occlude", "head_effects", "classify", "attribute"):
        with pytest.raises(
            UserError,
            match="^This took longer than 0 seconds and was given up; try a shorter text",
        ):
            pytest.fail(f"{name} was not given up: {every[name]()}")
    assert door.inside == 0


def test_whatever_nobody_waits_for_is_given_up(
    running, reader, limited, learned_pairs, monkeypatch
):
    every = requests(running, reader, learned_pairs[0][0], "Bad.")
    stopped = threading.Event()
    monkeypatch.setattr(batching, "translating", endless(stopped))
    door = limited(asker=lambda: lambda: False)
    for name in ("translate", "occlude", "head_effects", "classify", "attribute"):
        with pytest.raises(
            UserError, match="^The page or program that asked for this answer is gone"
        ):
            pytest.fail(f"{name} went on: {every[name]()}")
    assert stopped.wait(60) and door.inside == 0


class Line(deque):
    """The line for a turn, which tells when somebody joins it who has to wait."""

    def __init__(self):
        super().__init__()
        self.waited_in = threading.Event()

    def append(self, one):
        super().append(one)
        if len(self) > AT_WORK:
            self.waited_in.set()


def test_long_computations_take_turns_in_the_order_in_which_they_came():
    door = Guard()
    order = []
    ready = threading.Semaphore(0)
    door._line = Line()
    go = [threading.Event() for _ in range(AT_WORK)]

    def long(number):
        with door.work() as pause:
            ready.release()
            go[number].wait()
            pause()
            order.append(f"long {number}")

    def late():
        with door.work():
            order.append("late")
            go[1].set()  # only now do the other long ones go on

    threads = [
        threading.Thread(target=long, args=(number,)) for number in range(AT_WORK)
    ]
    for thread in threads:
        thread.start()
        ready.acquire()
    threads.append(threading.Thread(target=late))
    threads[-1].start()
    assert door._line.waited_in.wait(60)
    go[0].set()
    for thread in threads:
        thread.join()
    assert order[0] == "late" and sorted(order[1:]) == ["long 0", "long 1"]
    with door.work() as pause:  # all turns have been given back
        pause()


def test_runs_have_places_in_the_order_in_which_they_came():
    places = Places()
    runs = [places.join("10.0.0.1") for _ in range(4)]
    assert [places.before(run) for run in runs] == [None, None, 0, 1]
    assert [places.wait(run, 0) for run in runs] == [True, True, False, False]
    places.leave(runs[0])
    assert [places.before(run) for run in runs[1:]] == [None, None, 0]
    places.leave(runs[0])
    places.leave(runs[3])  # from the line
    later = places.join("10.0.0.2")
    assert places.before(later) == 0 and not places.wait(later, 0)
    waits = threading.Thread(target=places.wait, args=(later, 60))
    waits.start()
    places.leave(runs[1])
    waits.join(30)
    assert not waits.is_alive() and places.before(later) is None


def test_what_would_be_too_many_runs_of_one_address_or_of_all_is_refused():
    places = Places()
    runs = [places.join("10.0.0.1") for _ in range(MOST_OF_ONE)]
    with pytest.raises(
        UserError,
        match=f"^{MOST_OF_ONE} runs train or wait already; try again in a minute.$",
    ):
        places.join("10.0.0.1")
    for number in range(MOST_RUNS - MOST_OF_ONE):
        places.join(f"10.0.1.{number}")
    with pytest.raises(UserError, match=f"^{MOST_RUNS} runs train or wait already"):
        places.join("10.0.0.2")
    places.leave(runs[-1])
    places.join("10.0.0.2")


@pytest.mark.parametrize("wanted", ["0", "-1", "many", "1e3", "10001", ""])
def test_a_number_of_people_that_is_none_is_named(monkeypatch, wanted):
    monkeypatch.setenv("XFORMER_MOST_PEOPLE", wanted)
    with pytest.raises(UserError) as refused:
        most_people()
    assert (
        str(refused.value)
        == f"XFORMER_MOST_PEOPLE is {wanted!r}; it must be a whole number from 1 to 10,000."
    )


def test_who_waits_lets_another_compute_and_goes_on_after_it():
    turns = Turns(1)
    told = Queue()
    is_there = threading.Event()

    def wait():
        with turns.taken():
            told.put("waits")
            with turns.given_up():
                is_there.wait(patience())
            told.put("goes on")

    def compute():
        with turns.taken(), turns.taken():  # who has a turn keeps it
            told.put("computes")
            is_there.set()
            told.put("has computed")

    threads = [threading.Thread(target=wait), threading.Thread(target=compute)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
    assert not any(thread.is_alive() for thread in threads)
    said = [told.get_nowait() for _ in range(4)]
    assert said.index("has computed") == said.index("computes") + 1
    assert said.index("waits") < said.index("goes on")


def test_of_many_requests_few_are_computed_at_the_same_time():
    running = []
    most = []
    together = threading.Barrier(COMPUTING)

    def handler(service, language):
        running.append(1)
        together.wait(patience())
        most.append(len(running))
        together.wait(patience())
        running.pop()
        return {}

    ask = Ask.always(None, ENGLISH)
    listener = ask(handler)["fn"]
    with ThreadPoolExecutor(4 * COMPUTING) as pool:
        for _ in pool.map(lambda _: listener(), range(4 * COMPUTING)):
            pass
    assert {*most} == {COMPUTING}
