"""A sentence through two small translators of the lecture's kind, whose matrices
multiply whole sentences: one without masks, one with them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xformer.explain import whole_sentences
from xformer.explain.whole_sentences import Vocabulary, words
from xformer.results import Message, Unmask, Unmasked, UserError, WholePass
from xformer.serve.answers import Answers
from xformer.serve.protocol import Progress
from xformer.serve.text import clean
from xformer.whole_sentence import WholeSentence

FILE = Path(__file__).with_name("unmasked.npz")  # `research study unmasked`
kept = cache(whole_sentences.load)


def read(
    vocabulary: Vocabulary, side: str, text: str
) -> tuple[list[str], list[str], list[str]]:
    """The words of a text, those of them that are in the vocabulary, and those that are
    not. Raises UserError where none is known."""
    found = words(text)
    known = vocabulary.known(side)
    read_ = [word for word in found if word in known]
    if not read_:
        raise UserError(
            Message.of(
                "unmasked_error_none",
                text=text.strip()[:40],
                count=len(known) - len(whole_sentences.MARKS),
            )
        )
    return found, read_, [word for word in found if word not in known]


def passed(
    model: WholeSentence, side: Sequence[str], source: Tensor, target: Tensor
) -> WholePass:
    """All that one model makes of source [1, N] and target [1, N]. side: the words that
    it writes."""

    def said(tokens: Tensor) -> tuple[str, ...]:
        return tuple(side[i] for i in tokens.tolist())

    return WholePass(
        said(model(source, target)[0].argmax(-1)),
        said(model.write_in_turn(source)[0, 1:]),
        said(model.write_at_once(source)[0, 1:]),
        whole_sentences.reliance(model, source, target).numpy(),
        whole_sentences.looks(model, source, target).numpy(),
    )


@torch.inference_mode()
def unmask(service: Any, asked: Unmask, progress: Progress | None = None) -> Unmasked:
    """Answer `results.Unmask`. Raises UserError for a text that has no word that is
    known."""
    one = kept(FILE)
    vocabulary = one.vocabulary
    model = one.models["masked"]
    length = model.config.words
    most = length - len(whole_sentences.MARKS)
    for typed in filter(str.strip, (asked.text, asked.target)):
        clean(typed)  # which refuses what is too long
    text, source_words, unknown = read(vocabulary, "source", asked.text)
    is_own = bool(asked.target.strip())
    _, target_words, missing = (
        read(vocabulary, "target", asked.target) if is_own else ([], [], [])
    )

    def tensor(side: str, known: Sequence[str]) -> Tensor:
        return torch.tensor([vocabulary.numbers(side, known[:most], length)])

    with service.guard.work():
        source = tensor("source", source_words)
        target = (
            tensor("target", target_words) if is_own else model.write_in_turn(source)
        )
        passes = {
            name: passed(each, vocabulary.target, source, target)
            for name, each in one.models.items()
        }
    return Unmasked(
        tuple(text),
        tuple(unknown),
        tuple(word for word in unknown if word not in vocabulary.wide),
        len(service.tokenizer.encode(asked.text)),
        len(max(source_words, target_words, key=len)[most:]),
        tuple(vocabulary.target[i] for i in target[0].tolist()),
        tuple(missing),
        is_own,
        passes,
        tuple(one.about["runs"]),
        {
            **{
                name: one.about[name]
                for name in ("pairs", "all_pairs", "unknown", "options")
            },
            "words": len(vocabulary.source) - len(whole_sentences.MARKS),
            "wide": len(vocabulary.wide) - len(whole_sentences.MARKS),
            "pieces": len(service.tokenizer),
            "weights": sum(each.numel() for each in model.parameters()),
            "tensors": tensors(model),
        },
    )


def tensors(model: WholeSentence) -> tuple[int, int]:
    """Count as the lecture counts "layers": the tensors of the encoder's parameters, and
    of the decoder's with its output; embeddings apart."""
    return (
        len([*model.encoder.parameters()]),
        len([*model.decoder.parameters(), *model.out.parameters()]),
    )


ANSWERS: Answers = {Unmask: unmask}
