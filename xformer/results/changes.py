"""A translation before and after something was changed: a word, a head, positions, the
weighing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xformer.results.attention import Trace
from xformer.results.models import Head, ModelInfo
from xformer.results.translation import Bleu, Translation

__all__ = [
    "Comparison",
    "Examined",
    "HeadEffect",
    "Moved",
    "Occlusion",
    "Reweighed",
    "TwoModels",
    "Why",
]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two source texts side by side: the pass over each with its own translation, and
    each translation after both."""

    translations: tuple[Translation, Translation]
    traces: tuple[Trace, Trace]  # of each source and its own translation
    # [source][translation]: log-probability of each piece of the translation, </s>
    # included, after that source
    log_probs: tuple[tuple[tuple[float, ...], ...], ...]

    @property
    def totals(self) -> tuple[tuple[float, ...], ...]:
        """Sums of `log_probs`: [source][translation], nats."""
        return tuple(tuple(map(sum, of_source)) for of_source in self.log_probs)

    def to_json(self) -> dict[str, Any]:
        """The translations' JSON, and log-probabilities crosswise."""
        return {
            "sources": [translation.source for translation in self.translations],
            "translations": [
                translation.to_json() for translation in self.translations
            ],
            "log_probs": [
                [list(values) for values in of_source] for of_source in self.log_probs
            ],
        }


@dataclass(frozen=True, eq=False)
class TwoModels:
    """One text through two models of one pair of languages."""

    infos: tuple[ModelInfo, ModelInfo]
    translations: tuple[Translation, Translation]
    traces: tuple[Trace, Trace]  # of the text and each model's own translation
    # alignment error rate of each one's best head; None if not measured
    errors: tuple[float | None, float | None]
    scores: tuple[Bleu, Bleu] | None  # against a reference; None without one
    # The first model's translation in both; None unless they have one shape and split
    # both texts into the same pieces.
    forced: tuple[Trace, Trace] | None

    @property
    def log_probs(self) -> list[float]:
        """The mean log-probability of a piece of each translation, </s> included."""
        return [
            sum(one.best.log_probs) / len(one.best.log_probs)
            for one in self.translations
        ]

    def heads(self, names: Sequence[str] = ("", "")) -> list[Head | None]:
        """A head of the cross-attention of each model: of its name if it has one, else
        the best; None without any."""
        known = [
            {
                f"cross.{1 + layer}.{1 + head}"
                for layer, head in np.ndindex(*trace.cross.shape[:2])
            }
            for trace in self.traces
        ]
        return [
            trace.opening(name if name in there else None) if there else None
            for trace, name, there in zip(self.traces, names, known, strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """The text, and of each model its translation's JSON and its numbers."""
        heads = self.heads()
        return {
            "source": self.translations[0].source,
            "models": [
                {
                    "model": info.name,
                    "identity": info.identity,
                    **self.translations[i].to_json(),
                    "log_prob": self.log_probs[i],
                    "seconds": self.translations[i].seconds,
                    "bleu": self.scores[i].score if self.scores else None,
                    "best_head": heads[i] and str(heads[i]),
                    "alignment_error": self.errors[i],
                }
                for i, info in enumerate(self.infos)
            ],
        }


@dataclass(frozen=True, eq=False)
class Occlusion:
    """Leave-one-out effects of W source words on T target pieces."""

    words: tuple[str, ...]  # W words of the source, their pieces joined
    predicted: tuple[str, ...]  # T pieces
    log_probs: tuple[float, ...]  # of `predicted`, with the whole source
    # (T, W), nats by which a piece's log-probability falls without the word
    effect: np.ndarray


@dataclass(frozen=True)
class HeadEffect:
    """The worth of one head to a translation."""

    head: Head
    effect: float  # nats by which the translation's log-probability falls without it


@dataclass(frozen=True, eq=False)
class Reweighed:
    """A translation before and after its attention was weighed otherwise."""

    translation: Translation  # made under the change
    before: Trace  # of the original source and translation
    after: Trace  # of the same, under the change


@dataclass(frozen=True, eq=False)
class Moved(Reweighed):
    """A translation before and after a change of positions or of the order of the
    words; `after` is of `source`."""

    source: str  # as it was read, perhaps shuffled


@dataclass(frozen=True, eq=False)
class Examined:
    """A model with one mistake, or the healthy one, on a source and a target."""

    text: str  # what it writes, greedily
    trace: Trace
    signs: dict[str, float | str]  # by the names of `parts.bugs.ask.signs`


@dataclass(frozen=True, eq=False)
class Why:
    """Why a piece was written and not its rival: what makes the difference of their
    logits, in nats."""

    # by layer: heads of self-attention, of cross-attention, and the feed-forward
    # network
    adds: np.ndarray
    # the embedding of the piece before, its position, and the biases
    rest: tuple[float, float, float]
    # of each piece: contrastive gradient x input, and integrated gradients
    by_source: np.ndarray
    by_given: np.ndarray  # the same of the pieces given, up to that of the step
    # of the difference, from average pieces to these: what integrated gradients should
    # sum to
    change: float
