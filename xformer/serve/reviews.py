"""The service of a review classifier: text in, results out, with limits, warnings and
calibrated probabilities."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from xformer.classifier import LanguageModel, TransformerClassifier
from xformer.device import use_threads
from xformer.explain import attribution, passes
from xformer.hub import checkpoint
from xformer.pieces import BOS, EOS
from xformer.results.attention import Trace
from xformer.results.messages import Message, UserError
from xformer.results.reviews import (
    Attribution,
    Bin,
    Calibration,
    PoolingScore,
    Sentiment,
)
from xformer.serve.loaded import ModelService
from xformer.serve.protocol import Progress, ReviewService
from xformer.serve.text import Prepared, clean, prepare
from xformer.tokenizer import Tokenizer
from xformer.translator import pad

MAX_CHARACTERS = 30_000  # of a review; the longest of the 50,000 of IMDb has 13,704
# pieces, <s> and </s> included, of a text whose maps are shown: a map grows with their
# square
MOST_MAPPED = 150
BATCH_PIECES = 8192  # in a batch, padding included
# on a CPU, a batch of 8,192 takes twice as long per piece
CPU_BATCH_PIECES = attribution.BATCH_PIECES
TREEBANK = [
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"(?i)<br\s*/?>", " "),
        (r"-LRB-", "("),
        (r"-RRB-", ")"),
        (r"`` ?| ''(?= |$)", '"'),
        (r" (n't)\b", r"\1"),
        (r" ('(?:s|m|d|re|ve|ll))\b", r"\1"),
        (r" (\.\.\.|[.,;:!?%)])(?= |$)", r"\1"),
        (r"\( ", "("),
        (r"\s+", " "),
    )
]

Reader = TypeVar("Reader", bound=TransformerClassifier | LanguageModel)


def tidy(text: str) -> str:
    """Write a text as people type it, in training as in serving: HTML line breaks become spaces, and words and
    punctuation that the Penn Treebank sets apart are joined again.

    >>> tidy("It is n't `` great '' ,<br />but ( mostly ) fine .")
    'It isn\\'t "great", but (mostly) fine.'
    """
    for pattern, plain in TREEBANK:
        text = pattern.sub(plain, text)
    return text.strip()


def kept_first(limit: int) -> int:
    """How many of the `limit` pieces that are left of a long text stand before the
    cut."""
    return limit // 4


def fit(pieces: Sequence[int], limit: int) -> tuple[list[int], int]:
    """Cut a text to `limit` pieces, a quarter from its head and the rest from its tail;
    also return how many were cut.

    Reviews tend to begin with the film and to end with the verdict (Sun et al. 2019,
    "How to Fine-Tune BERT for Text Classification?", found head and tail better than
    either).
    """
    cut = max(0, len(pieces) - limit)
    head = kept_first(limit) if cut else 0
    return [*pieces[:head], *pieces[head + cut :]], cut


def mark(tokens: Sequence[int], max_length: int) -> tuple[list[int], int]:
    """Put BOS and EOS around the tokens of a text, at most `max_length` in all; also
    return how many were cut."""
    kept, cut = fit(tokens, max_length - 2)
    return [BOS, *kept, EOS], cut


def encode(tokenizer: Tokenizer, text: str, max_length: int) -> tuple[list[int], int]:
    """Split a tidy text into pieces, from BOS to EOS, at most `max_length`; also return
    how many were cut."""
    return mark(tokenizer.encode(text), max_length)


@torch.inference_mode()
def read(
    model: TransformerClassifier,
    rows: Sequence[Sequence[int]],
    progress: Callable[[int], object] | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Compute the logits [N, C] of N rows of pieces, and the pooling weights of each
    row.

    Rows of similar length are read together. `progress` is called with the number of
    rows newly done.
    """
    device = model.device
    logits = torch.empty(len(rows), len(model.config.labels))
    weights: list[Tensor] = [torch.empty(0)] * len(rows)
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    most = CPU_BATCH_PIECES if device.type == "cpu" else BATCH_PIECES
    while order:
        size = max(1, most // len(rows[order[0]]))
        chunk = order[:size]
        order = order[size:]
        reading = model(pad([rows[i] for i in chunk], device))
        logits[chunk] = reading.logits.float().cpu()
        for i, row in zip(chunk, reading.weights.float().cpu(), strict=True):
            weights[i] = row[: len(rows[i])]
        if progress is not None:
            progress(len(chunk))
    return logits, weights


class OfReviews(ModelService[Reader]):
    """A loaded model of reviews."""

    def trace(self, text: str) -> Trace:
        """Record all attention maps of a pass over a text from <s> to </s>, as encoder
        self-attention. Raises UserError if nothing can be read, or the text has more
        than MOST_MAPPED pieces or, for a language model, more than it reads."""
        prepared = self._prepare(text)
        if (pieces := len(prepared.tokens) + 2) > MOST_MAPPED:
            raise UserError(Message.of("maps_long", pieces=pieces, limit=MOST_MAPPED))
        row = self._row(prepared.tokens)
        with self.guard.work():
            return passes.trace_reader(self.model, self.tokenizer, row, prepared.text)

    def _prepare(self, text: str, empty: str = "error_review_empty") -> Prepared:
        cleaned = partial(clean, kind="review_", limit=MAX_CHARACTERS, tidy=tidy)
        return prepare(self.tokenizer, text, empty=empty, cleaned=cleaned)

    def _row(self, tokens: Sequence[int]) -> list[int]:
        """The tokens of a text between BOS and EOS, as the model reads them."""
        return mark(tokens, self.model.config.max_length)[0]


class SentimentService(OfReviews[TransformerClassifier], ReviewService):
    """A loaded classifier."""

    _load = staticmethod(partial(checkpoint.load, model_type=TransformerClassifier))

    def classify(
        self, texts: Sequence[str], progress: Callable[[int], object] | None = None
    ) -> list[Sentiment]:
        began = time.perf_counter()
        prepared = [self._prepare(text) for text in texts]
        marked = [mark(text.tokens, self.model.config.max_length) for text in prepared]

        def tell(more: int) -> None:
            if progress is not None:
                progress(more)
            pause()

        with self.guard.work() as pause:
            # a sentence has about 32 pieces
            use_threads(sum(len(row) for row, _ in marked) // 32)
            logits, weights = read(self.model, [row for row, _ in marked], tell)
        seconds = time.perf_counter() - began
        return [
            self._sentiment(*one, seconds)
            for one in zip(prepared, marked, logits, weights, strict=True)
        ]

    @torch.inference_mode()
    def attribute(self, text: str, progress: Progress | None = None) -> Attribution:
        began = time.perf_counter()
        config = self.model.config
        done = 0
        prepared = self._prepare(text)
        row, cut = mark(prepared.tokens, config.max_length)
        # position of the first piece after the cut
        after = 1 + kept_first(config.max_length - 2) if cut else None

        def tell(more: int) -> None:
            nonlocal done
            done = min(done + more, len(groups))
            pause()
            if progress is not None:
                progress(done, len(groups))

        with self.guard.work() as pause:
            use_threads(len(row) // 32)
            # once with a trace, for the label and the attention
            look = attribution.look(self.model, row)
            sentiment = self._sentiment(
                prepared,
                (row, cut),
                look.logits,
                torch.from_numpy(look.pooling),
                time.perf_counter() - began,
            )
            pause()
            groups = attribution.word_groups(row, sentiment.pieces, after)
            use_threads(len(groups) * len(row) // 32)
            if config.causal:  # then in batches without each of its words
                logits = attribution.read_without(self.model, row, groups, tell)
            else:
                logits, _ = read(
                    self.model,
                    [row, *(attribution.without(row, group) for group in groups)],
                    tell,
                )
            toward = config.labels[1] if len(config.labels) == 2 else sentiment.label
            odds = attribution.log_odds(
                logits / config.temperature, config.labels.index(toward)
            )
            words = tuple(
                "".join(sentiment.pieces[i] for i in group) for group in groups
            )
            maximum = (
                attribution.maximum(self.model, look, words, groups, toward)
                if config.pooling == "max"
                else None
            )
        return Attribution(
            sentiment,
            toward,
            words,
            sum(group[0] < after for group in groups) if after is not None else None,
            (odds[0] - odds[1:]).numpy(),
            attribution.of_words(look.pooling, groups),
            attribution.of_words(look.heads, groups),
            time.perf_counter() - began,
            config.pooling,
            maximum,
        )

    @property
    def calibration(self) -> Calibration | None:
        return self.measured(
            _calibration,
            None,
        )

    @property
    def pooling_scores(self) -> list[PoolingScore]:
        def read(found: dict[str, Any]) -> list[PoolingScore]:
            texts = next(
                (
                    one["rows"]
                    for one in found.get("scores", ())
                    if one["set"] == "imdb-validation"
                ),
                0,
            )
            return [
                PoolingScore(**{**one, "texts": texts}) for one in found["poolings"]
            ]

        return self.measured(read, [])

    def clean(self, text: str) -> tuple[str, list[Message]]:
        line, _, warnings = self._prepare(text)
        return line, warnings

    def _sentiment(
        self,
        prepared: Prepared,
        marked: tuple[list[int], int],
        logits: Tensor,
        weights: Tensor,
        seconds: float,
    ) -> Sentiment:
        """The result for one text. marked: its row, and how many pieces were cut.
        logits [C]; pooling weights [S]."""
        row, cut = marked
        config = self.model.config
        warnings = prepared.warnings
        if cut:
            limit = config.max_length - 2
            warnings = [
                *warnings,
                Message.of(
                    "warning_review_cut",
                    cut=cut,
                    pieces=limit + cut,
                    first=kept_first(limit),
                ),
            ]
        probabilities = self.model.probabilities(logits).tolist()
        best = max(range(len(config.labels)), key=probabilities.__getitem__)
        return Sentiment(
            prepared.text,
            config.labels[best],
            probabilities[best],
            dict(zip(config.labels, probabilities, strict=True)),
            tuple(self.tokenizer.pieces(row)),
            weights.numpy(),
            cut,
            tuple(warnings),
            seconds,
            tuple((logits.float() / config.temperature).tolist()),
        )


def _calibration(found: dict[str, Any]) -> Calibration:
    return Calibration(
        **{
            **found["calibration"],
            "bins": tuple(Bin(**one) for one in found["calibration"]["bins"]),
        }
    )
