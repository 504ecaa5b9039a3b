"""Translate a text, or each line of standard input."""

import argparse

from xformer.commands.arguments import (
    Within,
    add_rerank,
    add_search,
    add_texts,
    reranked,
    search_options,
)
from xformer.commands.lines import answer
from xformer.hub.shipped import TRANSLATION
from xformer.results import BeamTree, GrowTree, Translation


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = "Translate TEXT, or each line of standard input; one result a line."
    add_texts(p)
    add_search(p)
    add_rerank(p)
    p.add_argument(
        "--tree",
        action="store_true",
        help="print what the beam kept, ended and dropped at each step, with log-probability and score",
    )
    p.add_argument(
        "--n-best",
        type=int,
        action=Within,
        least=1,
        most=32,
        default=1,
        help="how many translations of each text (default 1)",
    )
    p.add_argument(
        "--quality",
        action="store_true",
        help="say first which share (0 to 1) of translations like it say what was meant, in the hardest and the "
        "easiest kind of text that was measured, or “unknown”",
    )


def run(args: argparse.Namespace) -> int:
    from xformer.serve.translation import Service

    options = search_options(args, n_best=args.n_best, quality=args.quality)
    service = Service.open(
        TRANSLATION.find(args.checkpoint), args.device, args.precision
    )
    if args.tree:

        def trees(texts: list[str]) -> list[BeamTree]:
            return [service.ask(GrowTree(text, options)) for text in texts]

        return answer(
            args.text,
            trees,
            tree_lines,
            args.json,
        )
    ranking = reranked(service, args)

    def line(found: Translation) -> str:
        return "\t".join(
            [
                *(
                    [
                        "unknown"
                        if found.quality is None
                        else "{:.2f} to {:.2f}".format(*found.quality)
                    ]
                    if args.quality
                    else []
                ),
                *(candidate.text for candidate in found.n_best),
            ]
        )

    return answer(
        args.text,
        lambda texts: ranking.translate_many(texts, options),
        line,
        args.json,
    )


def tree_lines(tree: BeamTree) -> str:
    """Write a beam's tree as text: a step a paragraph, in it a branch a line with all
    that it says."""
    lines = []
    said = list[str]()
    step = -1
    for branch, piece in zip(tree.branches, tree.pieces, strict=True):
        said.append(
            piece if branch.parent is None else f"{said[branch.parent]} {piece}"
        )
        if branch.step != step:
            step = branch.step
            lines.append(f"step {step + 1}")
        lines.append(
            f"  {branch.fate:8}{branch.total:8.3f}{branch.score:8.3f}  {said[-1]}"
        )
    return "\n".join([*lines, tree.translation.best.text])
