"""How good a translation model is: BLEU and chrF of a file of sentence pairs, through the same service as the app."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import sacrebleu
from tqdm import tqdm

from xformer.search import Options
from xformer.service import Service
from xformer.training.corpora import Pair, plain


def evaluate_translation(service: Service, pairs: Sequence[Pair], options: Options, *, rough: bool = False,
                         lowercase: bool = False) -> dict[str, Any]:
    """Scores of a service on pairs, by sacrebleu with its signatures.

    rough: the English in lower case and without final punctuation. lowercase: both sides are scored in lower case.
    """
    sources = [plain(english) or english if rough else english for english, _ in pairs]
    references = [spanish for _, spanish in pairs]
    began = time.perf_counter()
    with tqdm(total=len(sources), unit="sentence", dynamic_ncols=True, leave=False) as bar:
        found = service.translate_many(sources, options, progress=bar.update)
    seconds = time.perf_counter() - began
    translations = [t.best.text for t in found]
    bleu, chrf = sacrebleu.BLEU(lowercase=lowercase), sacrebleu.CHRF(lowercase=lowercase)
    scores = bleu.corpus_score(translations, [references]), chrf.corpus_score(translations, [references])
    return {"bleu": round(scores[0].score, 2), "chrf": round(scores[1].score, 2), "sentences": len(pairs),
            "seconds": round(seconds, 1), "sentences_per_second": round(len(pairs) / seconds, 1),
            "bleu_signature": str(bleu.get_signature()), "chrf_signature": str(chrf.get_signature()),
            "checkpoint": service.info.name, "identity": service.info.identity, "beam": options.beam,
            "device": service.info.device}
