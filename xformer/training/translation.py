"""The task of training a translation model: batches of pairs, label-smoothed loss, BLEU on dev."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sacrebleu
import torch
from torch import Tensor, nn

from xformer.hub import checkpoint
from xformer.pieces import BOS, EOS
from xformer.results import Options
from xformer.tokenizer import Tokenizer
from xformer.training.data.corpora import Ids, Pair, TranslationBatches, plain
from xformer.training.loss import SmoothedCrossEntropy
from xformer.translator import Translator, pad, translate_ids

MOST = 200  # pieces of a sentence of dev whose loss is taken


def learn_vocabulary(pairs: Sequence[Pair], size: int) -> Tokenizer:
    """Learn a joint vocabulary from both languages, and from the English in lower case too, as many people type it."""
    def sentences() -> Iterator[str]:
        for english, spanish in pairs:
            yield english
            yield spanish
            yield plain(english)
    return Tokenizer.train(sentences(), size)


class TranslationTask:
    """The `loop.Task` of translation. The best weights are those with the highest BLEU on dev, decoded greedily."""

    score = "bleu"

    def __init__(self, model: Translator, tokenizer: Tokenizer, data: TranslationBatches, dev: Sequence[Pair],
                 smoothing: float = 0.1) -> None:
        self.model, self.tokenizer, self.data, self.dev, self.smoothing = model, tokenizer, data, dev, smoothing

    def batches(self, epoch: int, skip: int) -> Iterator[list[Ids]]:
        return self.data.epoch(epoch, skip)

    def weight(self, batch: list[Ids]) -> int:
        return sum(len(target) + 1 for _, target in batch)

    def loss(self, model: nn.Module, batch: list[Ids], device: torch.device) -> Tensor:
        """Sum the cross-entropy with label smoothing (section 5.4) over the target pieces and their EOS."""
        source = pad([[*s, EOS] for s, _ in batch], device)
        target = pad([[BOS, *t] for _, t in batch], device)
        wanted = pad([[*t, EOS] for _, t in batch], device)
        logits = model(source, target)
        return SmoothedCrossEntropy.apply(logits.flatten(0, 1), wanted.flatten(), self.smoothing)

    def evaluate(self, precision: str = "float32") -> dict[str, float]:
        """Score dev as it stands, and in lower case without final punctuation: BLEU, decoded in full precision; and its
        loss a piece, which is smoothed as that of training."""
        return {"bleu": self.bleu(), "bleu_plain": self.bleu(rough=True), "dev_loss": round(self._dev_loss(), 4)}

    def bleu(self, rough: bool = False) -> float:
        """Score greedy translations of dev, 0 to 100. rough: in lower case and without final punctuation."""
        sources = [self.tokenizer.encode(plain(english) if rough else english) for english, _ in self.dev]
        found = translate_ids(self.model, sources, Options(beam=1, alternatives=0))
        said = [self.tokenizer.decode(best.tokens) for best, *_ in found]
        return round(sacrebleu.corpus_bleu(said, [[spanish for _, spanish in self.dev]], lowercase=rough).score, 2)

    @torch.inference_mode()
    def _dev_loss(self) -> float:
        pairs = sorted(((self.tokenizer.encode(of)[:MOST], self.tokenizer.encode(to)[:MOST]) for of, to in self.dev),
                       key=lambda pair: len(pair[1]))
        batches = [pairs[i:i + 64] for i in range(0, len(pairs), 64)]
        device = next(self.model.parameters()).device
        return sum(float(self.loss(self.model, batch, device)) for batch in batches) / sum(map(self.weight, batches))

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        checkpoint.save(folder, self.model, self.tokenizer, metrics)
