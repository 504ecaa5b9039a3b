"""The command line: python -m xformer …"""

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from xformer.commands.arguments import finished

VERBS = (
    "app",
    "translate",
    "explain",
    "compare",
    "align",
    "classify",
    "evaluate",
    "lessons",
    "checkpoint",
    "space",
    "train",
    "serve",
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands and their options; `run` in what it reads is the
    function to call with it."""
    # the installed command, or this
    called = "xformer" if Path(sys.argv[0]).stem == "xformer" else "python -m xformer"
    top = argparse.ArgumentParser(
        prog=called, description="Transformers to look inside."
    )
    verbs = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in VERBS:
        command = import_module(f"xformer.commands.{name}")
        about = re.split("[.:]", command.__doc__ or "")[0]
        p = verbs.add_parser(name, help=about[:1].lower() + about[1:])
        p.set_defaults(run=getattr(command, "run", None))
        command.add_arguments(p)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit status, as `commands.arguments.finished` says it."""
    return finished(parser, argv)


if __name__ == "__main__":
    sys.exit(main())
