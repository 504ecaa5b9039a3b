"""A translation before and after something was changed: a word, a head, positions, the weighing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from xformer.results.attention import Trace
from xformer.results.models import Head
from xformer.results.translation import Translation


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two source texts side by side: the pass over each with its own translation, and each translation after both."""

    translations: tuple[Translation, Translation]
    traces: tuple[Trace, Trace]  # of each source and its own translation
    # [source][translation]: log-probability of each piece of the translation, </s> included, after that source
    log_probs: tuple[tuple[tuple[float, ...], ...], ...]

    @property
    def totals(self) -> tuple[tuple[float, ...], ...]:
        """Sums of `log_probs`: [source][translation], nats."""
        return tuple(tuple(map(sum, of_source)) for of_source in self.log_probs)

    def to_json(self) -> dict[str, Any]:
        """The translations' JSON, and log-probabilities crosswise."""
        return {"sources": [translation.source for translation in self.translations],
                "translations": [translation.to_json() for translation in self.translations],
                "log_probs": [[list(values) for values in of_source] for of_source in self.log_probs]}


@dataclass(frozen=True, eq=False)
class Occlusion:
    """Leave-one-out effects of W source words on T target pieces."""

    words: tuple[str, ...]  # W words of the source, their pieces joined
    predicted: tuple[str, ...]  # T pieces
    log_probs: tuple[float, ...]  # of `predicted`, with the whole source
    effect: np.ndarray  # (T, W), nats by which a piece's log-probability falls without the word


@dataclass(frozen=True)
class HeadEffect:
    """The worth of one head to a translation."""

    head: Head
    effect: float  # nats by which the translation's log-probability falls without it


@dataclass(frozen=True, eq=False)
class Moved:
    """A translation before and after a change of positions or of the order of the words."""

    source: str  # as it was read, perhaps shuffled
    translation: Translation  # made under the change
    before: Trace  # of the original source and translation
    after: Trace  # of `source` and the same target pieces, under the change


@dataclass(frozen=True, eq=False)
class Reweighed:
    """A translation before and after its attention was weighed otherwise."""

    translation: Translation  # made under the change
    before: Trace  # of the original source and translation
    after: Trace  # of the same, under the change


@dataclass(frozen=True, eq=False)
class Examined:
    """A model with one mistake, or the healthy one, on a source and a target."""

    text: str  # what it writes, greedily
    trace: Trace
    signs: dict[str, float | str]  # by the names of `explain.bugs.signs`
