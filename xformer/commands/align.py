"""Link the words of texts and of their translations, line by line."""

import argparse
import sys
from pathlib import Path

from xformer.commands.arguments import add_model, plainly
from xformer.explain import alignment, pharaoh
from xformer.hub.shipped import TRANSLATION
from xformer.results import UserError
from xformer.serve.text import one_line


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Print the links of each pair of lines in Pharaoh's form, 0-0 2-1: source word and target word, "
        "counted from 0; an empty line where there is nothing to align. They come from the head that "
        "“evaluate alignment” found to align best: each target word has the word that it looks at most."
    )
    p.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?",
        help="text that the model could read; “-”: standard input",
    )
    p.add_argument(
        "target", metavar="TARGET", nargs="?", help="its translation, as many lines"
    )
    p.add_argument(
        "--pairs",
        metavar="FILE",
        help="source, a tab, target, in place of two files; “-”: standard input",
    )
    for unit, counted in (
        ("tokens", "what stands between spaces"),
        ("pieces", "the pieces of the vocabulary"),
    ):
        p.add_argument(
            f"--{unit}",
            dest="unit",
            action="store_const",
            const=unit,
            default="words",
            help=f"count {counted}; if not given, words, and each mark of punctuation by itself",
        )
    p.add_argument(
        "--reverse-checkpoint",
        metavar="NAME",
        help="model of the other direction: the links of both are "
        "joined by grow-diag-final-and (Koehn et al. 2005)",
    )
    add_model(p)


def run(args: argparse.Namespace) -> None:
    """Print the links; nothing if a line cannot be aligned."""
    from tqdm import tqdm

    from xformer.explain import passes
    from xformer.serve.translation import Service
    from xformer.training.evaluation import evaluate_alignment

    pairs = [[one_line(text)[0] for text in pair] for pair in read(args)]
    names = [args.checkpoint, args.reverse_checkpoint][
        : 1 + bool(args.reverse_checkpoint)
    ]
    services = [Service.open(TRANSLATION.find(name), args.device) for name in names]
    one = services[0].model.config
    two = services[-1].model.config
    if args.reverse_checkpoint and (one.source, one.target) != (two.target, two.source):
        raise UserError(
            f"The model of --reverse-checkpoint translates {two.source} to {two.target}; name one that "
            f"translates {one.target} to {one.source}."
        )
    if (
        args.unit == "pieces"
        and services[0].tokenizer.model != services[-1].tokenizer.model
    ):
        raise UserError(
            "The two models cut texts into different pieces; leave out --pieces or --reverse-checkpoint."
        )
    # nobody has measured its heads yet
    for service in (one for one in services if "alignment" not in one.metrics):
        gold = alignment.read_gold(
            alignment.GOLD.get(service.info.source, alignment.GOLD["en"])
        )
        with plainly():
            service.metrics["alignment"] = evaluate_alignment(service, gold).to_json()
    found, *others = (
        passes.align(
            service.model,
            service.tokenizer,
            [pair[::turned] for pair in pairs],
            service.best_head,
            alignment.reading(service.alignment_errors(service.best_head)) == "given",
            args.unit,
        )
        for service, turned in zip(services, (1, -1), strict=False)
    )
    for back in others:
        found = (
            pharaoh.joined(links, {link[::-1] for link in more})
            for links, more in zip(found, back, strict=True)
        )
    for links in tqdm(
        found, total=len(pairs), unit="pair", dynamic_ncols=True, leave=False
    ):
        print(
            " ".join(f"{i}-{j}" for i, j in sorted(links, key=lambda link: link[::-1]))
        )


def read(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Read the pairs. Raises UserError if files are not named, or do not fit
    together."""
    if (
        (args.target is None) == (args.pairs is None)
        or args.pairs
        and args.source
        or args.source == args.target == "-"
    ):
        raise UserError(
            "Name two files, SOURCE and TARGET, or one file with --pairs; one may be “-”, standard input."
        )
    if args.pairs is not None:
        rows = [line.split("\t") for line in read_lines(args.pairs)]
        for number, row in enumerate(rows, 1):
            if len(row) == 1 and row[0].strip():
                raise UserError(
                    f"Line {number} is no pair: {row[0][:60]!r}; write source, a tab, target."
                )
        return [(row[0], row[1]) if len(row) > 1 else ("", "") for row in rows]
    source = read_lines(args.source)
    target = read_lines(args.target)
    if len(source) != len(target):
        raise UserError(
            f"{args.source} has {len(source):,} lines and {args.target} has {len(target):,}; a text and "
            f"its translation must have as many."
        )
    return list(zip(source, target, strict=True))


def read_lines(name: str) -> list[str]:
    """Read the lines of a file, or of standard input for “-”. Raises UserError if there
    are none."""
    from xformer.training.data import corpora

    with plainly(
        f"There is no file {name}; name a text file, or “-” for standard input."
    ):
        lines = (
            corpora.read_lines(Path(name))
            if name != "-"
            else sys.stdin.buffer.read().decode("utf-8-sig").split("\n")
        )
    if not any(line.strip() for line in lines):
        raise UserError(f"{name} holds no text; there is nothing to align.")
    return lines if lines[-1] else lines[:-1]
