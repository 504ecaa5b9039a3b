"""The command line in a process of its own, as the client of a Hub reads its
environment when it is imported.

Processes are forked from one that has imported torch, and nothing of the client; that
spares seconds for each.
"""

import multiprocessing
import os
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["torch", "sacrebleu", "xformer.hub.checkpoint", "xformer.__main__"]
)


@dataclass
class Run:
    """How a command ended."""

    status: int
    out: str
    err: str
    seconds: float

    @property
    def said(self):
        """What it said on standard error, one sentence, without the bars of its
        progress."""
        lines = [line.rsplit("\r", 1)[-1] for line in self.err.splitlines()]
        (line,) = [line for line in lines if line.strip()]
        assert line.endswith(".") and "Traceback" not in line
        return line


def _run(work, argv, environment, folder):
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ.update(environment)
    import torch

    torch.set_num_threads(1)
    if work is None:
        from xformer.__main__ import main

        sys.exit(main(argv))
    sys.exit(work(*argv))


def watched(*argv):
    """The command line, on what says that it is a terminal."""
    sys.stderr.isatty = lambda: True
    from xformer.__main__ import main

    return main(argv)


def store(file, folder):
    """Put a file into a folder as Xet's servers would keep it, and say its name there;
    a process of its own, since only one at a time can open the folder."""
    import hf_xet

    with hf_xet.XetSession().new_upload_commit(endpoint=folder) as commit:
        stored = commit.start_upload_file(file)
    print(stored.result().xet_info.hash)


def storing(*argv):
    """The command line, which takes files from Xet; it says how many bytes that
    brought."""
    from huggingface_hub import file_download

    brought = []
    take = file_download.xet_get

    def taken(*args, tqdm_class, **more):
        class Noted(tqdm_class):
            def update(self, n=1):
                super().update(n)
                brought.append(self.place)

        take(*args, tqdm_class=Noted, **more)

    file_download.xet_get = taken
    from xformer.__main__ import main

    status = main(argv)
    print(max(brought, default=0))
    return status


def impatient(*argv):
    """The command line, which gives a fetch up that brings less than 20 kB in a
    second."""
    from xformer.hub import transfer

    transfer.WINDOW = 1.0
    transfer.LEAST = 20_000
    from xformer.__main__ import main

    return main(argv)


def as_people_know_it(name, folder, english, spanish):
    import xformer
    from xformer.serve.translation import Service

    with closing(
        Service.from_pretrained(name, revision="main", device="cpu")
    ) as service:
        assert service.translate(english).best.text == spanish
        service.save_pretrained(folder)
        print(service.push_to_hub("me/again", private=True, commit_message="Again"))
    with (
        closing(xformer.load(name)) as service,
        closing(Service.from_pretrained(folder)) as same,
    ):
        assert service.info.identity == same.info.identity


def with_a_token(name, folder, token):
    from xformer.serve.translation import Service

    Service.from_pretrained(name, token=token, cache_dir=folder).close()


@dataclass
class Client:
    """Runs commands, or functions of a module, with a home and a Hub of their own."""

    home: Path
    hub: str
    token: str = ""

    def environment(self, **more):
        return {
            "HF_HOME": str(self.home),
            "HF_ENDPOINT": self.hub,
            "HF_TOKEN": self.token,
            "HF_HUB_OFFLINE": "",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            **more,
        }

    def __call__(self, *argv, work=None, **environment):
        self.home.mkdir(exist_ok=True, parents=True)
        began = time.monotonic()
        process = FORKS.Process(
            target=_run,
            args=(
                work,
                [str(a) for a in argv],
                self.environment(**environment),
                self.home,
            ),
        )
        process.start()
        process.join()
        return Run(
            process.exitcode,
            (self.home / "out").read_text(),
            (self.home / "err").read_text(),
            time.monotonic() - began,
        )
