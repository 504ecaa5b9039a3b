"""A translation model read between its layers, as tables: translations by layer of the
encoder, and the logit lens on the decoder. All text is escaped."""

import difflib
from collections.abc import Sequence

from xformer.figures.labels import sentence, shown, shown_all
from xformer.figures.templates import fill
from xformer.results import Candidate, DecoderReadings
from xformer.strings import ENGLISH, Language


def by_layer(
    source: str, found: Sequence[Candidate], language: Language = ENGLISH
) -> str:
    """Tabulate translations from an encoder's state after 0 to N layers; words that the
    last lacks are marked; HTML."""
    last = found[-1].text.split()
    rows = []
    for candidate in found:
        own = candidate.text.split()
        steps = difflib.SequenceMatcher(a=own, b=last, autojunk=False).get_opcodes()
        parts = [
            (" ".join(own[a:b]), kind == "equal") for kind, a, b, _, _ in steps if a < b
        ]
        rows.append((parts, candidate.text, sum(candidate.log_probs)))
    return fill("lenses.by_layer", language, source=source, rows=rows)


def lens(
    readings: DecoderReadings,
    source: Sequence[str],
    step: int,
    language: Language = ENGLISH,
) -> str:
    """Tabulate the likeliest piece of each step (row) after each of 0 to M layers
    (column), shaded by its probability.

    Each cell's label gives the probability and rank of the piece that was written.
    source: pieces of the sentence.
    step: the chosen one, from 1. HTML; readings.js moves between cells with the arrow
    keys.
    """
    steps = [
        (
            shown(given),
            shown(wanted),
            list(
                zip(
                    shown_all([pieces[at] for pieces in readings.pieces]),
                    readings.likeliest[:, at].tolist(),
                    readings.probabilities[:, at].tolist(),
                    readings.ranks[:, at].tolist(),
                    strict=True,
                )
            ),
        )
        for at, (given, wanted) in enumerate(
            zip(readings.given, readings.predicted, strict=True)
        )
    ]
    pair = sentence(source), sentence(readings.predicted)
    names = [
        language.say("lens_layer" if layer else "lens_embedded", layer=layer)
        for layer in range(len(readings.pieces))
    ]
    return fill(
        "lenses.lens",
        language,
        title=language.say("lens_title", source=pair[0], target=pair[1]),
        pair=pair,
        names=names,
        steps=steps,
        step=step,
    )
