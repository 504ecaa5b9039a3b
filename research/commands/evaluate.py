"""Fit what the page says of a model to held-out pairs, and measure the tables that
ship; kept in its metrics.json."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from xformer.commands.arguments import (
    Within,
    add_part,
    plainly,
    read_pairs,
    search_options,
)
from xformer.commands.evaluate import of_pairs, opened, set_name, tell
from xformer.hub.folders import folder_of
from xformer.hub.shipped import SENTIMENT


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    q = of_pairs(
        kinds, lengths, "BLEU and chrF by the length of the sentences", nargs="+"
    )
    q.add_argument(
        "--train",
        type=Path,
        nargs="+",
        default=(),
        metavar="FILE",
        help="files of such pairs that the model was trained on: their sentences are counted by length too",
    )

    q = of_pairs(
        kinds, guesses, "the probability below which a translation is marked as a guess"
    )
    q.add_argument(
        "--share",
        type=float,
        action=Within,
        above=0,
        most=0.5,
        default=0.02,
        help="mark less than this share of the sentences (default 0.02)",
    )
    q.add_argument(
        "--least",
        type=float,
        action=Within,
        least=0,
        most=100,
        default=25.0,
        metavar="CHRF",
        help="a translation counts as wrong if its chrF to the nearest reference is below this (default 25)",
    )

    of_pairs(
        kinds,
        memory,
        "how much likelier pairs are that it learned from than those it never saw",
    )
    of_pairs(
        kinds,
        referring,
        "how often the noun is meant that he or she is said to look at",
    )
    q = of_pairs(
        kinds,
        quality,
        "how far a translation can be trusted, as page and API say it",
        nargs="+",
    )
    q.add_argument(
        "--limit",
        type=int,
        action=Within,
        least=2,
        metavar="N",
        help="sentences of each file, drawn at random (default all)",
    )

    q = add_part(
        kinds,
        poolings,
        "what classifiers of each pooling and mask reach",
        "Gather how well classifiers do by their pooling and mask: their accuracy on the validation sets.",
    )
    q.add_argument(
        "runs", metavar="DIR", nargs="+", help="folder that train sentiment wrote"
    )
    q.add_argument("--checkpoint", metavar="NAME", help=SENTIMENT.help)
    q.add_argument("--json", action="store_true", help="one JSON array")
    q.add_argument(
        "--save",
        action="store_true",
        help="keep the scores in the metrics.json of the checkpoint",
    )


def lengths(args: argparse.Namespace) -> None:
    """Score translations by the length of the source, in pieces, beside the number of
    training sentences of that length."""
    from research import fits

    options = search_options(args, alternatives=0)
    pairs = [pair for file in args.pairs for pair in read_pairs(file)]
    training = [(file.name, read_pairs(file)) for file in args.train]
    service = opened(args, args.precision)
    scores = fits.score_lengths(service, pairs, options, training)
    lines = [f"{'pieces':<9}{'sentences':>10}{'BLEU':>8}{'chrF':>8}{'trained on':>12}"]
    for bucket in scores.buckets:
        trained = "–" if bucket.training is None else bucket.training
        lines.append(
            f"{bucket.pieces:<9}{bucket.sentences:>10,}{bucket.bleu:>8}{bucket.chrf:>8}{trained:>12}"
        )
    lines += [f"trained on {count:,} of {name}" for name, count in scores.trained_on]
    lines.append(f"{scores.sentences:,} sentences, beam {scores.beam}")
    tell(args, lines, "lengths", asdict(scores), service)


def guesses(args: argparse.Namespace) -> None:
    """Find the mean log-probability of pieces below which page, API and command say
    that the model is guessing: the bound marks less than --share of held-out sentences.
    Count how many wrong translations it catches."""
    from research import fits

    options = search_options(args, alternatives=0)
    pairs = read_pairs(args.pairs)
    service = opened(args, args.precision)
    scores = fits.fit_guesses(service, pairs, options, args.share, args.least)
    said = (
        f"bound {scores.bound} nats a piece: {scores.marked:,} of {scores.sentences:,} translations marked; of "
        f"{scores.wrong:,} with a chrF below {scores.least:g}, {scores.caught:,} caught; beam {scores.beam}"
    )
    tell(args, [said], "guesses", asdict(scores), service)


def memory(args: argparse.Namespace) -> None:
    """Compare held-out pairs with as many training pairs of the same lengths, of
    learned.tsv.xz."""
    from research import fits

    pairs = read_pairs(args.pairs)
    service = opened(args, args.precision)
    scores = [
        asdict(one)
        for one in fits.score_memory(
            service, pairs, search_options(args, alternatives=0)
        )
    ]
    found = {"scores": scores, "beam": args.beam, "identity": service.info.identity}
    tell(args, [*map(str, scores)], "memory", found, service)


def referring(args: argparse.Namespace) -> None:
    """Count how often the noun that the page says a pronoun looks at is the one that is
    meant, in held-out sentences with Tom or Mary."""
    from research import referring

    service = opened(args, args.precision)
    found = asdict(referring.measure(service, read_pairs(args.pairs)))
    said = "{pronouns} pronouns, a noun named for {said}, the one meant for {right}"
    tell(args, [said.format(**found)], "referring", found, service)


def quality(args: argparse.Namespace) -> None:
    """Fit an estimate of how far a translation can be trusted, from its
    log-probabilities, pieces and length, to files of pairs of unlike kinds of text; test
    it by leaving out one kind at a time."""
    from research import fits

    options = search_options(args, alternatives=0)
    sets = {set_name(file): read_pairs(file) for file in args.pairs}
    service = opened(args, args.precision)
    with plainly():
        found = fits.fit_quality(service, sets, options, args.limit)
    tested = found["tested"]
    rows = [
        ("tested on", *next(iter(tested.values()))),
        *((name, *row.values()) for name, row in tested.items()),
    ]
    lines = [
        "".join([f"{row[0]:<20}", *(f"{cell:>11}" for cell in row[1:])]) for row in rows
    ]
    tell(args, [*lines, f"beam {args.beam}"], "quality", found, service)


def poolings(args: argparse.Namespace) -> None:
    """Print how well classifiers do by their pooling and mask; keep it if asked to."""
    from research import fits
    from xformer.hub import checkpoint

    with plainly():
        scores = fits.pooling_scores(
            {run: checkpoint.examine(folder_of(run)) for run in args.runs}
        )
    lines = [
        f"{'pooling':<11}{'mask':<8}{'parameters':>12}{'steps':>8}{'IMDb':>9}{'SST-2':>9}"
    ]
    for score in scores:
        mask = "causal" if score.causal else "full"
        lines.append(
            f"{score.pooling:<11}{mask:<8}{score.parameters:>12,}{score.steps:>8,}{score.imdb:>9.4f}"
            f"{score.sst2:>9.4f}"
        )
    tell(args, lines, "poolings", [asdict(score) for score in scores])
