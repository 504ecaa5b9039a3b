"""Train a model: translation, a language model of reviews, or a classifier of them."""

import argparse

from xformer.commands.arguments import add_options, record
from xformer.training.options import LanguageModelRun, SentimentRun, TranslationRun

HELP = "train a model"


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    for name, kind, run, about, description in (
            ("translation", TranslationRun, translation, "English to Spanish",
             "Train a translation model on sentence pairs."),
            ("language-model", LanguageModelRun, language_model, "pre-train on reviews without labels",
             "Train a stack of layers to predict the next piece of reviews (Radford et al. 2018)."),
            ("sentiment", SentimentRun, sentiment, "classify reviews and phrases",
             "Fine-tune a language model on labelled texts, or train a classifier from nothing.")):
        q = kinds.add_parser(name, help=about, formatter_class=argparse.ArgumentDefaultsHelpFormatter,
                             description=f"{description} If a run is stopped, the same command continues it.")
        q.set_defaults(run=run)
        add_options(q, kind)


def translation(args: argparse.Namespace) -> None:
    from xformer.training.run import train_translation
    train_translation(record(TranslationRun, args))


def language_model(args: argparse.Namespace) -> None:
    from xformer.training.run import train_language_model
    train_language_model(record(LanguageModelRun, args))


def sentiment(args: argparse.Namespace) -> None:
    from xformer.training.run import train_sentiment
    train_sentiment(record(SentimentRun, args))
