"""Figures of equation 1 of Vaswani et al. (2017): the numbers of one head step by step,
and with one thing changed."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from xformer.explain import principles as explain
from xformer.explain.principles import Split, Variance
from xformer.figures import heatmap
from xformer.figures.heatmap import WIDE, Axis, Scale
from xformer.figures.labels import FORMULAS as ALL_FORMULAS
from xformer.figures.labels import (
    beta_label,
    lesson,
    paragraph,
    paragraphs,
    percent,
    shown,
    shown_all,
)
from xformer.figures.layout import (
    BLUE,
    ORANGE,
    axis,
    layout,
    line,
    literal,
    logarithmic,
    panels,
)
from xformer.figures.templates import fill
from xformer.results import Head, Trace, Walk, decimal, fixed
from xformer.strings import ENGLISH, Language

# by the mask
HIDDEN: list[list[object]] = [
    [0, "rgba(128, 128, 128, 0.45)"],
    [1, "rgba(128, 128, 128, 0.45)"],
]
MARKED = 8  # products that are outlined
MARK = "#dc2626"
FORMULAS = ALL_FORMULAS["principles"]


def query_label(walk: Walk, query: int, language: Language = ENGLISH) -> str:
    """Label a query: in the encoder by its piece, in the decoder by the piece given
    last and the piece to predict."""
    if not walk.predicted:
        return shown(walk.queries[query])
    return language.say(
        "row_target",
        given=shown(walk.queries[query]),
        wanted=shown(walk.predicted[query]),
    )


def heading(name: str, language: Language = ENGLISH) -> str:
    """Introduce a step: its title, its formula, and what to notice in its figure;
    HTML."""
    return lesson(language, f"first_title_{name}", FORMULAS[name], f"first_text_{name}")


def inputs(
    walk: Walk, query: int, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> go.Figure:
    """Plot x of the query, and below it W_Q of the head: a row a number of q, a column
    a dimension of the model.

    The last column is for the bias: x ends with a 1, and each row of W_Q with a number
    of b_Q. x has a scale of its own, up to its largest number.
    """
    x, weights = _with_bias(walk, query)
    columns = [*(str(i + 1) for i in range(len(x) - 1)), "b_Q"]
    rows = ["x", *(f"W_Q {i + 1}" for i in range(len(weights)))]
    reach, of_x = (max(1e-6, float(np.abs(numbers).max())) for numbers in (weights, x))
    title = language.say(
        "first_inputs", query=query_label(walk, query, language), **_shape(walk)
    )
    figure = heatmap.strips(
        np.vstack([np.full_like(x, np.nan), weights]),
        rows,
        title=title,
        height=9,
        scale=Scale(language.say("first_bar_weight"), reach, signed=True),
        language=language,
        dimensions=columns,
        pair=pair,
    )
    own = go.Heatmap(
        z=[x],
        x=figure.data[0].x,
        y=[0],
        coloraxis="coloraxis",
        hovertemplate=heatmap.number(language),
    )
    marked = [0, *range(5, len(rows), 5)]
    return figure.add_trace(own).update_layout(
        coloraxis={
            "colorscale": heatmap.DIVERGING,
            "cmin": -of_x,
            "cmax": of_x,
            "showscale": False,
        },
        yaxis={"tickvals": marked, "ticktext": [rows[i] for i in marked]},
    )


def checked_inputs(walk: Walk, query: int, language: Language = ENGLISH) -> str:
    """Multiply x with W_Q, add b_Q, and say by how much the result differs from the
    model's q; HTML."""
    x, weights = _with_bias(walk, query)
    q = weights @ x
    stretched = np.linalg.svd(walk.w_q, compute_uv=False)
    turned = language.html(
        "first_inputs_turned", least=f"{stretched[-1]:.2f}", most=f"{stretched[0]:.2f}"
    )
    return (
        f'<p role="status">{language.html("first_inputs_checked", **_shape(walk), first=fixed(q[0], "+.4f"))} '
        f"{language.html('first_inputs_error', error=decimal(float(np.abs(q - walk.q[query]).max()), 2))} "
        f"{turned}</p>"
    )


def _with_bias(walk: Walk, query: int) -> tuple[np.ndarray, np.ndarray]:
    """x of a query with a 1 appended (D + 1,), and the head's W_Q transposed with b_Q
    appended (d, D + 1)."""
    return np.append(walk.x[query], 1), np.column_stack([walk.w_q.T, walk.b_q])


def reshape(
    walk: Walk, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> go.Figure:
    """Plot the queries of all heads before and after the cut into heads: L × D, and
    below it H × L × d, head by head.

    The block of the walk's head is outlined in both.
    """
    say = language.say
    length, d_model = walk.every_q.shape
    d = walk.q.shape[1]
    heads = d_model // d
    head = walk.head.head - 1
    cut = walk.every_q.reshape(length, heads, d).transpose(1, 0, 2)  # (H, L, d)
    wide = max(2.0, WIDE / d_model)
    tall = min(16.0, max(3.0, 480 / (heads * length)))
    gap = 44
    left = 110
    # each upper row has a label of 13 pixels
    upper = 16.0 * length
    lower = tall * heads * length
    reach = max(1e-6, float(np.abs(cut).max()))
    names = literal(shown_all(walk.queries))

    dimensions = list(range(1, d_model + 1))
    of_head = list(range(1, d + 1))
    maps = [
        go.Heatmap(
            z=walk.every_q,
            x=dimensions,
            coloraxis="coloraxis",
            name=say("first_reshape_before"),
            hovertemplate=heatmap.number(language),
        )
    ]
    maps += [
        go.Heatmap(
            z=block,
            x=of_head,
            y=list(range(h * length, (h + 1) * length)),
            xaxis="x2",
            yaxis="y2",
            coloraxis="coloraxis",
            name=f"{say('head')} {h + 1}",
            text=[[name] * d for name in names],
            hovertemplate=heatmap.number(
                language, f"{say('head')} {h + 1} · %{{text}}"
            ),
        )
        for h, block in enumerate(cut)
    ]

    def around(first: int, last: int, **look: Any) -> list[dict[str, Any]]:
        """Mark in both pictures where the heads from `first` to before `last` stand."""
        return [
            {
                **look,
                "xref": "x",
                "yref": "y",
                "x0": d * first + 0.5,
                "x1": d * last + 0.5,
                "y0": -0.5,
                "y1": length - 0.5,
            },
            {
                **look,
                "xref": "x2",
                "yref": "y2",
                "x0": 0.5,
                "x1": d + 0.5,
                "y0": length * first - 0.5,
                "y1": length * last - 0.5,
            },
        ]

    grey = {"color": "rgba(128,128,128,0.9)", "width": 1}
    shapes = [
        one for h in range(1, heads) for one in around(h, h, type="line", line=grey)
    ]
    shapes += around(head, head + 1, type="rect", line={"color": MARK, "width": 2})
    small = min(1.0, max(0.3, d * wide * 3 / (wide * d_model)))
    return go.Figure(
        maps,
        layout(
            say("first_reshape", length=length, d_model=d_model, heads=heads, d=d),
            height=round(upper + gap + lower),
            width=left + wide * d_model + heatmap.BAR,
            autosize=False,
            shapes=shapes,
            plot_bgcolor=heatmap.GROUND,
            pair=pair,
            margin={"l": left, "r": heatmap.BAR, "b": 8, "autoexpand": False},
            x=axis(
                "",
                side="top",
                tickvals=[d * h + 1 for h in range(heads)],
                showgrid=False,
            ),
            y=axis(
                "",
                tickvals=list(range(length)),
                ticktext=names,
                range=[length - 0.5, -0.5],
                showgrid=False,
                domain=[1 - upper / (upper + gap + lower), 1],
            ),
            xaxis2=axis("", side="top", domain=[0, small], anchor="y2", showgrid=False),
            yaxis2=axis(
                "",
                tickvals=[length * h + (length - 1) / 2 for h in range(heads)],
                anchor="x2",
                showgrid=False,
                ticktext=[f"{say('head')} {h + 1}" for h in range(heads)],
                range=[heads * length - 0.5, -0.5],
                domain=[0, lower / (upper + gap + lower)],
            ),
            coloraxis={
                "colorscale": heatmap.DIVERGING,
                "cmin": -reach,
                "cmax": reach,
                "colorbar": heatmap.bar(
                    Scale(say("first_bar_number"), reach, signed=True),
                    upper + gap + lower,
                ),
            },
        ),
    )


def vectors(
    walk: Walk, query: int, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> go.Figure:
    """Plot q of the query, and below it k of every key: a row a vector, a column a
    dimension of the head.

    The MARKED largest products of a number of q with a number of a visible key are
    outlined.
    """
    rows = ["q", *(f"k · {key}" for key in shown_all(walk.keys))]
    title = language.say(
        "first_vectors", query=query_label(walk, query, language), **_shape(walk)
    )
    figure = _strips(np.vstack([walk.q[query], walk.k]), rows, title, language, pair)
    products = np.where(walk.mask[query][:, None], walk.q[query] * walk.k, 0)
    return _outlined(figure, products, 1, "first_hover_product", language)


def scores(
    walk: Walk,
    query: int,
    rule: str,
    power: float,
    mask: str,
    pair: Sequence[str] = (),
    language: Language = ENGLISH,
) -> str:
    """Tabulate one row of attention step by step, a row a key: q . k, divided by
    sqrt(d_k), masked, softmax.

    The last column is the softmax with one thing changed, as bars; a mark shows where
    the model's own bar ends. HTML.
    pair: the sentence and its translation, written into a saved picture.
    """
    weights, beta = changed(walk, rule, power, mask)
    steps = [
        "q·k",
        "q·k / √dₖ",
        language.say("first_after_mask"),
        "softmax",
        f"{language.say(f'first_rule_{rule}')} · {_own_label(walk, rule, beta)}",
    ]
    columns = np.stack(
        [
            one[query]
            for one in (
                walk.scores,
                walk.scaled,
                walk.masked,
                walk.probabilities,
                weights,
            )
        ]
    )
    finite = columns[:3][np.isfinite(columns[:3])]
    label = query_label(walk, query, language)
    return fill(
        "principles.scores",
        language,
        query=label,
        steps=steps,
        keys=shown_all(walk.keys),
        pair=pair,
        caption=language.say("first_scores", query=label, **_shape(walk)),
        rows=[
            [one if math.isfinite(one) else None for one in row]
            for row in columns.T.tolist()
        ],
        best=int(walk.probabilities[query].argmax()),
        reach=max(1.0, float(np.abs(finite).max(initial=0))),
    )


def values(
    walk: Walk, query: int, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> go.Figure:
    """Plot v of every key with its weight, and below them their weighted sum: a column
    a dimension of the head.

    The MARKED largest products of a weight with a number are outlined.
    """
    rows = [
        f"{percent(float(weight))} · {key}"
        for weight, key in zip(
            walk.probabilities[query], shown_all(walk.keys), strict=True
        )
    ]
    figure = _strips(
        np.vstack([walk.v, walk.answers[query]]),
        [*rows, language.say("first_sum")],
        language.say("first_values", **_shape(walk)),
        language,
        pair,
    )
    return _outlined(
        figure,
        walk.probabilities[query][:, None] * walk.v,
        0,
        "first_hover_product",
        language,
    )


def output(
    walk: Walk, query: int, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> go.Figure:
    """Plot the head's share of the output, and the output of all heads: a column a
    dimension of the model."""
    rows = [language.say("first_this_head"), language.say("first_all_heads")]
    return _strips(
        np.stack([walk.shares[query], walk.output[query]]),
        rows,
        language.say("first_output", **_shape(walk)),
        language,
        pair,
    )


def _shape(walk: Walk) -> dict[str, int]:
    """The sizes of a walk, as values for the texts that name them."""
    return {
        "keys": len(walk.keys),
        "d": walk.q.shape[1],
        "d_model": walk.output.shape[1],
    }


def _strips(
    numbers: np.ndarray,
    rows: Sequence[str],
    title: str,
    language: Language,
    pair: Sequence[str],
) -> go.Figure:
    """Plot vectors (rows, dimensions) as strips of colour, one below the other."""
    scale = Scale(
        language.say("first_bar_number"),
        max(1e-6, float(np.abs(numbers).max())),
        signed=True,
    )
    return heatmap.strips(
        numbers, rows, title=title, scale=scale, height=22, language=language, pair=pair
    )


def _outlined(
    figure: go.Figure, products: np.ndarray, below: int, hover: str, language: Language
) -> go.Figure:
    """Outline the MARKED largest products (rows, dimensions). below: how many rows
    below the first they are drawn."""
    largest = np.argsort(-np.abs(products), axis=None, kind="stable")[:MARKED]
    rows, columns = np.unravel_index(largest, products.shape)
    text = [
        language.say(
            hover, value=fixed(products[row, column], "+.3f"), dimension=int(column) + 1
        )
        for row, column in zip(rows, columns, strict=True)
    ]
    return figure.add_trace(
        go.Scatter(
            x=(columns + 1).tolist(),
            y=(rows + below).tolist(),
            mode="markers",
            showlegend=False,
            text=text,
            hovertemplate="%{text}<extra></extra>",
            name=language.say("first_marked"),
            marker={
                "symbol": "square-open",
                "size": max(9, min(20, round(WIDE / products.shape[1]))),
                "color": MARK,
                "line": {"width": 2},
            },
        )
    )


def changed(walk: Walk, rule: str, power: float, mask: str) -> tuple[np.ndarray, float]:
    """Compute attention under another scoring rule, temperature and mask -> weights (Q,
    K), and the temperature."""
    q, k, _ = compared(walk, rule)
    beta = explain.at_power(explain.own_beta(rule, q.shape[1]), power)
    allowed = explain.mask(mask, len(walk.queries), walk.keys)
    return explain.softmax(explain.score(rule, q, k), beta, allowed), beta


def compared(walk: Walk, rule: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The queries, keys and values of a rule: the head's own, or for attention without
    parameters the layer's input."""
    return (walk.x, walk.y, walk.y) if rule == "identity" else (walk.q, walk.k, walk.v)


def _own_label(walk: Walk, rule: str, beta: float) -> str:
    """Write β beside the rule's own β."""
    own = explain.own_beta(rule, compared(walk, rule)[0].shape[1])
    return beta_label(beta, own, "D" if rule == "identity" else "dₖ")


def all_queries(
    walk: Walk,
    rule: str,
    power: float,
    mask: str,
    language: Language = ENGLISH,
    pair: Sequence[str] = (),
) -> go.Figure:
    """Plot the attention of every query with one thing changed, as a map; masked cells
    are grey."""
    say = language.say

    def hover(query: str, key: str, value: float) -> str:
        number = say("first_masked") if math.isnan(value) else fixed(value, ".4f")
        return say("first_hover_score", row=query, key=key, value=number)

    weights, beta = changed(walk, rule, power, mask)
    allowed = explain.mask(mask, len(walk.queries), walk.keys)
    rows = [query_label(walk, i, language) for i in range(len(walk.queries))]
    title = f"{say(f'first_mask_{mask}')} · {_own_label(walk, rule, beta)} · {len(rows)} × {len(walk.keys)}"
    figure = heatmap.matrix(
        np.where(allowed, weights, np.nan),
        Axis(say("first_axis_query"), rows),
        Axis(say("first_axis_key"), shown_all(walk.keys)),
        hover,
        title=title,
        scale=Scale(say("probability")),
        pair=pair,
    )
    figure.add_trace(
        go.Heatmap(
            z=np.where(allowed, np.nan, 1),
            x=list(range(len(walk.keys))),
            y=list(range(len(rows))),
            colorscale=HIDDEN,
            showscale=False,
            hoverinfo="skip",
            xgap=1,
            ygap=1,
        )
    )
    return figure


def one_way(
    trace: Trace, head: Head, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> go.Figure | None:
    """Plot A - A^T of a head of the encoder: orange where the row takes more from the
    column than it gives; None for another stack."""
    if head.stack != "encoder_self":
        return None
    weights = trace.encoder_self[head.at]
    beyond = weights - weights.T
    pieces = shown_all(trace.source)
    return heatmap.matrix(
        beyond,
        Axis(language.say("first_axis_query"), pieces),
        Axis(language.say("first_axis_key"), pieces),
        heatmap.weight(language, "A − Aᵀ "),
        title=language.say(
            "first_one_way",
            layer=head.layer,
            head=head.head,
            cosine=fixed(float(explain.mutual(weights)), ".2f"),
        ),
        scale=Scale("A − Aᵀ", max(0.01, float(np.abs(beyond).max())), signed=True),
        pair=pair,
    )


def mutual(
    trace: Trace, head: Head, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> str:
    """Tabulate how far each head of the encoder is mutual, and say it of the head, of
    all, and of their means a layer, beside chance; HTML that can be saved. "" for a
    model without heads in its encoder."""
    heads = trace.encoder_self
    if not heads.size:
        return ""
    layers = heads.mean(axis=1)
    found = explain.mutual(heads)
    numbers = {
        "heads": found,
        "chance": explain.mutual_by_chance(heads),
        "layers": explain.mutual(layers),
        "layers_chance": explain.mutual_by_chance(layers),
    }
    means = {name: float(values.mean()) for name, values in numbers.items()}
    beyond_chance = means["layers"] - means["layers_chance"]
    said = [
        language.say(
            f"first_mutual_{head.stack}",
            **(
                {"own": fixed(float(found[head.at]), ".2f")}
                if head.stack == "encoder_self"
                else {}
            ),
        ),
        language.say(
            "first_mutual",
            count=found.size,
            **{name: fixed(mean, ".2f") for name, mean in means.items()},
        ),
    ]
    if beyond_chance > means["heads"] - means["chance"]:
        said.append(language.say("first_mutual_together"))
    return fill(
        "principles.mutual",
        language,
        found=found.tolist(),
        chosen=(head.layer, head.head) if head.stack == "encoder_self" else (),
        said=said,
        pair=pair,
        rows=[
            [layer, number, float(value)]
            for (layer, number), value in zip(
                ((i + 1, j + 1) for i, j in np.ndindex(found.shape)),
                found.flat,
                strict=True,
            )
        ],
    )


def summary(
    walk: Walk,
    query: int,
    rule: str,
    power: float,
    mask: str,
    language: Language = ENGLISH,
) -> str:
    """Describe the change: the key looked at most, the entropy, the answer's cosine
    with the model's own. HTML."""
    say = language.say
    weights, _ = changed(walk, rule, power, mask)
    allowed = explain.mask(mask, len(walk.queries), walk.keys)
    row = weights[query]
    model = walk.probabilities[query]
    # Without parameters the answer is compared with the input, otherwise with the
    # model's own answer.
    answer = row @ compared(walk, rule)[2]
    own = walk.x[query] if rule == "identity" else walk.answers[query]
    cosine = _cosine(answer, own)
    best = int(row.argmax())
    most_bits = math.log2(max(1, int(allowed[query].sum())))
    said = [
        say(
            "first_summary_identity" if rule == "identity" else "first_summary",
            key=shown(walk.keys[best]),
            percent=percent(float(row[best])),
            bits=f"{explain.entropy(row[None])[0]:.2f}",
            own=f"{explain.entropy(model[None])[0]:.2f}",
            most=f"{most_bits:.2f}",
            cosine=fixed(cosine, ".2f"),
        )
    ]
    leaked = float(row[~walk.mask[query]].sum())
    if mask != "future" and walk.head.stack == "decoder_self":
        said.append(say("first_summary_future", percent=percent(leaked)))
    elif mask == "none":
        said.append(say("first_summary_padding", percent=percent(leaked)))
    return f'<div role="status">{paragraphs(said)}</div>'


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other / max(1e-12, length))


def variance(measured: Variance, d: int, language: Language = ENGLISH) -> go.Figure:
    """Plot the variance of q . k against the length of the vectors, with and without
    scaling; and below it the slope of the softmax of such scores, by which the gradient
    is multiplied.

    d: the model's d_k, which is marked.
    """
    say = language.say
    hover = (
        say(
            "first_hover_variance",
            d="%{x}",
            value="%{y:.3~r}",
            largest="%{customdata:.2f}",
            keys=explain.KEYS,
        )
        + "<extra></extra>"
    )
    steep = say("first_hover_slope", d="%{x}", value="%{y:.3f}") + "<extra></extra>"
    ways = (
        ("q·k", measured.plain, measured.largest_plain, measured.slope_plain, ORANGE),
        (
            "q·k / √dₖ",
            measured.scaled,
            measured.largest_scaled,
            measured.slope_scaled,
            BLUE,
        ),
    )
    curves = [
        line(measured.d, y, name, colour, hover, customdata=largest)
        for name, y, largest, _, colour in ways
    ]
    curves += [
        line(
            measured.d,
            slope,
            f"{say('first_axis_slope')}, {name}",
            colour,
            steep,
            yaxis="y2",
            showlegend=False,
        )
        for name, _, _, slope, colour in ways
    ]
    height, (upper, lower) = panels(2)
    figure = go.Figure(
        curves,
        layout(
            say("first_variance"),
            height=height,
            x=logarithmic("dₖ", measured.d, anchor="y2"),
            y=logarithmic(
                say("first_axis_variance"),
                [*measured.plain, *measured.scaled],
                domain=upper,
            ),
            yaxis2=axis(say("first_axis_slope"), domain=lower, range=[0, 1]),
        ),
    )
    return figure.add_vline(
        x=d,
        line={"dash": "dot", "color": "rgba(128,128,128,0.9)"},
        annotation={
            "text": say("first_this_model", d=d),
            "x": math.log10(d),
            "xanchor": "center",
        },
    )


def splits(ways: Sequence[Split], language: Language = ENGLISH) -> go.Figure:
    """Plot where one random token looks if the same d_model is cut into more and more
    heads: a row a head."""
    say = language.say
    rows = [
        say("first_split_row", head=head + 1, heads=split.heads)
        for split in ways
        for head in range(split.heads)
    ]
    weights = np.vstack([split.weights for split in ways])
    keys = [say("first_token", number=i + 1) for i in range(weights.shape[1])]
    return heatmap.matrix(
        weights,
        Axis(say("first_axis_head"), rows),
        Axis(say("first_axis_key"), keys),
        heatmap.weight(language),
        title=say("first_split", shape=f"{len(rows)} × {len(keys)}"),
        scale=Scale(say("probability")),
    )


def split_costs(ways: Sequence[Split], language: Language = ENGLISH) -> str:
    """Tabulate parameters and multiplications by number of heads: all cost the same.
    HTML."""
    return fill("principles.split_costs", language, ways=ways)


def slices(
    walk: Walk, query: int, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> go.Figure:
    """Plot q of the query as a sum: what each slice of x gives, times its rows of W_Q,
    then b_Q; the head's own slice, which is all that it reads in Kak's lecture
    (equation 4), is marked."""
    d = walk.q.shape[1]
    own = walk.q.shape[1] * (walk.head.head - 1)
    rows = [
        *(
            f"{'▶ ' if at == own else ''}x {at + 1}–{at + d}"
            for at in range(0, walk.x.shape[1], d)
        ),
        "b_Q",
        "q",
    ]
    title = language.say(
        "first_slices", query=query_label(walk, query, language), **_shape(walk)
    )
    return _strips(
        np.vstack([_sliced(walk, query), walk.b_q, walk.q[query]]),
        rows,
        title,
        language,
        pair,
    )


def _sliced(walk: Walk, query: int) -> np.ndarray:
    """What each slice of x, as long as q, gives to q: (D / d, d)."""
    d = walk.q.shape[1]
    return np.einsum(
        "si,sij->sj", walk.x[query].reshape(-1, d), walk.w_q.reshape(-1, d, d)
    )


def sliced(walk: Walk, query: int, language: Language = ENGLISH) -> str:
    """Say that a matrix a head and one for all, cut afterwards, are the same, and what
    a slice alone gives; HTML."""
    parts = _sliced(walk, query)
    q = walk.q[query]
    d = walk.q.shape[1]
    own = walk.head.head - 1
    cut = walk.every_q[query, own * d : own * d + d]
    alone = parts[own] + walk.b_q
    weights = explain.softmax(alone[None] @ walk.k.T, d**-0.5, walk.mask[query][None])[
        0
    ]
    (theirs, share), (ours, model) = (
        (shown(walk.keys[int(row.argmax())]), percent(float(row.max())))
        for row in (weights, walk.probabilities[query])
    )
    cosine = _cosine(alone, q)
    return paragraph(
        language,
        "first_sliced",
        "status",
        **_shape(walk),
        whole=walk.w_q.size,
        small=d * d,
        share=share,
        error=decimal(float(np.abs(parts.sum(axis=0) + walk.b_q - cut).max()), 2),
        cosine=fixed(cosine, ".2f"),
        theirs=theirs,
        ours=ours,
        model=model,
    )


def initial(
    walk: Walk,
    begun: tuple[Walk, dict[str, tuple[float, float]]],
    language: Language = ENGLISH,
    pair: Sequence[str] = (),
) -> str:
    """Tabulate a layer's matrices and a head's scores and softmax before training and
    now; HTML that can be saved."""
    rows = [(f"σ {name}", *both) for name, both in begun[1].items()]
    for score, beta in (("q·k", 1.0), ("q·k / √dₖ", walk.q.shape[1] ** -0.5)):
        found = (
            explain.saturation(one.scores, one.mask, beta) for one in (begun[0], walk)
        )
        names = (
            f"σ {score}",
            language.say("first_largest", score=score),
            f"{language.say('first_axis_slope')}, {score}",
        )
        rows += [
            (name, *both)
            for name, both in zip(names, zip(*found, strict=True), strict=True)
        ]
    return fill("principles.initial", language, rows=rows, pair=pair)
