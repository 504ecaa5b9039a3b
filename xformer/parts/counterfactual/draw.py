"""Two translations that differ from one step on: a heatmap and sentences on where heads
look next. HTML is escaped."""

import numpy as np
import plotly.graph_objects as go

from xformer.explain import counterfactual
from xformer.figures.changes import changed_words
from xformer.figures.heatmap import Axis, Scale, matrix
from xformer.figures.labels import place, sentence, shown, shown_all
from xformer.figures.layout import literal
from xformer.figures.templates import fill
from xformer.results import Candidate, Head, Trace, fixed
from xformer.strings import ENGLISH, Language

MOST = 3  # heads that are named in words


def difference(
    old: Trace, new: Trace, step: int, language: Language = ENGLISH
) -> go.Figure | None:
    """Plot attention after the new piece minus after the old: a row a cross-attention
    head, a column a source piece.

    Orange where the new piece draws more attention, blue where less. None if a
    translation ends at the step, or if the model has no attention.
    """
    say = language.say
    if not old.cross.size or not counterfactual.comparable(
        old.cross, new.cross, step, old.asks_late
    ):
        return None
    passes = old.cross, new.cross, step, old.asks_late
    values = counterfactual.difference(*passes)
    distances = counterfactual.distance(*passes)
    old_piece = shown(old.predicted[step])
    new_piece = shown(new.predicted[step])

    def hover(head: str, key: str, value: float) -> str:
        return say(
            "rivals_hover",
            head=head,
            key=key,
            value=fixed(value, "+.3f"),
            new=literal([new_piece])[0],
        )

    heads = Head.every("cross", *distances.shape)
    rows = [
        f"{place(head, language)} · {distance:.2f}"
        for head, distance in zip(heads, distances.flat, strict=True)
    ]
    reach = max(0.1, float(np.abs(values).max()))  # heads that hardly changed stay pale
    return matrix(
        values.reshape(len(heads), -1),
        Axis(say("rivals_rows"), rows),
        Axis(say("axis_seen_source_piece"), shown_all(old.source)),
        hover,
        title=say("rivals_title", old=old_piece, new=new_piece),
        scale=Scale(say("rivals_bar"), reach, signed=True),
        pair=(
            sentence(old.source),
            f"{sentence(old.predicted)} / {sentence(new.predicted)}",
        ),
    )


def comparison(
    old: Candidate,
    new: Candidate,
    old_trace: Trace,
    new_trace: Trace,
    step: int,
    language: Language = ENGLISH,
) -> str:
    """Compare two translations: texts, log-probabilities, and the heads that changed
    most in a sentence. HTML."""
    pieces = {"old": shown(old.pieces[step]), "new": shown(new.pieces[step])}
    before = sum(old.log_probs)
    after = sum(new.log_probs)
    total = language.say(
        "rivals_total",
        **pieces,
        before=fixed(before, ".2f"),
        after=fixed(after, ".2f"),
        change=fixed(after - before, "+.2f"),
    )
    return fill(
        "counterfactual.comparison",
        language,
        pieces=pieces,
        step=step + 1,
        old=old.text,
        total=total,
        changes=new.text and changed_words(old.text, new.text),
        summary=summary(old_trace, new_trace, step, language),
    )


def summary(old: Trace, new: Trace, step: int, language: Language = ENGLISH) -> str:
    """Name the MOST heads that changed most, and the source pieces; or say why there is
    nothing to compare."""
    if not old.cross.size:
        return language.say("no_maps_model")
    if not counterfactual.comparable(old.cross, new.cross, step, old.asks_late):
        return language.say("rivals_end_late" if old.asks_late else "rivals_end")
    passes = old.cross, new.cross, step, old.asks_late
    values = counterfactual.difference(*passes)
    distances = counterfactual.distance(*passes)
    heads = Head.every("cross", *distances.shape)
    labels = shown_all(old.source)
    most = [
        (heads[i], distances.flat[i], values.reshape(len(heads), -1)[i])
        for i in np.argsort(-distances, axis=None, kind="stable")[:MOST]
    ]
    named = [
        language.say(
            "rivals_head",
            head=place(head, language),
            distance=f"{far:.2f}",
            more=labels[change.argmax()],
            less=labels[change.argmin()],
        )
        for head, far, change in most
    ]
    return language.say(
        "rivals_heads",
        old=shown(old.predicted[step]),
        new=shown(new.predicted[step]),
        heads="; ".join(named),
    )
