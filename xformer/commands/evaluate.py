"""Score a model: its translations, alignments, demonstrations and verdicts on reviews;
and keep what was measured in the files of the checkpoint."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xformer.commands.arguments import (
    Within,
    add_model,
    add_part,
    add_rerank,
    add_search,
    plainly,
    read_pairs,
    reranked,
    search_options,
)
from xformer.hub.shipped import SENTIMENT, TRANSLATION, Shipped
from xformer.results import UserError, refusing

if TYPE_CHECKING:
    from xformer.serve.loaded import ModelService
    from xformer.serve.translation import Service

METRICS = "keep the scores in the checkpoint's metrics.json"
METRICS_AND_CARD = f"{METRICS} and model card"
TRANSLATION_KEPT = (
    "bleu",
    "chrf",
    "bleu_signature",
    "chrf_signature",
    "sentences",
    "beam",
)
SENTIMENT_KEPT = ("accuracy", "calibration_error", "rows")


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    q = of_pairs(
        kinds, translation, "BLEU and chrF of a file of pairs", METRICS_AND_CARD
    )
    add_rerank(q)
    q.add_argument(
        "--limit",
        type=int,
        action=Within,
        least=0,
        default=0,
        help="score the first N pairs only",
    )
    q.add_argument(
        "--plain",
        action="store_true",
        help="write what is translated in lower case and without punctuation at its ends, as many type",
    )
    q.add_argument(
        "--lowercase", action="store_true", help="score both sides in lower case"
    )
    q.add_argument(
        "--without",
        type=Path,
        metavar="FILE",
        help="file of training data: leave out the pairs that share their English or their Spanish with it",
    )
    q.add_argument(
        "--against",
        metavar="NAME",
        help="another checkpoint: score it too, test the difference by "
        "sacrebleu's paired bootstrap, and print where they differ most",
    )

    q = add_part(kinds, alignment, "alignment error rate of every cross-attention head")
    add_model(q)
    q.add_argument(
        "--gold",
        metavar="FILE",
        help="English, a tab, Spanish, a tab, links: i-j sure, i?j possible, "
        "words counted from 0; if not given, the forty that come with it",
    )
    q.add_argument("--json", action="store_true", help="one JSON object")
    q.add_argument("--save", action="store_true", help=METRICS)

    q = add_part(
        kinds,
        demonstrations,
        "what lectures, lessons and examples show with a translator",
    )
    add_model(q)
    q.add_argument(
        "--rows",
        type=Path,
        metavar="FILE",
        help="JSON list of demonstrations; if not given, the forty that come with it",
    )
    q.add_argument("--json", action="store_true", help="one JSON object")
    q.set_defaults(save=False)

    _add_reviews(kinds)


def of_pairs(
    kinds: Any, run: Any, help: str, kept: str = METRICS, **more: Any
) -> argparse.ArgumentParser:
    """Add a command that translates a file of pairs, or several if there is to be
    `more` about --pairs; -> its parser."""
    q = add_part(kinds, run, help)
    q.add_argument(
        "--pairs",
        required=True,
        type=Path,
        metavar="FILE",
        help=".tsv or .tsv.xz: English, a tab, Spanish",
        **more,
    )
    add_search(q)
    q.add_argument("--save", action="store_true", help=kept)
    return q


def _add_reviews(kinds: Any) -> None:
    """Add what scores classifiers of reviews."""
    q = add_part(kinds, sentiment, "accuracy on a file of labelled texts")
    q.add_argument(
        "--rows",
        required=True,
        type=Path,
        metavar="FILE",
        help=".tsv or .tsv.xz: 0 (negative) or 1 (positive), a tab, a text",
    )
    add_model(q, SENTIMENT)
    q.add_argument(
        "--limit",
        type=int,
        action=Within,
        least=0,
        default=0,
        help="classify the first N texts only",
    )
    q.add_argument("--json", action="store_true", help="one JSON object")
    q.add_argument("--save", action="store_true", help=METRICS_AND_CARD)


# What every command does


def checkpoint_folder(args: argparse.Namespace, shipped: Shipped) -> Path:
    """Find a checkpoint; raises UserError for one in the Hub's cache if results are to
    be kept in it."""
    folder = shipped.find(args.checkpoint)
    if args.save and folder.resolve().parent.name == "snapshots":
        raise UserError(
            "--save writes into the checkpoint, but the Hub's cache is kept as it was fetched; copy it out "
            "with “python -m xformer checkpoint pull owner/name DIR” and name that folder."
        )
    return folder


def opened(args: argparse.Namespace, precision: str = "auto") -> Service:
    """Open a translation model; raises UserError where scores of a changed model would
    be kept as its own."""
    from xformer.serve.translation import Service

    if args.save and precision == "int8":
        raise UserError(
            "--save keeps the scores of the weights as they are; leave out --save, or --precision int8."
        )
    return Service.open(checkpoint_folder(args, TRANSLATION), args.device, precision)


def set_name(file: Path) -> str:
    """Return the name under which the score on a file is kept: the file's, without .tsv
    and .xz."""
    return file.name.removesuffix(".xz").removesuffix(".tsv")


def tell(
    args: argparse.Namespace,
    lines: list[str],
    key: str,
    found: Any,
    service: ModelService[Any] | None = None,
    kept: dict[str, Any] | None = None,
) -> None:
    """Print what was found, and of which weights, as lines or as JSON. If asked to,
    keep it, or of it what is `kept`, under a key in the metrics of the checkpoint;
    "scores", those of one set, also in its card."""
    kept = kept or found
    if service:
        info = service.info
        found = {
            **found,
            "checkpoint": info.name,
            "identity": info.identity,
            "device": info.device,
        }
        lines[-1] += f", checkpoint {info.versioned}"
    print(json.dumps(found) if args.json else "\n".join(lines))
    if not args.save:
        return
    from xformer.hub import card, checkpoint

    folder = service.folder if service else checkpoint_folder(args, SENTIMENT)
    with refusing(
        OSError,
        lambda error: (
            f"The file {folder / 'metrics.json'} cannot be written ({error.strerror}); copy the checkpoint to where it "
            f"can."
        ),
    ):
        if key == "scores":
            card.keep(folder, kept)
        else:
            checkpoint.write_metrics(
                folder, {**checkpoint.read_metrics(folder), key: kept}
            )


# Translations


def translation(args: argparse.Namespace) -> None:
    """Translate what the model reads of a file of pairs, English or Spanish, and score
    it with sacrebleu, one reference a line."""
    from xformer.serve.translation import Service
    from xformer.training import evaluation
    from xformer.training.data.corpora import without

    options = search_options(args, alternatives=0)
    pairs = read_pairs(args.pairs)
    name = set_name(args.pairs)
    pairs = pairs[: args.limit or None]
    more = dict[str, Any]()
    lines = list[str]()
    if args.without:
        kept = without(pairs, read_pairs(args.without))
        name = f"{name} without {set_name(args.without)}"
        left_out = len(pairs) - len(kept)
        pairs = kept
        if not pairs:
            raise UserError(
                f"Every pair of {args.pairs} shares a sentence with {args.without}, and none is left to "
                f"score; name another file with --without."
            )
        more = {"set": name, "left_out": left_out}
        lines.append(
            f"{left_out:,} pairs left out that share a sentence with {args.without}"
        )
    if args.rerank and args.save:
        raise UserError(
            "--save keeps what the model reaches by itself; leave out --save, or --rerank."
        )
    service = reranked(opened(args, args.precision), args)
    how = {"rough": args.plain, "lowercase": args.lowercase}
    if args.against:
        other = Service.open(
            TRANSLATION.find(args.against), args.device, args.precision
        )
        scores, more["against"] = evaluation.evaluate_against(
            service, other, pairs, options, **how
        )
    else:
        scores = evaluation.evaluate_translation(service, pairs, options, **how)
    lines += [
        f"BLEU {scores.bleu}  {scores.bleu_signature}",
        f"chrF {scores.chrf}  {scores.chrf_signature}",
        f"{scores.sentences:,} sentences in {scores.seconds} s on {service.info.device}, beam {scores.beam}",
    ]
    found = asdict(scores)
    tell(
        args,
        lines,
        "scores",
        {**found, **more},
        service,
        {
            "set": name,
            **{key: found[key] for key in TRANSLATION_KEPT},
            "identity": service.info.identity,
            "plain": args.plain,
            "lowercase": args.lowercase,
        },
    )
    if args.against and not args.json:
        print(
            _against(
                more["against"],
                [service.info.name, more["against"]["scores"]["checkpoint"]],
            )
        )


def _against(found: dict[str, Any], names: list[str]) -> str:
    """Write what `evaluate_against` found of two checkpoints as text."""
    wide = max(map(len, names))
    lines = [
        f"Of {found['resamples']:,} resamples: mean, half of the interval of 95 %, p"
    ]
    for score, tested in found["tested"].items():
        for i, name in enumerate(names):
            p = f"  p = {tested['p']:.4f}" if i else ""
            lines.append(
                f"{'AB'[i]}  {name:{wide}}  {score} {tested['scores'][i]:6.2f}  "
                f"({tested['means'][i]:.2f} ± {tested['intervals'][i]:.2f}){p}"
            )
    for one in found["apart"]:
        lines += [
            "",
            f"   {one['source']}",
            f"   {one['reference']}",
            *(
                f"{'AB'[i]}  {text}  (chrF {one['chrf'][i]:.1f})"
                for i, text in enumerate(one["translations"])
            ),
        ]
    return "\n".join(lines)


def alignment(args: argparse.Namespace) -> None:
    """Compare what each cross-attention head looks at with sentence pairs aligned by
    hand (Och and Ney 2003); 0 is best, 1 worst."""
    from xformer.explain.alignment import GOLD, read_gold
    from xformer.training import evaluation

    service = opened(args)
    path = Path(args.gold) if args.gold else GOLD.get(service.info.source, GOLD["en"])
    with plainly(
        f"There is no file {path}; name one of English, a tab, Spanish, a tab, links."
    ):
        gold = read_gold(path)
    with plainly():
        scores = evaluation.evaluate_alignment(service, gold)
    lines = []
    for reading, rates in scores.rates.items():
        lines += [
            f"Alignment error rate, each row counted for the piece {reading}",
            "         "
            + "".join(f"{f'head {h}':>8}" for h in range(1, rates.shape[1] + 1)),
            *(
                f"{f'layer {i}':<9}" + "".join(f"{value:8.3f}" for value in row)
                for i, row in enumerate(rates, 1)
            ),
        ]
    lines.append(
        f"best: layer {scores.layer}, head {scores.head}, AER {scores.best:.3f} of the piece "
        f"{scores.reading}; {scores.sentences:,} sentences"
        f"{'' if scores.sides is None else f'; where pieces come from by ALTI+: AER {scores.sides:.3f}'}"
    )
    tell(args, lines, "alignment", scores.to_json(), service)


def demonstrations(args: argparse.Namespace) -> None:
    """Measure whether a translator shows what lectures, lessons, doors and examples
    show with it: heads that link two words, senses kept apart, words and genders in
    their context."""
    from xformer.training.demonstrations import PATH, evaluate, read

    rows = read(args.rows or PATH)
    service = opened(args)
    found = evaluate(service, rows)
    wide = max(len(one.name) for one in found)
    lines = [
        f"{'':{wide}}  {'kind':<9}{'measured':>9}{'at least':>9}  shown",
        *(
            f"{one.name:{wide}}  {one.kind:<9}{one.measured:>9.3f}{one.least:>9.2f}  {'yes' if one.passed else 'no'}"
            for one in found
        ),
    ]
    passed = sum(one.passed for one in found)
    lines.append(f"{passed} of {len(found)} shown")
    tell(
        args,
        lines,
        "demonstrations",
        {"rows": [*map(asdict, found)], "shown": passed, "of": len(found)},
        service,
    )


# Reviews


def sentiment(args: argparse.Namespace) -> None:
    """Classify the texts of a file and compare with their labels; also says how well
    the probabilities are calibrated (expected calibration error, Guo et al. 2017)."""
    from xformer.serve.reviews import SentimentService
    from xformer.training import evaluation
    from xformer.training.data.reviews import read_rows

    with plainly(
        f"There is no file {args.rows}; name a .tsv or .tsv.xz of 0 (negative) or 1 (positive), a tab, a "
        f"text."
    ):
        rows = read_rows(args.rows)[: args.limit or None]
    service = SentimentService.open(checkpoint_folder(args, SENTIMENT), args.device)
    scores = evaluation.evaluate_sentiment(service, rows)
    lines = [
        f"accuracy {scores.accuracy:.4f}, expected calibration error {scores.calibration_error:.4f}",
        f"{scores.rows:,} texts ({scores.cut:,} of them cut) in {scores.seconds} s on {service.info.device}",
    ]
    tell(
        args,
        lines,
        "scores",
        asdict(scores),
        service,
        {
            "set": set_name(args.rows),
            **{key: getattr(scores, key) for key in SENTIMENT_KEPT},
            "identity": service.info.identity,
        },
    )
