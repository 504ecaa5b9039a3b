"""The engine in replicas of Ray Serve, on one host or many: python -m xformer serve --replicas MIN:MAX."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import ray
from ray import serve as ray_serve

from xformer.serve import engine

UNDER_WAY = 16  # requests of a replica beyond which another is started, as far as there may be more
MOST_UNDER_WAY = 64  # of a replica; more wait at the proxy


@ray_serve.ingress(engine.api)
class Replica:
    """A copy of the engine in a process of its own. Its services batch the requests that come at the same time."""

    def __init__(self, checkpoint: str, sentiment: str | None, device: str | None, precision: str) -> None:
        from xformer.serve.reviews import SentimentService
        from xformer.serve.translation import Service
        engine.use(Service.open(checkpoint, device, precision),
                   SentimentService.open(sentiment, device) if sentiment else None)

    def check_health(self) -> None:
        """Raise where a word is not translated in time; the replica is then replaced."""
        engine.check()


def serve(checkpoint: str, sentiment: str | None, device: str | None, precision: str, least: int, most: int,
          cpus: float, gpus: float, address: str | None, host: str, port: int) -> None:
    """Serve until interrupted, then let the replicas answer what they have begun."""
    here = str(Path(__file__).resolve().parents[2])
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))}
    ray.init(address=address, runtime_env={"env_vars": environment}, include_dashboard=None if address else False,
             logging_level="warning")
    ray_serve.start(http_options={"host": host, "port": port})
    deployment = ray_serve.deployment(Replica).options(
        name="engine", ray_actor_options={"num_cpus": cpus, "num_gpus": gpus}, max_ongoing_requests=MOST_UNDER_WAY,
        health_check_period_s=5, health_check_timeout_s=30, graceful_shutdown_timeout_s=30,
        autoscaling_config={"min_replicas": least, "initial_replicas": least, "max_replicas": most,
                            "target_ongoing_requests": UNDER_WAY})
    ray_serve.run(deployment.bind(checkpoint, sentiment, device, precision), name="xformer")
    print(f"The engine answers at http://{host}:{port}", flush=True)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
    ray_serve.shutdown()
    ray.shutdown()
