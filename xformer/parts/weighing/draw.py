"""Figures of attention with other weights than equation 1 gives: the translation, a
head, and the curve over beta."""

import math
import textwrap
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from xformer.explain.principles import BETAS, POWERS
from xformer.explain.recorded import divided_after
from xformer.figures.changes import both_texts, column_names, word_table
from xformer.figures.labels import beta_label, place, sentence, shown
from xformer.figures.layout import BLUE, GREY, ORANGE, TEAL, axis, layout, line
from xformer.figures.notice import notice
from xformer.figures.templates import fill
from xformer.pieces import words
from xformer.results import STACKS, Reweighed, Weighing
from xformer.strings import ENGLISH, Language

LONGEST = 60  # characters of a translation in a title
COLOURS = dict(zip(STACKS, (BLUE, ORANGE, TEAL), strict=True))
# BETAS as text
TICKS = ("0", "1/32", "1/16", "1/8", "1/4", "1/2", "1", "2", "4", "8", "16", "32", "∞")


def named(change: Weighing, language: Language = ENGLISH) -> str:
    """Name a change: its kind, and where it applies."""
    say = language.say
    head = change.head
    where = {
        "stack": say("weigh_all_layers"),
        "layer": say("weigh_one_layer", layer=head.layer),
        "head": place(head, language),
    }[change.scope]
    how = (
        say(f"weigh_kind_{change.kind}")
        if change.kind != "beta"
        else beta_label(change.beta)
    )
    return f"{how} · {say(f'stack_{head.stack}')}, {where}"


def translations(
    done: Reweighed, change: Weighing, old: str, language: Language = ENGLISH
) -> str:
    """Show the translations before and under the change, an explanation, and the
    log-probability that the first loses. HTML that can be saved.

    old: the text of the translation before.
    """
    say = language.say
    new = done.translation.best.text
    warnings = notice(
        [warning.say(language) for warning in done.translation.warnings], "warning"
    )
    said = say(f"weigh_text_{change.kind}")
    if change.kind == "queries" and change.head.stack != "encoder_self":
        said += f" {say('weigh_text_leak')}"
    if change.kind == "after" and (trained := divided_after()):
        said += f" {trained.say(language)}"
    texts = both_texts(
        "weigh_{}", old, new, done.before.log_probs, done.after.log_probs, language
    )
    rows = [
        [say("weigh_with"), old, round(sum(done.before.log_probs), 6)],
        [named(change, language), new, round(sum(done.after.log_probs), 6)],
    ]
    title = say("weigh_saved", change=named(change, language), text=done.before.text)
    return fill(
        "weighing.translations",
        language,
        title=title,
        name=named(change, language),
        source=done.before.text,
        texts=texts,
        rows=rows,
        said=said,
        warnings=warnings,
    )


def words_table(done: Reweighed, change: Weighing, language: Language = ENGLISH) -> str:
    """Tabulate the log-probability of each word of the original translation before and
    under the change. HTML."""
    before = done.before
    names = column_names("weigh_{}", language)
    rows = [
        [
            shown("".join(before.predicted[i] for i in group)),
            *(
                sum(values[i] for i in group)
                for values in (before.log_probs, done.after.log_probs)
            ),
        ]
        for group in words(before.predicted)
    ]
    table = word_table(
        names, before.predicted, before.log_probs, done.after.log_probs, language
    )
    title = language.say(
        "weigh_saved", change=named(change, language), text=before.text
    )
    return fill(
        "weighing.words",
        language,
        title=title,
        names=names[:-1],
        rows=rows,
        table=table,
        pair=(before.text, sentence(before.predicted)),
    )


def curve(
    swept: Mapping[str, Sequence[float]],
    text: str,
    change: Weighing,
    width: int,
    language: Language = ENGLISH,
    source: str = "",
) -> go.Figure:
    """Plot the log-probability of the original translation, `text`, against beta, one
    curve per stack.

    source: its sentence. change: a line marks its beta. width: d_k, which gives the
    beta of "unscaled".
    """
    say = language.say
    places = list(range(POWERS[0], POWERS[1] + 1))
    lines = [
        line(
            places,
            list(values),
            say(f"stack_{stack}"),
            COLOURS[stack],
            customdata=TICKS,
            hover=(
                say("weigh_hover", beta="%{customdata}", value="%{y:.2f}")
                + f"<extra>{say(f'stack_{stack}')}</extra>"
            ),
        )
        for stack, values in swept.items()
    ]
    figure = go.Figure(
        lines,
        layout(
            say("weigh_curve", text=textwrap.shorten(text, LONGEST, placeholder=" …")),
            pair=[one for one in (source, text) if one],
            x=axis(
                say("weigh_axis_beta"),
                tickvals=places,
                ticktext=TICKS,
                range=[-6.4, 6.4],
            ),
            y=axis(say("weigh_axis_total")),
        ),
    )
    beta = {"beta": change.beta, "unscaled": math.sqrt(width)}.get(change.kind)
    if beta is None:
        return figure
    power = (
        POWERS[0]
        if beta == BETAS[0]
        else POWERS[1]
        if math.isinf(beta)
        else math.log2(beta)
    )
    return figure.add_vline(
        x=power,
        line={"dash": "dot", "color": GREY},
        annotation={
            "text": say("weigh_here"),
            "yanchor": "bottom",
            "xanchor": "center",
        },
    )
