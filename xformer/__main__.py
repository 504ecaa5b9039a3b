"""The command line: python -m xformer …"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xformer.hub.shipped import CHECKPOINT_HELP, ROOT, SENTIMENT_HELP, checkpoint_folder, sentiment_folder
from xformer.results import UserError

if TYPE_CHECKING:
    from xformer.results import Sentiment, Translation
    from xformer.search import Options

SAVE_HELP = "keep the scores in the checkpoint's metrics.json and model card"


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(prog="python -m xformer", description="Transformers to look inside.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _translate(commands.add_parser(
        "translate", help="translate a text, or each line of standard input",
        description="Translate TEXT, or each line of standard input; one result a line."))
    _explain(commands.add_parser(
        "explain", help="write the attention maps of a translation to a file",
        description="Write every attention map of one pass over TEXT and its translation (or --target) to a file."))
    _classify(commands.add_parser(
        "classify", help="tell the sentiment of a review, or of each line of standard input",
        description="Tell whether TEXT, or each line of standard input, is positive or negative; one result a line."))
    evaluate = commands.add_parser("evaluate", help="score a model").add_subparsers(dest="what", required=True)
    _evaluate_translation(evaluate.add_parser(
        "translation", help="BLEU and chrF of a file of pairs",
        description="Translate the English of a file of pairs and score it with sacrebleu, one reference a line."))
    _evaluate_alignment(evaluate.add_parser(
        "alignment", help="alignment error rate of every cross-attention head",
        description="Compare what each cross-attention head looks at with sentence pairs aligned by hand (Och and Ney "
                    "2003); 0 is best, 1 worst."))
    _evaluate_lengths(evaluate.add_parser(
        "lengths", help="BLEU and chrF by the length of the sentences",
        description="Translate the English of a file of pairs and score it by the number of its pieces, beside how "
                    "many sentences of that length the model has learned from."))
    _evaluate_sentiment(evaluate.add_parser(
        "sentiment", help="accuracy on a file of labelled texts",
        description="Classify the texts of a file and compare with their labels; also says how well the probabilities "
                    "are calibrated (expected calibration error, Guo et al. 2017)."))
    _evaluate_pretraining(evaluate.add_parser(
        "pretraining", help="what pre-training is worth, from several runs of train sentiment",
        description="Gather what classifiers learned from shares of the labels, from a language model and from "
                    "nothing: their accuracy on the validation sets."))
    _checkpoint(commands.add_parser("checkpoint", help="look at a checkpoint, fetch it from the Hub, upload it")
                .add_subparsers(dest="what", required=True))
    _space(commands.add_parser("space", help="host the page on the Hugging Face Hub")
           .add_subparsers(dest="what", required=True))
    data = commands.add_parser("data", help="fetch training data").add_subparsers(dest="what", required=True)
    _data_translation(data.add_parser(
        "translation", help="English-Spanish sentence pairs", formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Download sentence pairs of Tatoeba (CC-BY 2.0 FR) and write train.tsv.xz, dev.tsv and "
                    "ATTRIBUTION.txt; no sentence of dev, on either side, occurs in train."))
    _data_sentiment(data.add_parser(
        "sentiment", help="reviews and phrases, labelled and not",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Download the Large Movie Review Dataset (Maas et al. 2011) and the Stanford Sentiment Treebank "
                    "(Socher et al. 2013), both for research use, and write imdb-*.xz, sst2-*.tsv and "
                    "ATTRIBUTION.txt; no film of imdb-validation occurs in imdb-train."))
    train = commands.add_parser("train", help="train a model").add_subparsers(dest="what", required=True)
    _train_translation(train.add_parser(
        "translation", help="English to Spanish", formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Train a transformer on sentence pairs. Stopped at any moment, the same command goes on."))
    _train_language_model(train.add_parser(
        "language-model", help="pre-train on reviews without labels",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Train a stack of layers to predict the next piece of reviews (Radford et al. 2018). Stopped at "
                    "any moment, the same command goes on."))
    _train_sentiment(train.add_parser(
        "sentiment", help="classify reviews and phrases", formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Fine-tune a language model on labelled texts, or train a classifier from nothing. Stopped at any "
                    "moment, the same command goes on."))
    return top


def _search_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--checkpoint", metavar="NAME", help=CHECKPOINT_HELP)
    p.add_argument("--device", help="cuda, mps or cpu; the best there is if not given")
    p.add_argument("--beam", type=int, default=5, help="hypotheses kept at each step; 1: greedy (default 5)")
    p.add_argument("--length-penalty", type=float, default=1.0, help="rank by log-probability / length^N (default 1)")
    p.add_argument("--json", action="store_true", help="one JSON object a line")


def _translate(p: argparse.ArgumentParser) -> None:
    p.add_argument("text", metavar="TEXT", nargs="*", help="English; lines of standard input if not given; "
                                                           "“--” before it ends the options")
    _search_options(p)
    p.add_argument("--n-best", type=int, default=1, help="how many translations of each text (default 1)")


def _explain(p: argparse.ArgumentParser) -> None:
    p.add_argument("text", metavar="TEXT", help="English")
    p.add_argument("--target", metavar="TEXT", help="Spanish; the model's own translation if not given")
    p.add_argument("--out", required=True, metavar="FILE", help=".json, .npz, or .html that opens offline")
    p.add_argument("--checkpoint", metavar="NAME", help=CHECKPOINT_HELP)
    p.add_argument("--device", help="cuda, mps or cpu; the best there is if not given")


def _classify(p: argparse.ArgumentParser) -> None:
    p.add_argument("text", metavar="TEXT", nargs="*", help="English; lines of standard input if not given; "
                                                           "“--” before it ends the options")
    p.add_argument("--checkpoint", metavar="NAME", help=SENTIMENT_HELP)
    p.add_argument("--device", help="cuda, mps or cpu; the best there is if not given")
    p.add_argument("--json", action="store_true", help="one JSON object a line")


def _evaluate_translation(p: argparse.ArgumentParser) -> None:
    p.add_argument("--pairs", required=True, metavar="FILE", help=".tsv or .tsv.xz: English, a tab, Spanish")
    _search_options(p)
    p.add_argument("--limit", type=int, default=0, help="score the first N pairs only")
    p.add_argument("--plain", action="store_true",
                   help="lower-case the English and take off its final punctuation first, as many people type")
    p.add_argument("--lowercase", action="store_true", help="score both sides in lower case")
    p.add_argument("--save", action="store_true", help=SAVE_HELP)


def _evaluate_lengths(p: argparse.ArgumentParser) -> None:
    p.add_argument("--pairs", required=True, metavar="FILE", help=".tsv or .tsv.xz: English, a tab, Spanish")
    p.add_argument("--train", metavar="DIR", help="folder with train.tsv[.xz] and, if it was used, extra.tsv[.xz]: "
                                                  "their sentences are counted by length too")
    _search_options(p)
    p.add_argument("--save", action="store_true", help="keep the scores in the checkpoint's metrics.json")


def _evaluate_alignment(p: argparse.ArgumentParser) -> None:
    p.add_argument("--checkpoint", metavar="NAME", help=CHECKPOINT_HELP)
    p.add_argument("--gold", metavar="FILE", help="English, a tab, Spanish, a tab, links: i-j sure, i?j possible, "
                                                  "words counted from 0; assets/alignments.tsv if not given")
    p.add_argument("--device", help="cuda, mps or cpu; the best there is if not given")
    p.add_argument("--json", action="store_true", help="one JSON object")
    p.add_argument("--save", action="store_true", help="keep the scores in the checkpoint's metrics.json")


def _evaluate_sentiment(p: argparse.ArgumentParser) -> None:
    p.add_argument("--rows", required=True, metavar="FILE",
                   help=".tsv or .tsv.xz: 0 (negative) or 1 (positive), a tab, a text")
    p.add_argument("--checkpoint", metavar="NAME", help=SENTIMENT_HELP)
    p.add_argument("--device", help="cuda, mps or cpu; the best there is if not given")
    p.add_argument("--limit", type=int, default=0, help="classify the first N texts only")
    p.add_argument("--json", action="store_true", help="one JSON object")
    p.add_argument("--save", action="store_true", help=SAVE_HELP)


def _evaluate_pretraining(p: argparse.ArgumentParser) -> None:
    p.add_argument("runs", metavar="DIR", nargs="+", help="folder that train sentiment wrote")
    p.add_argument("--checkpoint", metavar="NAME", help=SENTIMENT_HELP)
    p.add_argument("--json", action="store_true", help="one JSON array")
    p.add_argument("--save", action="store_true", help="keep the scores in the metrics.json of the checkpoint")


def _checkpoint(commands: Any) -> None:
    p = commands.add_parser("push", help="upload a folder to the Hub", description=(
        "Check a checkpoint and its model card (README.md) and upload them as one commit to a repository of the "
        "Hugging Face Hub, made if it is not there. Needs HF_TOKEN, or a login by “hf auth login”."))
    p.add_argument("folder", metavar="DIR")
    p.add_argument("repository", metavar="owner/name")
    p.add_argument("--private", action="store_true", default=None, help="if the repository is made now")
    p.add_argument("--message", default="Upload checkpoint", help="of the commit")
    p.add_argument("--license", metavar="ID", help="write a card, where there is none, with this licence: cc-by-4.0 …")
    p.add_argument("--base-model", metavar="owner/name", help="for that card: what the model was fine-tuned from")
    p = commands.add_parser("pull", help="fetch from the Hub", description=(
        "Fetch a checkpoint from the Hugging Face Hub into its cache, what is new of it, and check it; with DIR, copy "
        "it there."))
    p.add_argument("checkpoint", metavar="owner/name[@revision]")
    p.add_argument("folder", metavar="DIR", nargs="?", help="empty or not there yet")
    p = commands.add_parser("info", help="what a checkpoint is", description="Say what a checkpoint is.")
    p.add_argument("checkpoint", metavar="NAME", nargs="?", help=CHECKPOINT_HELP)
    p.add_argument("--json", action="store_true", help="one JSON object")
    p = commands.add_parser("verify", help="whether a checkpoint is whole and its card true", description=(
        "Check that the files of a checkpoint are there and fit together, that its weights are numbers, that they are "
        "what the Hub sent, and that its model card has the metadata the Hub wants and the scores of these weights."))
    p.add_argument("checkpoint", metavar="NAME", nargs="?", help=CHECKPOINT_HELP)


def _space(commands: Any) -> None:
    p = commands.add_parser("push", help="upload the page as a Space", description=(
        "Upload what the page needs, checkpoints included, as one commit to a Space of the Hugging Face Hub, made if "
        "it is not there. Needs HF_TOKEN, or a login by “hf auth login”."))
    p.add_argument("repository", metavar="owner/name")
    for kind in ("checkpoint", "sentiment"):
        p.add_argument(f"--{kind}", metavar="NAME", help="owner/name[@revision] on the Hub, open to all, that the "
                                                         "Space fetches when it is built; else the one that ships")
    p.add_argument("--mcp", action="store_true", help="let the Space be an MCP server too")
    p.add_argument("--private", action="store_true", default=None, help="if the Space is made now")
    p.add_argument("--message", default="Upload the page", help="of the commit")


def _data_translation(p: argparse.ArgumentParser) -> None:
    p.add_argument("--out", required=True, metavar="DIR", help="folder to write to; earlier results are replaced")
    p.add_argument("--url", default="https://www.manythings.org/anki/spa-eng.zip", help="zip archive with a spa.txt")
    p.add_argument("--seed", type=int, default=0, help="of the choice of sentences to hold out")
    p.add_argument("--dev", type=int, default=0, metavar="N",
                   help="English sentences to hold out; 0: 2,000, or 2 %% of a small archive")
    p.add_argument("--exclude", action="append", default=[], metavar="FILE",
                   help="pairs to test with later: what shares a sentence with them is left out; may be repeated")


def _data_sentiment(p: argparse.ArgumentParser) -> None:
    p.add_argument("--out", required=True, metavar="DIR", help="folder to write to; earlier results are replaced")
    p.add_argument("--url", nargs=2, metavar=("IMDB", "SST"),
                   default=["https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                            "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip"],
                   help="tar archive of reviews, and zip archive of trees")
    p.add_argument("--seed", type=int, default=0, help="of the choice of films to hold out")


def _train_translation(p: argparse.ArgumentParser) -> None:
    p.add_argument("--data", required=True, help="folder with train.tsv[.xz], dev.tsv and, if wanted, extra.tsv[.xz]")
    size = _training(p, "checkpoint whose weights to begin with", n_layers=6, dropout=0.1)
    size.add_argument("--n-decoder-layers", type=int, default=0, help="0: as many as the encoder")
    p.add_argument("--smoothing", type=float, default=0.1, help="label smoothing")
    data = p.add_argument_group("batches")
    data.add_argument("--batch-tokens", type=int, default=4000, help="source and target pieces in a batch")
    data.add_argument("--max-pieces", type=int, default=128, help="longer sentences are left out")
    data.add_argument("--extra-weight", type=float, default=1.0, help="share of extra.tsv used in each epoch")
    data.add_argument("--sampled", type=float, default=0.3, help="share of sentences with a drawn split into pieces")
    data.add_argument("--no-roughening", action="store_true", help="no lower-casing, slips, or joined pairs")
    data.add_argument("--dev-limit", type=int, default=1000, help="sentences of dev that are scored on the way")


def _train_language_model(p: argparse.ArgumentParser) -> None:
    p.add_argument("--data", required=True, help="folder with imdb-unlabelled.txt[.xz], imdb-validation.tsv[.xz] and, "
                                                 "if wanted, imdb-train.tsv[.xz] and sst2-train-phrases.tsv[.xz]")
    size = _training(p, "language model whose weights and vocabulary to begin with", n_layers=4, dropout=0.0)
    size.add_argument("--max-length", type=int, default=512, help="pieces in a window of text")
    data = p.add_argument_group("batches")
    data.add_argument("--batch-pieces", type=int, default=8192, help="pieces in a batch of windows")
    data.add_argument("--dev-pieces", type=int, default=100_000, help="held-out pieces that are scored on the way")


def _train_sentiment(p: argparse.ArgumentParser) -> None:
    p.add_argument("--data", required=True, help="folder with imdb-train, imdb-validation, sst2-train-phrases and "
                                                 "sst2-validation, each .tsv or .tsv.xz")
    size = _training(p, "language model whose weights and vocabulary to begin with", n_layers=4, dropout=0.1)
    size.add_argument("--max-length", type=int, default=512, help="pieces of a text; of more, the first quarter and "
                                                                  "the last three quarters of so many are read")
    size.add_argument("--mask", choices=("causal", "full"),
                      help="whether pieces see those before them only; causal with --from, else full, if not given")
    size.add_argument("--pooling", choices=("attention", "mean"), default="attention")
    p.add_argument("--auxiliary", type=float, default=0.0, metavar="WEIGHT",
                   help="of the language model's loss beside that of the labels; 0.5 in the paper")
    p.add_argument("--labels", dest="label_share", type=float, default=1.0, metavar="SHARE",
                   help="of the labelled texts to learn from, as many of each label; drawn with the seed")
    p.add_argument("--blank", type=float, default=0.0, metavar="SHARE", help="of pieces that training does not show")
    data = p.add_argument_group("batches")
    data.add_argument("--batch-pieces", type=int, default=6000, help="most pieces in a batch")
    data.add_argument("--batch-rows", type=int, default=128, help="most texts in a batch")
    data.add_argument("--reviews", type=float, default=1.0, help="how much of imdb-train each epoch uses")
    data.add_argument("--phrases", type=float, default=1.0, help="how much of sst2-train-phrases each epoch uses")
    data.add_argument("--dev-limit", type=int, default=0, help="texts of each validation set that are scored; 0: all")


def _training(p: argparse.ArgumentParser, start: str, n_layers: int, dropout: float) -> argparse._ArgumentGroup:
    """What every training has; returns the group of options that shape the model."""
    p.add_argument("--out", required=True, help="folder of the checkpoint; an interrupted run in it is gone on with")
    p.add_argument("--from", dest="start", metavar="NAME", help=start)
    size = p.add_argument_group("model")
    size.add_argument("--norm", choices=("pre", "post"), default="pre")
    for name, default in (("d-model", 256), ("n-heads", 8), ("n-layers", n_layers), ("d-ff", 1024),
                          ("vocab-size", 8000)):
        size.add_argument(f"--{name}", type=int, default=default)
    size.add_argument("--dropout", type=float, default=dropout)
    length = p.add_argument_group("length of training; the learning rate is run down by its end")
    length.add_argument("--minutes", type=float, default=0.0, help="of training time; 0: no limit")
    length.add_argument("--steps", type=int, default=0, help="0: no limit")
    pace = p.add_argument_group("optimisation")
    pace.add_argument("--schedule", choices=("noam", "cosine"), help="noam for post-norm, else cosine, if not given")
    pace.add_argument("--peak", type=float, help="highest learning rate (cosine), or factor on the formula (noam: 1)")
    pace.add_argument("--warmup", type=int, help="steps (noam: 4000)")
    pace.add_argument("--weight-decay", type=float)
    pace.add_argument("--average", type=float, help="decay of the moving average of the weights")
    pace.add_argument("--seed", type=int, default=0)
    rest = p.add_argument_group("the rest")
    rest.add_argument("--evaluate-minutes", type=float, default=5.0)
    rest.add_argument("--save-minutes", type=float, default=3.0)
    rest.add_argument("--device", help="cuda, mps or cpu; the best there is if not given")
    rest.add_argument("--threads", type=int, help="of the CPU")
    return size


def _own_folder(folder: Path, save: bool) -> Path:
    """A checkpoint folder; raises UserError for one in the Hub's cache if results are to be kept in it."""
    if save and folder.resolve().parent.name == "snapshots":
        raise UserError("--save writes into the checkpoint, but the Hub's cache is kept as it was fetched; copy it out "
                        "with “python -m xformer checkpoint pull owner/name DIR” and name that folder.")
    return folder


def _options(args: argparse.Namespace, **more: Any) -> Options:
    from xformer.search import Options
    try:
        return Options(beam=args.beam, length_penalty=args.length_penalty, **more)
    except ValueError as error:
        raise UserError(f"{error}.") from error


def translate(args: argparse.Namespace) -> int:
    """Print the translation of a text, or of each line of standard input."""
    from xformer.serve.translation import Service
    options = _options(args, n_best=args.n_best)
    service = Service.open(checkpoint_folder(args.checkpoint), args.device)
    return _answer(args, lambda texts: _print(
        service.translate_many(texts, options), args.json,
        lambda translation: "\t".join(candidate.text for candidate in translation.n_best)))


def classify(args: argparse.Namespace) -> int:
    """Print the sentiment of a text, or of each line of standard input."""
    from xformer.serve.reviews import SentimentService
    service = SentimentService.open(sentiment_folder(args.checkpoint), args.device)
    return _answer(args, lambda texts: _print(
        service.classify(texts), args.json, lambda sentiment: f"{sentiment.label}\t{sentiment.probability:.3f}"))


def _answer(args: argparse.Namespace, say: Callable[[list[str]], None]) -> int:
    """Let `say` print a result a line. Of lines that come from standard input, a bad one is answered by an empty line
    (in JSON by {"error"}) and a sentence on standard error, the others as ever, and the exit status is 2."""
    if args.text:
        say([" ".join(args.text)])
        return 0
    status = number = 0
    for block in _blocks():
        try:
            say(block)
        except UserError:
            for i, line in enumerate(block, number + 1):
                try:
                    say([line])
                except UserError as error:
                    status = 2
                    print(json.dumps({"error": str(error)}, ensure_ascii=False) if args.json else "", flush=True)
                    print(f"Line {i}: {error}", file=sys.stderr)
        number += len(block)
    return status


def _print(results: Sequence[Translation] | Sequence[Sentiment], as_json: bool, plain: Callable[[Any], str]) -> None:
    """A line for each result: JSON, or `plain` with the warnings on standard error."""
    for result in results:
        if as_json:
            print(json.dumps(result.to_json(), ensure_ascii=False))
            continue
        for warning in result.warnings:
            print(warning.say(), file=sys.stderr)
        print(plain(result))
    sys.stdout.flush()


def explain(args: argparse.Namespace) -> None:
    """Write the maps of one pass to a file, whole or not at all."""
    from xformer.explain import export
    from xformer.hub import checkpoint
    from xformer.serve.translation import Service
    out = Path(args.out)
    export.check(out)
    service = Service.open(checkpoint_folder(args.checkpoint), args.device)
    trace = service.explain(args.text, args.target)
    try:
        checkpoint.write(out, export.encode(trace, service.info, out.suffix, ("cross", *service.best_head)))
    except OSError as error:
        raise UserError(f"The file {out} cannot be written ({error.strerror}); name another.") from error


def _blocks(size: int = 64) -> Iterator[list[str]]:
    """Lines of standard input, many at a time from a file or pipe, one by one where a person types."""
    block: list[str] = []
    try:
        for line in sys.stdin:
            block.append(line)
            if len(block) == size or sys.stdin.isatty():
                yield block
                block = []
    except UnicodeDecodeError as error:
        raise UserError(f"Standard input is not UTF-8 text ({error.reason}); convert it first.") from error
    if block:
        yield block


def evaluate_translation(args: argparse.Namespace) -> None:
    """Print the scores of a file of pairs."""
    from xformer.serve.translation import Service
    from xformer.training import evaluation
    options = _options(args, alternatives=0)
    pairs = _pairs(Path(args.pairs))[:args.limit or None]
    folder = _own_folder(checkpoint_folder(args.checkpoint), args.save)
    service = Service.open(folder, args.device)
    scores = evaluation.evaluate_translation(service, pairs, options, rough=args.plain, lowercase=args.lowercase)
    if args.save:
        kept = ("bleu", "chrf", "bleu_signature", "chrf_signature", "sentences", "beam", "identity")
        _keep_score(folder, Path(args.pairs), {**{key: scores[key] for key in kept}, "plain": args.plain,
                                               "lowercase": args.lowercase})
    if args.json:
        print(json.dumps(scores))
    else:
        print(f"BLEU {scores['bleu']}  {scores['bleu_signature']}")
        print(f"chrF {scores['chrf']}  {scores['chrf_signature']}")
        print(f"{scores['sentences']:,} sentences in {scores['seconds']} s on {scores['device']}, "
              f"beam {scores['beam']}, checkpoint {scores['checkpoint']} {scores['identity']}")


def _pairs(path: Path) -> list[tuple[str, str]]:
    from xformer.training.corpora import read_pairs
    try:
        return read_pairs(path)
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}; name a .tsv or .tsv.xz of English, a tab, Spanish.") from error
    except ValueError as error:
        raise UserError(f"{error}.") from error


def evaluate_lengths(args: argparse.Namespace) -> None:
    """Print the scores of a file of pairs by length of sentence; keep them if asked to."""
    from xformer.serve.translation import Service
    from xformer.training import evaluation
    from xformer.training.corpora import find
    options, pairs, training = _options(args, alternatives=0), _pairs(Path(args.pairs)), None
    if args.train:
        files = [found for name in ("train", "extra") if (found := find(Path(args.train), name))]
        if not files:
            raise UserError(f"There is no train.tsv or train.tsv.xz in {args.train}; name the folder that the model "
                            f"was trained on.")
        training = [english for file in files for english, _ in _pairs(file)]
    folder = _own_folder(checkpoint_folder(args.checkpoint), args.save)
    service = Service.open(folder, args.device)
    scores = evaluation.evaluate_lengths(service, pairs, options, training)
    if args.json:
        print(json.dumps({**scores, "checkpoint": service.info.name, "identity": service.info.identity,
                          "device": service.info.device}))
    else:
        print(f"{'pieces':<9}{'sentences':>10}{'BLEU':>8}{'chrF':>8}{'trained on':>12}")
        for bucket in scores["buckets"]:
            first, last, count, bleu, chrf, learned = bucket.values()
            print(f"{f'{first}-{last or str()}':<9}{count:>10,}" + "".join(
                f"{'–' if value is None else f'{value:,}':>{width}}"
                for value, width in ((bleu, 8), (chrf, 8), (learned, 12))))
        print(f"{scores['sentences']:,} sentences, beam {scores['beam']}, checkpoint {service.info.name} "
              f"{service.info.identity}")
    if args.save:
        _keep(folder, service.metrics, "lengths", scores)


def _keep(folder: Path, metrics: dict[str, Any], key: str, value: Any) -> None:
    """Write the metrics of a checkpoint with one entry more, or with another value of it."""
    from xformer.hub import checkpoint
    try:
        checkpoint.write(folder / "metrics.json", (json.dumps({**metrics, key: value}, indent=2) + "\n").encode())
    except OSError as error:
        raise UserError(f"The file {folder / 'metrics.json'} cannot be written ({error.strerror}); "
                        f"copy the checkpoint to where it can.") from error


def _keep_score(folder: Path, file: Path, score: dict[str, Any]) -> None:
    """Write a score on a file into the metrics and the card of a checkpoint."""
    from xformer.hub import card
    try:
        card.keep(folder, {"set": file.name.removesuffix(".xz").removesuffix(".tsv"), **score})
    except OSError as error:
        raise UserError(f"The files of {folder} cannot be written ({error.strerror}); copy the checkpoint to where "
                        f"they can.") from error


def evaluate_sentiment(args: argparse.Namespace) -> None:
    """Print the accuracy on a file of labelled texts."""
    from xformer.serve.reviews import SentimentService
    from xformer.training import evaluation
    from xformer.training.reviews import read_rows
    try:
        rows = read_rows(Path(args.rows))[:args.limit or None]
    except FileNotFoundError as error:
        raise UserError(f"There is no file {args.rows}; name a .tsv or .tsv.xz of 0 (negative) or 1 (positive), a tab, "
                        f"a text.") from error
    except ValueError as error:
        raise UserError(f"{error}.") from error
    folder = _own_folder(sentiment_folder(args.checkpoint), args.save)
    service = SentimentService.open(folder, args.device)
    scores = evaluation.evaluate_sentiment(service, rows)
    if args.save:
        _keep_score(folder, Path(args.rows), {key: scores[key] for key in (
            "accuracy", "calibration_error", "rows", "identity")})
    if args.json:
        print(json.dumps(scores))
    else:
        print(f"accuracy {scores['accuracy']:.4f}, expected calibration error {scores['calibration_error']:.4f}")
        print(f"{scores['rows']:,} texts ({scores['cut']:,} of them cut) in {scores['seconds']} s on "
              f"{scores['device']}, checkpoint {scores['checkpoint']} {scores['identity']}")


def evaluate_pretraining(args: argparse.Namespace) -> None:
    """Print what classifiers learned from shares of the labels; keep it if asked to."""
    from xformer.hub import checkpoint
    from xformer.training import evaluation
    try:
        found = evaluation.label_shares({run: checkpoint.read_metrics(Path(run)) for run in args.runs})
    except ValueError as error:
        raise UserError(f"{error}.") from error
    if args.json:
        print(json.dumps(found))
    else:
        print(f"{'begun':<14}{'labels':>9}{'share':>8}{'steps':>9}{'IMDb':>9}{'SST-2':>9}")
        for one in found:
            print(f"{'pre-trained' if one['pretrained'] else 'from nothing':<14}{one['labels']:>9,}{one['share']:>8.0%}"
                  f"{one['steps']:>9,}{one['imdb']:>9.4f}{one['sst2']:>9.4f}")
    if args.save:
        folder = _own_folder(sentiment_folder(args.checkpoint), args.save)
        _keep(folder, checkpoint.read_metrics(folder), "label_shares", found)


def evaluate_alignment(args: argparse.Namespace) -> None:
    """Print the alignment error rate of every cross-attention head, and the best one; keep them if asked to."""
    import numpy as np
    from tqdm import tqdm

    from xformer.explain import alignment
    from xformer.serve.translation import Service
    try:
        gold = alignment.read_gold(Path(args.gold) if args.gold else alignment.GOLD)
    except FileNotFoundError as error:
        raise UserError(f"There is no file {error.filename}; name one of English, a tab, Spanish, a tab, "
                        f"links.") from error
    except ValueError as error:
        raise UserError(f"{error}.") from error
    folder = _own_folder(checkpoint_folder(args.checkpoint), args.save)
    service = Service.open(folder, args.device)
    traces = [service.trace(pair.english, pair.spanish)
              for pair in tqdm(gold, unit="sentence", dynamic_ncols=True, leave=False)]
    try:
        scores = np.stack([alignment.head_scores(traces, gold, reading) for reading in alignment.READINGS])
    except ValueError as error:
        raise UserError(f"{error}.") from error
    of, layer, head = (int(i) for i in np.unravel_index(scores.argmin(), scores.shape))
    found = {"alignment_error_rate": dict(zip(alignment.READINGS, scores.round(4).tolist(), strict=True)),
             "best": {"layer": layer + 1, "head": head + 1, "of": alignment.READINGS[of]}, "sentences": len(gold)}
    if args.json:
        print(json.dumps({**found, "checkpoint": service.info.name, "identity": service.info.identity,
                          "device": service.info.device}))
    else:
        for reading, rates in zip(alignment.READINGS, scores, strict=True):
            print(f"Alignment error rate, each row counted for the piece {reading}")
            print("         " + "".join(f"{f'head {h}':>8}" for h in range(1, scores.shape[2] + 1)))
            for i, row in enumerate(rates, 1):
                print(f"{f'layer {i}':<9}" + "".join(f"{value:8.3f}" for value in row))
        print(f"best: layer {layer + 1}, head {head + 1}, AER {scores.min():.3f} of the piece "
              f"{alignment.READINGS[of]}; {len(gold):,} sentences, checkpoint {service.info.name} "
              f"{service.info.identity}")
    if args.save:
        _keep(folder, service.metrics, "alignment", found)


def push(args: argparse.Namespace) -> None:
    """Upload a checkpoint; print the address of the commit."""
    from xformer.hub import card, checkpoint, repository
    folder = Path(args.folder)
    if args.license and not (folder / "README.md").is_file():
        card.draft(folder, checkpoint.examine(folder), args.license, args.base_model)
    print(repository.push(folder, args.repository, private=args.private, commit_message=args.message))


def push_space(args: argparse.Namespace) -> None:
    """Upload the page; print the address of the Space."""
    from xformer.hub import space
    print(space.push(ROOT, args.repository, translation=args.checkpoint, sentiment=args.sentiment, mcp=args.mcp,
                     private=args.private, message=args.message))


def pull(args: argparse.Namespace) -> None:
    """Fetch a checkpoint; print its folder."""
    from xformer.hub import repository
    print(repository.pull(args.checkpoint, Path(args.folder) if args.folder else None))


def info(args: argparse.Namespace) -> None:
    """Print what a checkpoint is."""
    from xformer.hub import card, checkpoint
    folder = checkpoint_folder(args.checkpoint)
    found, sizes = checkpoint.examine(folder), checkpoint.sizes(folder)
    data = card.read(folder / "README.md").data if "README.md" in sizes else None
    scores = card.results(found.kind, found.metrics)
    if args.json:
        print(json.dumps({
            "name": found.name, "folder": str(folder), "kind": found.kind.name, "identity": found.identity,
            "parameters": found.parameters, "config": found.config.to_dict(), "files": sizes,
            "license": data and data.get("license"),
            "scores": [{"set": s.dataset_name, "metric": s.metric_name, "value": s.metric_value} for s in scores]}))
        return
    config = found.config
    layers = f"{config.n_layers} + {config.decoder_layers}" if found.kind.task == "translation" else config.n_layers
    for label, value in (
            ("name", found.name), ("folder", folder), ("kind", found.kind.name), ("identity", found.identity),
            ("parameters", f"{found.parameters:,}"), ("vocabulary", f"{config.vocab_size:,} pieces"),
            ("shape", f"d_model {config.d_model}, {config.n_heads} heads, {layers} layers, d_ff {config.d_ff}, "
                      f"{config.norm}-norm, at most {config.max_length:,} pieces"),
            ("files", ", ".join(f"{name} {size:,} bytes" for name, size in sizes.items())),
            ("licence", data.get("license") or "not said" if data else "no README.md"),
            *(("score", f"{s.dataset_name}: {s.metric_name} {s.metric_value}") for s in scores)):
        print(f"{label:<12}{value}")


def verify(args: argparse.Namespace) -> None:
    """Print what was found in order; the first thing that is not raises UserError."""
    import torch

    from xformer.hub import card, checkpoint, repository
    folder = checkpoint_folder(args.checkpoint)
    found = checkpoint.examine(folder)
    model = checkpoint.load(folder, found.kind.model).model
    spoilt = [name for name, tensor in model.state_dict().items() if not torch.isfinite(tensor).all()]
    if spoilt:
        raise UserError(f"The weights in {folder / 'model.safetensors'} are no numbers: {spoilt[0]} holds NaN or "
                        f"infinity; {checkpoint.FIX}.")
    print(f"files       {', '.join(checkpoint.FILES)} fit together: a {found.kind.name} of {found.parameters:,} "
          f"parameters, {found.config.vocab_size:,} pieces")
    damaged = list(repository.damaged(folder))
    if damaged:
        raise UserError(f"The file {folder / damaged[0]} is not what the Hub sent; delete it and fetch it again with "
                        f"“python -m xformer checkpoint pull {found.name}”.")
    print(f"identity    {found.identity}")
    data = card.check(folder).data
    print(f"card        {data['license']}, {data['pipeline_tag']}, {len(data.get('eval_results', []))} scores of these "
          f"weights")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 when it did what was asked, 2 with one sentence on standard error when it could not."""
    args = parser().parse_args(argv)
    try:
        if args.command == "translate":
            return translate(args)
        elif args.command == "classify":
            return classify(args)
        elif args.command == "explain":
            explain(args)
        elif args.command == "evaluate":
            {"translation": evaluate_translation, "alignment": evaluate_alignment,
             "lengths": evaluate_lengths, "sentiment": evaluate_sentiment,
             "pretraining": evaluate_pretraining}[args.what](args)
        elif args.command == "checkpoint":
            {"push": push, "pull": pull, "info": info, "verify": verify}[args.what](args)
        elif args.command == "space":
            push_space(args)
        elif args.command == "data":
            from xformer.training import fetch, fetch_reviews
            {"translation": fetch.fetch_translation, "sentiment": fetch_reviews.fetch_sentiment}[args.what](args)
        elif args.command == "train":
            from xformer.training import run
            {"translation": run.train_translation, "language-model": run.train_language_model,
             "sentiment": run.train_sentiment}[args.what](args)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the output went away, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"{error.filename or 'A file'} cannot be read or written ({error.strerror or error}); name another, "
              f"or see to it.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
