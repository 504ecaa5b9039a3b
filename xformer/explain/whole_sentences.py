"""Models of `xformer.whole_sentence` in one file: weights of 8 bits, words, sentences
to try and scores; and what such a model makes of a sentence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xformer.explain import archives
from xformer.whole_sentence import EOS, SOS, Config, WholeSentence

WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
MARKS = ("SOS", "EOS")
SIDES = ("source", "target", "wide")  # of a Vocabulary


def words(text: str) -> list[str]:
    """The words of a text in the lecture's way: no capitals, no punctuation."""
    return WORD.findall(text.lower().replace("’", "'"))


@dataclass(frozen=True)
class Vocabulary:
    """The words of both languages, the marks first."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    # of the source language, of all sentences of the kind, not only of those learned
    wide: tuple[str, ...] = ()

    def numbers(self, side: str, text: Sequence[str], length: int) -> list[int]:
        """SOS, these words, and EOS until there are `length`. Raises KeyError for a
        word that is not in it: the lecture's program has nothing for it either."""
        known = self.known(side)
        found = [SOS, *(known[word] for word in text)]
        return found + [EOS] * (length - len(found))

    def known(self, side: str) -> dict[str, int]:
        """The numbers of the words of "source" or "target"."""
        return {word: i for i, word in enumerate(getattr(self, side))}


@dataclass(frozen=True)
class Kept:
    """What a file holds."""

    models: Mapping[str, WholeSentence]  # by "unmasked" and "masked"; for evaluation
    vocabulary: Vocabulary
    about: dict[str, Any]  # the runs and their scores, the sentences to try


def load(path: Path) -> Kept:
    """Read both models from their file. Raises UserError where it is missing or broken."""
    with archives.reading(path, "whole_sentence_missing") as (about, kept):
        sides = [kept[side].tobytes().decode() for side in SIDES]
        models = {}
        for name, config in about.pop("configs").items():
            model = WholeSentence(Config(**config))
            model.load_state_dict(
                {key: _fine(kept, f"{name}:{key}") for key in model.state_dict()}
            )
            models[name] = model.eval()
        vocabulary = Vocabulary(*(tuple(side.split("\n")) for side in sides))
    return Kept(models, vocabulary, about)


def _fine(kept: Any, name: str) -> Tensor:
    values = torch.from_numpy(kept[name]).float()
    if f"{name}/scale" in kept.files:
        values = values * torch.from_numpy(kept[f"{name}/scale"]).float()
    return values


def text_of(written: Sequence[int], side: Sequence[str]) -> str:
    """What was written, without its marks."""
    return " ".join(side[i] for i in written if i not in (SOS, EOS))


@torch.inference_mode()
def reliance(model: WholeSentence, source: Tensor, target: Tensor) -> Tensor:
    """How each written word hangs on each word that the decoder is given: the change of
    its log-probability, in nats, when EOS is put in that word's place (where EOS
    stands, SOS). source [1, N], target [1, N] -> [N - 1, N]."""
    length = target.shape[1]
    others = target.repeat(length, 1)
    own = others.diagonal()
    own.copy_(torch.where(own == EOS, SOS, EOS))
    both = torch.cat((target, others))
    logits = model(source.expand(len(both), -1), both).log_softmax(-1)
    wanted = target[:, 1:, None].expand(len(both), -1, 1)
    found = logits.gather(-1, wanted)[..., 0]
    return (found[0] - found[1:]).T


@torch.inference_mode()
def looks(model: WholeSentence, source: Tensor, target: Tensor) -> Tensor:
    """Where the decoder's self-attention looks, of its first layer, the mean of its
    heads: for each word that is written the row of its place, in the pass that writes
    it. Rows are scaled to sum to 1. source [1, N], target [1, N] -> [N - 1, N]."""
    memory = model.encode(source)
    length = target.shape[1]
    rows = []
    for place in range(1, length):
        maps: list[Tensor] = []
        given = (
            model.hidden(target, place) if model.config.masked else model.target(target)
        )
        model.decode(given, memory, maps)
        row = maps[0][0, :, place].mean(dim=0)
        rows.append(row / row.sum())
    return torch.stack(rows)
