"""The command line: python -m xformer …"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from xformer.results import UserError


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(prog="python -m xformer", description="A translation transformer to look inside.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    train = commands.add_parser("train", help="train a model").add_subparsers(dest="what", required=True)
    _train_translation(train.add_parser(
        "translation", help="English to Spanish", formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Train a transformer on sentence pairs. Stopped at any moment, the same command goes on."))
    return top


def _train_translation(p: argparse.ArgumentParser) -> None:
    p.add_argument("--data", required=True, help="folder with train.tsv[.xz], dev.tsv and, if wanted, extra.tsv[.xz]")
    p.add_argument("--out", required=True, help="folder of the checkpoint; an interrupted run in it is gone on with")
    p.add_argument("--from", dest="start", metavar="DIR", help="checkpoint whose weights to begin with")
    size = p.add_argument_group("model")
    size.add_argument("--norm", choices=("pre", "post"), default="pre")
    for name, default in (("d-model", 256), ("n-heads", 8), ("n-layers", 6), ("d-ff", 1024), ("vocab-size", 8000)):
        size.add_argument(f"--{name}", type=int, default=default)
    size.add_argument("--n-decoder-layers", type=int, default=0, help="0: as many as the encoder")
    size.add_argument("--dropout", type=float, default=0.1)
    length = p.add_argument_group("length of training; the learning rate is run down by its end")
    length.add_argument("--minutes", type=float, default=0.0, help="of training time; 0: no limit")
    length.add_argument("--steps", type=int, default=0, help="0: no limit")
    pace = p.add_argument_group("optimisation")
    pace.add_argument("--schedule", choices=("noam", "cosine"), help="noam for post-norm, else cosine, if not given")
    pace.add_argument("--peak", type=float, help="highest learning rate (cosine), or factor on the formula (noam)")
    pace.add_argument("--warmup", type=int, help="steps")
    pace.add_argument("--weight-decay", type=float)
    pace.add_argument("--average", type=float, help="decay of the moving average of the weights")
    pace.add_argument("--smoothing", type=float, default=0.1, help="label smoothing")
    pace.add_argument("--seed", type=int, default=0)
    data = p.add_argument_group("batches")
    data.add_argument("--batch-tokens", type=int, default=4000, help="source and target pieces in a batch")
    data.add_argument("--max-pieces", type=int, default=128, help="longer sentences are left out")
    data.add_argument("--extra-weight", type=float, default=1.0, help="share of extra.tsv used in each epoch")
    data.add_argument("--sampled", type=float, default=0.3, help="share of sentences with a drawn split into pieces")
    data.add_argument("--no-roughening", action="store_true", help="no lower-casing, slips, or joined pairs")
    rest = p.add_argument_group("the rest")
    rest.add_argument("--dev-limit", type=int, default=1000, help="sentences of dev that are scored on the way")
    rest.add_argument("--evaluate-minutes", type=float, default=5.0)
    rest.add_argument("--save-minutes", type=float, default=3.0)
    rest.add_argument("--device", help="cuda, mps or cpu; the best there is if not given")
    rest.add_argument("--threads", type=int, help="of the CPU")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 when it did what was asked, 2 with one sentence on standard error when it could not."""
    args = parser().parse_args(argv)
    try:
        if args.command == "train":
            from xformer.training.run import train_translation
            train_translation(args)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
