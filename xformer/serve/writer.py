"""The service of a language model: it scores each piece of a text given the pieces
before it, and writes it on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from xformer.classifier import LanguageModel
from xformer.device import use_threads
from xformer.hub import checkpoint
from xformer.pieces import BOS, EOS, PAD, UNK
from xformer.results import GREEDY, Message, NextPiece, Options, Scored, UserError
from xformer.search import drawn_with
from xformer.serve.protocol import WriterService
from xformer.serve.reviews import OfReviews
from xformer.serve.text import Prepared
from xformer.tokenizer import Tokenizer

LISTED = 10  # likeliest pieces that are listed for each place


ROWS = 16  # windows that are read at once: each has logits of all its places


def next_scores(model: LanguageModel, tokens: Sequence[int], window: int = 0) -> Tensor:
    """Compute the log-probabilities [N + 1, V] of the next piece, after <s> and after
    each of N pieces.

    window: the k of P(u_i | u_(i-k), …, u_(i-1)): no piece is predicted from more than
    the last k; 0: from all.
    """
    device = model.device
    first = tokens[:window] if window else tokens
    found: list[Tensor] = [model(torch.tensor([[BOS, *first]], device=device))[0]]
    rows = [
        [BOS, *tokens[end - window : end]]
        for end in range(len(first) + 1, len(tokens) + 1)
    ]
    for at in range(0, len(rows), ROWS):
        some = torch.tensor(rows[at : at + ROWS], device=device)
        found.append(model(some)[:, -1])
    return torch.cat(found).float().cpu().log_softmax(dim=-1)


def chances(scores: Tensor, options: Options) -> Tensor:
    """Compute the probability [V] with which each piece is drawn, from
    log-probabilities [V].

    PAD, BOS and UNK, which no text holds, are never drawn.
    """
    possible = scores.clone()
    possible[[PAD, BOS, UNK]] = -math.inf
    return drawn_with(possible[None], options)[0]


def draw(probabilities: Tensor, seed: int, place: int) -> int:
    """Draw a piece with these probabilities [V]; the draw depends on the seed and the
    place in the text only."""
    noise = torch.Generator().manual_seed(1_000_003 * seed + place)
    return int(torch.multinomial(probabilities, 1, generator=noise))


class Writer(OfReviews[LanguageModel], WriterService):
    """A loaded language model."""

    _load = staticmethod(partial(checkpoint.load, model_type=LanguageModel))

    @property
    def limit(self) -> int:
        """The most pieces of a text, without <s>."""
        return self.model.config.max_length - 1

    def read(
        self,
        text: str,
        whole: bool = False,
        options: Options = GREEDY,
        window: int = 0,
    ) -> Scored:
        line, tokens, warnings = (
            self._prepare(text, "lm_empty") if text.strip() else Prepared("", [], [])
        )
        return self._scored(
            line,
            [*tokens, *([EOS] if whole else [])],
            options,
            tuple(warnings),
            window,
        )

    def write(self, text: Scored, options: Options = GREEDY, window: int = 0) -> Scored:
        if text.finished:
            raise UserError(
                Message.of("lm_finished", pieces=len(text.tokens), limit=self.limit)
            )
        with self.guard.work(), torch.inference_mode():
            seen = text.tokens[-window:] if window else text.tokens
            scores = next_scores(self.model, seen)[-1]
        token = draw(chances(scores, options), options.seed, len(text.tokens))
        return self.choose(text, len(text.tokens), token, options, window)

    def choose(
        self,
        text: Scored,
        place: int,
        token: int | None = None,
        options: Options = GREEDY,
        window: int = 0,
    ) -> Scored:
        vocabulary = self.model.config.vocab_size
        if not 0 <= place <= len(text.tokens) or (
            token is not None and not EOS <= token < vocabulary
        ):
            raise UserError(
                Message.of("lm_no_place", place=place + 1, pieces=len(text.tokens))
            )
        tokens = [*text.tokens[:place], *([] if token is None else [token])]
        spelt = _respelt(self.tokenizer, text, tokens)
        return self._scored(spelt, tokens, options, window=window)

    def _row(self, tokens: Sequence[int]) -> list[int]:
        self._check(len(tokens) + 1)
        return [BOS, *tokens, EOS]

    def _check(self, pieces: int) -> None:
        if pieces > self.limit:
            raise UserError(Message.of("lm_long", pieces=pieces, limit=self.limit))

    def _scored(
        self,
        text: str,
        tokens: Sequence[int],
        options: Options,
        warnings: tuple[Message, ...] = (),
        window: int = 0,
    ) -> Scored:
        self._check(len(tokens))
        with self.guard.work(), torch.inference_mode():
            use_threads(len(tokens) // 32)
            scores = next_scores(self.model, tokens, window)  # [N + 1, V]
        top, likeliest = scores.topk(min(LISTED, scores.shape[1]), dim=1)
        names = [self.tokenizer.pieces(row) for row in likeliest.tolist()]
        listed = tuple(
            tuple(map(NextPiece, *row))
            for row in zip(likeliest.tolist(), names, top.tolist(), strict=True)
        )
        drawn = chances(scores[-1], options)
        entropies = -(scores.exp() * scores).nan_to_num().sum(dim=1)
        return Scored(
            text,
            tuple(tokens),
            tuple(self.tokenizer.pieces(tokens)),
            tuple(scores[range(len(tokens)), list(tokens)].tolist()),
            tuple(entropies.tolist()),
            listed,
            tuple(drawn[likeliest[-1]].tolist()),
            int((drawn > 0).sum()),
            self.limit,
            warnings,
        )


def _respelt(tokenizer: Tokenizer, before: Scored, tokens: Sequence[int]) -> str:
    """Spell tokens; if they continue the text `before`, its own spelling is kept, which
    may have capitals."""
    old = tokenizer.decode(before.tokens)
    new = tokenizer.decode(tokens)
    return before.text + new[len(old) :] if old and new.startswith(old) else new
