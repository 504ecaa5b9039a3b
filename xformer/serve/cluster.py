"""The engine in replicas of Ray Serve, on one host or many: python -m xformer serve
--replicas MIN:MAX."""

import logging
import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

import ray
from ray import serve as ray_serve
from starlette.concurrency import run_in_threadpool

from xformer.serve import engine

# requests in progress in each replica; with more, Ray starts another, up to the maximum
UNDER_WAY = 16
# requests in progress in one replica; further ones wait at the proxy
MOST_UNDER_WAY = 64
MISSED = 3  # failed checks in a row after which Ray replaces a replica
PERIOD = 5.0  # seconds between two checks, at most


@ray_serve.ingress(engine.api)
class Replica:
    """A copy of the engine in a process of its own. Its services batch the requests
    that come at the same time."""

    def __init__(self, setup: engine.Setup, seconds: float) -> None:
        """seconds: the time in which a check must translate a word."""
        self.seconds = seconds
        setup.start()

    async def check_health(self) -> None:
        """Raise if a word is not translated in time; Ray replaces the replica after
        MISSED failures in a row.

        The check waits in a thread, so that the replica takes requests in the meantime.
        """
        await run_in_threadpool(engine.check, self.seconds)


@dataclass(frozen=True)
class Replicas:
    """How many copies there are, and what each of them has."""

    least: int
    most: int
    cpus: float
    gpus: float
    patience: float  # about how many seconds one may hang before it is replaced


def serve(
    setup: engine.Setup, replicas: Replicas, address: str | None, host: str, port: int
) -> None:
    """Serve until interrupted, then let the replicas finish the requests that they have
    begun.

    address: of a cluster of Ray that runs; None to start one.
    """
    timeout = replicas.patience / (MISSED + 1)
    here = str(Path(__file__).resolve().parents[2])
    # a replica that hangs does not stop when asked
    environment = {
        "PYTHONPATH": os.pathsep.join(
            filter(None, (here, os.environ.get("PYTHONPATH")))
        ),
        "RAY_SERVE_FORCE_STOP_UNHEALTHY_REPLICAS": "1",
    }
    ray.init(
        address=address,
        runtime_env={"env_vars": environment},
        include_dashboard=None if address else False,
        logging_level=logging.WARNING,
    )
    ray_serve.start(http_options={"host": host, "port": port})
    deployment = ray_serve.deployment(
        name="engine",
        ray_actor_options={"num_cpus": replicas.cpus, "num_gpus": replicas.gpus},
        max_ongoing_requests=MOST_UNDER_WAY,
        health_check_period_s=min(PERIOD, timeout),
        health_check_timeout_s=timeout,
        graceful_shutdown_timeout_s=30,
        autoscaling_config={
            "min_replicas": replicas.least,
            "initial_replicas": replicas.least,
            "max_replicas": replicas.most,
            "target_ongoing_requests": UNDER_WAY,
        },
    )(Replica)
    ray_serve.run(deployment.bind(setup, timeout), name="xformer")
    print(f"The engine answers at http://{host}:{port}", flush=True)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
    ray_serve.shutdown()
    ray.shutdown()
