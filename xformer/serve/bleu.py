"""BLEU of one translation, taken apart; no torch."""

from __future__ import annotations

import sacrebleu

from xformer.results import Bleu
from xformer.serve.text import clean


def bleu(translation: str, reference: str) -> Bleu:
    """BLEU of one translation against one reference, taken apart; raises UserError where the reference is empty."""
    reference, _ = clean(reference)
    plain = sacrebleu.BLEU(smooth_method="none").corpus_score([translation], [[reference]])
    smoothed = sacrebleu.BLEU(effective_order=True).sentence_score(translation, [reference])
    return Bleu(plain.score, smoothed.score, tuple(plain.counts), tuple(plain.totals), plain.bp,
                plain.sys_len, plain.ref_len)
