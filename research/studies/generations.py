"""Four generations of translators, trained so that they can be compared: the same
pairs, vocabulary, batches and pieces seen, about as many parameters, each with the best
of several rates, and by several seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from research.options import GenerationRuns
from xformer.hub import checkpoint
from xformer.results import GENERATIONS
from xformer.training.options import TranslationRun
from xformer.training.run import train_translation

# 7.58 to 7.61 million parameters each, with 8,000 pieces
SHAPES: dict[str, dict[str, Any]] = {
    "gru": {"architecture": "gru", "d_model": 468, "n_layers": 1},
    "gru-attention": {"architecture": "gru-attention", "d_model": 452, "n_layers": 1},
    **{
        f"{norm}-norm": {
            "norm": norm,
            "d_model": 256,
            "n_heads": 4,
            "n_layers": 3,
            "d_ff": 1024,
        }
        for norm in ("post", "pre")
    },
}


def record(study: GenerationRuns) -> Iterator[str]:
    """Make every run that is not in `study.out` whole, or go on with it; yield a line
    about each, and note what all runs of a generation came to in the metrics of the
    longer ones. A rate that is best in a short run may be too high for a long one:
    where seed 1 ends no lower than that, the next lower rate is taken. Raises
    UserError."""
    shared = {
        of.name: getattr(study, of.name)
        for of in fields(TranslationRun)
        if hasattr(study, of.name)
    }
    same = TranslationRun(
        **shared,
        dropout=0.1,
        schedule="cosine",
        names=0.0,
        sampled=0.0,
        capitals=0.0,
        extra_weight=0.0,
        dev_limit=500,
    )
    for name in [study.only] if study.only else GENERATIONS:
        one = replace(same, **SHAPES[name])
        rates = list[dict[str, float]]()
        for rate in study.rates:
            trial = replace(
                one,
                out=study.out / f"{name}-{rate:g}",
                peak=rate,
                target_pieces=study.trial_pieces,
            )
            rates.append({"rate": rate, **_scores(trial)})
            yield f"{name}, rate {rate:g}: {rates[-1]}"
        best = min(rates, key=lambda tried: tried["dev_loss"])["rate"]
        for tried in sorted(
            (tried for tried in rates if tried["rate"] <= best),
            key=lambda tried: -tried["rate"],
        ):
            peak = tried["rate"]
            runs = [
                replace(
                    one,
                    out=study.out / f"{name}-{peak:g}-seed{seed}",
                    peak=peak,
                    seed=seed,
                    target_pieces=study.pieces,
                    moments=12,
                )
                for seed in range(1, study.seeds + 1)
            ]
            seeds = [{"seed": 1, **_scores(runs[0])}]
            yield f"{name}, rate {peak:g}, seed 1: {seeds[0]}"
            if seeds[0]["dev_loss"] < tried["dev_loss"]:
                break  # else the rate was too high for so long a run
        for run in runs[1:]:
            seeds.append({"seed": run.seed, **_scores(run)})
            yield f"{name}, rate {peak:g}, seed {run.seed}: {seeds[-1]}"
        for run in runs:
            noted = {"study": {"rates": rates, "seeds": seeds}}
            checkpoint.write_metrics(
                run.out, {**checkpoint.read_metrics(run.out), **noted}
            )


def _scores(run: TranslationRun) -> dict[str, float]:
    """Train to the end, if that has not been done; return what the averaged weights
    scored there."""
    train_translation(run)
    last = json.loads(
        (run.out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    )
    return {name: last[name] for name in ("bleu", "dev_loss")}
