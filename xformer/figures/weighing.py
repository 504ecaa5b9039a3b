"""Figures of attention with other weights than equation 1 gives: the translation, a head, and the curve over beta."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from xformer.explain.principles import BETAS, POWERS
from xformer.figures.ablation import both_texts, column_names, word_table
from xformer.figures.labels import place, sentence, shown
from xformer.figures.layout import BLUE, GREY, ORANGE, TEAL, axis, layout
from xformer.figures.notice import notice
from xformer.figures.tables import savable
from xformer.pieces import words
from xformer.results import STACKS, Reweighed, Weighing
from xformer.strings import ENGLISH, Language

LONGEST = 60  # characters of a translation in a title
COLOURS = dict(zip(STACKS, (BLUE, ORANGE, TEAL), strict=True))
TICKS = ("0", "1/32", "1/16", "1/8", "1/4", "1/2", "1", "2", "4", "8", "16", "32", "∞")  # BETAS as text


def named(change: Weighing, language: Language = ENGLISH) -> str:
    """Name a change: its kind, and where it applies."""
    say, head = language.say, change.head
    where = {"stack": say("weigh_all_layers"), "layer": say("weigh_one_layer", layer=head.layer),
             "head": place(head, language)}[change.scope]
    how = say(f"weigh_kind_{change.kind}") if change.kind != "beta" else beta_named(change.beta)
    return f"{how} · {say(f'stack_{head.stack}')}, {where}"


def beta_named(beta: float) -> str:
    """Write a factor of the scores."""
    return "β → ∞" if math.isinf(beta) else f"β = {beta:.3g}"


def of_weighing(name: str) -> str:
    """The key of a text about changed weights."""
    return f"weigh_{name}"


def translations(done: Reweighed, change: Weighing, old: str, language: Language = ENGLISH) -> str:
    """Show the translations before and under the change, an explanation, and the log-probability that the first loses.
    HTML that can be saved.

    old: the text of the translation before.
    """
    say, new = language.say, done.translation.best.text
    warnings = notice([warning.say(language) for warning in done.translation.warnings], "warning")
    said = [language.html(f"weigh_text_{change.kind}")]
    if change.kind == "queries" and change.head.stack != "encoder_self":
        said.append(language.html("weigh_text_leak"))
    texts = both_texts(old, new, done.before.log_probs, done.after.log_probs, language, of_weighing)
    body = (f'<div role="status"><p class="what">{escape(named(change, language))}</p>'
            f'<p class="source" {language.reads}>{escape(done.before.text)}</p>{texts}</div>')
    columns = [say("weigh_kind"), say("weigh_translation"), say("weigh_first")]
    rows = [[say("weigh_with"), old, round(sum(done.before.log_probs), 6)],
            [named(change, language), new, round(sum(done.after.log_probs), 6)]]
    title = say("weigh_saved", change=named(change, language), text=done.before.text)
    return f'{savable(body, "weighed", title, columns, rows)}<p class="note">{" ".join(said)}</p>{warnings}'


def words_table(done: Reweighed, change: Weighing, language: Language = ENGLISH) -> str:
    """Tabulate the log-probability of each word of the original translation before and under the change. HTML."""
    before, after = done.before, done.after
    groups, names = words(before.predicted), column_names(language, of_weighing)
    rows = [[shown("".join(before.predicted[i] for i in group)),
             *(sum(values[i] for i in group) for values in (before.log_probs, after.log_probs))] for group in groups]
    table = word_table(names, before.predicted, before.log_probs, after.log_probs, language)
    title = language.say("weigh_saved", change=named(change, language), text=before.text)
    return savable(table, "reweighed", title, names[:-1], rows, (before.text, sentence(before.predicted)))


def curve(swept: Mapping[str, Sequence[float]], text: str, change: Weighing, width: int, language: Language = ENGLISH,
          source: str = "") -> go.Figure:
    """Plot the log-probability of the original translation, `text`, against beta, one curve per stack.

    source: its sentence. change: a line marks its beta. width: d_k, which gives the beta of "unscaled".
    """
    say, places = language.say, list(range(POWERS[0], POWERS[1] + 1))
    lines = [go.Scatter(
        x=places, y=list(values), mode="lines+markers", name=say(f"stack_{stack}"), line={"color": COLOURS[stack]},
        customdata=TICKS,
        hovertemplate=say("weigh_hover", beta="%{customdata}", value="%{y:.2f}") + f"<extra>{say(f'stack_{stack}')}"
        "</extra>") for stack, values in swept.items()]
    figure = go.Figure(lines, layout(
        say("weigh_curve", text=textwrap.shorten(text, LONGEST, placeholder=" …")),
        pair=[one for one in (source, text) if one],
        x=axis(say("weigh_axis_beta"), tickvals=places, ticktext=TICKS, range=[-6.4, 6.4]),
        y=axis(say("weigh_axis_total"))))
    beta = {"beta": change.beta, "unscaled": math.sqrt(width)}.get(change.kind)
    if beta is None:
        return figure
    power = POWERS[0] if beta == BETAS[0] else POWERS[1] if math.isinf(beta) else math.log2(beta)
    return figure.add_vline(x=power, line={"dash": "dot", "color": GREY},
                            annotation={"text": say("weigh_here"), "yanchor": "bottom", "xanchor": "center"})
