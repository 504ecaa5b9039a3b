"""The app in a process of its own, for every test that needs a server: `python app.py`,
or a program of programs.py.

How it is steered: `wait_for` what it prints, and `say` a word to a program, which
answers with a line. What tells nobody that it has happened is asked again and again by
`wait_until`, the one place where tests may sleep.
"""

import atexit
import contextlib
import json
import os
import queue
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
READY = "Running on local URL"  # what Gradio says when the page can be visited
PATIENCE = 120  # seconds to wait at least for a line that the app is to print
# seconds that an app may take to start: 20 of a processor, which others may keep busy
LONGEST_START = 600
starts = [0.0]  # seconds that the apps of this process took to start


def modules(folder):
    """The modules of a folder of the project, in order, but for tests."""
    return [
        path
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.name.startswith("test_")
    ]


def beside_parts():
    """The modules of tests that stand beside the part that they test, in order."""
    return sorted(ROOT.glob("xformer/parts/*/test_*.py"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def patience(least=PATIENCE, times=8):
    """Seconds to wait for what should happen: so many times what the slowest app took
    to start, which tells how busy the machine is; `least` on an idle one, and never
    more than a start may take."""
    return round(min(max(least, times * max(starts)), LONGEST_START))


def wait_until(done, seconds=None, pause=time.sleep):
    """The first true answer of `done`, asked twenty times a second; AssertionError
    where it does not come in time."""
    seconds = patience() if seconds is None else seconds
    until = time.monotonic() + seconds
    while not (answer := done()):
        assert time.monotonic() < until, f"it has not happened in {seconds} s"
        pause(0.05)
    return answer


class Forked:
    """An app of tests/forks.py, used as a `subprocess.Popen` is. program: whether the
    arguments are of programs.py."""

    server = None  # from which all apps of these tests are forked

    def __init__(self, arguments, program, folder, environment):
        if Forked.server is None:
            # Hugging Face's library looks at its folder as it is loaded
            kept = tempfile.mkdtemp(prefix="forks")
            atexit.register(shutil.rmtree, kept, ignore_errors=True)
            Forked.server = subprocess.Popen(
                [sys.executable, "-m", "tests.forks"],
                cwd=ROOT,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "HF_HOME": kept},
            )
            atexit.register(Forked.end)
        its_input, own_input = os.pipe()
        own_output, its_output = os.pipe()
        asked = {
            "arguments": arguments,
            "program": program,
            "folder": str(folder),
            "environment": environment,
            "input": f"/proc/{os.getpid()}/fd/{its_input}",
            "output": f"/proc/{os.getpid()}/fd/{its_output}",
        }
        Forked.server.stdin.write(json.dumps(asked) + "\n")
        Forked.server.stdin.flush()
        self.pid = int(Forked.server.stdout.readline())
        self.handle = os.pidfd_open(self.pid)
        for pipe in (its_input, its_output):
            os.close(pipe)
        self.stdin = os.fdopen(own_input, "w")
        self.stdout = os.fdopen(own_output)

    def terminate(self):
        if self.handle is None:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGTERM)

    def wait(self):
        """Wait until it has ended."""
        if self.handle is not None:
            select.select([self.handle], [], [])
            os.close(self.handle)
            self.handle = None

    @staticmethod
    def end():
        Forked.server.stdin.close()
        Forked.server.wait()
        Forked.server.stdout.close()


class App:
    """A started app, once it has said that it is `ready`; use it in a `with`, or
    `close` it.

    `flags` are those of app.py, or the arguments of `program`, a function of
    tests/programs.py, or those of another `command`. It works in the folder `work`, and
    keeps files of uploads, of the Hub and of others in `temporary`, both inside
    `folder`.
    """

    def __init__(
        self, folder, *flags, program=None, command=None, ready=READY, **environment
    ):
        self.folder = Path(folder)
        port = free_port()
        began = time.monotonic()
        self.address = f"http://127.0.0.1:{port}"
        work = self.folder / "work"
        temporary = self.folder / "temporary"
        work.mkdir(parents=True)
        temporary.mkdir()
        environment = {
            **os.environ,
            "GRADIO_SERVER_PORT": str(port),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(temporary),
            "GRADIO_TEMP_DIR": str(temporary / "gradio"),
            "HF_HOME": str(temporary / "hub"),
            **environment,
        }
        arguments = [*([program] if program else []), *map(str, flags)]
        if command is None and sys.platform == "linux":
            self.process = Forked(arguments, bool(program), work, environment)
        else:
            own = [
                sys.executable,
                *(["-m", "tests.programs"] if program else [str(ROOT / "app.py")]),
            ]
            self.process = subprocess.Popen(
                [*(command or own), *arguments],
                cwd=work,
                text=True,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        self.said = []  # all lines so far
        # those that nobody has waited for yet; None when it has ended
        self._unread = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            said = self.wait_for(ready, LONGEST_START)
            starts.append(time.monotonic() - began)
            assert ready != READY or str(port) in said, (
                "GRADIO_SERVER_PORT is not honoured"
            )
        except AssertionError:
            self.close()
            raise

    def _listen(self):
        for line in self.process.stdout:
            self.said.append(line)
            self._unread.put(line)
        self._unread.put(None)

    def wait_for(self, beginning, seconds=None):
        """The next line that begins so; AssertionError where the app ends without it,
        or says nothing for long."""
        seconds = patience() if seconds is None else seconds
        while True:
            try:
                line = self._unread.get(timeout=seconds)
            except queue.Empty:
                raise AssertionError(
                    f"the app did not say {beginning!r} in {seconds} s:\n{self.log}"
                ) from None
            if line is None:
                self._unread.put(None)  # for whoever waits next
                raise AssertionError(
                    f"the app ended and never said {beginning!r}:\n{self.log}"
                )
            if line.lstrip("* ").startswith(beginning):
                return line.strip()

    def say(self, word):
        """Tell a program a word; -> what it answers."""
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return self.wait_for("answer:").removeprefix("answer:").strip()

    @property
    def log(self):
        """Everything it has printed."""
        return "".join(self.said)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self._listener.join()
        self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextlib.contextmanager
def proxied(folder, copies, **changes):
    """HAProxy as hosting/haproxy.cfg has it, before copies of the page on these ports,
    by their names; yields its own port, once it answers.

    changes: parts of the configuration, and what stands in their place.
    """
    servers = "\n".join(
        f"    server {name} 127.0.0.1:{port} cookie {name}"
        for name, port in copies.items()
    )
    text = (ROOT / "hosting" / "haproxy.cfg").read_text(encoding="utf-8")
    text = re.sub(r"^ *server-template .*$", servers, text, flags=re.MULTILINE)
    for old, new in changes.values():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = Path(folder) / "haproxy.cfg"
    path.write_text(text, encoding="utf-8")
    port = free_port()
    process = subprocess.Popen(
        [PROXY, "-db", "-q", "-f", str(path)],
        stdout=subprocess.DEVNULL,
        env={
            **os.environ,
            "XFORMER_BIND": f"127.0.0.1:{port}",
            "XFORMER_ERRORS": str(ROOT / "hosting"),
        },
    )
    with process:
        try:
            wait_until(lambda: asked(port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
            yield port
        finally:
            process.terminate()


def asked(port, sent):
    """What comes back of a connection that sends this; nothing where it is refused."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(sent)
            return connection.recv(4096)
    except ConnectionError:
        return b""


class Copies:
    """Two copies of the page and their proxy; use it in a `with`."""

    def __init__(self, folder, *flags):
        with contextlib.ExitStack() as opened:
            self.apps = {
                name: opened.enter_context(
                    App(Path(folder) / name, "--no-any-model", *flags)
                )
                for name in ("copy1", "copy2")
            }
            ports = {
                name: app.address.rsplit(":", 1)[1] for name, app in self.apps.items()
            }
            port = opened.enter_context(proxied(folder, ports))
            self.address = f"http://127.0.0.1:{port}"
            self._opened = opened.pop_all()

    def kill(self, name):
        os.kill(self.apps[name].process.pid, signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._opened.close()
