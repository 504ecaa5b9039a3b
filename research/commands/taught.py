"""Find which sentences of the page were written for, in training; kept in
assets/taught.json."""

from __future__ import annotations

import argparse
from pathlib import Path

from xformer.commands.arguments import plainly, read_pairs


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = run.__doc__
    p.set_defaults(run=run)
    p.add_argument(
        "--pairs",
        type=Path,
        metavar="FILE",
        help="English, a tab, Spanish: held-out pairs that nobody aimed at, to measure the bounds anew (default "
        "those that are kept)",
    )


def run(args: argparse.Namespace) -> None:
    """Look, for each sentence that the page offers by itself, for the nearest pair that
    was written for training, and write assets/taught.json."""
    from research import taught

    measured = read_pairs(args.pairs) if args.pairs else []
    bounds = []
    rows = []
    for reads, side in taught.READS.items():
        files = taught.Files(reads)
        texts = [*dict.fromkeys(pair[side] for pair in measured)]
        with plainly():
            own = files.bounds(texts) if texts else taught.kept(reads)
        print(*own, sep="\n")
        if texts:
            found = [files.taught(text, own) for text in texts]
            near = sum(one.is_near for one in found) / len(found)
            words = sum(bool(one.words) for one in found) / len(found)
            either = sum(one.aimed_at for one in found) / len(found)
            print(
                f"of {len(found):,} sentences {near:.1%} near, {words:.1%} by a word, {either:.1%} by either"
            )
        bounds += own
        rows += [
            files.taught(one.text, own)
            for one in taught.offered()
            if one.reads == reads
        ]
    taught.write(bounds, rows)
    aimed = [one for one in rows if one.aimed_at]
    print(*(f"{one.nearness:.2f} {one.text} | {one.source}" for one in aimed), sep="\n")
    print(f"{taught.PATH}: {len(rows)} sentences, {len(aimed)} of them aimed at")
