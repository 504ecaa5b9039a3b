"""A classifier's verdict on a text and the reasons for it: HTML, all text escaped, and two plotly figures."""

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.figures.labels import percent
from xformer.figures.layout import BLUE, GREY, ORANGE, axis, layout
from xformer.figures.notice import notice
from xformer.figures.tables import header, savable
from xformer.pieces import WORD_START
from xformer.results import Attribution, Calibration, LabelShare, PoolingScore, Sentiment
from xformer.strings import ENGLISH, Language

VIEWS = ("pooling", "head")  # what is shown beside the effects
LEAST_REACH = 0.25  # nats; if no word has a larger effect, all stay pale
MARKED = 0.1  # of the reach; weaker effects are not underlined
MOST = 8  # words in the table
NAMED = 3  # words whose shares a sentence names
CONTEXT = 8  # words that are shown around a change
KEPT = 0.5  # share of common words, in order, from which one text counts as an edit of the other
AGREEMENT = ((0.6, "strong"), (0.3, "partly"), (-0.3, "hardly"), (-1.0, "opposite"))  # (least correlation, name)
TESTS = {"imdb": "IMDb", "sst2": "SST-2"}


@dataclass(frozen=True)
class View:
    """Whose shares of attention to show beside the effects: the pooling's or those of one head."""

    kind: str = "pooling"  # of VIEWS
    layer: int = 1  # from 1
    head: int = 1  # from 1

    def of(self, attribution: Attribution) -> np.ndarray:
        """The share of each word, (W,)."""
        if self.kind == "pooling":
            return attribution.pooling
        return attribution.heads[self.layer - 1, self.head - 1]

    @property
    def place(self) -> dict[str, int]:
        """Layer and head as values for a text that names them; empty for the pooling."""
        return {"layer": self.layer, "head": self.head} if self.kind == "head" else {}


@dataclass(frozen=True)
class Example:
    """One text of a minimal pair: the model's judgement, and the right one."""

    attribution: Attribution
    label: str  # the right one

    @property
    def right(self) -> bool:
        """Whether the model's label is the right one."""
        return self.attribution.sentiment.label == self.label


@dataclass(frozen=True)
class Mark:
    """The look of one word in a text."""

    kind: str  # CSS classes
    share: float  # of full colour, 0 to 1
    hint: str  # shown while the pointer rests on it


def label_name(label: str, language: Language = ENGLISH) -> str:
    """Translate a label if the language has a name for it."""
    return language.texts.get(f"label_{label}", label)


def verdict(sentiment: Sentiment, language: Language = ENGLISH) -> str:
    """Show the label, and the probability of every label as a bar."""
    rows = "".join(
        f'<tr><td>{escape(label_name(label, language))}</td><td class="number">'
        f'<span class="bar" style="--share:{probability:.3f}">{percent(probability)}</span></td></tr>'
        for label, probability in sentiment.probabilities.items())
    return (f'<p class="large verdict">{escape(label_name(sentiment.label, language))} '
            f'<b>{percent(sentiment.probability)}</b></p><table class="plain bars"><tbody>{rows}</tbody></table>')


def reading(judged: Sentiment, language: Language = ENGLISH) -> str:
    """Show the verdict, the warnings about the text, and the time it took."""
    warnings = notice([warning.say(language) for warning in judged.warnings], "warning")
    meta = language.html("review_meta", seconds=f"{judged.seconds:.2f}", pieces=len(judged.pieces))
    return f'{verdict(judged, language)}{warnings}<p class="meta">{meta}</p>'


def effects(attribution: Attribution, language: Language = ENGLISH) -> str:
    """Show a text with the effect of each word on the verdict.

    Words that speak for the label are orange with a solid line, words against it blue with a dashed line.
    """
    html = language.html
    reach = _reach(attribution)
    toward = label_name(attribution.toward, language)
    legend = (f'<p class="legend"><span class="word for" style="--share:1">{html("review_for", label=toward)}</span> '
              f'<span class="word against" style="--share:1">{html("review_against")}</span> '
              f'{html("review_scale", reach=f"±{reach:.2f} nats")}</p>')
    return (f'<h3>{html("review_why")}</h3><p class="note">{html("review_why_text", toward=toward)}</p>'
            f"{marked(attribution, reach, language)}{legend}")


def marked(attribution: Attribution, reach: float, language: Language = ENGLISH) -> str:
    """Colour and underline the words of a text by their effects; at `reach` nats the colour is strongest."""
    def mark(i: int) -> Mark:
        effect = float(attribution.effect[i])
        kind = "for" if effect > 0 else "against"
        if abs(effect) < MARKED * reach:
            kind += " weak"
        hint = language.say("review_hover", word=_bare(attribution.words[i]), value=f"{effect:+.2f}")
        return Mark(kind, abs(effect) / reach, hint)

    return _text(attribution, mark, language)


def looked(attribution: Attribution, view: View, language: Language = ENGLISH) -> str:
    """Show a text with the share of attention of each word, and how far that agrees with the effects."""
    html = language.html
    shares = view.of(attribution)
    most = max(float(shares.max(initial=0)), 1e-6)

    def mark(i: int) -> Mark:
        share = float(shares[i])
        hint = language.say("review_hover_share", word=_bare(attribution.words[i]), percent=percent(share))
        return Mark("seen", share / most, hint)

    text = f"review_text_{view.kind}"
    if view.kind == "pooling" and attribution.pooled == "max":
        text = "review_text_max"
    scale = html("review_scale_share", percent=percent(most), rest=percent(max(0.0, 1 - float(shares.sum()))))
    return (f'<h3>{html(f"review_view_{view.kind}")}</h3>'
            f'<p class="note">{html(text, **view.place)}</p>'
            f'{_text(attribution, mark, language)}<p class="legend">{scale}</p>'
            f'<p>{escape(most_seen(attribution, shares, language))}</p>'
            f'<p class="agree">{escape(agreement(attribution, view, language))}</p>')


def most_seen(attribution: Attribution, shares: np.ndarray, language: Language = ENGLISH) -> str:
    """Name the words with the largest shares (W,), and how much these have together."""
    most = np.argsort(-shares, kind="stable")[:NAMED]
    named = ", ".join(language.say("review_word_share", word=_bare(attribution.words[i]),
                                   percent=percent(float(shares[i]))) for i in most)
    return language.say("review_shares_found", percent=percent(float(shares[most].sum())), count=len(most),
                        words=len(shares), list=named)


def agreement(attribution: Attribution, view: View, language: Language = ENGLISH) -> str:
    """Say how well the sizes of the effects agree with the shares of attention, by rank correlation."""
    value = rank_correlation(np.abs(attribution.effect), view.of(attribution))
    if value is None:
        return language.say("review_agree_none")
    how = next(name for least, name in AGREEMENT if value >= least or name == "opposite")
    return language.say("review_agree", how=language.say(f"review_agree_{how}"), value=f"{value:+.2f}",
                        words=len(attribution.words))


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's rank correlation of two rows of values (n,), from -1 (opposite order) to 1 (the same order).

    It is Pearson's correlation of the ranks. None if it is not defined: fewer than three values, or one side all
    equal.
    """
    a, b = (ranks(values) - (len(values) + 1) / 2 for values in (first, second))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if len(first) > 2 and size else None


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks (n,) of values (n,), from 1 for the least; equal values share the mean of their ranks."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + 1 + np.searchsorted(ordered, values, "right")) / 2


def strongest(attribution: Attribution, view: View, language: Language = ENGLISH) -> str:
    """Tabulate the MOST words with the largest effects, with their numbers and bars."""
    html = language.html

    def bar(kind: str, share: float, label: str) -> str:
        return f'<td class="number"><span class="bar{kind}" style="--share:{share:.3f}">{label}</span></td>'

    reach, shares = _reach(attribution), view.of(attribution)
    most = max(float(shares.max(initial=0)), 1e-6)
    rows = []
    for i in np.argsort(-np.abs(attribution.effect), kind="stable")[:MOST]:
        effect, share = float(attribution.effect[i]), float(shares[i])
        rows.append(f'<tr><td lang="en">{escape(_bare(attribution.words[i]))}</td>'
                    f'{bar(" for" if effect > 0 else " against", abs(effect) / reach, f"{effect:+.2f}")}'
                    f'{bar("", share / most, percent(share))}</tr>')
    names = [language.say("review_word"), language.say("review_effect"),
             language.say(f"review_share_{view.kind}", **view.place)]
    return (f'<table class="plain bars effects"><caption>{html("review_most")}</caption>{header(names)}'
            f'<tbody>{"".join(rows)}</tbody></table>')


def moved(before: Sentiment, after: Sentiment, language: Language = ENGLISH) -> str:
    """Say how far an edit of a text has moved the verdict, and mark the changes; "" if the new text is no edit."""
    old, new = before.text.split(), after.text.split()
    if before.text == after.text or not _is_edit(old, new):
        return ""
    label = before.label
    was, now = before.probabilities[label], after.probabilities[label]
    said = language.html("review_moved", label=label_name(label, language), before=percent(was), after=percent(now),
                         change=f"{100 * (now - was):+.1f}")
    return f'<div role="status"><p class="moved">{said}</p><p class="review" lang="en">{_changes(old, new)}</p></div>'


def pair(examples: Sequence[Example], look: str, right: int, every: int, language: Language = ENGLISH) -> str:
    """Show the model's verdicts on a minimal pair, with the effects of both texts on one scale.

    look: what to look at in the pair. right: how many of the `every` texts of all pairs are judged right.
    """
    html = language.html
    reach = max(_reach(example.attribution) for example in examples)
    sides = ""
    for example in examples:
        if example.right:
            said = html("pairs_right")
        else:
            said = f'<b>{html("pairs_wrong", label=label_name(example.label, language))}</b>'
        sides += (f"<section>{marked(example.attribution, reach, language)}"
                  f"{verdict(example.attribution.sentiment, language)}"
                  f'<p class="{"right" if example.right else "wrong"}">{said}</p></section>')
    return (f'<p><b>{html("pairs_look")}.</b> {escape(look)}</p><div class="sides">{sides}</div>'
            f'<p class="note">{html("pairs_score", all=every, right=right)}</p>')


def reliability(calibration: Calibration, language: Language = ENGLISH) -> go.Figure:
    """Plot the share of right labels by confidence (Guo et al. 2017); the larger a point, the more texts."""
    say, bins = language.say, calibration.bins
    confidence, accuracy = [100 * one.confidence for one in bins], [100 * one.accuracy for one in bins]
    most = max((one.count for one in bins), default=1)
    least = min([*confidence, *accuracy, 50])
    hints = [say("calibration_hover", count=one.count, confidence=percent(one.confidence),
                 accuracy=percent(one.accuracy)) for one in bins]
    return go.Figure([
        go.Scatter(x=[0, 100], y=[0, 100], mode="lines", line={"color": GREY, "dash": "dash"},
                   name=say("calibration_perfect"), hoverinfo="skip"),
        go.Scatter(x=confidence, y=accuracy, mode="lines+markers", line={"color": BLUE},
                   name=say("calibration_model"), marker={"size": [6 + 14 * (one.count / most) ** 0.5 for one in bins]},
                   text=hints, hovertemplate="%{text}<extra></extra>")],
        layout(say("calibration_plot"),
               x=axis(say("calibration_confidence"), range=[min(confidence, default=50) - 3, 101]),
               y=axis(say("calibration_accuracy"), range=[least - 3, 101])))


def calibration_text(calibration: Calibration, language: Language = ENGLISH) -> str:
    """Explain the calibration diagram, with the expected calibration error before and after; HTML."""
    said = language.html("calibration_text", texts=sum(one.count for one in calibration.bins),
                         error=percent(calibration.error), before=percent(calibration.error_before),
                         temperature=f"{calibration.temperature:.2f}")
    return f'<p class="note">{said}</p>'


def calibration_found(calibration: Calibration, language: Language = ENGLISH) -> str:
    """Say how often the model is right where it is surest: at the last point of the diagram; HTML."""
    if not calibration.bins:
        return ""
    surest = max(calibration.bins, key=lambda one: one.confidence)
    said = language.html("calibration_found", count=surest.count, confidence=percent(surest.confidence),
                         accuracy=percent(surest.accuracy))
    return f"<p>{said}</p>"


def label_shares(scores: Sequence[LabelShare], language: Language = ENGLISH) -> go.Figure:
    """Plot accuracy by the share of labels learned from, with and without pre-training as a language model."""
    say, curves = language.say, []
    for pretrained, colour in ((True, BLUE), (False, ORANGE)):
        rows = sorted((one for one in scores if one.pretrained == pretrained), key=lambda one: one.share)
        if not rows:
            continue
        began = say("shares_pretrained" if pretrained else "shares_nothing")
        for test, dash in zip(TESTS, ("solid", "dot"), strict=True):
            values = [getattr(one, test) for one in rows]
            curves.append(go.Scatter(
                x=[one.share for one in rows], y=[100 * value for value in values], mode="lines+markers",
                line={"color": colour, "dash": dash}, name=f"{TESTS[test]}, {began}",
                text=[say("shares_hover", labels=one.labels, value=percent(value))
                      for one, value in zip(rows, values, strict=True)],
                hovertemplate="%{fullData.name}, %{text}<extra></extra>"))
    shares = sorted({one.share for one in scores})
    percents = [f"{100 * share:g} %" for share in shares]
    return go.Figure(curves, layout(
        say("shares_plot"), x=axis(say("shares_share"), type="log", tickvals=shares, ticktext=percents),
        y=axis(say("shares_accuracy"))))


def shares_found(scores: Sequence[LabelShare], language: Language = ENGLISH) -> str:
    """Say with how many labels pre-training comes as far as all labels without it, read off the line that
    `label_shares` plots for IMDb; HTML. "" where that line does not rise through this accuracy."""
    begun, nothing = ([one for one in sorted(scores, key=lambda one: one.labels) if one.pretrained == pretrained]
                      for pretrained in (True, False))
    line = [one.imdb for one in begun]
    if not nothing or not line or sorted(set(line)) != line or not line[0] <= nothing[-1].imdb <= line[-1]:
        return ""
    labels = math.exp(np.interp(nothing[-1].imdb, line, [math.log(one.labels) for one in begun]))
    said = language.html("shares_found", labels=nothing[-1].labels, percent=percent(nothing[-1].imdb),
                         fewer=round(float(f"{labels:.2g}")))
    return f"<p>{said}</p>"


def poolings_text(scores: Sequence[PoolingScore], language: Language = ENGLISH) -> str:
    """Say what the table of poolings can show, and how much is chance if the number of texts is known; HTML."""
    said, texts = language.html("poolings_text"), scores[0].texts
    if texts:
        share = sum(one.imdb for one in scores) / len(scores)
        error = 100 * math.sqrt(share * (1 - share) / texts)
        said += " " + language.html("poolings_error", error=f"{error:.2f}", texts=texts)
    return said


def poolings(scores: Sequence[PoolingScore], language: Language = ENGLISH) -> str:
    """Tabulate the measured accuracy by pooling and mask; HTML."""
    html, say = language.html, language.say
    best = {test: max(getattr(one, test) for one in scores) for test in TESTS}
    rows, numbers = "", []
    for one in scores:
        names = [say(f"poolings_{one.pooling}"), say("poolings_causal" if one.causal else "poolings_both")]
        begun = say("shares_pretrained" if one.pretrained else "shares_nothing")
        values = "".join(f'<td class="number{" best" if getattr(one, test) == best[test] else ""}">'
                         f"{percent(getattr(one, test))}</td>" for test in TESTS)
        size = html("poolings_size", layers=one.layers, d_model=one.d_model, parameters=one.parameters)
        rows += (f'<tr>{"".join(f"<td>{escape(name)}</td>" for name in names)}{values}<td>{escape(begun)}</td>'
                 f'<td class="sub">{size}</td><td class="number">{html("first_number", n=one.steps)}</td></tr>')
        numbers.append([*names, one.imdb, one.sst2, begun, one.layers, one.d_model, one.parameters, one.steps])
    heads = [say("poolings_pooling"), say("poolings_mask"), *TESTS.values(), say("poolings_begun")]
    body = (f'<table class="plain poolings">{header([*heads, say("poolings_model"), say("poolings_steps")])}'
            f"<tbody>{rows}</tbody></table>")
    columns = [*heads, say("poolings_layers"), "d_model", say("poolings_parameters"), say("poolings_steps")]
    return savable(body, "poolings", say("poolings_title"), columns, numbers)


def _reach(attribution: Attribution) -> float:
    """The effect in nats at which the colour is strongest."""
    return max(LEAST_REACH, float(np.abs(attribution.effect).max(initial=0)))


def _bare(word: str) -> str:
    return word.replace(WORD_START, " ").strip() or "␣"


def _text(attribution: Attribution, mark: Callable[[int], Mark], language: Language) -> str:
    """Write the words of a text in a row, each with the look that `mark` gives its number; a cut is named."""
    parts = []
    for i, word in enumerate(attribution.words):
        if i == attribution.cut:
            cut = language.html("review_left_out", cut=attribution.sentiment.cut)
            parts.append(f' <span class="cut">[{cut}]</span>')
        look = mark(i)
        space = " " if i == attribution.cut or i and word.startswith(WORD_START) else ""
        parts.append(f'{space}<span class="word {look.kind}" style="--share:{look.share:.3f}" '
                     f'title="{escape(look.hint)}">{escape(_bare(word))}</span>')
    return f'<div class="review" lang="en">{"".join(parts)}</div>'


def _is_edit(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether one text is an edit of the other: at least half of their words are common, in the same order."""
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    return matcher.quick_ratio() >= KEPT and matcher.ratio() >= KEPT


def _changes(old: Sequence[str], new: Sequence[str]) -> str:
    """Write the new words with insertions and deletions marked; long unchanged stretches are left out."""
    parts: list[str] = []
    steps = difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
    for number, (kind, a, b, c, d) in enumerate(steps):
        if kind == "equal":
            kept = [*new[c:d]]
            first = 0 if number == 0 else CONTEXT
            last = 0 if number == len(steps) - 1 else CONTEXT
            if len(kept) > first + last + CONTEXT:
                kept = [*kept[:first], "…", *kept[len(kept) - last:]]
            parts.append(escape(" ".join(kept)))
        else:
            parts += [f"<{tag}>{escape(' '.join(words))}</{tag}>"
                      for tag, words in (("del", old[a:b]), ("ins", new[c:d])) if words]
    return " ".join(parts)
