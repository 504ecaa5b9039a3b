"""Fetches that come forward, and those that are given up, from a server that sends what
a test lets it."""

import io
import threading
import time

import pytest
from huggingface_hub import get_session
from huggingface_hub.file_download import http_get

from xformer.hub import transfer

PATIENCE = 60  # seconds; a test that hangs fails


@pytest.fixture
def limits(monkeypatch):
    """A fetch is given up that brings less than 20,000 new bytes in half a second. The
    client, whose first making takes long on a busy machine, is there already."""
    get_session()
    monkeypatch.setattr(transfer, "WINDOW", 0.5)
    monkeypatch.setattr(transfer, "LEAST", 20_000)


@pytest.fixture
def sends(server):
    """`sends(parts)`: work for `watched`, that takes a file of so many bytes, which is
    sent in these parts until the server is told to end, and says how many came."""
    ended = threading.Event()

    def offer(parts, size):
        def fault(handler, path):
            handler.send_response(200)
            handler.send_header("Content-Length", str(size))
            handler.end_headers()
            for part in parts(ended.wait):
                handler.wfile.write(part)
            handler.close_connection = True
            return True

        def work(bar):
            file = io.BytesIO()
            http_get(f"{server.url}/file", file, tqdm_class=bar)
            return len(file.getvalue())

        server.faults.append(fault)
        return work

    yield offer
    ended.set()


def end_of_fetches():
    for thread in [
        thread for thread in threading.enumerate() if thread.name == "fetch"
    ]:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_the_work_returns_or_raises_is_passed_on():
    assert transfer.watched(lambda bar: 7) == 7
    with pytest.raises(ZeroDivisionError):
        transfer.watched(lambda bar: 1 // 0)


def test_a_slow_fetch_that_comes_forward_is_waited_for(sends, limits):
    """Its bar moves often enough, though the client takes 10 MB at a time if it is
    let."""

    def slowly(wait):
        for _ in range(40):
            wait(0.05)
            yield bytes(40_000)

    began = time.perf_counter()
    assert transfer.watched(sends(slowly, 1_600_000)) == 1_600_000
    assert time.perf_counter() - began > 3 * transfer.WINDOW, "it was no slow one"


def test_a_fetch_that_brings_too_little_is_given_up_and_ends_at_its_next_byte(
    sends, limits
):
    def drip(wait):
        while not wait(0.02):
            yield b"a"

    with pytest.raises(transfer.Stalled) as given_up:
        transfer.watched(sends(drip, 100_000_000))
    assert 0 < given_up.value.brought < 20_000
    end_of_fetches()


def test_bytes_that_came_before_are_no_progress(limits):
    """The client moves its bar back where it must begin again."""

    def again_and_again(bar):
        moved = bar(disable=True)
        while not threading.Event().wait(0.01):
            moved.update(50_000)
            moved.update(-50_000)

    with pytest.raises(transfer.Stalled) as given_up:
        transfer.watched(again_and_again)
    assert given_up.value.brought == 0
    end_of_fetches()


def test_another_fetch_at_the_same_time_is_not_counted(limits):
    done = threading.Event()

    def much(bar):
        moved = bar(disable=True)
        while not done.wait(0.01):
            moved.update(50_000)

    other = threading.Thread(target=transfer.watched, args=(much,))
    other.start()
    with pytest.raises(transfer.Stalled):
        transfer.watched(lambda bar: done.wait(PATIENCE))
    done.set()
    other.join(PATIENCE)


def test_a_bar_raises_nothing_in_the_threads_of_others(limits):
    """Of Xet, which would not come back from it."""
    bars = []
    go_on = threading.Event()
    with pytest.raises(transfer.Stalled):
        transfer.watched(
            lambda bar: (
                bars.append(bar(disable=True)),
                go_on.wait(PATIENCE),
                bars[0].update(1),
            )
        )
    bars[0].update(1)
    go_on.set()
    end_of_fetches()
    assert bars[0].place == 1


def test_no_more_fetches_than_may_hang(limits, monkeypatch):
    monkeypatch.setattr(transfer, "_running", threading.BoundedSemaphore(1))
    go_on = threading.Event()
    with pytest.raises(transfer.Stalled):
        transfer.watched(lambda bar: go_on.wait(PATIENCE))
    with pytest.raises(transfer.TooMany):
        transfer.watched(lambda bar: 7)
    go_on.set()
    end_of_fetches()
    assert transfer.watched(lambda bar: 7) == 7
