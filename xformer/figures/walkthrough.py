"""Equation 1 in pictures: the numbers of one head step by step, and what becomes of them when one thing is changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from xformer.explain import walkthrough
from xformer.explain.key_value_store import Records
from xformer.explain.walkthrough import HARD, Split, Variance
from xformer.figures import heatmap
from xformer.figures.labels import lesson, percent, shown, shown_all
from xformer.figures.layout import axis, layout, literal
from xformer.results import Walk
from xformer.strings import text

GREY: list[list[object]] = [[0, "rgba(128, 128, 128, 0.45)"], [1, "rgba(128, 128, 128, 0.45)"]]
WIDE = 900  # pixels that a strip of many numbers may take
# Typeset by the browser itself: no fonts or scripts from anywhere.
FORMULAS = {
    "vectors": "<i>q</i> = <i>x W<sub>Q</sub></i> &nbsp; <i>K</i> = <i>Y W<sub>K</sub></i>",
    "scores": "softmax( mask( <i>q K</i><sup>⊤</sup> / √<i>d<sub>k</sub></i> ) )",
    "values": "<i>a</i> = Σ<sub><i>j</i></sub> <i>p<sub>j</sub> v<sub>j</sub></i> &nbsp; "
              "<i>V</i> = <i>Y W<sub>V</sub></i>",
    "output": "<i>a W<sub>O</sub></i>",
    "switches": "<i>p</i> = softmax( <i>β</i> · score(<i>q</i>, <i>k</i>) ) &nbsp; "
                "Attention(<i>Q</i>, <i>K</i>, <i>V</i>) = softmax( <i>Q K</i><sup>⊤</sup> / √<i>d<sub>k</sub></i> ) "
                "<i>V</i>",
    "variance": "Var(<i>q · k</i>) = <i>d<sub>k</sub></i> &nbsp; "
                "Var(<i>q · k</i> / √<i>d<sub>k</sub></i>) = 1",
    "split": "<i>d<sub>k</sub></i> = <i>d</i><sub>model</sub> / <i>h</i>",
}


def query_label(walk: Walk, query: int, language: str = "en") -> str:
    """Who asks: a piece of the source, or a place in the target by what was given last and what is predicted."""
    if not walk.predicted:
        return shown(walk.queries[query])
    return text("row_target", language, given=shown(walk.queries[query]), wanted=shown(walk.predicted[query]))


def heading(name: str, language: str = "en", **values: object) -> str:
    """The formula of a step and what to notice in its picture, as HTML."""
    return lesson(text(f"first_title_{name}", language), FORMULAS[name], text(f"first_text_{name}", language, **values))


def vectors(walk: Walk, query: int, language: str = "en") -> go.Figure:
    """q of the query, and below it k of every key: a row a vector, a column a dimension of the head."""
    values = np.vstack([walk.q[query], walk.k])
    rows = [f"q · {shown(walk.queries[query])}", *(f"k · {key}" for key in shown_all(walk.keys))]
    return _strips(values, rows, text("first_vectors", language, **_shape(walk)), language)


def scores(walk: Walk, query: int, language: str = "en") -> go.Figure:
    """The row of scores in four steps: q . k, divided by sqrt(d_k), masked, softmax; a column a key."""
    def hover(row: str, key: str, value: float) -> str:
        shown_value = text("first_masked", language) if math.isnan(value) else f"{value:+.3f}"
        return text("first_hover_score", language, row=row, key=key, value=shown_value)

    three = np.stack([walk.scores[query], walk.scaled[query], walk.masked[query]])
    three[~np.isfinite(three)] = np.nan
    rows = ["q·k", "q·k / √dₖ", text("first_after_mask", language), "softmax"]
    keys = shown_all(walk.keys)
    reach = max(1.0, float(np.nanmax(np.abs(three))))
    figure = heatmap.matrix(np.vstack([three, np.full(len(keys), np.nan)]), rows, keys, hover,
                            title=text("first_scores", language, **_shape(walk)),
                            rows=text("first_axis_step", language), columns=text("first_axis_key", language),
                            bar=text("first_bar_score", language), colours=heatmap.DIVERGING,
                            span=(-reach, reach), cell=(34, 36), right=190)
    probabilities = walk.probabilities[query]
    below = go.Heatmap(
        z=probabilities[None], x=list(range(len(keys))), y=[3], zmin=0, zmax=1, xgap=1, ygap=1, colorscale=heatmap.BLUE,
        hovertemplate="%{text}<extra></extra>",
        text=[[hover("softmax", key, value) for key, value in zip(literal(keys), probabilities, strict=True)]],
        colorbar={"title": {"text": "softmax", "side": "right"}, "thickness": 14, "len": 1,
                  "y": 0.5, "outlinewidth": 1, "x": 1, "xpad": 90})
    written = [*(["−∞" if math.isnan(value) else f"{value:.1f}" for value in row] for row in three.tolist()),
               [f"{value:.2f}" for value in probabilities]]
    numbers = go.Scatter(
        x=[x for _ in written for x in range(len(keys))], y=[y for y, row in enumerate(written) for _ in row],
        text=[value for row in written for value in row], mode="text", hoverinfo="skip", showlegend=False,
        textfont={"size": 11})
    return figure.add_traces([below, numbers])


def values(walk: Walk, query: int, language: str = "en") -> go.Figure:
    """v of every key with its weight, and below them their weighted sum: a column a dimension of the head."""
    rows = [f"{percent(float(p))} · {key}" for p, key in
            zip(walk.probabilities[query], shown_all(walk.keys), strict=True)]
    return _strips(np.vstack([walk.v, walk.answers[query]]), [*rows, text("first_sum", language)],
                   text("first_values", language, **_shape(walk)), language)


def output(walk: Walk, query: int, language: str = "en") -> go.Figure:
    """What the head adds to the output, and the output of all heads: a column a dimension of the model."""
    rows = [text("first_this_head", language), text("first_all_heads", language)]
    return _strips(np.stack([walk.shares[query], walk.output[query]]), rows,
                   text("first_output", language, **_shape(walk)), language)


def _shape(walk: Walk) -> dict[str, int]:
    return {"keys": len(walk.keys), "d": walk.q.shape[1], "d_model": walk.output.shape[1]}


def _strips(numbers: np.ndarray, rows: Sequence[str], title: str, language: str) -> go.Figure:
    count = numbers.shape[1]
    hover = text("first_hover_number", language, row="%{y}", dimension="%{x}", value="%{z:+.4f}") + "<extra></extra>"
    reach = max(1e-6, float(np.abs(numbers).max()))
    return heatmap.matrix(numbers, rows, [str(i + 1) for i in range(count)], hover, title=title,
                          rows=text("first_axis_vector", language), columns=text("first_axis_dimension", language),
                          bar=text("first_bar_number", language), colours=heatmap.DIVERGING, span=(-reach, reach),
                          cell=(min(16.0, WIDE / count), 22), every=max(1, count // 16), first=1)


def changed(walk: Walk, rule: str, power: float, mask: str) -> tuple[np.ndarray, float]:
    """Weights (Q, K) of all queries with this scoring rule, temperature and mask, and the temperature itself."""
    beta = walkthrough.at_power(walkthrough.own_beta(rule, walk.q.shape[1]), power)
    allowed = walkthrough.mask(mask, len(walk.queries), walk.keys)
    return walkthrough.softmax(walkthrough.score(rule, walk.q, walk.k), beta, allowed), beta


def beta_label(beta: float, own: float | None = None) -> str:
    """β as a number, and where it is the rule's own, as that."""
    if beta == HARD:
        return "β → ∞"
    return f"β = {beta:.3g}" + (" = 1/√dₖ" if own is not None and own != 1 and math.isclose(beta, own) else "")


def bars(walk: Walk, query: int, rule: str, power: float, mask: str, language: str = "en") -> go.Figure:
    """Where the query looks with one thing changed (bars), and where it looks in the model (marks)."""
    weights, beta = changed(walk, rule, power, mask)
    own = walkthrough.own_beta(rule, walk.q.shape[1])
    keys, positions = literal(shown_all(walk.keys)), list(range(len(walk.keys)))
    title = (text(f"first_rule_{rule}", language), beta_label(beta, own), query_label(walk, query, language))
    return go.Figure([
        go.Bar(x=positions, y=weights[query], name=text("first_changed", language), marker_color="#2b7af6",
               text=[f"{value:.2f}" for value in weights[query]], textposition="outside", cliponaxis=False,
               customdata=keys, hovertemplate="%{customdata}: %{y:.4f}<extra></extra>"),
        go.Scatter(x=positions, y=walk.probabilities[query], name=text("first_model", language), mode="markers",
                   marker={"symbol": "line-ew-open", "size": 18, "color": "#d97706", "line": {"width": 3}},
                   customdata=keys, hovertemplate="%{customdata}: %{y:.4f}<extra></extra>")],
        _wide(" · ".join(title), max(420, 70 + 46 * len(keys)), 340,
              x=axis(text("first_axis_key", language), tickvals=positions, ticktext=keys, tickangle=-60),
              y=axis(text("first_axis_weight", language), range=[0, 1.1])))


def all_queries(walk: Walk, rule: str, power: float, mask: str, language: str = "en") -> go.Figure:
    """The same for every query: the whole map, with what the mask hides in grey."""
    def hover(query: str, key: str, value: float) -> str:
        return text("first_hover_score", language, row=query, key=key,
                    value=text("first_masked", language) if math.isnan(value) else f"{value:.4f}")

    weights, beta = changed(walk, rule, power, mask)
    allowed = walkthrough.mask(mask, len(walk.queries), walk.keys)
    rows = [query_label(walk, i, language) for i in range(len(walk.queries))]
    own = walkthrough.own_beta(rule, walk.q.shape[1])
    figure = heatmap.matrix(np.where(allowed, weights, np.nan), rows, shown_all(walk.keys), hover,
                            title=f"{text(f'first_mask_{mask}', language)} · {beta_label(beta, own)} · "
                                  f"{len(rows)} × {len(walk.keys)}",
                            rows=text("first_axis_query", language), columns=text("first_axis_key", language),
                            bar=text("probability", language), colours=heatmap.BLUE, span=(0, 1))
    figure.add_trace(go.Heatmap(z=np.where(allowed, np.nan, 1), x=list(range(len(walk.keys))),
                                y=list(range(len(rows))), colorscale=GREY, showscale=False, hoverinfo="skip", xgap=1,
                                ygap=1))
    return figure


def summary(walk: Walk, query: int, rule: str, power: float, mask: str, language: str = "en") -> str:
    """The change in words: how spread out the look is, where most of it goes, and what it does to the answer. HTML."""
    def say(name: str, /, **values: object) -> str:
        return text(name, language, **values)

    weights, _ = changed(walk, rule, power, mask)
    allowed = walkthrough.mask(mask, len(walk.queries), walk.keys)
    row, model = weights[query], walk.probabilities[query]
    answer, own = row @ walk.v, walk.answers[query]
    cosine = float(answer @ own / max(1e-12, float(np.linalg.norm(answer) * np.linalg.norm(own))))
    best = int(row.argmax())
    said = [say("first_summary", key=shown(walk.keys[best]), percent=percent(float(row[best])),
                bits=f"{walkthrough.entropy(row[None])[0]:.2f}", own=f"{walkthrough.entropy(model[None])[0]:.2f}",
                most=f"{math.log2(max(1, int(allowed[query].sum()))):.2f}", cosine=f"{cosine:.2f}")]
    leaked = float(row[~walk.mask[query]].sum())
    if mask != "future" and walk.stack == "decoder_self":
        said.append(say("first_summary_future", percent=percent(leaked)))
    elif mask == "none":
        said.append(say("first_summary_padding", percent=percent(leaked)))
    return f'<div role="status">{"".join(f"<p>{escape(sentence)}</p>" for sentence in said)}</div>'


def variance(found: Variance, d: int, language: str = "en") -> go.Figure:
    """Variance of q . k against the length of the vectors, with and without scaling; the model's d_k is marked."""
    figure = go.Figure([
        go.Scatter(x=found.d, y=y, name=name, mode="lines+markers", line={"color": colour}, customdata=largest,
                   hovertemplate=text("first_hover_variance", language, d="%{x}", value="%{y:.3g}",
                                      largest="%{customdata:.2f}", keys=walkthrough.KEYS) + "<extra></extra>")
        for name, y, largest, colour in (("q·k", found.plain, found.largest_plain, "#d97706"),
                                         ("q·k / √dₖ", found.scaled, found.largest_scaled, "#2b7af6"))],
        _wide(text("first_variance", language), 620, 360, x=axis("dₖ", type="log", tickvals=found.d),
              y=axis(text("first_axis_variance", language), type="log")))
    return figure.add_vline(x=d, line={"dash": "dot", "color": "rgba(128,128,128,0.9)"},
                     annotation={"text": text("first_this_model", language, d=d), "x": math.log10(d)})


def splits(found: Sequence[Split], language: str = "en") -> go.Figure:
    """Where one random token looks when the same d_model is cut into more and more heads: a row a head."""
    def hover(row: str, key: str, value: float) -> str:
        return text("first_hover_score", language, row=row, key=key, value=f"{value:.4f}")

    rows = [text("first_split_row", language, head=head + 1, heads=one.heads)
            for one in found for head in range(one.heads)]
    weights = np.vstack([one.weights for one in found])
    return heatmap.matrix(weights, rows, [text("first_token", language, number=i + 1) for i in range(weights.shape[1])],
                          hover, title=text("first_split", language, shape=f"{weights.shape[0]} × {weights.shape[1]}"),
                          rows=text("first_axis_head", language), columns=text("first_axis_key", language),
                          bar=text("probability", language), colours=heatmap.BLUE, span=(0, 1))


def split_costs(found: Sequence[Split], language: str = "en") -> str:
    """What the numbers of heads cost: all the same. An HTML table."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))
    rows = "".join(
        f'<tr><td class="number">{one.heads}</td><td class="number">{say("first_number", n=one.parameters)}</td>'
        f'<td class="number">{say("first_number", n=one.products)}</td><td class="number">{one.heads}</td></tr>'
        for one in found)
    return (f'<table class="plain"><thead><tr><th>{say("first_split_heads")}</th>'
            f'<th>{say("first_split_parameters")}</th><th>{say("first_split_products")}</th><th>{say("first_split_rows")}</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>")


def store(records: Records, cosines: np.ndarray, beta: float, language: str = "en") -> str:
    """The records with the weight of each as a bar, and the one that is retrieved. HTML, all of it escaped."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))
    weights = walkthrough.softmax(cosines[None], beta)[0]
    best = int(weights.argmax())
    title, value = records[best]
    rows = "".join(
        f'<tr{" class=chosen" if i == best else ""}><td lang="en">{escape(key)}</td>'
        f'<td class="number">{cosine:+.2f}</td><td class="number"><span class="bar" style="--share:{weight:.3f}">'
        f'{weight:.3f}</span></td><td lang="en">{escape(record)}</td></tr>'
        for i, ((key, record), cosine, weight) in enumerate(zip(records, cosines, weights, strict=True)))
    said = "store_hard" if beta == HARD else "store_even" if beta == 0 else "store_soft"
    return (f'<div role="status"><p>{say(said, title=title, percent=percent(float(weights[best])))}</p>'
            f'<p class="large" lang="en">{escape(value)}</p></div>'
            f'<table class="plain bars"><caption>{say("store_caption", beta=beta_label(beta))}</caption><thead><tr>'
            f'<th>{say("store_key")}</th><th>{say("store_score")}</th><th>{say("store_weight")}</th>'
            f'<th>{say("store_value")}</th></tr></thead><tbody>{rows}</tbody></table>')


def _wide(title: str, width: int, height: int, *, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    """The layout of a plot with a width of its own, which a phone scrolls, and its legend above."""
    return layout(title, height, x=x, y=y, width=width, autosize=False, margin={"l": 70, "r": 20, "t": 70, "b": 90},
                  bargap=0.25, legend={"orientation": "h", "x": 0, "y": 1.14})
