"""The command line: python -m xformer …"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from xformer.results import UserError

VERBS = ("app", "translate", "explain", "compare", "align", "classify", "evaluate", "checkpoint", "space", "data",
         "train", "study", "serve")


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands and their options; `run` in what it reads is the function to call with it."""
    called = "xformer" if Path(sys.argv[0]).stem == "xformer" else "python -m xformer"  # the installed command, or this
    top = argparse.ArgumentParser(prog=called, description="Transformers to look inside.")
    verbs = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in VERBS:
        command = import_module(f"xformer.commands.{name}")
        about = re.split("[.:]", command.__doc__ or "")[0]
        p = verbs.add_parser(name, help=about[:1].lower() + about[1:])
        p.set_defaults(run=getattr(command, "run", None))
        command.add_arguments(p)
    return top


def main(argv: Sequence[str] | None = None, parsing: Callable[[], argparse.ArgumentParser] = parser) -> int:
    """Run a command; 0 when it did what was asked, 2 with one sentence on standard error when it could not."""
    try:
        args = parsing().parse_args(argv)
        return args.run(args) or 0
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the program that read the output has ended, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"{error.filename or 'A file'} cannot be read or written ({error.strerror or error}); name another, "
              f"or see to it.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
