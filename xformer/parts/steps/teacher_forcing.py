"""A given translation, piece by piece: the piece given, the piece wanted, and the loss.
All text is escaped."""

import math
from collections.abc import Sequence

from xformer.explain.counterfactual import parting
from xformer.figures.labels import sentence, shown
from xformer.figures.templates import fill
from xformer.pieces import WORD_START
from xformer.results import Candidate, Forced, decimal
from xformer.strings import ENGLISH, Language


def steps(
    forced: Forced, source: Sequence[str], step: int, language: Language = ENGLISH
) -> str:
    """Tabulate the T steps, a column each: the piece given, the piece wanted, its
    log-probability and its loss. HTML.

    The wanted piece of a column is the given piece of the next. step: the chosen one,
    from 1; a click on another step triggers 'choose' {step} (readings.js).
    """
    return fill(
        "teacher_forcing.steps",
        language,
        forced=forced,
        step=step,
        pair=(sentence(source), sentence(forced.predicted)),
    )


def targets(forced: Forced, step: int) -> list[tuple[str, float, float, bool]]:
    """List the likeliest pieces of a step, the wanted piece, and all others together
    (""), each as: piece, the model's probability, the smoothed target's probability,
    whether it is the wanted piece.

    step: from 1. The target is (1 - e) on the wanted piece, plus e / V on every piece
    of a vocabulary of V (Szegedy et al. 2016; Vaswani et al. 2017, section 5.4).
    """
    wanted = forced.predicted[step - 1]
    share = forced.smoothing / forced.vocabulary
    listed = dict(forced.alternatives[step - 1])
    listed.setdefault(wanted, forced.log_probs[step - 1])
    rows = [
        (
            piece,
            math.exp(log_prob),
            share + (1 - forced.smoothing) * (piece == wanted),
            piece == wanted,
        )
        for piece, log_prob in listed.items()
    ]
    rest = max(0.0, 1 - sum(p for _, p, _, _ in rows))
    return [*rows, ("", rest, share * (forced.vocabulary - len(rows)), False)]


def distribution(
    forced: Forced, source: Sequence[str], step: int, language: Language = ENGLISH
) -> str:
    """Draw the model's distribution at a step beside the smoothed target, and how the
    loss follows from them. HTML.

    source: pieces of the sentence. step: from 1.
    """
    index = step - 1
    smoothing = forced.smoothing
    loss = forced.losses[index]
    own = -forced.log_probs[index]
    wanted = forced.predicted[index]
    # the loss is (1 - e) times that of the wanted piece, plus e times the mean over all
    # pieces
    if smoothing > 0:
        said = language.say(
            "force_loss_smoothed",
            loss=f"{loss:.3f}",
            rest=decimal(1 - smoothing, 6),
            own=f"{own:.3f}",
            smoothing=decimal(smoothing, 6),
            mean=f"{(loss - (1 - smoothing) * own) / smoothing:.3f}",
        )
    else:
        said = language.say("force_loss_plain", loss=f"{loss:.3f}")
    title = language.say(
        "force_distribution",
        step=step,
        given=shown(forced.given[index]),
        wanted=shown(wanted),
    )
    return fill(
        "teacher_forcing.distribution",
        language,
        title=title,
        rows=targets(forced, step),
        said=said,
        others=forced.vocabulary - len({*dict(forced.alternatives[index]), wanted}),
        pair=(sentence(source), sentence(forced.predicted)),
    )


def free(
    forced: Forced, tokens: Sequence[int], best: Candidate, language: Language = ENGLISH
) -> str:
    """Show the model's own translation beneath a given one, and the first step at which
    the two differ. HTML.

    tokens: of the given translation, with </s> if the model's own has it.
    """
    step = parting(tokens, best.tokens)
    if step is None:
        return fill("teacher_forcing.free", language, own=(best.text, ""))
    pieces = [
        shown(pieces[step]) if step < len(pieces) else "</s>"
        for pieces in (forced.predicted, best.pieces)
    ]
    return fill(
        "teacher_forcing.free",
        language,
        own=_parted(best.pieces, step),
        yours=_parted(forced.predicted, step),
        part=language.say("force_part", step=step + 1, given=pieces[0], free=pieces[1]),
        gap=sum(forced.log_probs) - sum(best.log_probs),
    )


def _parted(pieces: Sequence[str], step: int) -> tuple[str, str]:
    """A translation up to the step at which it differs from another, and from there
    on."""
    before = sentence(pieces[:step])
    after = sentence(pieces[step:])
    joined = (
        " "
        if step < len(pieces) and pieces[step].startswith(WORD_START) and before
        else ""
    )
    return before + joined, after
