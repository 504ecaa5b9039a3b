"""A translation whose pieces show their alternatives, the n-best table, and BLEU in
parts. HTML, all text escaped."""

import math
from collections.abc import Sequence

from xformer.figures.templates import fill
from xformer.pieces import EOS, SPECIAL, UNK, WORD_START, characters, spelled
from xformer.results import Bleu, Candidate, Translation
from xformer.strings import ENGLISH, Language

# CSS class, and key of the text
MARKS = {SPECIAL[EOS]: ("end", "end"), SPECIAL[UNK]: ("unknown", "unknown_piece")}


def translation(candidate: Candidate, language: Language = ENGLISH) -> str:
    """Show a translation piece by piece, each shaded by the model's uncertainty, with
    its alternatives as a tooltip.

    Bytes that spell a character stand as that: with the probability of all, and the
    alternatives of the first.
    """
    shown = list[tuple[object, ...]]()
    for group in characters(candidate.pieces):
        first = group[0]
        piece = "".join(candidate.pieces[i] for i in group)
        kind, key = MARKS.get(piece, ("", ""))
        label = (
            language.say(key)
            if key
            else spelled(piece).removeprefix(WORD_START) or "\u00a0"
        )
        begins = bool(shown) and (piece.startswith(WORD_START) or piece == SPECIAL[EOS])
        p = math.exp(sum(candidate.log_probs[i] for i in group))
        shown.append(
            (
                piece,
                kind,
                label,
                begins,
                p,
                candidate.pieces[first],
                candidate.alternatives[first],
            )
        )
    return fill("translation.translation", language, pieces=shown)


def found(
    translations: Sequence[Translation], language: Language = ENGLISH, old: bool = False
) -> str:
    """Show a translation with how sure the model was of it, and how it was searched
    for; or several draws side by side, of which the other tabs look into the first.
    old: they are of a text that is no longer in the field."""
    shown = [
        (one, translation(one.best, language), sum(one.best.log_probs))
        for one in translations
    ]
    return fill("translation.found", language, shown=shown, old=old)


def other_way(model: str, text: str, language: Language = ENGLISH) -> str:
    """Offer to translate a sentence with a model of the other direction; HTML."""
    return fill("translation.other_way", language, model=model, text=text)


def n_best(candidates: Sequence[Candidate], language: Language = ENGLISH) -> str:
    """Tabulate the translations that the search found, best first; scores and
    log-probabilities on demand."""
    return fill("translation.n_best", language, candidates=candidates)


def bleu(parts: Bleu, language: Language = ENGLISH) -> str:
    """Show BLEU and its parts: n-gram precisions and the brevity penalty."""
    return fill("translation.bleu", language, parts=parts)
