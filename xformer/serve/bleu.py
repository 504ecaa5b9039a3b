"""BLEU of one translation, taken apart; no torch."""

import math
from collections import Counter
from collections.abc import Sequence

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from xformer.results import Bleu, NGram
from xformer.serve.text import clean, one_line

ORDERS = 4  # the longest n-grams that are counted, in tokens


def bleu(translation: str, reference: str) -> Bleu:
    """BLEU of one translation against one reference, taken apart. Raises UserError if
    the reference is empty.

    The mean is over the precisions of those n that the translation is long enough for.
    A text of three tokens has no 4-grams; otherwise it would score 0 even where it is
    perfect.
    """
    reference, _ = clean(reference)
    translation, _ = one_line(translation)
    said, wanted = (
        Tokenizer13a()(text.rstrip()).split() for text in (translation, reference)
    )
    ngrams = tuple(_ngrams(said, wanted, n) for n in range(1, ORDERS + 1))
    matches = tuple(sum(ngram.matches for ngram in of_n) for of_n in ngrams)
    totals = tuple(sum(ngram.count for ngram in of_n) for of_n in ngrams)
    orders = sum(total > 0 for total in totals)
    precisions = [
        match / total for match, total in zip(matches, totals, strict=True) if total
    ]
    brevity = math.exp(min(0.0, 1 - len(wanted) / len(said))) if said else 0.0
    mean = math.prod(precisions) ** (1 / orders) if orders else 0.0
    halving = math.prod(p**0.5**n for n, p in enumerate(precisions, 1))
    smoothed = sacrebleu.BLEU(effective_order=True).sentence_score(
        translation, [reference]
    )
    return Bleu(
        100 * brevity * mean,
        smoothed.score,
        matches,
        totals,
        brevity,
        len(said),
        len(wanted),
        orders,
        100 * brevity * halving,
        ngrams,
    )


def corpus_bleu(scored: Sequence[Bleu]) -> float:
    """BLEU of many translations, 0 to 100: the counts of all are summed, then the
    precisions are taken.

    The formula of Papineni et al. (2002), section 2.3, without smoothing: BP exp(1/4
    sum of ln p_n).
    """
    matches = [sum(parts.matches[n] for parts in scored) for n in range(ORDERS)]
    totals = [sum(parts.totals[n] for parts in scored) for n in range(ORDERS)]
    length, reference = (
        sum(getattr(parts, name) for parts in scored)
        for name in ("length", "reference_length")
    )
    if not all(matches):
        return 0.0
    mean = (
        sum(
            math.log(match / total)
            for match, total in zip(matches, totals, strict=True)
        )
        / ORDERS
    )
    return 100 * math.exp(min(0.0, 1 - reference / length) + mean)


def _ngrams(said: Sequence[str], wanted: Sequence[str], n: int) -> tuple[NGram, ...]:
    """Count the n-grams of a translation and of its reference."""
    ours, theirs = (
        Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
        for tokens in (said, wanted)
    )
    return tuple(
        NGram(tokens, ours[tokens], theirs[tokens])
        for tokens in dict.fromkeys([*ours, *theirs])
    )
