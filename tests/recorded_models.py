"""Tiny models of the four generations with all that a training leaves, untrained and so
quickly made."""

import torch

from xformer.explain.alignment import read_gold
from xformer.hub import checkpoint, recorded
from xformer.model import Config, Transformer
from xformer.recurrent import RecurrentConfig, RecurrentTranslator
from xformer.results import GENERATIONS, Moment
from xformer.training.history import History
from xformer.training.moments import MomentsRecorder

STEPS = (0, 5, 10)  # of the moments
BUCKETS = [
    {
        "first": 1,
        "last": 5,
        "sentences": 40,
        "bleu": 30.0,
        "chrf": 40.0,
        "training": None,
    },
    {
        "first": 6,
        "last": None,
        "sentences": 20,
        "bleu": 20.0,
        "chrf": 30.0,
        "training": None,
    },
]


def make(folder, tokenizer):
    """Write a checkpoint of each generation into a folder; return their folders by
    name."""
    gold = read_gold()
    made = {}
    for name in GENERATIONS:
        torch.manual_seed(0)
        shape = {
            "vocab_size": len(tokenizer),
            "d_model": 16,
            "dropout": 0.0,
            "max_length": 128,
        }
        if name.startswith("gru"):
            attention = "additive" if name == "gru-attention" else "none"
            model = RecurrentTranslator(RecurrentConfig(attention=attention, **shape))
        else:
            model = Transformer(
                Config(
                    n_heads=2,
                    n_layers=2,
                    d_ff=16,
                    norm=name.removesuffix("-norm"),
                    **shape,
                )
            )
        kept = (
            {"step": 8, "seen": 8_000, "minutes": 0.8, "done": 0.8}
            if name == "pre-norm"
            else {"step": 10, "seen": 10_000, "minutes": 1.0, "done": 1.0}
        )
        metrics = {
            **kept,
            "bleu": 21.5,
            "lengths": {"buckets": BUCKETS},
            "scores": [
                {"set": "far-away", "bleu": 12.25, "beam": 5},
                {"set": "far-away", "bleu": 9.0, "plain": True},
            ],
        }
        if name == "post-norm":
            metrics |= {
                "options": {"seed": 1},
                "study": {
                    "rates": [
                        {"rate": 6e-4, "bleu": 9.0, "dev_loss": 3.5},
                        {"rate": 1.2e-3, "bleu": 11, "dev_loss": 3.25},
                    ],
                    "seeds": [
                        {"seed": 1, "bleu": 21.5, "dev_loss": 2.5},
                        {"seed": 2, "bleu": 20.9, "dev_loss": 2.6},
                    ],
                },
            }
        if name != "gru":
            heads = [[0.3]] if name == "gru-attention" else [[0.5, 0.4], [0.25, 0.6]]
            place = (
                {"layer": 1, "head": 1}
                if name == "gru-attention"
                else {"layer": 2, "head": 1}
            )
            metrics["alignment"] = {
                "alignment_error_rate": {
                    "predicted": heads,
                    "given": [[0.9] * len(heads[0]) for _ in heads],
                },
                "best": {**place, "of": "predicted"},
                "sentences": 40,
            }
        made[name] = folder / name
        checkpoint.save(made[name], model.eval(), tokenizer, metrics)
        history = History()
        for step in range(1, 11):
            history.add(
                step,
                6.0 * step,
                1000 * step,
                1e-3,
                loss=8000.0 / step,
                weight=1000,
                norm=2.0,
                took=6.0,
            )
        history.score(10, 60.0, 10_000, {"bleu": 21.5, "dev_loss": 4.0})
        (made[name] / recorded.HISTORY).write_bytes(history.to_json())
        recorder = MomentsRecorder(made[name], model, tokenizer, gold[:8], 4)
        recorder.resume(0, 0.0)
        for step in STEPS:
            recorder.take(Moment(step, 6.0 * step, 1000 * step, step / 10))
    return made
