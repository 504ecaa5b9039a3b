"""What it takes to train a translation model: batches of pairs, label-smoothed loss, BLEU on dev."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sacrebleu
import torch
from torch import Tensor, nn

from xformer.hub import checkpoint
from xformer.model import Transformer
from xformer.pieces import BOS, EOS, PAD
from xformer.search import Options as SearchOptions
from xformer.tokenizer import Tokenizer
from xformer.training.corpora import Ids, Pair, TranslationBatches, plain
from xformer.translator import pad, translate_ids


def vocabulary(pairs: Sequence[Pair], size: int) -> Tokenizer:
    """A joint vocabulary, learned from both languages and from English in lower case too, as many people type it."""
    def sentences() -> Iterator[str]:
        for english, spanish in pairs:
            yield english
            yield spanish
            yield plain(english)
    return Tokenizer.train(sentences(), size)


class SmoothedCrossEntropy(torch.autograd.Function):
    """Sum of label-smoothed cross-entropies: logits [N, V], wanted [N] (PAD: not counted) -> a scalar.

    The same as `F.cross_entropy(…, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)`, but the gradient,
    softmax(logits) minus the smoothed target, is made on the way, in one array instead of five.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
        real = wanted != PAD
        p = logits.softmax(dim=1, dtype=torch.float32)
        log_total = logits.amax(1).float() - p.amax(1).log()  # log of the sum of exponentials
        likelihood = (1 - smoothing) * logits.gather(1, wanted[:, None])[:, 0].float()
        likelihood += smoothing * logits.mean(1, dtype=torch.float32)
        p -= smoothing / logits.shape[1]
        p.scatter_add_(1, wanted[:, None], p.new_full((len(wanted), 1), smoothing - 1))
        p *= real[:, None]
        ctx.save_for_backward(p.to(logits.dtype))
        return ((log_total - likelihood) * real).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (p,) = ctx.saved_tensors
        return p * gradients[0], None, None


class TranslationTask:
    """The `loop.Task` of translation; the best weights are those with the highest BLEU on dev, decoded greedily."""

    score = "bleu"

    def __init__(self, model: Transformer, tokenizer: Tokenizer, data: TranslationBatches, dev: Sequence[Pair],
                 smoothing: float = 0.1) -> None:
        self.model, self.tokenizer, self.data, self.dev, self.smoothing = model, tokenizer, data, dev, smoothing

    def batches(self, epoch: int, skip: int) -> Iterator[list[Ids]]:
        return self.data.epoch(epoch, skip)

    def weight(self, batch: list[Ids]) -> int:
        return sum(len(target) + 1 for _, target in batch)

    def loss(self, model: nn.Module, batch: list[Ids], device: torch.device) -> Tensor:
        """Cross-entropy with label smoothing (section 5.4), summed over the target pieces and their EOS."""
        source = pad([[*s, EOS] for s, _ in batch], device)
        target = pad([[BOS, *t] for _, t in batch], device)
        wanted = pad([[*t, EOS] for _, t in batch], device)
        logits = model(source, target)
        return SmoothedCrossEntropy.apply(logits.flatten(0, 1), wanted.flatten(), self.smoothing)

    def evaluate(self) -> dict[str, float]:
        """BLEU on dev as it stands, and on the same sentences in lower case without final punctuation."""
        references = [spanish for _, spanish in self.dev]
        as_is = self._translate([english for english, _ in self.dev])
        rough = self._translate([plain(english) for english, _ in self.dev])
        return {"bleu": round(sacrebleu.corpus_bleu(as_is, [references]).score, 2),
                "bleu_plain": round(sacrebleu.corpus_bleu(rough, [references], lowercase=True).score, 2)}

    def _translate(self, sentences: Sequence[str]) -> list[str]:
        sources = [self.tokenizer.encode(s) for s in sentences]
        found = translate_ids(self.model, sources, SearchOptions(beam=1, alternatives=0))
        return [self.tokenizer.decode(hypotheses[0].tokens) for hypotheses in found]

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        checkpoint.save(folder, self.model, self.tokenizer, metrics)
