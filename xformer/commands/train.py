"""Train a model: translation, a language model of reviews, or a classifier of them."""

import argparse
from functools import partial
from typing import Any

from xformer.commands.arguments import add_options, add_part, record
from xformer.training.options import LanguageModelRun, SentimentRun, TranslationRun


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    for name, kind, about, description in (
        (
            "translation",
            TranslationRun,
            "English to Spanish",
            "Train a translation model on sentence pairs.",
        ),
        (
            "language-model",
            LanguageModelRun,
            "pre-train on reviews without labels",
            "Train a stack of layers to predict the next piece of reviews (Radford et al. 2018).",
        ),
        (
            "sentiment",
            SentimentRun,
            "classify reviews and phrases",
            "Fine-tune a language model on labelled texts, or train a classifier from nothing.",
        ),
    ):
        q = add_part(
            kinds,
            partial(train, kind),
            about,
            f"{description} If a run is stopped, the same command continues it.",
            name,
        )
        add_options(q, kind)


def train(kind: type, args: argparse.Namespace) -> None:
    """Train what the options of this kind say."""
    from xformer.training import run

    trains: dict[type, Any] = {
        TranslationRun: run.train_translation,
        LanguageModelRun: run.train_language_model,
        SentimentRun: run.train_sentiment,
    }
    trains[kind](record(kind, args))
