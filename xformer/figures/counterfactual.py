"""Two translations that differ from one step on: a heatmap and sentences on where heads look next. HTML is escaped."""

from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.explain import counterfactual
from xformer.figures.ablation import changed_words
from xformer.figures.heatmap import Axis, Scale, matrix
from xformer.figures.labels import place, sentence, shown, shown_all
from xformer.figures.layout import literal
from xformer.results import Candidate, Head, Trace
from xformer.strings import ENGLISH, Language

MOST = 3  # heads that are named in words


def difference(old: Trace, new: Trace, step: int, language: Language = ENGLISH) -> go.Figure | None:
    """Plot attention after the new piece minus after the old: a row a cross-attention head, a column a source piece.

    Orange where the new piece draws more attention, blue where less. None if a translation ends at the step, or if the
    model has no attention.
    """
    say = language.say
    if not old.cross.size or not counterfactual.comparable(old.cross, new.cross, step, old.asks_late):
        return None
    values = counterfactual.difference(old.cross, new.cross, step, old.asks_late)
    distances = counterfactual.distance(old.cross, new.cross, step, old.asks_late)
    old_piece, new_piece = shown(old.predicted[step]), shown(new.predicted[step])
    (safe_piece,) = literal([new_piece])

    def hover(head: str, key: str, value: float) -> str:
        return say("rivals_hover", head=head, key=key, value=f"{value:+.3f}", new=safe_piece)

    heads = _heads(distances)
    rows = [f"{place(head, language)} · {distance:.2f}" for head, distance in zip(heads, distances.flat, strict=True)]
    reach = max(0.1, float(np.abs(values).max()))  # heads that hardly changed stay pale
    return matrix(values.reshape(len(heads), -1), Axis(say("rivals_rows"), rows),
                  Axis(say("axis_seen_source_piece"), shown_all(old.source)), hover,
                  title=say("rivals_title", old=old_piece, new=new_piece),
                  scale=Scale(say("rivals_bar"), reach, signed=True), pair=(
                      sentence(old.source), f"{sentence(old.predicted)} / {sentence(new.predicted)}"))


def comparison(old: Candidate, new: Candidate, old_trace: Trace, new_trace: Trace, step: int,
               language: Language = ENGLISH) -> str:
    """Compare two translations: texts, log-probabilities, and the heads that changed most in a sentence. HTML."""
    html = language.html
    pieces = {"old": shown(old.pieces[step]), "new": shown(new.pieces[step])}
    before, after = sum(old.log_probs), sum(new.log_probs)
    total = html("rivals_total", **pieces, before=f"{before:.2f}", after=f"{after:.2f}",
                 change=f"{after - before:+.2f}")
    nothing = html("rivals_empty")
    was = escape(old.text) or nothing
    now = changed_words(old.text, new.text) if new.text else nothing
    return (f'<div role="status"><p class="sub">{html("rivals_before", **pieces, number=step + 1)}</p>'
            f'<p class="large" {language.writes}>{was}</p>'
            f'<p class="sub">{html("rivals_after", **pieces, number=step + 1)}</p>'
            f'<p class="large" {language.writes}>{now}</p><p>{total}</p>'
            f"<p>{escape(summary(old_trace, new_trace, step, language))}</p></div>")


def summary(old: Trace, new: Trace, step: int, language: Language = ENGLISH) -> str:
    """Name the MOST heads that changed most, and the source pieces; or say why there is nothing to compare."""
    if not old.cross.size:
        return language.say("no_maps_model")
    if not counterfactual.comparable(old.cross, new.cross, step, old.asks_late):
        return language.say("rivals_end_late" if old.asks_late else "rivals_end")
    values = counterfactual.difference(old.cross, new.cross, step, old.asks_late).reshape(-1, len(old.source))
    distances = counterfactual.distance(old.cross, new.cross, step, old.asks_late)
    heads, labels = _heads(distances), shown_all(old.source)
    named = [language.say("rivals_head", head=place(heads[i], language), distance=f"{distances.flat[i]:.2f}",
                          more=labels[values[i].argmax()], less=labels[values[i].argmin()])
             for i in np.argsort(-distances, axis=None, kind="stable")[:MOST]]
    return language.say("rivals_heads", old=shown(old.predicted[step]), new=shown(new.predicted[step]),
                        heads="; ".join(named))


def _heads(values: np.ndarray) -> list[Head]:
    """The cross-attention heads of values (layers, heads), in the order of `values.flat`."""
    return [Head("cross", layer + 1, head + 1) for layer, head in np.ndindex(values.shape)]

