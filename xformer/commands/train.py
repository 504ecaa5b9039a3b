"""Train a model: translation, a language model of reviews, or a classifier of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from xformer.commands.arguments import LARGEST_SEED, Within, add_device, record
from xformer.training.options import ARCHITECTURES, PRECISIONS, LanguageModelRun, Run, SentimentRun, TranslationRun

HELP = "train a model"
MOST_MOMENTS = 20
MOST_POSITIONS = 1 << 16  # pieces; a checkpoint of more is not loaded


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    defaults = argparse.ArgumentDefaultsHelpFormatter
    _add_translation(kinds.add_parser("translation", help="English to Spanish", formatter_class=defaults))
    _add_language_model(kinds.add_parser("language-model", help="pre-train on reviews without labels",
                                         formatter_class=defaults))
    _add_sentiment(kinds.add_parser("sentiment", help="classify reviews and phrases", formatter_class=defaults))


def _add_shared(p: argparse.ArgumentParser, usual: type[Run], start: str
                ) -> tuple[argparse._ArgumentGroup, argparse._ArgumentGroup]:
    """Add the options of every training, with the defaults of a kind; return the groups of those that shape the model
    and of those that end the run."""
    p.add_argument("--out", required=True, type=Path,
                   help="folder of the checkpoint; an interrupted run in it is gone on with")
    p.add_argument("--from", dest="start", metavar="NAME", help=start)
    size = p.add_argument_group("model")
    size.add_argument("--norm", choices=("pre", "post"), default=usual.norm)
    size.add_argument("--d-model", type=int, action=Within, least=1, default=usual.d_model)
    size.add_argument("--n-heads", type=int, action=Within, least=1, default=usual.n_heads)
    size.add_argument("--n-layers", type=int, action=Within, least=1, default=usual.n_layers)
    size.add_argument("--d-ff", type=int, action=Within, least=1, default=usual.d_ff)
    size.add_argument("--vocab-size", type=int, action=Within, least=1, default=usual.vocab_size)
    size.add_argument("--dropout", type=float, action=Within, least=0, below=1, default=usual.dropout)
    length = p.add_argument_group("length of training; the learning rate is run down by its end")
    length.add_argument("--minutes", type=float, action=Within, least=0,
                        default=usual.minutes, help="of training time; 0: no limit")
    length.add_argument("--steps", type=int, action=Within, least=0, default=usual.steps, help="0: no limit")
    pace = p.add_argument_group("optimisation")
    pace.add_argument("--schedule", choices=("noam", "cosine"), help="noam for post-norm, else cosine, if not given")
    pace.add_argument("--peak", type=float, action=Within, least=0,
                      help="highest learning rate (cosine), or factor on the formula (noam: 1)")
    pace.add_argument("--warmup", type=int, action=Within, least=0, help="steps (noam: 4000)")
    pace.add_argument("--weight-decay", type=float, action=Within, least=0, default=usual.weight_decay)
    pace.add_argument("--average", type=float, action=Within, least=0, below=1, default=usual.average,
                      help="decay of the moving average of the weights")
    pace.add_argument("--seed", type=int, action=Within, least=0, most=LARGEST_SEED, default=usual.seed)
    rest = p.add_argument_group("the rest")
    rest.add_argument("--evaluate-minutes", type=float, action=Within, least=0, default=usual.evaluate_minutes)
    rest.add_argument("--save-minutes", type=float, action=Within, least=0, default=usual.save_minutes)
    rest.add_argument("--precision", choices=("auto", *PRECISIONS), default=usual.precision,
                      help="auto: on a CPU what trial steps at the start of a run are quicker in, on CUDA bfloat16")
    rest.add_argument("--accumulate", type=int, action=Within, least=1, most=4096, default=usual.accumulate,
                      metavar="N", help="learn a batch in N parts, one after the other, for less memory; the gradient "
                                        "stays the same")
    rest.add_argument("--compile", action="store_true",
                      help="train with torch.compile where trial steps at the start of a run are quicker so; it needs "
                           "a C++ compiler, on CUDA Triton")
    rest.add_argument("--dry-run", action="store_true",
                      help="make a few trial steps and say how many steps, pieces, minutes and megabytes the run would "
                           "take; write nothing")
    add_device(rest)
    rest.add_argument("--threads", type=int, action=Within, least=1, most=1024, help="of the CPU")
    return size, length


# Translation


def _add_translation(p: argparse.ArgumentParser) -> None:
    p.description = "Train a translation model on sentence pairs. Stopped at any moment, the same command goes on."
    p.set_defaults(run=translation)
    usual = TranslationRun
    p.add_argument("--data", required=True, type=Path,
                   help="folder with train.tsv[.xz], dev.tsv and, if wanted, nearest.tsv[.xz], extra.tsv[.xz], "
                        "extra2.tsv[.xz] and written.tsv[.xz]")
    size, length = _add_shared(p, usual, "checkpoint whose weights to begin with")
    size.add_argument("--architecture", choices=ARCHITECTURES, default=usual.architecture,
                      help="gru: without attention; gru-attention: with additive attention; both with as many layers "
                           "in the encoder as in the decoder, without heads and feed-forward networks")
    size.add_argument("--n-decoder-layers", type=int, action=Within, least=0,
                      default=usual.n_decoder_layers, help="0: as many as the encoder")
    size.add_argument("--vocabulary", metavar="NAME",
                      help="checkpoint whose vocabulary to use; one is learned from the pairs if not given")
    length.add_argument("--target-pieces", type=int, action=Within, least=0, default=usual.target_pieces, metavar="N",
                        help="learned from, counted over all epochs; 0: no limit")
    p.add_argument("--moments", type=int, action=Within, least=0, most=MOST_MOMENTS, default=usual.moments, metavar="N",
                   help="keep the translations and attention maps of a few sentences at N moments of the run, each at "
                        "twice the share of it that the one before was at; 0: none")
    p.add_argument("--smoothing", type=float, action=Within, least=0, below=1,
                   default=usual.smoothing, help="label smoothing")
    data = p.add_argument_group("batches")
    data.add_argument("--batch-tokens", type=int, action=Within, least=1, default=usual.batch_tokens,
                      help="source and target pieces in a batch")
    data.add_argument("--max-pieces", type=int, action=Within, least=1,
                      default=usual.max_pieces, help="longer sentences are left out")
    data.add_argument("--extra-weight", type=float, action=Within, least=0, most=1, default=usual.extra_weight,
                      help="share of extra.tsv and extra2.tsv used in each epoch")
    data.add_argument("--written-weight", type=float, action=Within, least=0, most=1000,
                      default=usual.written_weight, metavar="N",
                      help="how often each epoch uses a pair of written.tsv")
    data.add_argument("--phrase-weight", type=float, action=Within, least=0, most=1000,
                      default=usual.phrase_weight, metavar="N",
                      help="the same for its phrases, of at most 5 English words")
    data.add_argument("--entry-weight", type=float, action=Within, least=0, most=1000, default=usual.entry_weight,
                      metavar="N", help="the same for its entries of a dictionary")
    data.add_argument("--copied", type=float, action=Within, least=0, most=1, default=usual.copied, metavar="SHARE",
                      help="of pairs made up of names, numbers, addresses and codes to copy, on top of all others")
    data.add_argument("--names", type=float, action=Within, least=0, most=1, default=usual.names, metavar="SHARE",
                      help="of pairs whose names of people and places are exchanged for others, the same on both sides")
    data.add_argument("--sampled", type=float, action=Within, least=0, most=1, default=usual.sampled,
                      help="share of sentences with a drawn split into pieces")
    data.add_argument("--no-roughening", action="store_true", help="no lower-casing, slips, or joined pairs")
    data.add_argument("--dev-limit", type=int, action=Within, least=1, default=usual.dev_limit,
                      help="sentences of dev that are scored on the way")


def translation(args: argparse.Namespace) -> None:
    from xformer.training.run import train_translation
    train_translation(record(TranslationRun, args, roughening=not args.no_roughening))


# Language model


def _add_language_model(p: argparse.ArgumentParser) -> None:
    p.description = ("Train a stack of layers to predict the next piece of reviews (Radford et al. 2018). Stopped at "
                     "any moment, the same command goes on.")
    p.set_defaults(run=language_model)
    usual = LanguageModelRun
    p.add_argument("--data", required=True, type=Path,
                   help="folder with imdb-unlabelled.txt[.xz], imdb-validation.tsv[.xz] and, if wanted, "
                        "imdb-train.tsv[.xz] and sst2-train-phrases.tsv[.xz]")
    size, _ = _add_shared(p, usual, "language model whose weights and vocabulary to begin with")
    size.add_argument("--max-length", type=int, action=Within, least=1, most=MOST_POSITIONS,
                      default=usual.max_length, help="pieces in a window of text")
    data = p.add_argument_group("batches")
    data.add_argument("--batch-pieces", type=int, action=Within, least=1,
                      default=usual.batch_pieces, help="pieces in a batch of windows")
    data.add_argument("--dev-pieces", type=int, action=Within, least=1, default=usual.dev_pieces,
                      help="held-out pieces that are scored on the way")


def language_model(args: argparse.Namespace) -> None:
    from xformer.training.run import train_language_model
    train_language_model(record(LanguageModelRun, args))


# Sentiment


def _add_sentiment(p: argparse.ArgumentParser) -> None:
    p.description = ("Fine-tune a language model on labelled texts, or train a classifier from nothing. Stopped at any "
                     "moment, the same command goes on.")
    p.set_defaults(run=sentiment)
    usual = SentimentRun
    p.add_argument("--data", required=True, type=Path,
                   help="folder with imdb-train, imdb-validation, sst2-train-phrases and sst2-validation, each .tsv or "
                        ".tsv.xz")
    size, _ = _add_shared(p, usual, "language model whose weights and vocabulary to begin with")
    size.add_argument("--max-length", type=int, action=Within, least=3, most=MOST_POSITIONS, default=usual.max_length,
                      help="pieces of a text; of more, the first quarter and the last three quarters of so many are "
                           "read")
    size.add_argument("--mask", choices=("causal", "full"),
                      help="whether pieces see those before them only; causal with --from, else full, if not given")
    size.add_argument("--pooling", choices=("attention", "mean", "max"), default=usual.pooling,
                      help="how one vector is made of all pieces': learned weights, their mean, or the largest number "
                           "of each dimension")
    p.add_argument("--auxiliary", type=float, action=Within, least=0, default=usual.auxiliary, metavar="WEIGHT",
                   help="of the language model's loss beside that of the labels; 0.5 in the paper")
    p.add_argument("--labels", dest="label_share", type=float, action=Within, above=0, most=1,
                   default=usual.label_share, metavar="SHARE",
                   help="of the labelled texts to learn from, as many of each label; drawn with the seed")
    p.add_argument("--blank", type=float, action=Within, least=0, below=1, default=usual.blank, metavar="SHARE",
                   help="of pieces that training does not show")
    data = p.add_argument_group("batches")
    data.add_argument("--batch-pieces", type=int, action=Within, least=1,
                      default=usual.batch_pieces, help="most pieces in a batch")
    data.add_argument("--batch-rows", type=int, action=Within, least=1,
                      default=usual.batch_rows, help="most texts in a batch")
    data.add_argument("--reviews", type=float, action=Within, least=0, most=1000,
                      default=usual.reviews, help="how much of imdb-train each epoch uses")
    data.add_argument("--phrases", type=float, action=Within, least=0, most=1000, default=usual.phrases,
                      help="how much of sst2-train-phrases each epoch uses")
    data.add_argument("--dev-limit", type=int, action=Within, least=0, default=usual.dev_limit,
                      help="texts of each validation set that are scored; 0: all")


def sentiment(args: argparse.Namespace) -> None:
    from xformer.training.run import train_sentiment
    train_sentiment(record(SentimentRun, args))
