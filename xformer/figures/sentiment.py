"""What a classifier made of a text, and why: HTML, all text in it escaped, and two plotly figures."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.explain.ranks import rank_correlation
from xformer.figures.labels import percent
from xformer.figures.layout import axis, layout
from xformer.figures.translation import notice
from xformer.pieces import WORD_START
from xformer.results import Attribution, Calibration, LabelShare, Sentiment
from xformer.strings import table, text

VIEWS = ("pooling", "head")  # what is shown beside the effects
HEIGHT = 400  # pixels, of a plot
LEAST_REACH = 0.25  # nats; where no word does more, all stay pale
MARKED = 0.1  # of the reach; weaker effects get no line
MOST = 8  # words in the table
CONTEXT = 8  # words around a change; what is further off is left out
AGREEMENT = ((0.6, "strong"), (0.3, "partly"), (-0.3, "hardly"), (-1.0, "opposite"))  # from which correlation on
TESTS = {"imdb": "IMDb", "sst2": "SST-2"}


@dataclass(frozen=True)
class View:
    """What is shown beside the effects: the pooling's weights, or a head's look, layer and head counted from 1."""

    kind: str = "pooling"  # of VIEWS
    layer: int = 1
    head: int = 1

    def of(self, found: Attribution) -> np.ndarray:
        """The share of each word, (W,)."""
        return found.pooling if self.kind == "pooling" else found.heads[self.layer - 1, self.head - 1]


@dataclass(frozen=True)
class Example:
    """A text of a minimal pair, what people would say of it, and what the model says."""

    found: Attribution
    label: str

    @property
    def right(self) -> bool:
        return self.found.sentiment.label == self.label


def label_name(label: str, language: str = "en") -> str:
    """A label in the reader's language, where it has a name there."""
    return table(language).get(f"label_{label}", label)


def verdict(found: Sentiment, language: str = "en") -> str:
    """The label, and the probability of every label as a bar."""
    rows = "".join(
        f'<tr><td>{escape(label_name(label, language))}</td><td class="number">'
        f'<span class="bar" style="--share:{probability:.3f}">{percent(probability)}</span></td></tr>'
        for label, probability in found.probabilities.items())
    return (f'<p class="large verdict">{escape(label_name(found.label, language))} '
            f'<b>{percent(found.probability)}</b></p><table class="plain bars"><tbody>{rows}</tbody></table>')


def reading(found: Attribution, language: str = "en") -> str:
    """What is odd about the text, the verdict, and what it took."""
    judged = found.sentiment
    meta = text("review_meta", language, seconds=f"{found.seconds:.2f}", pieces=len(judged.pieces))
    return (notice([warning.say(language) for warning in judged.warnings], "warning") + verdict(judged, language)
            + f'<p class="meta">{escape(meta)}</p>')


def effects(found: Attribution, language: str = "en") -> str:
    """The text with what each word did: orange and a solid line where it speaks for the label, blue and a dashed line
    where it speaks against it."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    reach = _reach(found)
    toward = label_name(found.toward, language)
    legend = (f'<p class="legend"><span class="word for" style="--share:1">{say("review_for", label=toward)}</span> '
              f'<span class="word against" style="--share:1">{say("review_against")}</span> '
              f'{say("review_scale", reach=f"±{reach:.2f} nats")}</p>')
    return (f'<h4>{say("review_why")}</h4><p class="note">{say("review_why_text", toward=toward)}</p>'
            f"{marked(found, reach, language)}{legend}")


def marked(found: Attribution, reach: float, language: str = "en") -> str:
    """The words of a text, coloured and underlined by their effects; at `reach` nats the colour is strongest."""
    def mark(i: int) -> tuple[str, float, str]:
        effect = float(found.effect[i])
        kind = "for" if effect > 0 else "against"
        return kind if abs(effect) >= MARKED * reach else f"{kind} weak", abs(effect) / reach, text(
            "review_hover", language, word=_bare(found.words[i]), value=f"{effect:+.2f}")
    return _text(found, mark, language)


def looked(found: Attribution, view: View, language: str = "en") -> str:
    """The text with how much of the look each word gets, and how far that agrees with the effects, in a sentence."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    shares = view.of(found)
    most = max(float(shares.max(initial=0)), 1e-6)

    def mark(i: int) -> tuple[str, float, str]:
        return "seen", float(shares[i]) / most, text("review_hover_share", language, word=_bare(found.words[i]),
                                                     percent=percent(float(shares[i])))

    scale = say("review_scale_share", percent=percent(most), rest=percent(max(0.0, 1 - float(shares.sum()))))
    return (f'<h4>{say(f"review_view_{view.kind}")}</h4><p class="note">'
            f'{say(f"review_text_{view.kind}", **_place(view))}</p>{_text(found, mark, language)}'
            f'<p class="legend">{scale}</p><p class="agree">{escape(agreement(found, view, language))}</p>')


def agreement(found: Attribution, view: View, language: str = "en") -> str:
    """How well the sizes of the effects agree with what is looked at, by rank correlation."""
    value = rank_correlation(np.abs(found.effect), view.of(found))
    if value is None:
        return text("review_agree_none", language)
    how = next(name for least, name in AGREEMENT if value >= least or name == "opposite")
    return text("review_agree", language, how=text(f"review_agree_{how}", language), value=f"{value:+.2f}",
                words=len(found.words))


def strongest(found: Attribution, view: View, language: str = "en") -> str:
    """The words with the largest effects, with their numbers, as a table with bars."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    def bar(kind: str, share: float, label: str) -> str:
        return f'<td class="number"><span class="bar{kind}" style="--share:{share:.3f}">{label}</span></td>'

    reach, shares = _reach(found), view.of(found)
    most = max(float(shares.max(initial=0)), 1e-6)
    order = np.argsort(-np.abs(found.effect), kind="stable")[:MOST]
    rows = "".join(
        f'<tr><td lang="en">{escape(_bare(found.words[i]))}</td>'
        f'{bar(" for" if effect > 0 else " against", abs(effect) / reach, f"{effect:+.2f}")}'
        f'{bar("", float(shares[i]) / most, percent(float(shares[i])))}</tr>'
        for i, effect in ((i, float(found.effect[i])) for i in order))
    return (f'<table class="plain bars effects"><caption>{say("review_most")}</caption><thead><tr>'
            f'<th>{say("review_word")}</th><th>{say("review_effect")}</th>'
            f'<th>{say(f"review_share_{view.kind}", **_place(view))}</th></tr></thead><tbody>{rows}</tbody></table>')


def before_and_after(before: Sentiment, after: Sentiment, language: str = "en") -> str:
    """A text as it was judged and as it is edited, side by side with their probabilities; "" where nothing changed."""
    if before.text == after.text:
        return ""
    old, new = _changes(before.text, after.text)
    label = before.label
    was, now = before.probabilities[label], after.probabilities[label]
    moved = text("review_moved", language, label=label_name(label, language), before=percent(was), after=percent(now),
                 change=f"{100 * (now - was):+.1f}")
    warnings = notice([warning.say(language) for warning in after.warnings if warning not in before.warnings],
                      "warning")
    sides = "".join(
        f'<section><p class="sub">{escape(text(key, language))}</p><div class="review" lang="en">{words}</div>'
        f"{verdict(judged, language)}</section>"
        for key, words, judged in (("review_before", old, before), ("review_after", new, after)))
    return f'{warnings}<div class="sides" role="status">{sides}</div><p class="moved">{escape(moved)}</p>'


def pair(examples: Sequence[Example], look: str, right: int, every: int, language: str = "en") -> str:
    """A minimal pair as the model reads it, the effects on one scale; `right` of `every` text of all pairs is right."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    reach = max(_reach(example.found) for example in examples)
    sides = ""
    for example in examples:
        said = (say("pairs_right") if example.right else
                f'<b>{say("pairs_wrong", label=label_name(example.label, language))}</b>')
        sides += (f"<section>{marked(example.found, reach, language)}{verdict(example.found.sentiment, language)}"
                  f'<p class="{"right" if example.right else "wrong"}">{said}</p></section>')
    return (f'<p><b>{say("pairs_look")}.</b> {escape(look)}</p><div class="sides">{sides}</div>'
            f'<p class="note">{say("pairs_score", all=every, right=right)}</p>')


def reliability(found: Calibration, language: str = "en") -> go.Figure:
    """Share of right labels by confidence (Guo et al. 2017); the larger a point, the more texts."""
    def say(key: str, **values: object) -> str:
        return text(key, language, **values)

    confidence, accuracy = ([100 * getattr(one, name) for one in found.bins] for name in ("confidence", "accuracy"))
    most = max((one.count for one in found.bins), default=1)
    least = min([*confidence, *accuracy, 50])
    return go.Figure([
        go.Scatter(x=[0, 100], y=[0, 100], mode="lines", line={"color": "#9ca3af", "dash": "dash"},
                   name=say("calibration_perfect"), hoverinfo="skip"),
        go.Scatter(
            x=confidence, y=accuracy, mode="lines+markers", line={"color": "#2b7af6"}, name=say("calibration_model"),
            marker={"size": [6 + 14 * (one.count / most) ** 0.5 for one in found.bins]},
            text=[say("calibration_hover", count=one.count, confidence=percent(one.confidence),
                      accuracy=percent(one.accuracy)) for one in found.bins], hovertemplate="%{text}<extra></extra>")],
        layout(say("calibration_plot"), HEIGHT,
               x=axis(say("calibration_confidence"), range=[min(confidence, default=50) - 3, 101]),
               y=axis(say("calibration_accuracy"), range=[least - 3, 101])))


def calibration_text(found: Calibration, language: str = "en") -> str:
    """What the diagram means and the expected calibration error, as HTML."""
    said = text("calibration_text", language, texts=sum(one.count for one in found.bins), error=percent(found.error),
                before=percent(found.error_before), temperature=f"{found.temperature:.2f}")
    return f'<p class="note">{escape(said)}</p>'


def label_shares(found: Sequence[LabelShare], language: str = "en") -> go.Figure:
    """Accuracy by the share of the labels that was learned from, begun as a language model and from nothing."""
    def say(key: str, **values: object) -> str:
        return text(key, language, **values)

    curves = []
    for pretrained, colour in ((True, "#2b7af6"), (False, "#d97706")):
        rows = sorted((one for one in found if one.pretrained == pretrained), key=lambda one: one.share)
        for test, dash in zip(TESTS, ("solid", "dot"), strict=True) if rows else ():
            values = [getattr(one, test) for one in rows]
            curves.append(go.Scatter(
                x=[one.share for one in rows], y=[100 * value for value in values], mode="lines+markers",
                line={"color": colour, "dash": dash},
                name=f'{TESTS[test]}, {say("shares_pretrained" if pretrained else "shares_nothing")}',
                text=[say("shares_hover", labels=one.labels, value=percent(value))
                      for one, value in zip(rows, values, strict=True)],
                hovertemplate="%{fullData.name}, %{text}<extra></extra>"))
    shares = sorted({one.share for one in found})
    percents = [f"{100 * share:g} %" for share in shares]
    return go.Figure(curves, layout(
        say("shares_plot"), HEIGHT, x=axis(say("shares_share"), type="log", tickvals=shares, ticktext=percents),
        y=axis(say("shares_accuracy"))))


def _reach(found: Attribution) -> float:
    return max(LEAST_REACH, float(np.abs(found.effect).max(initial=0)))


def _place(view: View) -> dict[str, int]:
    return {"layer": view.layer, "head": view.head} if view.kind == "head" else {}


def _bare(word: str) -> str:
    return word.replace(WORD_START, " ").strip() or "␣"


def _text(found: Attribution, mark: Callable[[int], tuple[str, float, str]], language: str) -> str:
    """The words in a row, each with the class, the share of full colour, and the hint that `mark` gives it."""
    parts = []
    for i, word in enumerate(found.words):
        if i == found.cut:
            parts.append(f' <span class="cut">[{escape(text("review_left_out", language, cut=found.sentiment.cut))}]'
                         "</span>")
        kind, share, hint = mark(i)
        space = " " if i and word.startswith(WORD_START) else ""
        parts.append(f'{space}<span class="word {kind}" style="--share:{share:.3f}" title="{escape(hint)}">'
                     f"{escape(_bare(word))}</span>")
    return f'<div class="review" lang="en">{"".join(parts)}</div>'


def _changes(old: str, new: str) -> tuple[str, str]:
    """Both texts with the words marked that the other lacks, long stretches without a change left out."""
    before, after = old.split(), new.split()
    sides: tuple[list[str], list[str]] = ([], [])
    steps = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    for number, (kind, a, b, c, d) in enumerate(steps):
        if kind == "equal":
            kept = before[a:b]
            first, last = 0 if number == 0 else CONTEXT, 0 if number == len(steps) - 1 else CONTEXT
            if len(kept) > first + last + CONTEXT:
                kept = [*kept[:first], "…", *kept[len(kept) - last:]]
            for side in sides:
                side.append(escape(" ".join(kept)))
        else:
            for side, tag, words in ((sides[0], "del", before[a:b]), (sides[1], "ins", after[c:d])):
                if words:
                    side.append(f"<{tag}>{escape(' '.join(words))}</{tag}>")
    return " ".join(sides[0]), " ".join(sides[1])
