"""Two translations that part at one step, and where the heads look right after it. All text in HTML is escaped."""

from __future__ import annotations

from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.explain import counterfactual
from xformer.figures import heatmap
from xformer.figures.ablation import changed_words
from xformer.figures.labels import shown, shown_all
from xformer.figures.layout import literal
from xformer.results import Candidate, Trace
from xformer.strings import text

MOST = 3  # heads that are named in words


def difference(old: Trace, new: Trace, step: int, language: str = "en") -> go.Figure | None:
    """A row a cross-attention head, a column a source piece: attention after the new piece minus after the old one.

    Orange where the new piece draws more attention, blue where less. None where a translation ends at the step.
    """
    if not counterfactual.comparable(old.cross, new.cross, step):
        return None
    values = counterfactual.difference(old.cross, new.cross, step)
    distances = counterfactual.distance(old.cross, new.cross, step)
    names = {"old": shown(old.predicted[step]), "new": shown(new.predicted[step])}
    safe = dict(zip(names, literal([*names.values()]), strict=True))

    def hover(head: str, key: str, value: float) -> str:
        return text("rivals_hover", language, head=head, key=key, value=f"{value:+.3f}", new=safe["new"])

    layers, heads, _ = values.shape
    rows = [f"{_head(layer, head, language)} · {distances[layer, head]:.2f}"
            for layer in range(layers) for head in range(heads)]
    reach = max(0.1, float(np.abs(values).max()))  # heads that hardly changed stay pale
    return heatmap.matrix(values.reshape(layers * heads, -1), rows, shown_all(old.source), hover,
                          title=text("rivals_title", language, **names), rows=text("rivals_rows", language),
                          columns=text("axis_seen_source", language), bar=text("rivals_bar", language),
                          colours=heatmap.DIVERGING, span=(-reach, reach))


def comparison(old: Candidate, new: Candidate, old_trace: Trace, new_trace: Trace, step: int, language: str = "en"
               ) -> str:
    """Both translations, what they are worth to the model, and the picture of the difference in a sentence."""
    names = {"old": shown(old.pieces[step]), "new": shown(new.pieces[step])}

    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **names, **values))
    before, after = sum(old.log_probs), sum(new.log_probs)
    total = say("rivals_total", before=f"{before:.2f}", after=f"{after:.2f}", change=f"{after - before:+.2f}")
    was = escape(old.text) or say("rivals_empty")
    now = changed_words(old.text, new.text) if new.text else say("rivals_empty")
    return (f'<div role="status"><p class="sub">{say("rivals_before", number=step + 1)}</p>'
            f'<p class="large" lang="es">{was}</p>'
            f'<p class="sub">{say("rivals_after", number=step + 1)}</p>'
            f'<p class="large" lang="es">{now}</p><p>{total}</p>'
            f"<p>{escape(summary(old_trace, new_trace, step, language))}</p></div>")


def summary(old: Trace, new: Trace, step: int, language: str = "en") -> str:
    """The heads that changed most, and between which source pieces; or why there is nothing to compare."""
    if not counterfactual.comparable(old.cross, new.cross, step):
        return text("rivals_end", language)
    values = counterfactual.difference(old.cross, new.cross, step)
    distances = counterfactual.distance(old.cross, new.cross, step)
    labels = shown_all(old.source)
    most = np.argsort(-distances, axis=None, kind="stable")[:MOST]
    named = [text("rivals_head", language, head=_head(layer, head, language), distance=f"{distances[layer, head]:.2f}",
                  more=labels[values[layer, head].argmax()], less=labels[values[layer, head].argmin()])
             for layer, head in zip(*np.unravel_index(most, distances.shape), strict=True)]
    return text("rivals_heads", language, old=shown(old.predicted[step]), new=shown(new.predicted[step]),
                heads="; ".join(named))


def _head(layer: int, head: int, language: str) -> str:
    """A head by its place, both counted from 0 here and from 1 in words."""
    return text("finder_where", language, layer=int(layer) + 1, head=int(head) + 1)
