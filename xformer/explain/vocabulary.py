"""Find neighbours in the spaces of a model: pieces by their embeddings, and pieces in sentences by their states."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from xformer.explain.lenses import encoder_states
from xformer.model import Transformer
from xformer.pieces import EOS, PAD, SPECIAL
from xformer.results import Message, Neighbour, UserError
from xformer.tokenizer import Tokenizer

BATCH = 64  # sentences


@torch.inference_mode()
def nearest_pieces(model: Transformer, tokenizer: Tokenizer, piece: str, count: int) -> list[tuple[str, float]]:
    """List the pieces whose embeddings have the greatest cosine with that of a piece, without it and special pieces.

    The mean of all embeddings is subtracted from each. Raises UserError if there is no such piece.
    """
    token = tokenizer.id_of(piece)
    if token is None:
        raise UserError(Message.of("error_piece_unknown", piece=piece))
    weight = model.embedding.weight.float()
    weight = weight - weight.mean(dim=0)
    cosines = F.normalize(weight, dim=1) @ F.normalize(weight[token], dim=0)
    cosines[[token, *SPECIAL]] = -2
    best = cosines.topk(min(count, len(cosines) - len(SPECIAL) - 1))
    return list(zip(tokenizer.pieces(best.indices.tolist()), best.values.tolist(), strict=True))


class Contexts:
    """The encoder's states of every piece of some sentences, after 0 to N layers.

    The mean of all states after a layer is subtracted from each: it is large, and says nothing of a single word
    (Ethayarajh 2019).
    """

    def __init__(self, model: Transformer, tokenizer: Tokenizer, sentences: Sequence[str],
                 pause: Callable[[], object] = lambda: None) -> None:
        """pause: called between batches."""
        self.model, self.tokenizer = model, tokenizer
        self.sentences = sorted((tokenizer.encode(sentence) for sentence in sentences), key=len)
        self.places = [(number, position) for number, tokens in enumerate(self.sentences)
                       for position in range(len(tokens))]
        found = []
        for first in range(0, len(self.sentences), BATCH):
            found.append(self._states(self.sentences[first:first + BATCH]))
            pause()
        states = torch.cat(found, dim=1)  # [N + 1, P, D], of P pieces
        self.mean = states.mean(dim=1, keepdim=True)
        self.states = F.normalize(states - self.mean, dim=-1).half().cpu()

    @torch.inference_mode()
    def _states(self, sentences: Sequence[Sequence[int]]) -> Tensor:
        """The states [N + 1, P, D] of P pieces, without </s> and padding."""
        length = max(map(len, sentences)) + 1
        rows = [[*tokens, EOS, *[PAD] * (length - len(tokens) - 1)] for tokens in sentences]
        tokens = torch.tensor(rows, device=self.model.embedding.weight.device)
        states = encoder_states(self.model, tokens).float().unflatten(0, (-1, len(rows)))  # [N + 1, B, S, D]
        return states[:, (tokens != EOS) & (tokens != PAD)]

    @torch.inference_mode()
    def nearest(self, tokens: Sequence[int], position: int, layer: int, count: int) -> list[Neighbour]:
        """Find the pieces of other sentences whose state after a layer has the greatest cosine with that at `position`.

        tokens: of the sentence, without EOS. position: from 0. layer: 0, embedding and position, to N. At most one
        piece of each sentence is returned.
        """
        asked = self._states([tokens])[layer, position] - self.mean[layer, 0]
        cosines = self.states[layer].float() @ F.normalize(asked, dim=0).cpu()
        found: dict[int, Neighbour] = {}
        for i in cosines.argsort(descending=True).tolist():
            number, place = self.places[i]
            if number in found or self.sentences[number] == list(tokens):
                continue
            found[number] = Neighbour(tuple(self.tokenizer.pieces(self.sentences[number])), place, float(cosines[i]))
            if len(found) == count:
                break
        return list(found.values())
