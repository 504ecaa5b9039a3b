"""Search for a target sentence over a step function: greedy, beam, sampling. It knows no model and no text.

Axes: B sentences, K hypotheses of each, N = B K rows (at the first step of a beam N = B), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from xformer.pieces import BOS, EOS, PAD
from xformer.results import Options

T = TypeVar("T")


def finish(steps: Generator[None, None, T]) -> T:
    """Go through all the steps of something at once, for what it returns at its end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


class Scorer(Protocol):
    """Scores the next token of each hypothesis: a model in the middle of decoding, owned by one search."""

    def __call__(self, tokens: Tensor) -> Tensor:
        """The newest token [N, 1] of each hypothesis -> logits [N, V] of the next one."""

    def select(self, hypotheses: Tensor, sentences: Tensor | None) -> None:
        """From now on hypothesis n is what hypotheses[n] was; of the sentences keep these (None: all)."""


@dataclass(frozen=True)
class Hypothesis:
    """A target sentence as it was found."""

    tokens: list[int]  # without BOS; ends with EOS unless it was cut off
    log_probs: list[float]  # natural log of each token's probability, given those before it
    alternatives: list[list[tuple[int, float]]]  # each step's likeliest tokens and their log-probabilities
    score: float  # sum of log_probs / length^alpha
    finished: bool  # False where the limit came before EOS


@dataclass
class _Choices:
    """What every live row chose at one step, and what else it could have chosen; lists over the N rows."""

    tokens: list[int]
    log_probs: list[float]
    parents: list[int]  # the row of the step before that each row continues
    alternatives: list[list[tuple[int, float]]]  # by row of the step before: its likeliest next tokens


def search(scorer: Scorer, max_lengths: Sequence[int], options: Options | None = None,
           prefixes: Sequence[Sequence[int]] | None = None, device: torch.device | None = None
           ) -> list[list[Hypothesis]]:
    """For each sentence its n_best hypotheses, best first; `searching` without a pause."""
    return finish(searching(scorer, max_lengths, options, prefixes, device))


def searching(scorer: Scorer, max_lengths: Sequence[int], options: Options | None = None,
              prefixes: Sequence[Sequence[int]] | None = None, device: torch.device | None = None
              ) -> Generator[None, None, list[list[Hypothesis]]]:
    """For each sentence its n_best hypotheses, best first. Pauses after each step, so that searches can take turns.

    max_lengths: the most tokens, EOS included, that each sentence's target may have. prefixes: tokens that each target
    must begin with; their log-probabilities are the model's own.

    A beam keeps the K best unfinished hypotheses and stops when K have finished, as in CTranslate2 and Fairseq.
    """
    options = options or Options()
    given = [list(p) for p in prefixes] if prefixes is not None else [[] for _ in max_lengths]
    if len(given) != len(max_lengths):
        raise ValueError(f"there are {len(given)} prefixes for {len(max_lengths)} sentences; give one to each")
    for prefix, longest in zip(given, max_lengths, strict=True):
        if longest < 1 or len(prefix) > longest:
            raise ValueError(f"a target of at most {longest} pieces cannot begin with {len(prefix)} given ones")
        if PAD in prefix or BOS in prefix:
            raise ValueError(f"the prefix {prefix} holds <pad> or <s>, which no target has; leave them out")
    return (yield from _Search(scorer, list(max_lengths), options, given, device or torch.device("cpu")).run())


class _Search:
    def __init__(self, scorer: Scorer, max_lengths: list[int], options: Options, prefixes: list[list[int]],
                 device: torch.device) -> None:
        self.scorer, self.options, self.device = scorer, options, device
        self.width = options.n_best if options.sampling else options.beam
        self.max_lengths, self.prefixes = max_lengths, prefixes
        self.history: list[_Choices] = []
        self.ended: list[list[Hypothesis]] = [[] for _ in max_lengths]
        self.generator = torch.Generator(device).manual_seed(options.seed)

    def run(self) -> Generator[None, None, list[list[Hypothesis]]]:
        alive = list(range(len(self.max_lengths)))  # sentences still searched; each has `width` rows, in this order
        # A beam grows out of a single row at the first step; samples go their own ways from the beginning.
        tokens = [BOS] * (len(alive) * (self.width if self.options.sampling else 1))
        scores = [0.0] * len(tokens)
        while alive:
            logits = self.scorer(torch.tensor(tokens, device=self.device)[:, None]).float()  # [N, V]
            choices, log_probs, alternatives = self._choices(logits, alive)
            sums = torch.tensor(scores, device=self.device)[:, None] + log_probs  # [N, C]
            tokens, scores, alive = self._keep(choices, log_probs, sums, alternatives, alive)
            yield
        return [sorted(ended, key=lambda h: -h.score)[:self.options.n_best] for ended in self.ended]

    def _choices(self, logits: Tensor, alive: list[int]) -> tuple[Tensor, Tensor, list[list[tuple[int, float]]]]:
        """What each row may go on with: tokens [N, C], their log-probabilities [N, C], and every row's alternatives."""
        position, vocabulary = len(self.history), logits.shape[1]
        scores = logits.log_softmax(dim=1)
        scores[:, PAD] = scores[:, BOS] = -torch.inf  # neither is ever part of a sentence
        # The 2K best continuations of a sentence are among the 2K best of each of its rows.
        top, top_tokens = scores.topk(min(max(2 * self.width, self.options.alternatives), vocabulary), dim=1)
        best = self.options.alternatives
        alternatives = [list(zip(tokens, values, strict=True)) for tokens, values in
                  zip(top_tokens[:, :best].tolist(), top[:, :best].tolist(), strict=True)]
        if self.options.sampling:
            choices = self._sample(scores)
            log_probs = scores.gather(1, choices)
        else:
            choices, log_probs = top_tokens[:, :2 * self.width], top[:, :2 * self.width]
        forced = [p[position] if position < len(p) else -1 for p in (self.prefixes[s] for s in alive)]
        if max(forced) >= 0:  # one choice only, and its true log-probability
            rows = len(logits) // len(alive)  # of a sentence
            given = torch.tensor(forced, device=self.device).repeat_interleave(rows)[:, None]  # [N, 1]
            only = torch.full_like(log_probs, -torch.inf)
            only[:, :1] = scores.gather(1, given.clamp(min=0))
            choices, log_probs = torch.where(given >= 0, given, choices), torch.where(given >= 0, only, log_probs)
        return choices, log_probs, alternatives

    def _sample(self, logits: Tensor) -> Tensor:
        """Draw one token a row, [N, 1], after temperature, top-k and top-p have had their say."""
        logits, tokens = (logits / self.options.temperature).sort(dim=1, descending=True)
        if self.options.top_k:
            logits[:, self.options.top_k:] = -torch.inf
        probabilities = logits.softmax(dim=1)
        before = probabilities.cumsum(dim=1) - probabilities  # what the likelier tokens hold together
        probabilities[before >= self.options.top_p] = 0  # the likeliest always stays
        return tokens.gather(1, torch.multinomial(probabilities, 1, generator=self.generator))

    def _keep(self, choices: Tensor, log_probs: Tensor, sums: Tensor, alternatives: list[list[tuple[int, float]]],
              alive: list[int]) -> tuple[list[int], list[float], list[int]]:
        """Choose what lives on, set finished hypotheses aside, and tell the step; -> tokens, scores, sentences."""
        width, per_row = self.width, choices.shape[1]
        per_sentence = choices.numel() // len(alive)  # at the first step of a beam one row, later `width` of them
        if self.options.sampling:
            order = torch.arange(width, device=self.device).expand(len(alive), -1)  # every row is its own sample
        else:
            order = sums.view(len(alive), -1).topk(min(2 * width, per_sentence), dim=1).indices  # best first
        flat = order + torch.arange(len(alive), device=self.device)[:, None] * per_sentence
        picked_rows = (flat // per_row).tolist()
        picked_tokens, picked_log_probs, picked_sums = (
            x.flatten()[flat].tolist() for x in (choices, log_probs, sums))

        now = _Choices([], [], [], alternatives)
        tokens, scores, still, kept_sentences = [], [], [], []
        self.history.append(now)
        for b, sentence in enumerate(alive):
            at_limit = len(self.history) == self.max_lengths[sentence]
            lives: list[tuple[int, int, float, float]] = []
            candidates = zip(picked_rows[b], picked_tokens[b], picked_log_probs[b], picked_sums[b], strict=True)
            for rank, (row, token, log_prob, total) in enumerate(candidates):
                if len(lives) == width:
                    break
                if token == EOS or at_limit:
                    if rank < width and total > -torch.inf:  # it beat what would have lived on in its place
                        self._finish(sentence, row, token, log_prob, total)
                else:
                    lives.append((row, token, log_prob, total))
            if at_limit or len(self.ended[sentence]) >= width:
                continue
            while len(lives) < width:  # a finished sample, or a vocabulary smaller than the beam, leaves idle rows
                lives.append((picked_rows[b][0], EOS, 0.0, -torch.inf))
            still.append(sentence)
            kept_sentences.append(b)
            for row, token, log_prob, total in lives:
                now.parents.append(row)
                now.tokens.append(token)
                now.log_probs.append(log_prob)
                tokens.append(token)
                scores.append(total)
        if still and (len(still) < len(alive) or now.parents != list(range(len(now.parents)))):
            sentences = torch.tensor(kept_sentences, device=self.device) if len(still) < len(alive) else None
            self.scorer.select(torch.tensor(now.parents, device=self.device), sentences)
        return tokens, scores, still

    def _finish(self, sentence: int, row: int, token: int, log_prob: float, total: float) -> None:
        """Read a hypothesis back from its last token, chosen at the newest step as a continuation of `row`."""
        tokens, log_probs, alternatives = [token], [log_prob], [self.history[-1].alternatives[row]]
        for at in range(len(self.history) - 2, -1, -1):
            before = self.history[at]
            tokens.append(before.tokens[row])
            log_probs.append(before.log_probs[row])
            row = before.parents[row]
            alternatives.append(before.alternatives[row])
        score = total / len(tokens) ** self.options.length_penalty
        self.ended[sentence].append(
            Hypothesis(tokens[::-1], log_probs[::-1], alternatives[::-1], score, finished=token == EOS))
