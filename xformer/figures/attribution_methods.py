"""Attribution methods side by side: a heatmap of leave-one-out effects, and a table of three methods for one word."""

from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.explain.attribution_methods import Answers
from xformer.figures.heatmap import Axis, Scale, matrix
from xformer.figures.labels import sentence, shown, shown_all
from xformer.figures.tables import header
from xformer.results import Occlusion
from xformer.strings import ENGLISH, Language


def occlusion(effects: Occlusion, language: Language = ENGLISH) -> go.Figure:
    """Plot how much each target piece loses without each source word: a row a target piece, a column a source word.

    The value is the fall of the piece's log-probability in nats: orange where the word helped, blue where it hindered.
    """
    say = language.say

    def hover(piece: str, word: str, value: float) -> str:
        return say("occlusion_hover", piece=piece, word=word, value=f"{value:+.2f}")

    reach = max(1.0, float(np.abs(effects.effect).max()))
    return matrix(effects.effect, Axis(say("occlusion_rows"), shown_all(effects.predicted)),
                  Axis(say("occlusion_columns"), shown_all(effects.words)), hover, title=say("occlusion_title"),
                  scale=Scale(say("occlusion_bar"), reach, signed=True),
                  pair=(sentence(effects.words), sentence(effects.predicted)))


def compared(answers: Answers, word: str, where: str, language: Language = ENGLISH,
             errors: tuple[float, float] | None = None) -> str:
    """Tabulate the three methods' answers for one target word, with bars; then name the winner of each. HTML.

    where: the name of the head. errors: its alignment error rates for the piece it predicts and for the piece it was
    given, if they were measured; they decide which rows of its map are read.
    """
    say, html = language.say, language.html
    reach = max(1.0, float(np.nanmax(np.abs(answers.effect), initial=0)))
    rows = []
    for source, raw, weighed, effect in zip(answers.words, answers.raw, answers.weighed, answers.effect, strict=True):
        last = _bar(0, reach, "–") if np.isnan(effect) else _bar(effect, reach, f"{effect:+.2f}")
        rows.append(f'<tr><td {language.reads}>{escape(shown(source))}</td>{_bar(raw, 1, f"{raw:.3f}")}'
                    f'{_bar(weighed, 1, f"{weighed:.3f}")}{last}</tr>')
    if errors is None:
        read = html("compared_rows", word=word)
    else:  # </s>, which is never given, is always read in the row that predicts it
        kind = "given" if answers.given else "end" if errors[1] < errors[0] else "predicted"
        read = html(f"compared_rows_{kind}", word=word, predicted=f"{errors[0]:.2f}", given=f"{errors[1]:.2f}")
    first = [shown(answers.words[int(np.nanargmax(values))]) if np.isfinite(values).any() else "–"
             for values in (answers.raw, answers.weighed, answers.effect)]
    names = [say(key) for key in ("compared_word", "compared_raw", "compared_weighed", "compared_effect")]
    return (f'<table class="plain bars"><caption>{html("compared_title", word=word, where=where)}</caption>'
            f'{header(names)}<tbody>{"".join(rows)}</tbody></table>'
            f'<p>{html("compared_first", word=word, raw=first[0], weighed=first[1], effect=first[2])}</p>'
            f'<p class="note">{read}</p>')


def _bar(value: float, most: float, label: str) -> str:
    kind = "bar against" if value < 0 else "bar"
    return f'<td class="number"><span class="{kind}" style="--share:{abs(value) / most:.3f}">{label}</span></td>'
