"""Fetch training data, and make more of them."""

import argparse

from research.options import (
    CopiedPairs,
    NearestRun,
    RegisterPairs,
    SentimentDownload,
    TranslationDownload,
)
from xformer.commands.arguments import (
    add_device,
    add_options,
    add_part,
    add_precision,
    plainly,
    record,
)


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    q = add_part(kinds, translation, "English-Spanish sentence pairs")
    add_options(q, TranslationDownload)
    q = add_part(kinds, sentiment, "reviews and phrases, labelled and not")
    add_options(q, SentimentDownload)
    q = add_part(
        kinds, nearest, "translations of a model's own, nearest to the references"
    )
    add_options(q, NearestRun)
    add_device(q)
    add_precision(q)
    q = add_part(kinds, copied, "made-up pairs of what a translation must copy")
    add_options(q, CopiedPairs)
    q = add_part(kinds, registers, "pairs of four kinds of text, for evaluate quality")
    add_options(q, RegisterPairs)


def translation(args: argparse.Namespace) -> None:
    """Download sentence pairs of Tatoeba (CC-BY 2.0 FR) and write train.tsv.xz, dev.tsv
    and ATTRIBUTION.txt, and beside them written.tsv.xz, pairs written for this project
    (CC0); no sentence of dev, on either side, occurs in either of the two to train on.
    """
    from research.data.fetch import fetch_translation

    download = record(TranslationDownload, args)
    fetched = fetch_translation(download)
    print(
        f"{download.url}: {fetched.archived:,} pairs in {fetched.bytes:,} bytes\n"
        f"left out: {fetched.unreadable:,} lines that are no pairs, {fetched.duplicates:,} duplicates, "
        f"{fetched.in_tests:,} pairs that share a sentence with test pairs, {fetched.in_dev:,} with dev\n"
        f"{download.out / 'train.tsv.xz'}: {fetched.train:,} pairs\n"
        f"{download.out / 'dev.tsv'}: {fetched.dev:,} pairs of {fetched.held_out:,} English sentences\n"
        f"{download.out / 'written.tsv.xz'}: {fetched.written:,} pairs written for this project\n"
        f"{download.out / 'ATTRIBUTION.txt'}: source and licence, to be handed on with the data",
        flush=True,
    )


def sentiment(args: argparse.Namespace) -> None:
    """Download the Large Movie Review Dataset (Maas et al. 2011) and the Stanford
    Sentiment Treebank (Socher et al.
    2013), both for research use, and write imdb-*.xz, sst2-*.tsv and ATTRIBUTION.txt;
    no film of imdb-validation occurs in imdb-train."""
    from research.data.fetch_reviews import fetch_sentiment

    texts = fetch_sentiment(record(SentimentDownload, args))
    print(
        "\n".join(
            f"{args.out / name}: {count:,} texts" for name, count in texts.items()
        ),
        flush=True,
    )


def nearest(args: argparse.Namespace) -> None:
    """Translate what a model reads of train.tsv, and write nearest.tsv.xz beside it: of
    the hypotheses of each beam the one nearest to the references, by the mean of
    sentence BLEU and chrF, but for those that share a sentence with dev. The model,
    trained on from its weights, learns from both (sequence-level interpolation, Kim &
    Rush 2016). With
    --ranked, write all that it is to tell apart by minimum risk training (Shen et al.
    2016)."""
    from research.data.nearest import write_nearest

    run = record(NearestRun, args)
    with plainly():
        made = write_nearest(run)
    kept = (
        f"sentences with four hypotheses each, {made.new:,} of these no reference"
        if run.ranked
        else f"pairs, {made.new:,} of them with a translation that is no reference"
    )
    print(
        f"{made.path}: {made.kept:,} {kept}; {made.sentences - made.kept:,} of {made.sentences:,} sentences left out",
        flush=True,
    )


def copied(args: argparse.Namespace) -> None:
    """Make up sentence pairs with names, numbers, dates, addresses, codes and signs,
    which a translation copies or writes in the Spanish manner, and write copied.tsv.xz,
    of which “train translation --copied” uses a share."""
    from research.data.copied import write_copied

    print(write_copied(record(CopiedPairs, args)), flush=True)


def registers(args: argparse.Namespace) -> None:
    """Draw pairs of four kinds of text from extra.tsv and extra2.tsv, and write
    speeches.tsv, talk.tsv, stories.tsv and help.tsv, to which “evaluate quality” fits
    how far a translation can be trusted."""
    from research.data.registers import write_registers

    for path, count in write_registers(record(RegisterPairs, args)).items():
        print(f"{path}: {count:,} pairs", flush=True)
