"""Fetches that come forward, and those that are given up, from a server that sends what a test lets it."""

import threading
import time
from contextlib import suppress
from importlib import import_module

import huggingface_hub
import pytest
from huggingface_hub import close_session, get_session, set_client_factory
from huggingface_hub.utils import httpx
from packaging.requirements import Requirement

from tests.harness import ROOT
from xformer.hub import transfer

PATIENCE = 60  # seconds; a test that hangs fails


@pytest.fixture
def limits(monkeypatch):
    """A fetch is given up that brings less than 1,000 new bytes in half a second. The client, whose first making takes
    long on a busy machine, is there already."""
    get_session()
    monkeypatch.setattr(transfer, "WINDOW", 0.5)
    monkeypatch.setattr(transfer, "LEAST", 1_000)


@pytest.fixture
def sends(server):
    """`sends(parts)`: the address of a file that is sent in these parts, until the server is told to end."""
    ended = threading.Event()

    def offer(parts):
        def fault(handler, path):
            handler.send_response(200)
            handler.send_header("Content-Length", "100000000")
            handler.end_headers()
            for part in parts(ended.wait):
                handler.wfile.write(part)
            handler.close_connection = True
            return True
        server.faults.append(fault)
        return f"{server.url}/file"
    yield offer
    ended.set()


def read(url, count=1 << 40):
    """Read so many bytes of a file with the client's session."""
    taken = 0
    with get_session().stream("GET", url) as answer:
        for part in answer.iter_bytes():
            taken += len(part)
            if taken >= count:
                break
    return taken


def test_every_session_of_the_client_is_patient_only_so_long():
    assert get_session().timeout.read == transfer.PATIENCE
    close_session()
    assert get_session().timeout.read == transfer.PATIENCE


def test_the_private_part_of_the_client_is_there():
    """The only one: it makes the sessions that the client would make by itself, and has no public name."""
    private = import_module("huggingface_hub.utils._http")
    assert isinstance(getattr(private, "default_client_factory", lambda: None)(), httpx.Client), (
        f"huggingface-hub {huggingface_hub.__version__} has no default_client_factory in utils/_http.py. Let "
        f"xformer/hub/transfer.py make its client by what get_session() calls there now, or hold the version in "
        f"requirements.txt below this one.")
    wanted = next(Requirement(line.partition("#")[0]) for line in (ROOT / "requirements.txt").read_text().splitlines()
                  if line.startswith("huggingface-hub"))
    assert huggingface_hub.__version__ in wanted.specifier


def test_a_program_that_makes_its_own_sessions_has_its_own_patience(limits):
    """What they bring is not counted, so that nothing is given up for it."""
    set_client_factory(httpx.Client)
    try:
        assert transfer.watched(lambda: threading.Event().wait(3 * transfer.WINDOW) or 7) == 7
    finally:
        set_client_factory(transfer._client)


def fetches():
    return [thread for thread in threading.enumerate() if thread.name == "fetch"]


def test_what_the_work_returns_or_raises_is_passed_on():
    assert transfer.watched(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        transfer.watched(lambda: 1 // 0)


def test_a_slow_fetch_that_comes_forward_is_waited_for(sends, limits):
    def slowly(wait):
        while not wait(0.05):
            yield bytes(2_000)
    began = time.perf_counter()
    assert transfer.watched(lambda: read(sends(slowly), 80_000)) >= 80_000
    assert time.perf_counter() - began > 3 * transfer.WINDOW, "it was no slow one"


def test_a_fetch_that_brings_too_little_is_given_up_and_ends_at_its_next_byte(sends, limits):
    def drip(wait):
        while not wait(0.02):
            yield b"a"
    with pytest.raises(transfer.Stalled) as given_up:
        transfer.watched(lambda: read(sends(drip)))
    assert 0 < given_up.value.brought < 1_000
    for thread in fetches():
        thread.join(PATIENCE)
    assert not fetches()


def test_bytes_that_came_before_are_no_progress(sends, limits):
    def half(wait):
        yield bytes(50_000)

    def again_and_again():
        while True:
            with suppress(OSError):
                read(url, 50_000)
    url = sends(half)
    with pytest.raises(transfer.Stalled) as given_up:
        transfer.watched(again_and_again)
    assert given_up.value.brought == 0


def test_another_thread_of_the_same_session_is_not_counted(sends, limits):
    def much(wait):
        while not wait(0.01):
            yield bytes(10_000)
    url, done = sends(much), threading.Event()
    other = threading.Thread(target=lambda: (read(url, 2_000_000), done.set()))
    other.start()
    with pytest.raises(transfer.Stalled):
        transfer.watched(lambda: done.wait(PATIENCE))
    other.join(PATIENCE)


def test_no_more_fetches_than_may_hang(limits, monkeypatch):
    monkeypatch.setattr(transfer, "_running", threading.BoundedSemaphore(1))
    go_on = threading.Event()
    with pytest.raises(transfer.Stalled):
        transfer.watched(lambda: go_on.wait(PATIENCE))
    with pytest.raises(transfer.TooMany):
        transfer.watched(lambda: 7)
    go_on.set()
    for thread in fetches():
        thread.join(PATIENCE)
    assert transfer.watched(lambda: 7) == 7
