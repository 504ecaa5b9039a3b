"""Draw how a text is split into pieces, and the neighbours of a piece or of a word in a
sentence. Escaped HTML."""

import math
from collections.abc import Sequence

from xformer.figures.labels import paragraph, readable
from xformer.figures.templates import fill
from xformer.pieces import WORD_START
from xformer.results import Neighbour, Pieced, fixed
from xformer.strings import ENGLISH, Language


def splits(ways: Sequence[tuple[str, Pieced]], language: Language = ENGLISH) -> str:
    """Tabulate the splits of a sentence as typed and changed. ways: what was changed,
    and the split. HTML."""
    rows = [
        [how, split.text, split.pieces, split.log_probs, split.log_prob]
        for how, split in ways
    ]
    return fill("vocabulary.splits", language, ways=ways, rows=rows)


def others(
    word: str, ways: Sequence[Pieced], shown: int, language: Language = ENGLISH
) -> str:
    """List the `shown` likeliest ways to split a word, with the probability of each
    among all `ways`; HTML."""
    best = max(way.log_prob for way in ways)
    total = sum(math.exp(way.log_prob - best) for way in ways)
    shares = [(way, math.exp(way.log_prob - best) / total) for way in ways]
    return fill(
        "vocabulary.others",
        language,
        title=language.say("vocab_others", word=word),
        ways=shares[:shown],
        saved=[[way.pieces, way.log_prob, share] for way, share in shares],
    )


def nearest(
    piece: str, found: Sequence[tuple[str, float]], language: Language = ENGLISH
) -> str:
    """List the pieces whose embeddings are nearest to that of `piece`, with bars;
    HTML."""
    return fill(
        "vocabulary.nearest",
        language,
        title=language.say("vocab_nearest", piece=readable(piece)),
        found=found,
    )


def found(
    own: Pieced,
    piece: str,
    near: Sequence[tuple[str, float]],
    language: Language = ENGLISH,
) -> str:
    """Say how many pieces the sentence makes, and which has the vector most like that
    of `piece`, the first of `near`; HTML."""
    if not near:
        return ""
    other, cosine = near[0]
    return paragraph(
        language,
        "vocab_found",
        count=len(own.pieces),
        piece=readable(piece),
        other=readable(other),
        cosine=fixed(cosine, ".2f"),
    )


def contexts(
    piece: str, layer: int, found: Sequence[Neighbour], language: Language = ENGLISH
) -> str:
    """List the sentences in which a piece, marked there, has a state like that of
    `piece`; HTML."""
    after = language.say("vocab_after" if layer else "vocab_after_0", layer=layer)
    title = language.say("vocab_contexts", piece=readable(piece), after=after)
    saved = [
        [
            "".join(one.pieces).replace(WORD_START, " ").strip(),
            one.pieces[one.position],
            one.position + 1,
            one.similarity,
        ]
        for one in found
    ]
    return fill("vocabulary.contexts", language, title=title, found=found, saved=saved)
