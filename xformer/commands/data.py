"""Fetch training data."""

from __future__ import annotations

import argparse
from pathlib import Path

from xformer.commands.arguments import LARGEST_SEED, Within, record
from xformer.training.options import SentimentDownload, TranslationDownload

HELP = "fetch training data"


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    defaults = argparse.ArgumentDefaultsHelpFormatter
    _add_translation(kinds.add_parser("translation", help="English-Spanish sentence pairs", formatter_class=defaults))
    _add_sentiment(kinds.add_parser("sentiment", help="reviews and phrases, labelled and not",
                                    formatter_class=defaults))


def _add_out(p: argparse.ArgumentParser) -> None:
    p.add_argument("--out", required=True, type=Path, metavar="DIR",
                   help="folder to write to; earlier results are replaced")


# Translation


def _add_translation(p: argparse.ArgumentParser) -> None:
    p.description = ("Download sentence pairs of Tatoeba (CC-BY 2.0 FR) and write train.tsv.xz, dev.tsv and "
                     "ATTRIBUTION.txt, and beside them written.tsv.xz, pairs written for this project (CC0); no "
                     "sentence of dev, on either side, occurs in either of the two to train on.")
    p.set_defaults(run=translation)
    _add_out(p)
    p.add_argument("--url", default=TranslationDownload.url, help="zip archive with a spa.txt")
    p.add_argument("--seed", type=int, action=Within, least=0, most=LARGEST_SEED, default=0,
                   help="of the choice of sentences to hold out")
    p.add_argument("--dev", type=int, action=Within, least=0, default=0, metavar="N",
                   help="English sentences to hold out; 0: 2,000, or 2 %% of a small archive")
    p.add_argument("--exclude", action="append", default=[], metavar="FILE",
                   help="pairs to test with later: what shares a sentence with them is left out; may be repeated")


def translation(args: argparse.Namespace) -> None:
    """Download pairs; print how many were left out and written."""
    from xformer.training.fetch import fetch_translation
    download = record(TranslationDownload, args)
    fetched = fetch_translation(download)
    print(f"{download.url}: {fetched.archived:,} pairs in {fetched.bytes:,} bytes\n"
          f"left out: {fetched.unreadable:,} lines that are no pairs, {fetched.duplicates:,} duplicates, "
          f"{fetched.in_tests:,} pairs that share a sentence with test pairs, {fetched.in_dev:,} with dev\n"
          f"{download.out / 'train.tsv.xz'}: {fetched.train:,} pairs\n"
          f"{download.out / 'dev.tsv'}: {fetched.dev:,} pairs of {fetched.held_out:,} English sentences\n"
          f"{download.out / 'written.tsv.xz'}: {fetched.written:,} pairs written for this project\n"
          f"{download.out / 'ATTRIBUTION.txt'}: source and licence, to be handed on with the data", flush=True)


# Sentiment


def _add_sentiment(p: argparse.ArgumentParser) -> None:
    p.description = ("Download the Large Movie Review Dataset (Maas et al. 2011) and the Stanford Sentiment Treebank "
                     "(Socher et al. 2013), both for research use, and write imdb-*.xz, sst2-*.tsv and "
                     "ATTRIBUTION.txt; no film of imdb-validation occurs in imdb-train.")
    p.set_defaults(run=sentiment)
    _add_out(p)
    p.add_argument("--url", nargs=2, metavar=("IMDB", "SST"), default=[SentimentDownload.imdb, SentimentDownload.sst],
                   help="tar archive of reviews, and zip archive of trees")
    p.add_argument("--seed", type=int, action=Within, least=0, most=LARGEST_SEED, default=0,
                   help="of the choice of films to hold out")


def sentiment(args: argparse.Namespace) -> None:
    """Download reviews and phrases; print how many texts each file has."""
    from xformer.training.fetch_reviews import fetch_sentiment
    imdb, sst = args.url
    texts = fetch_sentiment(SentimentDownload(args.out, imdb, sst, args.seed))
    print("\n".join(f"{args.out / name}: {count:,} texts" for name, count in texts.items()), flush=True)
