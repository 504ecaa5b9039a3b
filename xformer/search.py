"""Search for the best target sentences with a scoring function: greedy, beam, sampling.
It knows no model and no text.

Axes: B sentences, K hypotheses of each, N = B K rows (at the first step of a beam N =
B), C choices of a row, V vocabulary.
"""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from xformer.pieces import BOS, EOS, PAD
from xformer.results import Branch, Options, UserError

# tokens; with 3, the third best differs from that of "bound" in a few sentences of news
LOOKAHEAD = 5

T = TypeVar("T")
# of a row by a token: its log-probability, and the sum with it
Continuation = tuple[int, int, float, float]
# by step or row: the likeliest tokens and their log-probabilities
Alternatives = list[list[tuple[int, float]]]
# the lowest temperature by which scores are divided; 1e-50 would be 0 in float32
COLDEST = 1e-30


def finish(steps: Generator[None, None, T]) -> T:
    """Run a generator to its end and return its value."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


class Scorer(Protocol):
    """Scores the next token of each hypothesis: a model in the middle of decoding,
    owned by one search."""

    def __call__(self, tokens: Tensor) -> Tensor:
        """The newest token [N, 1] of each hypothesis -> logits [N, V] of its next
        token."""

    def select(self, hypotheses: Tensor, sentences: Tensor | None) -> None:
        """Let row n continue the old row hypotheses[n]; keep only these of the
        sentences (None: all)."""


@dataclass(frozen=True)
class Hypothesis:
    """One target sentence that the search ended with."""

    tokens: list[int]  # without BOS; ends with EOS unless it was cut off
    # natural log of each token's probability, given those before it
    log_probs: list[float]
    alternatives: Alternatives  # the likeliest tokens at each step, best first
    score: float  # sum of log_probs / length^alpha
    finished: bool  # False if the limit came before EOS


def drawn_with(scores: Tensor, options: Options) -> Tensor:
    """Compute the probability [N, V] with which each token is drawn, after temperature,
    top-k and top-p.

    scores: log-probabilities [N, V], minus infinity for tokens that are never drawn. At
    temperature 0 the likeliest token is certain.
    """
    if not options.sampling:
        return torch.zeros_like(scores).scatter(
            1, scores.argmax(dim=1, keepdim=True), 1.0
        )
    scaled, tokens = (scores / max(options.temperature, COLDEST)).sort(
        dim=1, descending=True
    )
    if options.top_k:
        scaled[:, options.top_k :] = -torch.inf
    probabilities = scaled.softmax(dim=1)
    # at 1 all stay: in float32, the sum can reach 1 before the last token
    if options.top_p < 1:
        # the probability of all likelier tokens
        before = probabilities.cumsum(dim=1) - probabilities
        before[:, 0] = -1  # the likeliest always stays, however small top_p is
        probabilities[before >= options.top_p] = 0
    probabilities /= probabilities.sum(dim=1, keepdim=True)
    # back in the order of the vocabulary
    return torch.zeros_like(probabilities).scatter(1, tokens, probabilities)


class _Step(NamedTuple):
    """What is kept after one step, by row, and the alternatives from which it was
    chosen."""

    kept: list[Continuation]  # of rows of the previous step
    alternatives: Alternatives  # by row of the previous step


def check_prefix(
    prefix: Sequence[int], max_length: int, vocabulary: int | None = None
) -> None:
    """Raise ValueError for tokens with which no target of at most `max_length` tokens,
    EOS included, can begin.

    vocabulary: its size, if known. One such prefix makes a search fail for all of its
    sentences, so check before you put the sentences of different clients together.
    """
    if max_length < 1 or len(prefix) > max_length:
        raise ValueError(
            f"a target of at most {max_length} pieces cannot begin with {len(prefix)} given ones"
        )
    if PAD in prefix or BOS in prefix:
        raise ValueError(
            f"the prefix {list(prefix)} holds <pad> or <s>, which no target has; leave them out"
        )
    if EOS in prefix[:-1]:
        raise ValueError(
            f"the prefix {list(prefix)} goes on after </s>, which ends a target; leave out what follows"
        )
    unknown = [
        token
        for token in prefix
        if token < 0 or vocabulary is not None and token >= vocabulary
    ]
    if unknown:
        known = f"0 to {vocabulary - 1}" if vocabulary is not None else "0 and above"
        raise ValueError(
            f"the prefix {list(prefix)} holds {unknown[0]}, which is no piece; pieces are {known}"
        )


def search(
    scorer: Scorer,
    max_lengths: Sequence[int],
    options: Options | None = None,
    prefixes: Sequence[Sequence[int]] | None = None,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """Find the n_best hypotheses of each sentence, best first: `searching` without a
    pause."""
    return finish(searching(scorer, max_lengths, options, prefixes, device))


def searching(
    scorer: Scorer,
    max_lengths: Sequence[int],
    options: Options | None,
    prefixes: Sequence[Sequence[int]] | None,
    device: torch.device | None,
) -> Generator[None, None, list[list[Hypothesis]]]:
    """Find the n_best hypotheses of each sentence, best first; pause after each step,
    so that searches can take turns.

    max_lengths: the most tokens of each sentence's target, EOS included. prefixes: the
    tokens with which each target must begin; their log-probabilities are the model's
    own. Raises ValueError, see `check_prefix`.

    A beam keeps the K best unfinished hypotheses at each step. It ends at the limit, or
    as `options.stop` says:

    "bound": when no unfinished hypothesis can become one of the n_best any more. A sum
    of log-probabilities s only falls, and divided by length^alpha it is largest at the
    greatest length, so no continuation scores above s / max_length^alpha: more steps
    would change nothing. With alpha 0 this is the optimal stopping of Huang et al. 2017
    ("When to finish?"), with any other the rule that Transformers calls
    early_stopping="never". The search can still miss a better hypothesis, even that of
    greedy search, if the beam dropped its beginning.

    "lookahead": when no unfinished hypothesis can become one of the n_best within
    LOOKAHEAD more tokens, even if these were certain. This takes fewer steps, most of
    all with long sentences and several n_best. The result differs from that of "bound"
    only if a hypothesis catches up later.

    "k_finished": when K hypotheses have finished, as in CTranslate2 and Fairseq, even
    if they are all worse than an unfinished one: early ends of low probability may fill
    the K places.

    Greedy search, a beam of 1, ends with its first </s>.

    Each sentence's samples are drawn from a generator of its own, seeded with
    `options.seed`: they do not depend on the other sentences of the batch, and equal
    sentences get equal samples.
    """
    options = options or Options()
    given = (
        [list(p) for p in prefixes]
        if prefixes is not None
        else [[] for _ in max_lengths]
    )
    if len(given) != len(max_lengths):
        raise ValueError(
            f"there are {len(given)} prefixes for {len(max_lengths)} sentences; give one to each"
        )
    for prefix, longest in zip(given, max_lengths, strict=True):
        check_prefix(prefix, longest)
    return (
        yield from _Search(
            scorer, list(max_lengths), options, given, device or torch.device("cpu")
        ).run()
    )


def grow(
    scorer: Scorer,
    max_length: int,
    options: Options,
    prefix: Sequence[int] = (),
    device: torch.device | None = None,
) -> tuple[list[Hypothesis], list[Branch]]:
    """Search for one sentence by beam, and record what was kept and dropped at each
    step, best first within a step.

    For a beam of K, the record has the 2K best continuations of each step, and the
    result the K best hypotheses; the search is the one that looks for `options.n_best`,
    and ends when that does. Arguments as of `searching`. Raises ValueError, also for
    samples, which are not compared with each other.
    """
    if options.sampling:
        raise ValueError(
            "samples are drawn one by one and make no tree; set the temperature to 0"
        )
    check_prefix(prefix, max_length)
    search = _Search(
        scorer,
        [max_length],
        options,
        [list(prefix)],
        device or torch.device("cpu"),
        grows=True,
    )
    return finish(search.run())[0], search.branches


class _Search:
    def __init__(
        self,
        scorer: Scorer,
        max_lengths: list[int],
        options: Options,
        prefixes: list[list[int]],
        device: torch.device,
        grows: bool = False,
    ) -> None:
        """grows: whether all hypotheses that the beam considers are recorded, of a
        single sentence."""
        self.grows = grows
        self.branches = list[Branch]()
        # in `branches`: the hypotheses that the newest step continues
        self.rows: list[int | None] = [None]
        self.scorer = scorer
        self.options = options
        self.device = device
        self.width = options.n_best if options.sampling else options.beam
        # ended hypotheses that are kept of a sentence
        self.most = options.beam if grows else options.n_best
        self.bounded = (
            options.stop != "k_finished" and not options.sampling and options.beam > 1
        )
        self.max_lengths = max_lengths
        self.prefixes = prefixes
        self.history = list[_Step]()
        # of each sentence, best first
        self.ended: list[list[Hypothesis]] = [[] for _ in max_lengths]
        # On the CPU, so that a seed draws the same on every device.
        self.generators = [
            torch.Generator().manual_seed(options.seed)
            for _ in max_lengths
            if options.sampling
        ]

    def run(self) -> Generator[None, None, list[list[Hypothesis]]]:
        """Search step by step; each step takes the N rows that live to at most 2K
        candidates of each sentence."""
        # B sentences still searched; each has its rows, in this order
        alive = list(range(len(self.max_lengths)))
        # A beam grows out of a single row at the first step; samples go their own ways
        # from the beginning. N
        tokens = [BOS] * (len(alive) * (self.width if self.options.sampling else 1))
        sums = [0.0] * len(tokens)  # N, of log-probabilities
        while alive:
            # 1) Score every token that may come next in each row.
            # [N, V]
            logits = self.scorer(
                torch.tensor(tokens, device=self.device)[:, None]
            ).float()
            # 2) List C of them a row, and what the sentence would sum to with each.
            # [N, C] both
            choices, log_probs, alternatives = self._choices(logits, alive)
            # [N, 1] + [N, C] -> [N, C]
            totals = torch.tensor(sums, device=self.device)[:, None] + log_probs
            # 3) Keep K of a sentence, set aside those that have ended, and forget the
            # sentences that are done.
            tokens, sums, alive = self._keep(
                choices, log_probs, totals, alternatives, alive
            )
            yield
        # NaN is neither more nor less than a number, so nothing was chosen
        if not all(self.ended):
            raise UserError(
                "The model's probabilities are not numbers (NaN), so no piece can be chosen; its weights "
                "are broken or far too large: take another checkpoint."
            )
        return [ended[: self.most] for ended in self.ended]

    def _choices(
        self, logits: Tensor, alive: list[int]
    ) -> tuple[Tensor, Tensor, Alternatives]:
        """List each row's possible next tokens [N, C], their log-probabilities [N, C],
        and the row's alternatives."""
        position = len(self.history)
        vocabulary = logits.shape[1]
        scores = logits.log_softmax(dim=1)
        # neither PAD nor BOS is ever part of a sentence
        scores[:, PAD : BOS + 1 : BOS - PAD] = -torch.inf
        # The 2K best continuations of a sentence are among the 2K best of its single
        # rows.
        top, top_tokens = scores.topk(
            min(max(2 * self.width, self.options.alternatives), vocabulary), dim=1
        )
        best = self.options.alternatives
        alternatives = [
            list(zip(tokens, values, strict=True))
            for tokens, values in zip(
                top_tokens[:, :best].tolist(), top[:, :best].tolist(), strict=True
            )
        ]
        if self.options.sampling:
            choices = self._sample(scores, alive)
            log_probs = scores.gather(1, choices)
        else:
            choices = top_tokens[:, : 2 * self.width]
            log_probs = top[:, : 2 * self.width]
        forced = [
            p[position] if position < len(p) else -1
            for p in (self.prefixes[s] for s in alive)
        ]
        # the prefix's token is the only choice; it keeps its true log-probability
        if max(forced) >= 0:
            rows = len(logits) // len(alive)  # of a sentence
            # [N, 1]
            given = torch.tensor(forced, device=self.device).repeat_interleave(rows)[
                :, None
            ]
            only = torch.full_like(log_probs, -torch.inf)
            only[:, :1] = scores.gather(1, given.clamp(min=0))
            choices = torch.where(given >= 0, given, choices)
            log_probs = torch.where(given >= 0, only, log_probs)
        return choices, log_probs, alternatives

    def _sample(self, scores: Tensor, alive: list[int]) -> Tensor:
        """Draw one token per row, [N, 1], after temperature, top-k and top-p.

        With exponential noise, the token with the largest p / noise is a fair draw, as
        in `torch.multinomial`. The noise belongs to the token, not to its rank:
        rounding differs with the shape of a batch and may swap two ranks, but so almost
        never changes a draw.
        """
        probabilities = drawn_with(scores, self.options)
        noise = torch.cat(
            [
                torch.empty(self.width, scores.shape[1]).exponential_(
                    generator=self.generators[sentence]
                )
                for sentence in alive
            ]
        )
        return (probabilities / noise.clamp(min=1e-30).to(self.device)).argmax(
            dim=1, keepdim=True
        )

    def _keep(
        self,
        choices: Tensor,
        log_probs: Tensor,
        totals: Tensor,
        alternatives: Alternatives,
        alive: list[int],
    ) -> tuple[list[int], list[float], list[int]]:
        """Choose what lives on, set ended hypotheses aside, and tell the scorer; ->
        tokens, sums, sentences.

        choices, log_probs, totals: [N, C], of the rows of the B sentences that are
        alive, R = N / B of each.
        """
        # 1) Rank the candidates of each sentence: P of its R C, best first. Samples are
        # not compared. K, C
        width = self.width
        per_row = choices.shape[1]
        rows = len(choices) // len(alive)  # R; at the first step of a beam 1, later K
        # [B][P]; of samples, where C is 1, and of a single row
        order: list[Any] = [range(rows * per_row)] * len(alive)
        if rows > 1 and not self.options.sampling:
            order = (
                totals.view(len(alive), -1)
                .topk(min(2 * width, rows * per_row), dim=1)
                .indices.tolist()
            )

        # 2) Read what stands there, as lists [N][C].
        read_tokens = choices.tolist()
        read_log_probs = log_probs.tolist()
        read_totals = totals.tolist()

        # 3) Of each sentence the K best that have not ended live on, unless its search
        # is over. rows, and which of the B sentences
        kept = list[Continuation]()
        still = list[int]()
        self.history.append(_Step(kept, alternatives))
        for b, sentence in enumerate(alive):
            places = [
                (b * rows + place // per_row, place % per_row) for place in order[b]
            ]
            candidates = [
                (n, read_tokens[n][c], read_log_probs[n][c], read_totals[n][c])
                for n, c in places
            ]
            lives = self._sort_out(sentence, candidates)
            at_limit = len(self.history) == self.max_lengths[sentence]
            if at_limit or self._is_done(
                sentence, max((total for *_, total in lives), default=-math.inf)
            ):
                continue
            # a finished sample, or a vocabulary smaller than the beam
            idle = (places[0][0], EOS, 0.0, -math.inf)
            kept += lives + [idle] * (width - len(lives))  # K rows a sentence
            still.append(b)

        # 4) Tell the scorer which rows go on, where these are not all of them in their
        # order.
        parents = [row for row, *_ in kept]
        if still and (len(still) < len(alive) or parents != list(range(len(parents)))):
            # [B]
            sentences = (
                torch.tensor(still, device=self.device)
                if len(still) < len(alive)
                else None
            )
            # [N]
            self.scorer.select(torch.tensor(parents, device=self.device), sentences)
        return (
            [token for _, token, *_ in kept],
            [total for *_, total in kept],
            [alive[b] for b in still],
        )

    def _sort_out(
        self, sentence: int, candidates: list[Continuation]
    ) -> list[Continuation]:
        """Set aside those of a sentence's candidates, best first, that end it; return
        at most K that live on."""
        at_limit = len(self.history) == self.max_lengths[sentence]
        lives = list[Continuation]()
        kept = list[int | None]()
        for rank, (row, token, log_prob, total) in enumerate(candidates):
            fate = "dropped"
            if len(lives) == self.width:
                if not self.grows:
                    break
            elif token == EOS or at_limit:
                # it beat what would have lived on in its place
                if rank < self.width and total > -math.inf:
                    fate = (
                        "ended"
                        if self._end(sentence, row, token, log_prob, total)
                        else "dropped"
                    )
            else:
                lives.append((row, token, log_prob, total))
                fate = "kept"
            if self.grows and total > -math.inf:
                kept += [len(self.branches)] if fate == "kept" else []
                self.branches.append(
                    Branch(
                        self.rows[row],
                        len(self.history) - 1,
                        token,
                        log_prob,
                        total,
                        self._score(total),
                        fate,
                    )
                )
        self.rows = kept
        return lives

    def _is_done(self, sentence: int, best: float) -> bool:
        """Tell whether a sentence's search is over; best: the largest sum of
        log-probabilities that goes on."""
        ended = self.ended[sentence]
        options = self.options
        if best == -math.inf:  # no hypothesis goes on
            return True
        if not self.bounded:
            return len(ended) >= self.width
        length = self.max_lengths[sentence]
        if options.stop == "lookahead":
            length = min(length, len(self.history) + LOOKAHEAD)
        attainable = best / length**options.length_penalty
        return (
            len(ended) >= options.n_best
            and attainable <= ended[options.n_best - 1].score
        )

    def _score(self, total: float) -> float:
        """The score of a hypothesis whose last token is of the newest step."""
        return total / len(self.history) ** self.options.length_penalty

    def _end(
        self, sentence: int, row: int, token: int, log_prob: float, total: float
    ) -> bool:
        """Store a hypothesis that ends with `token`, chosen at the newest step as the
        continuation of `row`; return whether it is among the best."""
        ended = self.ended[sentence]
        score = self._score(total)
        if self.bounded and len(ended) == self.most:
            if score <= ended[-1].score:
                return False
            ended.pop()
        steps = [(token, log_prob, self.history[-1].alternatives[row])]
        for before in reversed(self.history[:-1]):  # read it back from its end
            row, earlier, its_log_prob, _ = before.kept[row]
            steps.append((earlier, its_log_prob, before.alternatives[row]))
        tokens, log_probs, alternatives = map(list, zip(*reversed(steps), strict=True))
        ended.append(
            Hypothesis(tokens, log_probs, alternatives, score, finished=token == EOS)
        )
        ended.sort(key=lambda hypothesis: -hypothesis.score)
        return True
