"""Serve the page by several copies on this machine, behind HAProxy: python
hosting/copies.py 4 --port 7860 -- FLAGS

FLAGS are those of app.py. A copy that ends is started again; its visitors go on with
another. Needs HAProxy 2.4 or later (`apt-get install haproxy`).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
READY = "Running on local URL"  # what Gradio says when the page can be visited


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Copy:
    """A process of the page on a port of its own. What it prints is passed on, with its
    name before each line."""

    def __init__(self, name: str, port: int, flags: list[str], threads: int) -> None:
        self.name = name
        self.port = port
        self.ready = threading.Event()
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-u",
                str(HERE.parent / "app.py"),
                "--server-name",
                "127.0.0.1",
                "--server-port",
                str(port),
                "--no-any-model",
                *flags,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"OMP_NUM_THREADS": str(threads), **os.environ},
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if READY in line:
                self.ready.set()
            else:
                print(f"{self.name}: {line}", end="", flush=True)
        self.ready.set()  # it has ended


def configuration(ports: dict[str, int]) -> str:
    """Return haproxy.cfg with local copies, by their names and ports, in place of those
    that compose.yaml starts."""
    servers = "\n".join(
        f"    server {name} 127.0.0.1:{port} cookie {name}"
        for name, port in ports.items()
    )
    text = (HERE / "haproxy.cfg").read_text(encoding="utf-8")
    return re.sub(r"^ *server-template .*$", servers, text, flags=re.MULTILINE)


def serve(count: int, port: int, flags: list[str]) -> int:
    """Serve until interrupted; returns 2, with one sentence on standard error, where
    that cannot be."""
    proxy = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if proxy is None:
        print(
            "HAProxy is missing; install it with “apt-get install haproxy”.",
            file=sys.stderr,
        )
        return 2
    threads = max(1, (os.cpu_count() or 1) // count)
    names = [f"copy{number}" for number in range(1, count + 1)]
    copies = {name: Copy(name, free_port(), flags, threads) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "haproxy.cfg"
        path.write_text(
            configuration({name: copy.port for name, copy in copies.items()}),
            encoding="utf-8",
        )
        balancer = None
        again = set[str]()
        try:
            for copy in copies.values():
                copy.ready.wait()
                if copy.process.poll() is not None:
                    print(
                        "The copies cannot be served: one has ended, and says why above.",
                        file=sys.stderr,
                    )
                    return 2
                print(
                    f"{copy.name} is process {copy.process.pid} on port {copy.port}",
                    flush=True,
                )
            balancer = subprocess.Popen(
                [proxy, "-db", "-q", "-f", str(path)],
                env={
                    **os.environ,
                    "XFORMER_BIND": f"127.0.0.1:{port}",
                    "XFORMER_ERRORS": str(HERE),
                },
            )
            while not _listens(port):
                if balancer.poll() is not None:
                    print(
                        f"HAProxy cannot serve on port {port}; it says why above.",
                        file=sys.stderr,
                    )
                    return 2
                time.sleep(0.05)
            print(f"{READY}:  http://127.0.0.1:{port}", flush=True)
            while balancer.poll() is None:
                time.sleep(0.2)
                for name, copy in copies.items():
                    if (
                        name in again
                        and copy.ready.is_set()
                        and copy.process.poll() is None
                    ):
                        again.remove(name)
                        print(f"{name} serves again", flush=True)
                    if copy.process.poll() is not None:
                        copies[name] = Copy(name, copy.port, flags, threads)
                        again.add(name)
                        print(
                            f"{name} ended and is started again: process {copies[name].process.pid}",
                            flush=True,
                        )
            return 2
        except KeyboardInterrupt:
            return 0
        finally:
            processes: list[subprocess.Popen[Any]] = [
                copy.process for copy in copies.values()
            ]
            for process in processes:
                process.terminate()
            if balancer:
                balancer.send_signal(signal.SIGUSR1)  # it passes on the last answers
                processes.append(balancer)
            for process in processes:
                try:
                    process.wait(timeout=15)
                except subprocess.TimeoutExpired:
                    process.kill()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument(
        "copies",
        type=int,
        choices=range(1, 65),
        metavar="N",
        help="how many copies, 1 to 64",
    )
    p.add_argument(
        "--port",
        type=int,
        default=os.environ.get("GRADIO_SERVER_PORT", "7860"),
        help="where the proxy listens (default: GRADIO_SERVER_PORT, else 7860)",
    )
    given = sys.argv[1:]
    # what follows is for app.py
    end = given.index("--") if "--" in given else len(given)
    args = p.parse_args(given[:end])
    signal.signal(signal.SIGTERM, _interrupt)
    return serve(args.copies, args.port, given[end + 1 :])


if __name__ == "__main__":
    sys.exit(main())
