"""Of the translations that a model itself finds, those nearest to the reference, to be
learned from beside it.

This is sequence-level interpolation (Kim & Rush 2016, "Sequence-Level Knowledge
Distillation", section 3.3) with the model as its own teacher: of the right translations
of a sentence, one that the model nearly says is learned more easily than the reference,
which is one person's choice. Or all of them are, each with how near it is: minimum risk
training.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sacrebleu
from tqdm import tqdm

from research.data.fetch import excluded_pairs, lines_of
from research.options import NearestRun
from xformer.device import prepare
from xformer.hub import checkpoint, repository
from xformer.results import Options, UserError, refusing, write_whole
from xformer.tokenizer import Tokenizer
from xformer.training.data.corpora import (
    RANKED,
    Pair,
    data_file,
    needed_file,
    read_pairs,
    turned,
    without,
)
from xformer.translator import Translator, translate_ids

METRICS = sacrebleu.BLEU(effective_order=True), sacrebleu.CHRF()
CHUNK = 1000  # sentences of similar length that are translated before the bar moves on


@dataclass(frozen=True)
class NearestPairs:
    """What `write_nearest` translated and wrote, counted in sentences that the model
    reads."""

    path: Path
    sentences: int
    kept: int
    new: int  # translations kept that are no reference


def nearness(hypothesis: str, references: Sequence[str]) -> float:
    """Return how near a hypothesis is to its references, 0 to 100: the mean of sentence
    BLEU and chrF over them."""
    scores = [
        metric.sentence_score(hypothesis, [reference]).score
        for reference in references
        for metric in METRICS
    ]
    return sum(scores) / len(scores)


def nearest(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[str, float]:
    """Return the hypothesis that is nearest to the references, the first of equals, and
    its nearness."""
    if len(references) == 1 and references[0] in hypotheses:
        # half of the sentences of training; it saves their scoring
        return references[0], 100.0
    scores = [nearness(hypothesis, references) for hypothesis in hypotheses]
    best = max(range(len(scores)), key=lambda i: scores[i])
    return hypotheses[best], scores[best]


def beams(
    model: Translator, tokenizer: Tokenizer, sentences: Iterable[str], beam: int
) -> Iterator[tuple[str, list[str]]]:
    """Yield sentences in order of length, each with the unlike hypotheses of its beam,
    best first; those longer than the model takes are left out."""
    sources = {english: tokenizer.encode(english) for english in sentences}
    longest = model.config.max_length - 1  # and </s>
    order = sorted(
        (e for e in sources if len(sources[e]) <= longest),
        key=lambda e: len(sources[e]),
    )
    options = Options(beam=beam, n_best=beam, alternatives=0)
    with tqdm(total=len(order), unit="sentence", dynamic_ncols=True) as bar:
        for first in range(0, len(order), CHUNK):
            chunk = order[first : first + CHUNK]
            found = translate_ids(
                model, [sources[english] for english in chunk], options
            )
            for english, hypotheses in zip(chunk, found, strict=True):
                texts = [tokenizer.decode(h.tokens) for h in hypotheses if h.finished]
                yield english, [text for text in dict.fromkeys(texts) if text]
            bar.update(len(chunk))


def nearest_pairs(
    model: Translator,
    tokenizer: Tokenizer,
    references: Mapping[str, Sequence[str]],
    beam: int,
    least: float,
) -> Iterator[Pair]:
    """Yield sentences with the hypothesis of a beam that is nearest to their
    references, in order of length.

    references: the right translations of each English sentence. least: nearness below
    which a sentence is left out.
    """
    for english, texts in beams(model, tokenizer, references, beam):
        spanish, near = nearest(texts, references[english]) if texts else ("", -1.0)
        if near >= least:
            yield english, spanish


def ranked_rows(
    model: Translator,
    tokenizer: Tokenizer,
    references: Mapping[str, Sequence[str]],
    beam: int,
) -> Iterator[tuple[str, str, str]]:
    """Yield the first RANKED hypotheses of each sentence with their nearness, for
    `corpora.read_ranked`."""
    for english, texts in beams(model, tokenizer, references, beam):
        if len(texts) >= RANKED:
            yield from (
                (english, text, f"{nearness(text, references[english]):.1f}")
                for text in texts[:RANKED]
            )


def write_nearest(run: NearestRun) -> NearestPairs:
    """Translate what the model reads of train.tsv in `run.data`, English or Spanish,
    and write nearest.tsv.xz (English, Spanish) or ranked.tsv.xz (source, hypothesis)
    beside it, without what shares a sentence, on either side, with dev or a test.
    Raises UserError, and ValueError for a line of train.tsv that is no pair."""
    path = run.data / ("ranked.tsv.xz" if run.ranked else "nearest.tsv.xz")
    train = needed_file(run.data, "train", "translation", "English, a tab, Spanish")
    if (old := path.with_suffix("")).exists():
        raise UserError(
            f"{old} is there already, and training would take it instead of the new file; move it away."
        )
    dev = data_file(run.data, "dev")
    held_out = [
        *(read_pairs(dev) if dev else []),
        *(pair for test in run.exclude for pair in excluded_pairs(test)),
    ]
    pairs = without(read_pairs(train), held_out) if run.ranked else read_pairs(train)
    loaded = checkpoint.load_translator(repository.find(run.checkpoint))
    sided: Callable[[Iterable[Pair]], list[Pair]] = (
        turned if loaded.model.config.source == "es" else list
    )
    references: dict[str, list[str]] = {}
    for source, target in dict.fromkeys(sided(pairs)):
        references.setdefault(source, []).append(target)
    prepare(loaded.model, run.device, run.precision)
    of_beams = loaded.model, loaded.tokenizer, references, run.beam
    ranked = [*ranked_rows(*of_beams)] if run.ranked else []
    kept = (
        []
        if run.ranked
        else without([*nearest_pairs(*of_beams, run.least)], sided(held_out))
    )
    rows: Sequence[tuple[str, ...]] = ranked or kept
    with refusing(
        OSError,
        lambda error: (
            f"{path} cannot be written ({error.strerror or error}); make room, or give another folder with --data."
        ),
    ):
        write_whole(path, lzma.compress(lines_of(ranked or sided(kept))))
    return NearestPairs(
        path,
        len(references),
        len({row[0] for row in rows}),
        sum(target not in references[source] for source, target, *_ in rows),
    )
