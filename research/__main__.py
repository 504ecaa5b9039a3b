"""The command line of what made the weights and the tables: python -m research …"""

import argparse
import sys
from collections.abc import Sequence

from research.commands import data, evaluate, study, taught
from xformer.commands.arguments import finished

VERBS = {"data": data, "study": study, "evaluate": evaluate, "taught": taught}


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands and their options; `run` in what it reads is the
    function to call with it."""
    top = argparse.ArgumentParser(
        prog="python -m research", description=__doc__.split(":")[0] + "."
    )
    verbs = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in VERBS.items():
        p = verbs.add_parser(name, help=(command.__doc__ or "").split(";")[0])
        command.add_arguments(p)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit status, as `xformer.commands.arguments.finished` says
    it."""
    return finished(parser, argv)


if __name__ == "__main__":
    sys.exit(main())
