"""Serve the engine over HTTP, without the page: in this process, or in replicas of Ray
Serve on any number of hosts."""

import argparse
import re
from contextlib import suppress
from importlib.util import find_spec

from xformer.commands.arguments import (
    Within,
    add_device,
    add_precision,
    add_token,
    token_of,
)
from xformer.hub.shipped import SENTIMENT, TRANSLATION
from xformer.results import UserError


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Serve translations, explanations and classifications over HTTP, for programs (see /docs there) "
        "and for pages started with --engine."
    )
    p.add_argument("--checkpoint", metavar="NAME", help=TRANSLATION.help)
    p.add_argument("--sentiment", metavar="NAME", help=SENTIMENT.help)
    p.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: %(default)s)",
    )
    p.add_argument(
        "--port",
        type=int,
        action=Within,
        least=1,
        most=65_535,
        default=8000,
        help="default: %(default)s",
    )
    p.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="serve under this name too, or under *.example.org; may be repeated",
    )
    add_token(p, "--token")
    p.add_argument(
        "--replicas",
        metavar="MIN:MAX",
        help="run MIN copies by Ray Serve, and up to MAX while many requests come; needs the extra "
        "“cluster”; if not given, one copy runs in this process",
    )
    p.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="address of a running Ray cluster; if not given, one is started",
    )
    p.add_argument(
        "--gpus",
        type=float,
        action=Within,
        least=0,
        most=64,
        default=0.0,
        help="GPUs of each replica; 0.5: two replicas share one",
    )
    p.add_argument(
        "--cpus",
        type=float,
        action=Within,
        above=0,
        most=1024,
        default=1.0,
        help="CPU cores of each replica",
    )
    p.add_argument(
        "--patience",
        type=float,
        action=Within,
        least=4,
        most=3600,
        default=45.0,
        metavar="SECONDS",
        help="replace a replica that translates no word for about this long (default: %(default)g)",
    )
    add_device(p)
    add_precision(p)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from xformer.serve.hosts import allowed_name

    least, most = replicas(args.replicas)
    token = token_of(args)
    hosts = [allowed_name(name) for name in args.allow_host]
    checkpoint = TRANSLATION.find(args.checkpoint)
    sentiment = (
        str(SENTIMENT.find(args.sentiment)) if SENTIMENT.there(args.sentiment) else None
    )
    if most and find_spec("ray") is None:
        raise UserError(
            "Replicas need one package more: install it with pip install 'ray[serve]>=2.60,<3', or "
            "leave out --replicas to serve from this process."
        )
    if not most:
        from xformer.serve.memory import few_arenas

        few_arenas()
    from xformer.serve import engine

    setup = engine.Setup(
        str(checkpoint), sentiment, args.device, args.precision, token, hosts
    )
    if most:
        from xformer.serve import cluster

        copies = cluster.Replicas(least, most, args.cpus, args.gpus, args.patience)
        cluster.serve(setup, copies, args.address, args.host, args.port)
        return 0
    import uvicorn

    from xformer.serve.connections import GRACE, Patient, Server

    setup.start()
    with suppress(KeyboardInterrupt):
        Server(
            uvicorn.Config(
                engine.api,
                host=args.host,
                port=args.port,
                http=Patient,
                log_level="info",
                access_log=False,
                timeout_graceful_shutdown=GRACE,
            )
        ).run()
    return 0


def replicas(text: str | None) -> tuple[int, int]:
    """Read MIN:MAX, or one number for both; 0, 0 where nothing is given. Raises
    UserError."""
    if not text:
        return 0, 0
    found = re.fullmatch(r"([0-9]{1,4})(?::([0-9]{1,4}))?", text)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= least <= most:
        raise UserError(
            f"--replicas is {text!r}; write a number from 1, or two as 2:8, the smaller first."
        )
    return least, most
