"""The weights of a small translator at moments of its training, in one file that ships,
and what it makes of a sentence at each.

A matrix is stored in 63 levels a row, of which the largest is the row's largest number
at any moment, and of each moment as what has changed since the one before: early and
late in a training that is little, and is deflated to little. Vectors are stored in half
precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from xformer.device import use_threads
from xformer.explain import archives, passes
from xformer.explain.alignment import READINGS, best_of
from xformer.model import Config, Transformer
from xformer.results import Film, Head, Message, Moment, Options, UserError
from xformer.tokenizer import Tokenizer
from xformer.translator import translate_ids

# of a run: a folder with a file for each step at which a moment was taken
WEIGHTS = "moments"
LEVELS = 31  # on either side of 0
MOST = 60  # pieces of either side of a pair that is played
# pieces beyond those of the pair's target that a translation may have: early in
# training a model finds no end
BEYOND = 10


@dataclass(frozen=True, eq=False)
class Reel:
    """The weights of a model at moments of its training."""

    config: Config
    tokenizer: Tokenizer
    moments: tuple[Moment, ...]
    # steps, and the mean loss of a target piece since the one before it
    course: tuple[tuple[int, float], ...]
    # float32 (moments, 2, layers, H): as in results.Moments
    errors: np.ndarray
    # by name: (moments, …), matrices in levels as int8, vectors as float16
    weights: dict[str, np.ndarray]
    scales: dict[str, np.ndarray]  # of matrices: a level of each row, (rows, 1)

    @property
    def head(self) -> Head:
        """The head of the cross-attention that aligns best at the last moment."""
        return best_of(self.errors[-1])[0]

    @property
    def reading(self) -> str:
        """In which of alignment.READINGS it does."""
        return best_of(self.errors[-1])[1]

    def at(self, moment: int) -> dict[str, torch.Tensor]:
        """The weights at a moment, from 0, as a model takes them."""
        return {
            name: torch.from_numpy(
                stored[moment].astype(np.float32) * self.scales.get(name, np.float32(1))
            )
            for name, stored in self.weights.items()
        }


def kept(weights: Sequence[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Store the weights of each moment: `weights` and `scales` of a Reel."""
    levels = dict[str, np.ndarray]()
    scales = dict[str, np.ndarray]()
    for name in weights[0]:
        numbers = np.stack([one[name] for one in weights]).astype(np.float32)
        if numbers.ndim == 2:  # moments of a vector
            levels[name] = numbers.astype(np.float16)
            continue
        largest = np.abs(numbers).max((0, 2))[:, None]
        scales[name] = np.maximum(largest / LEVELS, 1e-8).astype(np.float32)
        levels[name] = np.rint(numbers / scales[name]).astype(np.int8)
    return {"weights": levels, "scales": scales}


def write(path: Path, reel: Reel) -> None:
    """Write a film. Raises OSError."""
    about = {
        "config": reel.config.to_dict(),
        "moments": [vars(moment) for moment in reel.moments],
        "course": reel.course,
    }
    arrays: dict[str, Any] = {"vocabulary": reel.tokenizer.model, "errors": reel.errors}
    for name, one in reel.weights.items():
        if name in reel.scales:
            arrays[f"weights.{name}"] = np.diff(one, axis=0, prepend=one[:1] * 0)
            arrays[f"scales.{name}"] = reel.scales[name]
        else:
            arrays[f"vectors.{name}"] = one
    archives.write(path, about, arrays)


def read(path: Path) -> Reel:
    """Read a film. Raises UserError where the file is missing or broken."""
    with archives.reading(path, "film_missing") as (about, stored):
        named = {
            kind: {
                name.removeprefix(f"{kind}."): stored[name]
                for name in stored.files
                if name.startswith(f"{kind}.")
            }
            for kind in ("weights", "vectors", "scales")
        }
        matrices = {
            name: np.cumsum(changes, axis=0, dtype=np.int8)
            for name, changes in named["weights"].items()
        }
        return Reel(
            Config(**about["config"]),
            Tokenizer(stored["vocabulary"].tobytes()),
            tuple(Moment(**one) for one in about["moments"]),
            tuple((int(step), float(loss)) for step, loss in about["course"]),
            stored["errors"],
            {**matrices, **named["vectors"]},
            named["scales"],
        )


def play(
    reel: Reel,
    english: str,
    spanish: str,
    pause: Callable[[], object] = lambda: None,
) -> Film:
    """Answer `results.WatchForm`. pause: called between moments. Raises UserError for a
    pair that is too long."""
    source = reel.tokenizer.encode(english)
    target = reel.tokenizer.encode(spanish)
    for tokens in (source, target):
        if not 1 <= len(tokens) <= MOST:
            raise UserError(Message.of("film_long", pieces=len(tokens), most=MOST))
    use_threads(1)
    pair = passes.Pair.of(source, target)
    given = reel.reading == "given"  # the rows of the target's pieces
    model = Transformer(reel.config).eval()
    translations = list[str]()
    maps = list[np.ndarray]()
    losses = list[float]()
    for moment in range(len(reel.moments)):
        model.load_state_dict(reel.at(moment))
        ((best, *_),) = translate_ids(
            model,
            [source],
            Options(beam=1, alternatives=0),
            max_lengths=[len(target) + BEYOND],
        )
        translations.append(reel.tokenizer.decode(best.tokens))
        trace = passes.trace(model, reel.tokenizer, pair, english)
        of_head = trace.cross[reel.head.at]
        maps.append(of_head[1:] if given else of_head[:-1])
        losses.append(-float(np.mean(trace.log_probs)))
        pause()
    return Film(
        reel.head,
        reel.moments,
        tuple(reel.tokenizer.pieces(pair.source)),
        tuple(reel.tokenizer.pieces(target)),
        tuple(translations),
        np.stack(maps),
        tuple(losses),
        tuple(
            float(one)
            for one in reel.errors[
                :,
                READINGS.index(reel.reading),
                reel.head.layer - 1,
                reel.head.head - 1,
            ]
        ),
        reel.course,
        model.parameter_count(),
    )
