"""The engine in two replicas of Ray Serve: equal to a service here, and nothing is lost
where a replica is killed or hangs.

Each process measures by which product of matrices its steps of a search are quickest,
so that log-probabilities of two may differ in the last bits; maps and labels do not.
"""

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.harness import App, free_port, wait_until
from xformer.results import STACKS, Options
from xformer.serve.remote import Engine, RemoteReviews, RemoteTranslation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("ray") is None or sys.platform != "linux",
        reason="Ray is not installed: pip install 'ray[serve]'",
    ),
]
USERS = 50
HANGING = 12  # seconds after which a replica that hangs is replaced


class Cluster(App):
    """A cluster of Ray on this machine with two replicas of the engine."""

    def __init__(self, folder, checkpoint, sentiment):
        port = free_port()
        self.mark = f"XFORMER_TEST={folder}"
        super().__init__(
            folder,
            "serve",
            "--replicas",
            "2",
            "--cpus",
            "0.5",
            "--patience",
            HANGING,
            "--port",
            port,
            "--device",
            "cpu",
            "--checkpoint",
            checkpoint,
            "--sentiment",
            sentiment,
            ready="The engine answers",
            command=[sys.executable, "-m", "xformer"],
            TMPDIR="/tmp",
            XFORMER_TEST=str(folder),
            RAY_USAGE_STATS_ENABLED="0",
            OMP_NUM_THREADS="1",
        )
        self.address = f"http://127.0.0.1:{port}"

    def replicas(self):
        """The processes of the replicas that run."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                mine = self.mark.encode() in (path / "environ").read_bytes().split(
                    b"\0"
                )
                if mine and b"ServeReplica" in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
            except OSError:  # it has ended, or is another user's
                continue
        return found


@pytest.fixture(scope="module")
def cluster(tiny_checkpoint, tiny_classifier, tmp_path_factory):
    with Cluster(
        tmp_path_factory.mktemp("cluster"), tiny_checkpoint, tiny_classifier
    ) as started:
        yield started


def test_two_replicas_answer_as_a_service_here(
    cluster, running, reader, learned_pairs, reviews
):
    assert len(cluster.replicas()) == 2
    far = Engine(cluster.address)
    service = RemoteTranslation(far)
    for english, spanish in [*learned_pairs, *learned_pairs]:  # so that both are asked
        mine, theirs = (
            one.translate(english, Options(beam=3)) for one in (running, service)
        )
        assert theirs.best.text == spanish and mine.best.tokens == theirs.best.tokens
        assert mine.best.log_probs == pytest.approx(theirs.best.log_probs, abs=1e-5)
        for stack in STACKS:
            here, there = (
                getattr(one.trace(english, spanish), stack)
                for one in (running, service)
            )
            np.testing.assert_array_equal(here, there)
    (mine,), (theirs,) = (
        one.classify([reviews[0][1]]) for one in (reader, RemoteReviews(far))
    )
    assert (mine.label, mine.probability) == (theirs.label, theirs.probability)
    far.close()


def test_a_replica_that_is_killed_loses_no_request(cluster, learned_pairs):
    service = RemoteTranslation(Engine(cluster.address))
    begun = threading.Barrier(USERS + 1)
    ended = threading.Event()
    english, spanish = learned_pairs[0]
    service.guard.seconds = 120

    def use():
        begun.wait()
        right = 0
        while not ended.is_set() or not right:
            right += service.translate(english).best.text == spanish
        return right

    with ThreadPoolExecutor(USERS) as pool:
        running = [pool.submit(use) for _ in range(USERS)]
        begun.wait()
        before = cluster.replicas()
        try:
            for one in running[:5]:
                assert not one.done()
            os.kill(before[0], signal.SIGKILL)
            # answers of the other one, while the first is started again
            for _ in range(40):
                assert service.translate(english).best.text == spanish
        finally:
            ended.set()
        answers = [one.result() for one in running]  # raises where one was lost
    assert min(answers) >= 1
    assert before[0] not in cluster.replicas()
    service.close()


def replaced(replicas, lost):
    """The replicas, where there are two again and the lost one is none of them."""
    return replicas if len(replicas) >= 2 and lost not in replicas else None


def test_a_replica_that_hangs_is_replaced_and_requests_are_answered(
    cluster, learned_pairs
):
    english, spanish = learned_pairs[0]
    before = cluster.replicas()
    ended = threading.Event()
    assert len(before) == 2
    with (
        closing(RemoteTranslation(Engine(cluster.address))) as service,
        ThreadPoolExecutor(8) as pool,
    ):

        def use():
            while not ended.is_set():
                assert service.translate(english).best.text == spanish
            return service.translate(english).best.text

        service.guard.seconds = 120
        running = [pool.submit(use) for _ in range(8)]
        os.kill(before[0], signal.SIGSTOP)
        try:
            now = wait_until(lambda: replaced(cluster.replicas(), before[0]))
        finally:
            ended.set()
        # raises where a request was lost
        assert [one.result() for one in running] == [spanish] * 8
    assert before[1] in now
