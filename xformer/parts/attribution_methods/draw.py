"""Attribution methods side by side: a heatmap of leave-one-out effects, and a table of
three methods for one word."""

import numpy as np
import plotly.graph_objects as go

from xformer.figures.heatmap import Axis, Scale, matrix
from xformer.figures.labels import sentence, shown, shown_all
from xformer.figures.templates import fill
from xformer.parts.attribution_methods.methods import Answers
from xformer.results import Occlusion, fixed
from xformer.strings import ENGLISH, Language


def occlusion(effects: Occlusion, language: Language = ENGLISH) -> go.Figure:
    """Plot how much each target piece loses without each source word: a row a target
    piece, a column a source word.

    The value is the fall of the piece's log-probability in nats: orange where the word
    helped, blue where it hindered.
    """
    say = language.say
    reach = max(1.0, float(np.abs(effects.effect).max()))

    def hover(piece: str, word: str, value: float) -> str:
        return say(
            "occlusion_hover", piece=piece, word=word, value=fixed(value, "+.2f")
        )

    return matrix(
        effects.effect,
        Axis(say("occlusion_rows"), shown_all(effects.predicted)),
        Axis(say("occlusion_columns"), shown_all(effects.words)),
        hover,
        title=say("occlusion_title"),
        scale=Scale(say("occlusion_bar"), reach, signed=True),
        pair=(sentence(effects.words), sentence(effects.predicted)),
    )


def compared(
    answers: Answers,
    word: str,
    where: str,
    language: Language = ENGLISH,
    errors: tuple[float, float] | None = None,
) -> str:
    """Tabulate the three methods' answers for one target word, with bars; then name the
    winner of each. HTML.

    where: the name of the head. errors: its alignment error rates for the piece it
    predicts and for the piece it was given, if they were measured; they decide which
    rows of its map are read.
    """
    say = language.say
    numbers = (answers.raw, answers.weighed, answers.effect)
    reach = max(1.0, float(np.nanmax(np.abs(answers.effect), initial=0)))
    if errors is None:
        read = say("compared_rows", word=word)
    else:  # </s>, which is never given, is always read in the row that predicts it
        kind = (
            "given"
            if answers.given
            else "end"
            if errors[1] < errors[0]
            else "predicted"
        )
        read = say(
            f"compared_rows_{kind}",
            word=word,
            predicted=f"{errors[0]:.2f}",
            given=f"{errors[1]:.2f}",
        )
    first = [
        shown(answers.words[int(np.nanargmax(values))])
        if np.isfinite(values).any()
        else "–"
        for values in numbers
    ]
    rows = zip(answers.words, *(values.tolist() for values in numbers), strict=True)
    return fill(
        "attribution_methods.compared",
        language,
        word=word,
        where=where,
        rows=rows,
        reach=reach,
        first=first,
        read=read,
    )
