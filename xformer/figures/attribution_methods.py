"""What each source word did for each target piece, measured by leaving it out, and beside it what attention says."""

from __future__ import annotations

from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.explain.attribution_methods import Answers
from xformer.figures.heatmap import DIVERGING, matrix
from xformer.figures.labels import shown, shown_all
from xformer.results import Occlusion
from xformer.strings import text


def occlusion(found: Occlusion, language: str = "en") -> go.Figure:
    """A row a target piece, a column a source word left out; the value is the fall of the piece's log-probability.

    Orange where the word helped, blue where it stood in the way.
    """
    def say(key: str, **values: object) -> str:
        return text(key, language, **values)

    def hover(piece: str, word: str, value: float) -> str:
        return say("occlusion_hover", piece=piece, word=word, value=f"{value:+.2f}")

    reach = max(1.0, float(np.abs(found.effect).max()))
    return matrix(found.effect, shown_all(found.predicted), [shown(word) for word in found.words], hover,
                  title=say("occlusion_title"), rows=say("occlusion_rows"), columns=say("occlusion_columns"),
                  bar=say("occlusion_bar"), colours=DIVERGING, span=(-reach, reach))


def compared(found: Answers, word: str, where: str, language: str = "en",
             errors: tuple[float, float] | None = None) -> str:
    """The three answers for one target word as an HTML table with bars, which rows were read and why, and who comes
    first in each, in a sentence.

    errors: alignment error rates of the head for the piece it predicts and the piece it was given, where measured.
    """
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    reach = max(1.0, float(np.nanmax(np.abs(found.effect), initial=0)))
    rows = "".join(
        f'<tr><td lang="en">{escape(shown(source))}</td>{_bar(raw, 1, f"{raw:.3f}")}'
        f'{_bar(weighed, 1, f"{weighed:.3f}")}'
        f'{_bar(0 if np.isnan(effect) else effect, reach, "–" if np.isnan(effect) else f"{effect:+.2f}")}</tr>'
        for source, raw, weighed, effect in zip(found.words, found.raw, found.weighed, found.effect, strict=True))
    if errors is None:
        read = say("compared_rows", word=word)
    else:  # only </s> is read where it is predicted in spite of what was measured
        kind = "given" if found.given else "end" if errors[1] < errors[0] else "predicted"
        read = say(f"compared_rows_{kind}", word=word, predicted=f"{errors[0]:.2f}", given=f"{errors[1]:.2f}")
    first = [shown(found.words[int(np.nanargmax(values))]) if np.isfinite(values).any() else "–"
             for values in (found.raw, found.weighed, found.effect)]
    return (f'<table class="plain bars"><caption>{say("compared_title", word=word, where=where)}</caption><thead><tr>'
            f'<th>{say("compared_word")}</th><th>{say("compared_raw")}</th><th>{say("compared_weighed")}</th>'
            f'<th>{say("compared_effect")}</th></tr></thead><tbody>{rows}</tbody></table>'
            f'<p>{say("compared_first", word=word, raw=first[0], weighed=first[1], effect=first[2])}</p>'
            f'<p class="note">{read}</p>')


def _bar(value: float, most: float, label: str) -> str:
    kind = "bar against" if value < 0 else "bar"
    return f'<td class="number"><span class="{kind}" style="--share:{abs(value) / most:.3f}">{label}</span></td>'
