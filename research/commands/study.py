"""Study how transformers learn, and why some do not."""

import argparse
from pathlib import Path
from typing import Any

from research.options import (
    MOST_LAYERS,
    MOST_WIDTH,
    AutoencoderRun,
    GenerationRuns,
    PretrainingRuns,
    StudyRuns,
    UnmaskedRuns,
)
from xformer.commands.arguments import (
    Within,
    add_options,
    add_part,
    plainly,
    read_pairs,
    record,
)
from xformer.results import refusing
from xformer.strings import ASSETS
from xformer.training.options import LARGEST_SEED

RUNS = ASSETS / "runs.json"
PRETRAINING = ASSETS / "pretraining.json"
ROOT = ASSETS.parent
DEPTHS = ROOT / "xformer" / "parts" / "recorded" / "depths.json"
NEEDED = ROOT / "xformer" / "parts" / "path" / "needed.json"


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    q = add_part(
        kinds,
        run,
        "gradients of an untrained model by depth",
        "Print the norm of the gradient of each sub-layer's weights before the first step, for post-norm and "
        "pre-norm (Xiong et al. 2020, figure 3).",
        "beginning",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    q.add_argument(
        "--n-layers", type=int, action=Within, least=1, most=MOST_LAYERS, default=6
    )
    q.add_argument(
        "--d-model",
        type=int,
        action=Within,
        least=8,
        most=MOST_WIDTH,
        default=128,
        help="a multiple of 8; d_ff is four times as wide",
    )
    q.add_argument(
        "--seed", type=int, action=Within, least=0, most=LARGEST_SEED, default=0
    )
    q = _recording(
        kinds,
        runs,
        "short runs: one that breaks, too small a rate, too little data, a part taken away",
        "folder with train.tsv[.xz] and dev.tsv",
        RUNS,
        "file of the recorded runs",
        StudyRuns,
    )
    _add_threads(q)
    _recording(
        kinds,
        pretraining,
        "what pre-training is worth, with nothing else changed",
        "folder that the command data sentiment wrote",
        PRETRAINING,
        "file of the runs, beside a folder of weights",
        PretrainingRuns,
    )
    add_options(
        add_part(
            kinds,
            generations,
            "four generations of translators, at several rates, by several seeds",
        ),
        GenerationRuns,
    )

    q = add_part(
        kinds, depths, "gradients by depth before the first step, on real sentences"
    )
    q.add_argument(
        "--data",
        required=True,
        type=Path,
        help="folder with train.tsv[.xz]",
    )
    q.add_argument("--out", type=Path, default=DEPTHS, help="file of the gradients")
    add_options(q, StudyRuns)
    q = add_part(
        kinds, needed, "how much of an output's gradient is where it is needed"
    )
    q.add_argument(
        "--checkpoints",
        type=Path,
        default=ROOT / "checkpoints",
        help="folder with those of the four generations",
    )
    q.add_argument("--out", type=Path, default=NEEDED, help="file of the shares")

    q = add_part(
        kinds, autoencoder, "sentences of reviews that come back out of a few numbers"
    )
    q.add_argument(
        "--data",
        required=True,
        type=Path,
        help="folder that the command data sentiment wrote",
    )
    _add_threads(q)
    add_options(q, AutoencoderRun)
    q = add_part(
        kinds,
        unmasked,
        "a lecture's translator made small, without masks and with them",
    )
    q.add_argument(
        "--data", required=True, type=Path, help="folder with train.tsv[.xz]"
    )
    _add_threads(q)
    add_options(q, UnmaskedRuns)


def _add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=int,
        action=Within,
        least=1,
        most=1024,
        help="threads of the CPU",
    )


def _recording(
    kinds: Any, run: Any, help: str, data: str, out: Path, made: str, options: type
) -> argparse.ArgumentParser:
    """Add a study that records its runs in a file; -> its parser. data, made: what is
    said of --data and of --out."""
    q = add_part(kinds, run, help)
    q.add_argument("--data", required=True, type=Path, help=data)
    q.add_argument("--out", type=Path, default=out, help=made)
    add_options(q, options)
    return q


def runs(args: argparse.Namespace) -> None:
    """Train a small model on short sentence pairs, again and again with one setting
    changed, and record what happens. Stopped at any moment, the same command goes on
    with the run it was at."""
    import torch

    from research.studies import runs as study
    from xformer.device import choose_device
    from xformer.explain.recorded import verdict
    from xformer.training.data.corpora import needed_file

    if args.threads:
        torch.set_num_threads(args.threads)
    device = choose_device(args.device or "cpu")
    pairs = {
        name: read_pairs(
            needed_file(args.data, name, "translation", "English, a tab, Spanish")
        )
        for name in ("train", "dev")
    }
    with plainly():
        wanted = record(StudyRuns, args)
        for course in study.record(
            wanted, pairs["train"], pairs["dev"], args.out, device
        ):
            one = course.settings
            print(
                f"{one.norm}-norm, warm-up {one.warmup}, peak {one.peak:g}, pairs {one.pairs or 'all'}"
                f"{one.without and f', without {one.without}'}: {verdict(course).say()}",
                flush=True,
            )


def pretraining(args: argparse.Namespace) -> None:
    """Record how well small classifiers that begin differently, and language models
    with Bayes' rule, judge reviews. Stopped at any moment, the same command goes on
    with the run it was at."""
    from research.studies import pretraining as study
    from xformer.training.data.corpora import needed_file, read_lines
    from xformer.training.data.reviews import read_rows

    train, held_out = (
        needed_file(args.data, f"imdb-{name}", "sentiment", "0 or 1, a tab, a text")
        for name in ("train", "validation")
    )
    unlabelled = needed_file(args.data, "imdb-unlabelled", "sentiment", "a text", "txt")
    with plainly():
        texts = [text for line in read_lines(unlabelled) if (text := line.strip())]
        runs = record(PretrainingRuns, args)
        for one in study.record(
            runs, texts, read_rows(train), read_rows(held_out), args.out
        ):
            print(
                f"{one.kind:13}{one.share:5.0%} seed {one.seed}: {one.accuracy:.4f}, {one.seconds:.0f} s",
                flush=True,
            )


def depths(args: argparse.Namespace) -> None:
    """Measure how the gradient of untrained translators grows with depth, for both
    orders, at the depth of the recorded runs and at twice that, by several seeds."""
    from research.studies import depths as study
    from xformer.training.data.corpora import needed_file

    train = read_pairs(
        needed_file(args.data, "train", "translation", "English, a tab, Spanish")
    )
    with plainly():
        for line in study.record(record(StudyRuns, args), train, args.out):
            print(line, flush=True)


def needed(args: argparse.Namespace) -> None:
    """Measure, for the four generations, how much of the gradient of each translated
    word lies on the word that it translates, on pairs aligned by hand."""
    from research.studies import needed as study

    with plainly():
        for line in study.record(args.checkpoints, args.out):
            print(line, flush=True)


def autoencoder(args: argparse.Namespace) -> None:
    """Train an autoencoder of short sentences, or with --drop and --delay one that also
    mends them. Stopped at any moment, the same command goes on."""
    import torch

    from research.studies import autoencoder as study
    from xformer.training.data.corpora import needed_file, read_lines
    from xformer.training.data.reviews import read_rows

    if args.threads:
        torch.set_num_threads(args.threads)
    train, held_out = (
        needed_file(args.data, f"imdb-{name}", "sentiment", "0 or 1, a tab, a text")
        for name in ("train", "validation")
    )
    unlabelled = needed_file(args.data, "imdb-unlabelled", "sentiment", "a text", "txt")
    with plainly():
        reviews = [*read_lines(unlabelled), *(text for _, text in read_rows(train))]
        apart = [text for _, text in read_rows(held_out)]
        for line in study.record(record(AutoencoderRun, args), reviews, apart):
            print(line, flush=True)


def unmasked(args: argparse.Namespace) -> None:
    """Train small translators of whole-sentence matrices, without masks and with them,
    and score them on what they learned and on new sentences. Stopped at any moment, the
    same command goes on with the run it was at."""
    import torch

    from research.studies import unmasked as study
    from xformer.training.data.corpora import needed_file

    if args.threads:
        torch.set_num_threads(args.threads)
    pairs = read_pairs(
        needed_file(args.data, "train", "translation", "English, a tab, Spanish")
    )
    wanted = record(UnmaskedRuns, args)
    with plainly():
        for line in study.record(wanted, pairs, wanted.out):
            print(line, flush=True)


def generations(args: argparse.Namespace) -> None:
    """Train the four generations that the page compares: each at several rates, then
    with the best of them by several seeds. Stopped at any moment, the same command goes
    on with the run it was at."""
    from research.studies import generations as study

    with plainly():
        for line in study.record(record(GenerationRuns, args)):
            print(line, flush=True)


def run(args: argparse.Namespace) -> None:
    """Print a line for each sub-layer: its place, the norm in a post-norm model, and in
    a pre-norm one."""
    from xformer.explain.gradients import gradients_at_the_beginning, untrained

    with refusing(ValueError, lambda error: f"There is no such model: {error}."):
        post, pre = (
            gradients_at_the_beginning(
                untrained(args.n_layers, args.d_model, norm), args.seed
            )
            for norm in ("post", "pre")
        )
    print(
        f"{'stack':8} {'layer':>5}  {'sub-layer':16} {'post-norm':>9} {'pre-norm':>9}"
    )
    for a, b in zip(post, pre, strict=True):
        print(f"{a.stack:8} {a.layer:5}  {a.sublayer:16} {a.norm:9.3f} {b.norm:9.3f}")
