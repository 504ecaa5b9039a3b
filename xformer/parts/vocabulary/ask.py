"""Find neighbours in the spaces of a model: pieces by their embeddings, and pieces in
sentences by their states."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from xformer.explain.meanings import Meanings
from xformer.explain.passes import Pair
from xformer.model import Transformer
from xformer.pieces import SPECIAL
from xformer.results import (
    Message,
    NearestContexts,
    NearestPieces,
    Neighbour,
    UserError,
)
from xformer.serve.answers import Answers
from xformer.serve.protocol import Progress
from xformer.tokenizer import Tokenizer


@torch.inference_mode()
def nearest_pieces(
    model: Transformer, tokenizer: Tokenizer, piece: str, count: int
) -> list[tuple[str, float]]:
    """List the pieces whose embeddings have the greatest cosine with that of a piece,
    without it and special pieces.

    The mean of all embeddings is subtracted from each. Raises UserError if there is no
    such piece.
    """
    token = tokenizer.id_of(piece)
    if token is None:
        raise UserError(Message.of("error_piece_unknown", piece=piece))
    weight = model.embedding.weight.float()
    weight = weight - weight.mean(dim=0)
    cosines = F.normalize(weight, dim=1) @ F.normalize(weight[token], dim=0)
    cosines[[token, *SPECIAL]] = -2
    best = cosines.topk(min(count, len(cosines) - len(SPECIAL) - 1))
    return list(
        zip(tokenizer.pieces(best.indices.tolist()), best.values.tolist(), strict=True)
    )


class Contexts:
    """The encoder's states of every piece of some sentences, after 0 to N layers."""

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        sentences: Sequence[str],
        pause: Callable[[], object] = lambda: None,
    ) -> None:
        """pause: called between batches."""
        self.read = partial(Meanings, model, tokenizer, stack="encoder", by_piece=True)
        tokens = sorted(map(tokenizer.encode, sentences), key=len)
        self.known = self.read([Pair.of(one, ()) for one in tokens], pause=pause)

    def nearest(
        self, tokens: Sequence[int], position: int, layer: int, count: int
    ) -> list[Neighbour]:
        """Find the pieces of other sentences whose state after a layer has the greatest
        cosine with that at `position`.

        tokens: of the sentence, without EOS. position: from 0. layer: 0, embedding and
        position, to N. At most one piece of each sentence is returned.
        """
        own = self.read([Pair.of(tokens, ())])
        found = list[Neighbour]()
        for i, cosine in self.known.nearest(
            own.states[layer, position], layer, own.sentences[0], count
        ):
            number, place = self.known.places[i].tolist()
            found.append(Neighbour(self.known.sentences[number], place, cosine))
        return found


def nearest_contexts(
    service: Any, asked: NearestContexts, _: Progress | None
) -> list[Neighbour]:
    """Answer `results.NearestContexts`. Raises UserError for a piece or a layer that is
    not there."""
    tokens = service.read(asked.source).tokens
    model = service.transformer
    if not (
        0 <= asked.position < len(tokens) and 0 <= asked.layer <= service.info.n_layers
    ):
        raise UserError(
            Message.of(
                "error_context",
                position=asked.position + 1,
                pieces=len(tokens),
                layer=asked.layer,
                layers=service.info.n_layers,
            )
        )
    with service.guard.work() as pause, service.lock("contexts"):
        if "contexts" not in service.kept:  # made in half a second
            sentences = (
                Path(__file__)
                .with_name("contexts.txt")
                .read_text(encoding="utf-8")
                .splitlines()
            )
            service.kept["contexts"] = Contexts(
                model, service.tokenizer, sentences, pause
            )
        return service.kept["contexts"].nearest(
            tokens, asked.position, asked.layer, asked.count
        )


ANSWERS: Answers = {
    NearestPieces: lambda service, asked, _: nearest_pieces(
        service.transformer, service.tokenizer, asked.piece, asked.count
    ),
    NearestContexts: nearest_contexts,
}
