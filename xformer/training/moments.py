"""Save, while a model trains, what it makes of a few sentences: their translations and
all its attention maps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from xformer.explain import film as film_of
from xformer.explain import passes
from xformer.explain.alignment import READINGS, Gold, grouped, head_scores
from xformer.hub import recorded
from xformer.results import STACKS, Course, Moment, Moments, Options, Trace, write_whole
from xformer.strings import ASSETS
from xformer.tokenizer import Tokenizer
from xformer.translator import Translator, translate_ids

# Of assets/alignments.tsv: short and long, with words that change places, fall out, or
# have two for one.
SENTENCES = (ASSETS / "moments.txt").read_text(encoding="utf-8").splitlines()


def shares(count: int) -> list[float]:
    """List the shares of a run at which `count` (2 or more) moments are due: 0, then
    each twice the last, to 1."""
    return [0.0, *(0.5**i for i in reversed(range(count - 1)))]


class MomentsRecorder:
    """Takes moments of a run, and keeps them in a file of its folder.

    Maps are those of a pass over the sentence and its reference, whatever the model
    would say itself: so they have the same rows at all times, and can be compared.
    """

    def __init__(
        self,
        folder: Path,
        model: Translator,
        tokenizer: Tokenizer,
        gold: Sequence[Gold],
        count: int,
        film: bool = False,
    ) -> None:
        """gold: pairs aligned by hand; the alignment error rates are of all of them
        that the vocabulary can write, the maps of SENTENCES. film: whether the weights
        at each moment are kept too. Raises ValueError where it can write none of
        these sentences."""
        self.folder = folder
        self.weights = folder / film_of.WEIGHTS if film else None
        self.model = model
        self.tokenizer = tokenizer
        self.gold = [pair for pair in gold if _writes(tokenizer, pair)]
        self.shares = shares(count)
        self.shown = [
            n for n, pair in enumerate(self.gold) if pair.english in SENTENCES
        ]
        if not self.shown:
            raise ValueError(
                "the vocabulary has not the characters of the sentences that moments are of; train "
                "without moments"
            )
        self.passed = 0  # shares that are over
        self.kept: Moments | None = None

    def resume(self, step: int, done: float) -> None:
        """Go on after a step, 0 for a new run: forget what an interrupted run had taken
        later."""
        self.passed = bisect_right(self.shares, done) if step else 0
        self.kept = recorded.read_moments(self.folder) if step else None
        if self.kept:
            self.kept = _first(
                self.kept, sum(moment.step <= step for moment in self.kept.moments)
            )
        for path in self.weights.glob("*.safetensors") if self.weights else ():
            if int(path.stem) > step or not step:
                path.unlink()

    def due(self, done: float) -> bool:
        """Tell whether another share of the run is over; said once."""
        before = self.passed
        self.passed = max(self.passed, bisect_right(self.shares, done))
        return self.passed > before

    def take(self, moment: Moment) -> None:
        """Take a moment with the weights as they are, and write the whole file again.
        Raises OSError."""
        threads = torch.get_num_threads()
        try:
            taken = self._taken(moment)
        finally:
            torch.set_num_threads(threads)  # passes choose their own
        self.kept = _joined(self.kept, taken) if self.kept else taken
        write_whole(self.folder / recorded.MOMENTS, recorded.moments_bytes(self.kept))
        if self.weights:
            self.weights.mkdir(exist_ok=True)
            stored = {
                name: tensor.detach().half().contiguous().cpu()
                for name, tensor in self.model.state_dict().items()
            }
            write_whole(self.weights / f"{moment.step}.safetensors", save(stored))

    def _taken(self, moment: Moment) -> Moments:
        encode = self.tokenizer.encode
        pairs = [
            passes.Pair.of(encode(pair.english), encode(pair.spanish))
            for pair in self.gold
        ]
        found = translate_ids(
            self.model,
            [pairs[n].source[:-1] for n in self.shown],
            Options(beam=1, alternatives=0),
        )
        traces = [
            passes.trace(self.model, self.tokenizer, pair, gold.english)
            for pair, gold in zip(pairs, self.gold, strict=True)
        ]
        errors = np.stack(
            [head_scores(traces, self.gold, reading) for reading in READINGS]
        )
        courses = tuple(
            Course(
                self.gold[n].english,
                self.gold[n].spanish,
                traces[n].source,
                traces[n].target,
                traces[n].predicted,
                (self.tokenizer.decode(best.tokens),),
                _maps(traces[n]),
            )
            for n, (best, *_) in zip(self.shown, found, strict=True)
        )
        return Moments((moment,), courses, errors[None].astype(np.float32))


def _writes(tokenizer: Tokenizer, pair: Gold) -> bool:
    """Tell whether a vocabulary makes the words of a pair that its links count."""
    return all(
        tuple(word for word, _ in grouped(tokenizer.pieces(tokenizer.encode(text))))
        == wanted
        for text, wanted in ((pair.english, pair.source), (pair.spanish, pair.target))
    )


def _maps(trace: Trace) -> dict[str, np.ndarray]:
    """Return the maps of a trace as bytes, with an axis of one moment."""
    return {
        stack: np.rint(255 * maps[None]).astype(np.uint8)
        for stack in STACKS
        if (maps := trace.of(stack).probabilities).size
    }


def _first(kept: Moments, count: int) -> Moments:
    """Return the first moments alone."""
    courses = tuple(
        replace(
            one,
            translations=one.translations[:count],
            maps={stack: maps[:count] for stack, maps in one.maps.items()},
        )
        for one in kept.courses
    )
    return Moments(kept.moments[:count], courses, kept.errors[:count])


def _joined(kept: Moments, taken: Moments) -> Moments:
    """Put a moment behind those before it."""
    courses = tuple(
        replace(
            a,
            translations=a.translations + b.translations,
            maps={
                stack: np.concatenate((maps, b.maps[stack]))
                for stack, maps in a.maps.items()
            },
        )
        for a, b in zip(kept.courses, taken.courses, strict=True)
    )
    return Moments(
        kept.moments + taken.moments,
        courses,
        np.concatenate((kept.errors, taken.errors)),
    )
