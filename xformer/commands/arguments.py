"""Define the arguments that several commands share, and read files and options out of
them."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from xformer.hub.shipped import REVERSE, TRANSLATION, Shipped
from xformer.results import ANSWERS_IN, Options, UserError, refusing
from xformer.training.options import BOUNDS, outside

if TYPE_CHECKING:
    from xformer.serve.translation import Service
    from xformer.training.data.corpora import Pair

Record = TypeVar("Record")
TOKEN_VARIABLE = "XFORMER_ENGINE_TOKEN"  # of an engine, and of the pages that ask it


class Within(argparse.Action):
    """Store finite numbers from `least` to `most`, `above` and `below` others; raises
    UserError for any other number.

    For `add_argument(…, type=int or float, action=Within, least=…)`.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        self.limits = {name: more.pop(name) for name in BOUNDS if name in more}
        super().__init__(*args, **more)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        for value in values if isinstance(values, list) else [values]:
            if limits := outside(value, self.limits):
                whole = "a whole number" if self.type is int else "a number"
                raise UserError(
                    f"{option_string} is {value}; it must be {whole}, {limits}."
                )
        setattr(namespace, self.dest, values)


def add_part(
    kinds: Any,
    run: Callable[[argparse.Namespace], int | None],
    help: str,
    description: str = "",
    name: str = "",
    **more: Any,
) -> argparse.ArgumentParser:
    """Add a command below another, named like the function that it runs and described
    by its docstring, unless otherwise said; -> its parser. more: for that."""
    p = kinds.add_parser(
        name or run.__name__, help=help, description=description or run.__doc__, **more
    )
    p.set_defaults(run=run)
    return p


def add_texts(p: argparse.ArgumentParser) -> None:
    """Let a command take a text, in one word or several, or else the lines of standard
    input."""
    p.add_argument(
        "text",
        metavar="TEXT",
        nargs="*",
        help="English text; if not given, lines of standard input; "
        "write “--” before a text that begins with “-”",
    )


def add_model(p: argparse.ArgumentParser, shipped: Shipped = TRANSLATION) -> None:
    """Let a command take another model than the one that ships, and a device for it."""
    p.add_argument("--checkpoint", metavar="NAME", help=shipped.help)
    add_device(p)


def add_device(p: argparse._ActionsContainer) -> None:
    p.add_argument(
        "--device", help="cuda, mps or cpu; if not given, the best one of this machine"
    )


def add_precision(p: argparse._ActionsContainer) -> None:
    p.add_argument(
        "--precision",
        choices=ANSWERS_IN,
        default="auto",
        help="int8: 8-bit weights, faster on a CPU and a little less exact; auto: float16 on CUDA, else "
        "float32 (default auto)",
    )


def add_search(p: argparse.ArgumentParser) -> None:
    """Add the checkpoint, the device, the precision, and how translations are searched
    and printed."""
    add_model(p)
    add_precision(p)
    p.add_argument(
        "--beam",
        type=int,
        action=Within,
        least=1,
        most=32,
        default=Options.beam,
        help="hypotheses kept at each step; 1: greedy (default %(default)s)",
    )
    p.add_argument(
        "--length-penalty",
        type=float,
        action=Within,
        least=0,
        most=5,
        default=Options.length_penalty,
        help="rank by log-probability / length^N (default %(default)g)",
    )
    p.add_argument("--json", action="store_true", help="one JSON object a line")


def add_rerank(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--rerank",
        action="store_true",
        help="let a model of the other direction choose among the hypotheses of the beam: a little better, "
        "but slower",
    )
    p.add_argument(
        "--reverse-checkpoint",
        metavar="NAME",
        help="the model that chooses, if not the one that ships",
    )


def reranked(service: Service, args: argparse.Namespace) -> Any:
    """Return the service, or where --rerank was given one whose hypotheses another
    model ranks. Raises UserError."""
    if not args.rerank:
        return service
    from xformer.serve.rerank import Reranked

    other = REVERSE if service.info.source == "en" else TRANSLATION
    named = args.reverse_checkpoint
    return Reranked(
        service,
        type(service).open(
            TRANSLATION.find(named) if named else other.find(), args.device
        ),
    )


def search_options(
    args: argparse.Namespace,
    n_best: int = 1,
    alternatives: int = 5,
    quality: bool = False,
) -> Options:
    """Return the options of a search that `add_search` read; raises UserError for wrong
    ones."""
    with plainly():
        return Options(
            args.beam,
            n_best,
            args.length_penalty,
            alternatives=alternatives,
            quality=quality,
        )


def read_pairs(path: Path) -> list[Pair]:
    """Read the sentence pairs of a file; raises UserError."""
    from xformer.training.data import corpora

    with plainly(
        f"There is no file {path}; name a .tsv or .tsv.xz of English, a tab, Spanish."
    ):
        return corpora.read_pairs(path)


def add_options(p: argparse.ArgumentParser, kind: type) -> None:
    """Add a flag for each field of a record that `training.options` declares as an
    option. Each stands under the heading of its group, with its default."""
    p.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    groups: dict[str | None, argparse._ActionsContainer] = {None: p}
    for declared in fields(kind):
        if not declared.metadata:
            continue
        said = dict(declared.metadata)
        group = said.pop("group")
        flag = said.pop("flag", f"--{declared.name.replace('_', '-')}")
        if group not in groups:
            groups[group] = p.add_argument_group(group)
        if declared.default is not MISSING:
            said["default"] = (
                list(declared.default)
                if isinstance(declared.default, tuple)
                else declared.default
            )
        match str(declared.type).removesuffix(" | None"):
            case "bool" if declared.default:  # its flag switches it off
                said |= {"action": "store_false", "default": argparse.SUPPRESS}
            case "bool":
                said["action"] = "store_true"
            case "int":
                said |= {"type": int, "action": Within}
            case "float" | "tuple[float, ...]":
                said |= {"type": float, "action": Within}
            case "Path":
                said["type"] = Path
        groups[group].add_argument(flag, dest=declared.name, **said)


def record(kind: type[Record], args: argparse.Namespace) -> Record:
    """Make a record of options: each field is the argument of its name, or keeps its
    default where there is none."""
    given = {
        one.name: getattr(args, one.name)
        for one in fields(kind)  # type: ignore[arg-type]
        if one.name in args
    }
    return kind(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }
    )


def plainly(missing: str = "") -> AbstractContextManager[None]:
    """Turn a ValueError, and with `missing` a FileNotFoundError, into a UserError."""

    def said(error: Exception) -> str:
        return missing if isinstance(error, FileNotFoundError) else f"{error}."

    return refusing(
        (ValueError, FileNotFoundError) if missing else ValueError,
        said,
    )


def add_token(p: argparse.ArgumentParser, flag: str) -> None:
    """Add the flag of the token that an engine asks for."""
    p.add_argument(
        flag,
        dest="token",
        metavar="TOKEN",
        help=f"word that programs and pages must send to the engine; better set {TOKEN_VARIABLE}, which "
        "no list of processes shows",
    )


def token_of(args: argparse.Namespace) -> str:
    """Return the token of the flag or of the environment, "" for none. Raises UserError
    for one that no header takes."""
    token = os.environ.get(TOKEN_VARIABLE, "") if args.token is None else args.token
    if not re.fullmatch(r"[!-~]*", token) or args.token == "":
        raise UserError(
            "The engine's token must be one word of printable ASCII characters, without spaces."
        )
    return token


def finished(
    parsing: Callable[[], argparse.ArgumentParser], argv: Sequence[str] | None = None
) -> int:
    """Run a command; 0 when it did what was asked, 2 with one sentence on standard
    error when it could not."""
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
        print(
            f"{error.filename or 'A file'} cannot be read or written ({error.strerror or error}); name another, "
            f"or see to it.",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        return 130
