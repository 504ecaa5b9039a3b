"""What a pooling by maximum keeps of a text: which word gives each dimension, and what
that adds to the verdict."""

import numpy as np
import plotly.graph_objects as go

from xformer.figures import heatmap
from xformer.figures.labels import bare, sentence, shortened
from xformer.figures.layout import BLUE, END, GRID, ORANGE, axis, layout, literal
from xformer.figures.templates import fill
from xformer.parts.judging.draw import label_name
from xformer.pieces import SPECIAL
from xformer.results import Attribution, Maximum, fixed
from xformer.strings import ENGLISH, Language

ROWS = 16  # words in the picture; of a longer text those that give the most dimensions
DIMENSIONS = 64  # columns at most: those that add or take the most
LISTED = 8  # words in the table, and dimensions listed of one word
# pixels: a row's height, that of the bars below the map, and what lies between
ROW = 22
BARS = 110
GAP = 44
LONGEST = 18  # letters of a row's label
FRAME = "#dc2626"


def columns(found: Maximum) -> np.ndarray:
    """The dimensions that are drawn, by their weight: from the most against the label
    to the most for it."""
    drawn = np.argsort(-np.abs(found.adds), kind="stable")[:DIMENSIONS]
    return drawn[np.argsort(found.weights[drawn], kind="stable")]


def rows(found: Maximum) -> list[int]:
    """The words that are drawn, in order: all words of a short text, else the words
    that give the most dimensions."""
    if len(found.words) <= ROWS:
        return list(range(len(found.words)))
    gives = np.bincount(found.givers, minlength=len(found.words))
    return sorted(int(i) for i in np.argsort(-gives, kind="stable")[:ROWS] if gives[i])


def picture(found: Maximum, language: Language = ENGLISH) -> go.Figure:
    """Plot each word's number in each dimension as a map, the largest of a column
    framed, and below it as bars what the dimension adds to the log-odds of the label.

    A last row stands for all words that are not drawn, if they give a dimension.
    """
    say = language.say
    shown = rows(found)
    order = columns(found)
    others = np.setdiff1d(found.givers, shown)
    names = [_bare(found.words[i]) for i in shown]
    values = found.values[shown]
    place = {word: row for row, word in enumerate(shown)}
    if others.size:
        names.append(say("gives_others", count=len(others)))
        values = np.vstack([values, found.values[others].max(axis=0)])
        place |= dict.fromkeys(others.tolist(), len(shown))
    givers = [place[int(i)] for i in found.givers[order]]
    # Categories: where there is little room, plotly leaves labels out.
    x = [str(i + 1) for i in order]
    y = list(range(len(names)))
    values, adds, reach = (
        values[:, order],
        found.adds[order],
        max(1e-6, float(np.abs(values).max())),
    )
    given = [_bare(found.words[i]) for i in found.givers[order]]
    hints = [
        [
            say(
                "gives_hover",
                word=name,
                dimension=dimension,
                value=fixed(value, "+.3f"),
            )
            for dimension, value in zip(x, line, strict=True)
        ]
        for name, line in zip(literal(names), values.tolist(), strict=True)
    ]
    bar_hints = [
        say(
            "gives_hover_adds",
            dimension=dimension,
            value=fixed(value, "+.3f"),
            weight=fixed(weight, "+.3f"),
            word=word,
        )
        for dimension, value, weight, word in zip(
            x, adds.tolist(), found.weights[order].tolist(), literal(given), strict=True
        )
    ]
    tall = ROW * len(names)
    whole = tall + GAP + BARS
    hover = {"hovertemplate": f"%{{text}}{END}"}
    colour_bar = heatmap.bar(
        heatmap.Scale(say("gives_number"), reach, signed=True), tall
    )
    drawn = [
        go.Heatmap(
            z=values,
            x=x,
            y=y,
            zmin=-reach,
            zmax=reach,
            colorscale=heatmap.DIVERGING,
            xgap=1,
            ygap=1,
            text=hints,
            colorbar=colour_bar,
            name=say("gives_number"),
            **hover,
        ),
        go.Bar(
            x=x,
            y=adds,
            yaxis="y2",
            name=say("gives_adds"),
            showlegend=False,
            text=bar_hints,
            textposition="none",
            marker={"color": [ORANGE if one > 0 else BLUE for one in adds]},
            **hover,
        ),
    ]
    frames = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "y",
            "line": {"color": FRAME, "width": 2},
            "x0": i - 0.5,
            "x1": i + 0.5,
            "y0": row - 0.5,
            "y1": row + 0.5,
        }
        for i, row in enumerate(givers)
    ]
    return go.Figure(
        drawn,
        layout(
            say("gives_picture", count=len(x), all=len(found.weights)),
            height=whole,
            shapes=frames,
            bargap=0.25,
            pair=[sentence(found.words)],
            margin={"l": 20 + 7 * max(map(len, names)), "r": heatmap.BAR, "b": 64},
            x=axis(
                say("gives_dimensions"),
                type="category",
                showgrid=False,
                anchor="y2",
                tickangle=-90,
                range=[-0.5, len(x) - 0.5],
            ),
            y=axis(
                say("review_word"),
                tickvals=y,
                ticktext=literal(names),
                range=[len(y) - 0.5, -0.5],
                showgrid=False,
                domain=[1 - tall / whole, 1],
            ),
            yaxis2=axis(
                say("gives_nats"),
                domain=[0, BARS / whole],
                zeroline=True,
                zerolinecolor=GRID,
                nticks=4,
            ),
        ),
    )


def explained(
    attribution: Attribution, found: Maximum, language: Language = ENGLISH
) -> str:
    """Say what to look for, and how the dimensions sum to the verdict; HTML."""
    adds = found.adds
    toward, against = (
        label_name(label, language) for label in (attribution.toward, found.against)
    )
    gives = np.bincount(found.givers, minlength=len(found.words))
    most = int(np.argmax(gives))
    added = float(adds.sum())
    said = language.say(
        "gives_said",
        word=_bare(found.words[most]),
        count=int(gives[most]),
        all=len(adds),
        sum=fixed(added, "+.2f"),
        bias=fixed(found.bias, "+.2f"),
        total=fixed(added + found.bias, "+.2f"),
        toward=toward,
        against=against,
    )
    return fill(
        "maximum.explained", language, toward=toward, against=against, said=said
    )


def table(
    attribution: Attribution, found: Maximum, language: Language = ENGLISH
) -> str:
    """Tabulate the words that give dimensions: which, and what these add, the largest
    sums first; HTML."""
    given = {
        word: np.flatnonzero(found.givers == word)
        for word in sorted({*found.givers.tolist()})
    }
    words = [
        (
            _bare(found.words[word]),
            (dimensions + 1).tolist(),
            float(found.adds[dimensions].sum()),
        )
        for word, dimensions in given.items()
    ]
    words.sort(key=lambda word: -abs(word[2]))
    return fill(
        "maximum.words",
        language,
        title=attribution.sentiment.text[:80],
        words=words,
        shown=LISTED,
        toward=label_name(attribution.toward, language),
        reach=max(1e-6, *(abs(word[2]) for word in words)),
    )


def _bare(word: str) -> str:
    """A word as a row's label, cut if it is too long."""
    return shortened(word if word in SPECIAL.values() else bare(word), LONGEST)
