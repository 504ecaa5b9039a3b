"""Map words by their states after each layer: in the plane in which these differ most,
and by what is nearest to one; and measure what an attention layer makes of its inputs
in another order.

Axes as in `model.py`, with N layers, P words. Nothing about a request is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from xformer.explain.lenses import encoder_states
from xformer.explain.passes import Pair
from xformer.model import Transformer, future_mask
from xformer.pieces import EOS, SPECIAL, joined, spelled, words
from xformer.results import MeaningMap, Message, UserError
from xformer.strings import ASSETS
from xformer.tokenizer import Tokenizer
from xformer.translator import pad

BATCH = 64  # sentences
NEAREST = 10  # neighbours of a word
MOST_KEPT = 150_000_000  # bytes of states that are kept of a stack
WORDS = 6  # words of a sentence, about
SIDES = {"en": 0, "mul": 0, "es": 1}  # columns of assets/meanings.tsv
SENTENCES = (220, 2_000)  # of which maps are offered


def shipped(
    model: Transformer, tokenizer: Tokenizer, stack: str, count: int
) -> list[Pair]:
    """The first pairs of assets/meanings.tsv, but for those too long for the model.
    Raises UserError where it is for another language, or would take too much memory."""
    config = model.config
    lines = (ASSETS / "meanings.tsv").read_text(encoding="utf-8").splitlines()[:count]
    reads = SIDES.get(config.source)
    writes = SIDES.get(config.target)
    if reads is None or stack == "decoder" and writes is None:
        raise UserError(Message.of("mean_error_language"))
    if (
        2
        * WORDS
        * count
        * config.d_model
        * (max(config.n_layers, config.decoder_layers) + 1)
        > MOST_KEPT
    ):
        raise UserError(Message.of("mean_error_large", sentences=count))
    pairs = [
        Pair.of(
            tokenizer.encode(pair[reads]),
            tokenizer.encode(pair[writes or 0], target=True),
        )
        for pair in (line.split("\t") for line in lines)
    ]
    return [pair for pair in pairs if max(map(len, pair)) <= config.max_length]


@torch.inference_mode()
def stack_states(model: Transformer, pairs: Sequence[Pair], stack: str) -> Tensor:
    """The states [N + 1, B, L, D] of B pairs before all layers and after each, in the
    decoder after its cross-attention, as the stack's last normalisation reads them."""
    source, given = (
        pad(rows, model.device)
        for rows in ([pair.source for pair in pairs], [pair.given for pair in pairs])
    )
    if stack == "encoder":
        return encoder_states(model, source).float().unflatten(0, (-1, len(pairs)))
    memory, mask = model.encode(source)
    future = future_mask(given.shape[1], given.device)
    x = model.embedding(given)
    states = [x]
    layers = zip(
        model.decoder.layers, model.decoder.memories(memory, mask), strict=True
    )
    layer: Any
    for layer, seen in layers:
        x = layer.self_residual(x, partial(layer.self_attention, mask=future))
        x = layer.cross_residual(x, partial(seen.attend, layer.cross_attention))
        states.append(x)
        x = layer.feed_residual(x, layer.feed_forward)
    return model.decoder.norm(torch.stack(states)).float()


class Meanings:
    """The words of sentences with their states after 0 to N layers of a stack, a word's
    the mean of its pieces'."""

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        pairs: Sequence[Pair],
        stack: str,
        pause: Callable[[], object] = lambda: None,
        tell: Callable[[int, int], object] | None = None,
        by_piece: bool = False,
    ) -> None:
        """pairs: of which the decoder reads the targets. pause: called between batches.
        tell: told of the pairs that are read, and of all. by_piece: all pieces but the
        last, </s>, stand in the place of words."""
        self.sentences = list[tuple[str, ...]]()
        places = list[tuple[int, int]]()
        found = list[Tensor]()
        for first in range(0, len(pairs), BATCH):
            batch = pairs[first : first + BATCH]
            states = stack_states(model, batch, stack)
            means = [states[:, 0, :0]]
            for row, pair in enumerate(batch):
                pieces = tokenizer.pieces(
                    pair.source if stack == "encoder" else pair.given
                )
                groups = (
                    [[i] for i in range(len(pieces) - 1)]
                    if by_piece
                    else [
                        one
                        for one in words(pieces)
                        if pieces[one[0]] not in {*SPECIAL.values(), *tokenizer.codes}
                    ]
                )
                units = tuple(
                    joined(pieces, groups)
                    if by_piece
                    else map(spelled, joined(pieces, groups))
                )
                self.sentences.append(units)
                of_words = [
                    i
                    for i, unit in enumerate(units)
                    if by_piece or any(map(str.isalnum, unit))
                ]
                places += [(first + row, i) for i in of_words]
                means += [
                    states[:, row, groups[i]].mean(dim=1, keepdim=True)
                    for i in of_words
                ]
            found.append(torch.cat(means, dim=1).half().cpu())
            pause()
            if tell is not None:
                tell(first + len(batch), len(pairs))
        # (P, 2), the sentence of a word, and where
        self.places = np.array(places, dtype=np.int64).reshape(-1, 2)
        self.states = torch.cat(found, dim=1)  # [N + 1, P, D]
        # [N + 1, 1, D]
        self.mean = torch.stack([states.float().mean(dim=0) for states in self.states])[
            :, None
        ]
        self._planes: dict[int, tuple[Tensor, tuple[float, float]]] = {}

    def plane(self, layer: int) -> tuple[Tensor, tuple[float, float]]:
        """The two directions [D, 2] in which the states after a layer vary most, and
        their shares of all variance: PCA, by eigenvectors of the covariance, each
        turned so that its largest number is positive."""
        if layer not in self._planes:
            x = (self.states[layer].float() - self.mean[layer]).double()
            values, vectors = torch.linalg.eigh(x.T @ x)
            axes = vectors[:, [-1, -2]]
            shares = (values / values.sum()).tolist()
            axes = axes * axes.gather(0, axes.abs().argmax(dim=0, keepdim=True)).sign()
            self._planes[layer] = axes.float(), (shares[-1], shares[-2])
        return self._planes[layer]

    def nearest(
        self, state: Tensor, layer: int, sentence: tuple[str, ...], count: int
    ) -> list[tuple[int, float]]:
        """The words whose states after a layer have the greatest cosines with a state
        [D], at most one of each other sentence, by their places. From each state the
        mean of all is taken: it is large, and says nothing of a single word (Ethayarajh
        2019)."""
        known, asked = (
            one.float() - self.mean[layer, 0] for one in (self.states[layer], state)
        )
        cosines = F.normalize(known, dim=1) @ F.normalize(asked, dim=0)
        found = dict[int, tuple[int, float]]()
        for i in cosines.argsort(descending=True).tolist():
            number = int(self.places[i, 0])
            if self.sentences[number] != sentence:
                found.setdefault(number, (i, float(cosines[i])))
            if len(found) == count:
                break
        return [*found.values()]

    def map(self, own: Meanings, layer: int, word: int = -1) -> MeaningMap:
        """Answer `results.MapMeanings`."""
        of_own = own.states.float() - self.mean
        axes, shares = self.plane(layer)
        sentences = (*own.sentences, *self.sentences)
        count = len(own.places)
        places = np.concatenate([own.places, self.places + [len(own.sentences), 0]])
        states = torch.cat([own.states[layer], self.states[layer]])
        if not 0 <= word < len(places):
            texts = [sentences[sentence][i].lower() for sentence, i in own.places]

            def best(i: int) -> tuple[bool, int]:
                return texts.count(texts[i]) > 1, len(texts[i])

            word = max(
                range(count),
                key=best,
                default=0,
            )
        nearest = self.nearest(states[word], layer, sentences[places[word, 0]], NEAREST)
        unit = F.normalize(of_own, dim=-1)
        return MeaningMap(
            sentences,
            places,
            count,
            ((states.float() - self.mean[layer]) @ axes).numpy(),
            shares,
            (unit @ unit.transpose(1, 2)).numpy(),
            word,
            tuple((count + i, cosine) for i, cosine in nearest),
        )


@torch.inference_mode()
def reverse(model: Transformer, source: Sequence[int]) -> tuple[float, float, float]:
    """Answer `results.Reverse`. source: without EOS."""
    layer: Any = model.encoder.layers[0]
    tokens = torch.tensor([[*source, EOS]], device=model.device)

    def answer(tokens: Tensor, positions: Tensor | None) -> Tensor:
        x = model.embedding(tokens, positions=positions)
        y: Tensor = layer.self_attention(
            layer.self_residual.norm(x) if model.config.norm == "pre" else x
        )
        return y.float()

    tables = torch.zeros_like(model.embedding.positions), None
    bare, placed = (
        float(
            (answer(tokens.flip(1), table) - answer(tokens, table).flip(1)).abs().max()
        )
        for table in tables
    )
    return bare, placed, float(answer(tokens, tables[0]).abs().max())
