"""A classifier's verdict on a text and the reasons for it: HTML, all text escaped, and
two plotly figures."""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.figures.changes import changed_words
from xformer.figures.labels import bare, paragraph, percent
from xformer.figures.layout import BLUE, END, GREY, ORANGE, TEAL, axis, layout, line
from xformer.figures.notice import warnings
from xformer.figures.spread import BETWEEN, side
from xformer.figures.templates import fill
from xformer.results import (
    Attribution,
    Calibration,
    PoolingScore,
    Sentiment,
    decimal,
    fixed,
)
from xformer.results.reviews import BEGINNINGS, GENERATIVE, PretrainingStudy
from xformer.strings import ENGLISH, Language

VIEWS = ("pooling", "head")  # what is shown beside the effects
LEAST_REACH = 0.25  # nats; if no word has a larger effect, all stay pale
MOST = 8  # words in the table
NAMED = 3  # words whose shares a sentence names
CONTEXT = 8  # words that are shown around a change
# share of common words, in order, from which one text counts as an edit of the other
KEPT = 0.5
# (least correlation, name)
AGREEMENT = ((0.6, "strong"), (0.3, "partly"), (-0.3, "hardly"), (-1.0, "opposite"))
# of results.reviews: colours and dashes
KINDS = {
    "nothing": (GREY, "dot"),
    "language": (BLUE, "solid"),
    "autoencoder": (ORANGE, "dash"),
    "two": (TEAL, "dot"),
    "two_language": (TEAL, "solid"),
}
# of these, which is to be set beside which
COMPARED = (
    ("language", "nothing"),
    ("autoencoder", "nothing"),
    ("two", "nothing"),
    ("two_language", "language"),
    ("two_language", "two"),
    ("language", "autoencoder"),
)
TESTS = {"imdb": "IMDb", "sst2": "SST-2"}


@dataclass(frozen=True)
class View:
    """Whose shares of attention to show beside the effects: the pooling's or those of
    one head."""

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
        """Layer and head as values for a text that names them; empty for the
        pooling."""
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


def label_name(label: str, language: Language = ENGLISH) -> str:
    """Translate a label if the language has a name for it."""
    return language.texts.get(f"label_{label}", label)


def verdict(sentiment: Sentiment, language: Language = ENGLISH) -> str:
    """Show the label, and the probability of every label as a bar."""
    return fill(
        "sentiment.verdict",
        language,
        label=label_name(sentiment.label, language),
        probability=sentiment.probability,
        shares=[
            (label_name(label, language), share)
            for label, share in sentiment.probabilities.items()
        ],
    )


def reading(judged: Sentiment, language: Language = ENGLISH) -> str:
    """Show the verdict, the warnings about the text, and the time it took."""
    return (
        verdict(judged, language)
        + warnings(judged.warnings, language)
        + paragraph(
            language,
            "review_meta",
            "meta",
            seconds=f"{judged.seconds:.2f}",
            pieces=len(judged.pieces),
        )
    )


def effects(attribution: Attribution, language: Language = ENGLISH) -> str:
    """Show a text with the effect of each word on the verdict.

    Words that speak for the label are orange with a solid line, words against it blue
    with a dashed line.
    """
    return fill(
        "sentiment.effects",
        language,
        attribution=attribution,
        reach=_reach(attribution),
        toward=label_name(attribution.toward, language),
    )


def marked(attribution: Attribution, reach: float, language: Language = ENGLISH) -> str:
    """Colour and underline the words of a text by their effects; at `reach` nats the
    colour is strongest."""
    return fill("sentiment.marked", language, attribution=attribution, reach=reach)


def looked(attribution: Attribution, view: View, language: Language = ENGLISH) -> str:
    """Show a text with the share of attention of each word, and how far that agrees
    with the effects."""
    shares = view.of(attribution)
    is_maximum = view.kind == "pooling" and attribution.pooled == "max"
    return fill(
        "sentiment.looked",
        language,
        attribution=attribution,
        shares=shares.tolist(),
        kind=view.kind,
        key="review_text_max" if is_maximum else f"review_text_{view.kind}",
        place=view.place,
        found=most_seen(attribution, shares, language),
        agrees=agreement(attribution, view, language),
    )


def most_seen(
    attribution: Attribution, shares: np.ndarray, language: Language = ENGLISH
) -> str:
    """Name the words with the largest shares (W,), and how much these have together."""
    most = np.argsort(-shares, kind="stable")[:NAMED]
    named = ", ".join(
        language.say(
            "review_word_share",
            word=bare(attribution.words[i]),
            percent=percent(float(shares[i])),
        )
        for i in most
    )
    return language.say(
        "review_shares_found",
        percent=percent(float(shares[most].sum())),
        count=len(most),
        words=len(shares),
        list=named,
    )


def agreement(
    attribution: Attribution, view: View, language: Language = ENGLISH
) -> str:
    """Say how well the sizes of the effects agree with the shares of attention, by rank
    correlation."""
    value = rank_correlation(np.abs(attribution.effect), view.of(attribution))
    if value is None:
        return language.say("review_agree_none")
    how = next(
        name for least, name in AGREEMENT if value >= least or name == "opposite"
    )
    return language.say(
        "review_agree",
        how=language.say(f"review_agree_{how}"),
        value=fixed(value, "+.2f"),
        words=len(attribution.words),
    )


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's rank correlation of two rows of values (n,), from -1 (opposite order)
    to 1 (the same order).

    It is Pearson's correlation of the ranks. None if it is not defined: fewer than
    three values, or one side all equal.
    """
    a, b = (ranks(values) - (len(values) + 1) / 2 for values in (first, second))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if len(first) > 2 and size else None


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks (n,) of values (n,), from 1 for the least; equal values share the mean of
    their ranks."""
    ordered = np.sort(values)
    return (
        np.searchsorted(ordered, values, "left")
        + 1
        + np.searchsorted(ordered, values, "right")
    ) / 2


def strongest(
    attribution: Attribution, view: View, language: Language = ENGLISH
) -> str:
    """Tabulate the MOST words with the largest effects, with their numbers and bars."""
    shares = view.of(attribution)
    effect = attribution.effect.tolist()
    reach = _reach(attribution)
    most = max(float(shares.max(initial=0)), 1e-6)
    return fill(
        "sentiment.strongest",
        language,
        kind=view.kind,
        place=view.place,
        rows=[
            (
                attribution.words[i],
                effect[i],
                abs(effect[i]) / reach,
                float(shares[i]),
                float(shares[i]) / most,
            )
            for i in np.argsort(-np.abs(attribution.effect), kind="stable")[:MOST]
        ],
    )


def moved(sentiment: Sentiment, judged: Sentiment, language: Language = ENGLISH) -> str:
    """Say how far an edit of a text has moved the verdict, and mark the changes; "" if
    the new text is no edit. sentiment: before it; judged: after it."""
    matcher = difflib.SequenceMatcher(
        a=sentiment.text.split(), b=judged.text.split(), autojunk=False
    )
    if (
        sentiment.text == judged.text
        or matcher.quick_ratio() < KEPT
        or matcher.ratio() < KEPT
    ):
        return ""
    label = sentiment.label
    return fill(
        "sentiment.moved",
        language,
        label=label_name(label, language),
        was=sentiment.probabilities[label],
        now=judged.probabilities[label],
        changes=changed_words(sentiment.text, judged.text, CONTEXT),
    )


def pair(
    examples: Sequence[Example],
    look: str,
    right: int,
    every: int,
    language: Language = ENGLISH,
) -> str:
    """Show the model's verdicts on a minimal pair, with the effects of both texts on
    one scale.

    look: what to look at in the pair. right: how many of the `every` texts of all pairs
    are judged right.
    """
    sides = [
        (
            one.attribution,
            verdict(one.attribution.sentiment, language),
            label_name(one.label, language),
            one.right,
        )
        for one in examples
    ]
    return fill(
        "sentiment.pair",
        language,
        look=look,
        sides=sides,
        right=right,
        every=every,
        reach=max(_reach(example.attribution) for example in examples),
    )


def reliability(calibration: Calibration, language: Language = ENGLISH) -> go.Figure:
    """Plot the share of right labels by confidence (Guo et al. 2017); the larger a
    point, the more texts."""
    say = language.say
    bins = calibration.bins
    confidence = [100 * one.confidence for one in bins]
    accuracy = [100 * one.accuracy for one in bins]
    most = max([1, *(one.count for one in bins)])
    least = min([*confidence, *accuracy, 50])
    hints = [
        say(
            "calibration_hover",
            count=one.count,
            confidence=percent(one.confidence),
            accuracy=percent(one.accuracy),
        )
        for one in bins
    ]
    return go.Figure(
        [
            line(
                [0, 100],
                [0, 100],
                say("calibration_perfect"),
                GREY,
                None,
                dash="dash",
                mode="lines",
                hoverinfo="skip",
            ),
            line(
                confidence,
                accuracy,
                say("calibration_model"),
                BLUE,
                "%{text}<extra></extra>",
                text=hints,
                marker={"size": [6 + 14 * (one.count / most) ** 0.5 for one in bins]},
            ),
        ],
        layout(
            say("calibration_plot"),
            x=axis(
                say("calibration_confidence"),
                range=[min(confidence, default=50) - 3, 101],
            ),
            y=axis(say("calibration_accuracy"), range=[least - 3, 101]),
        ),
    )


def two_ways(sentiment: Sentiment, language: Language = ENGLISH) -> str:
    """Tabulate a verdict between two labels as a softmax over two scores gives it, and
    as the sigmoid of their difference does, each with its loss; HTML. Empty where there
    are other than two scores."""
    if len(sentiment.scores) != 2:
        return ""
    (against, zero), (toward, one) = zip(
        sentiment.probabilities, sentiment.scores, strict=True
    )
    total = math.exp(zero) + math.exp(one)
    softmax = math.exp(zero) / total, math.exp(one) / total
    sigmoid = 1 / (1 + math.exp(one - zero)), 1 / (1 + math.exp(zero - one))
    losses = [
        (language.say("binary_loss", label=label_name(label, language)), label)
        for label in (toward, against)
    ]
    at = {against: 0, toward: 1}
    rows = [
        (
            language.say("binary_score"),
            f"z₀ = {fixed(zero, '.3f')}, z₁ = {fixed(one, '.3f')}",
            f"z = z₁ − z₀ = {fixed(one - zero, '.3f')}",
        ),
        (
            language.say("binary_probability", label=label_name(toward, language)),
            f"e^z₁ / (e^z₀ + e^z₁) = {softmax[1]:.4f}",
            f"σ(z) = 1 / (1 + e^−z) = {sigmoid[1]:.4f}",
        ),
        *(
            (
                name,
                f"−ln p{'₀₁'[at[label]]} = {-math.log(softmax[at[label]]):.4f}",
                f"{('−ln (1 − σ(z))', '−ln σ(z)')[at[label]]} = "
                f"{-math.log(sigmoid[at[label]]):.4f}",
            )
            for name, label in losses
        ),
    ]
    error = max(abs(a - b) for a, b in zip(softmax, sigmoid, strict=True))
    return fill("sentiment.two_ways", language, rows=rows, error=decimal(error, 2))


def calibration_text(calibration: Calibration, language: Language = ENGLISH) -> str:
    """Explain the calibration diagram, with the expected calibration error before and
    after; HTML."""
    return paragraph(
        language,
        "calibration_text",
        "note",
        texts=sum(one.count for one in calibration.bins),
        error=percent(calibration.error),
        before=percent(calibration.error_before),
        temperature=f"{calibration.temperature:.2f}",
    )


def calibration_found(calibration: Calibration, language: Language = ENGLISH) -> str:
    """Say how often the model is right where it is surest: at the last point of the
    diagram; HTML."""
    if not calibration.bins:
        return ""
    surest = max(calibration.bins, key=lambda one: one.confidence)
    return paragraph(
        language,
        "calibration_found",
        count=surest.count,
        confidence=percent(surest.confidence),
        accuracy=percent(surest.accuracy),
    )


def pretraining(study: PretrainingStudy, language: Language = ENGLISH) -> go.Figure:
    """Plot accuracy by the share of the labels: of each way to learn, which stand side
    by side, the mean of the seeds with a bar from the lowest to the highest, and each
    seed."""
    say = language.say
    curves = []
    points = []
    for place, (kind, (colour, dash)) in enumerate(KINDS.items()):
        groups = [runs for share in study.shares if (runs := study.of(kind, share))]
        at = [
            runs[0].share * 10 ** (0.03 * (place - len(KINDS) // 2)) for runs in groups
        ]
        values = [[100 * one.accuracy for one in runs] for runs in groups]
        means = [*map(study.mean, groups)]
        highest = [
            max(each) - 100 * mean for each, mean in zip(values, means, strict=True)
        ]
        lowest = [
            100 * mean - min(each) for each, mean in zip(values, means, strict=True)
        ]
        curves.append(
            line(
                at,
                [100 * mean for mean in means],
                say(f"shares_{kind}"),
                colour,
                f"%{{fullData.name}}, %{{text}}{END}",
                text=[
                    say(
                        "shares_hover",
                        labels=runs[0].labels,
                        value=percent(mean),
                        seeds=len(runs),
                    )
                    for runs, mean in zip(groups, means, strict=True)
                ],
                dash=dash,
                error_y={
                    "symmetric": False,
                    "array": highest,
                    "arrayminus": lowest,
                    "color": colour,
                    "width": 0,
                },
            )
        )
        points.append(
            line(
                [x for x, runs in zip(at, groups, strict=True) for _ in runs],
                [value for each in values for value in each],
                say("shares_seeds", name=say(f"shares_{kind}")),
                colour,
                f"%{{text}}{END}",
                mode="markers",
                text=[
                    say("shares_hover_seed", seed=one.seed, value=percent(one.accuracy))
                    for runs in groups
                    for one in runs
                ],
                showlegend=False,
                marker={"size": 9, "symbol": "line-ew-open"},
            )
        )
    ticks = {
        "tickvals": study.shares,
        "ticktext": [f"{decimal(100 * share)} %" for share in study.shares],
    }
    return go.Figure(
        [*curves, *points],
        layout(
            say("shares_plot"),
            x=axis(say("shares_share"), type="log", **ticks),
            y=axis(say("shares_accuracy")),
        ),
    )


def pretraining_said(study: PretrainingStudy, language: Language = ENGLISH) -> str:
    """Tabulate what each way to learn is, and what it reaches; and by how much one is
    ahead of another, seed by seed; HTML."""
    # mean variance of a text
    spread = sum(one.accuracy * (1 - one.accuracy) for one in study.runs) / len(
        study.runs
    )
    return fill(
        "sentiment.pretraining",
        language,
        study=study,
        kinds=[*KINDS],
        compared=COMPARED,
        error=100 * math.sqrt(spread / study.about["held_out"]),
    )


def pretraining_settled(study: PretrainingStudy, language: Language = ENGLISH) -> str:
    """Say of two ways to learn, and of each share of the labels, whether one is ahead
    of the other with every seed. Empty where there are too few seeds."""
    sides: dict[str, list[str]] = {"ahead": [], "behind": [], "open": []}
    seeds = []
    for one, other in COMPARED:
        shares: dict[str, list[str]] = {which: [] for which in sides}
        for share in study.shares:
            gains = study.gains(one, other, share)
            if len(gains) < 2:
                continue
            seeds.append(len(gains))
            shares[side(gains)].append(f"{decimal(100 * share)} %")
        for which, some in shares.items():
            if some:
                sides[which].append(
                    language.say(
                        "shares_at",
                        pair=language.say(
                            "shares_against",
                            one=language.say(f"shares_{one}"),
                            other=language.say(f"shares_{other}"),
                        ),
                        shares=" · ".join(some),
                    )
                )
    if not seeds:
        return ""
    return language.say(
        "shares_settled",
        seeds=min(seeds),
        **{which: BETWEEN.join(some) or "–" for which, some in sides.items()},
    )


def pretraining_found(study: PretrainingStudy, language: Language = ENGLISH) -> str:
    """Say what the best classifier and the best language models with Bayes' rule judge
    right, and how near to chance the least labels leave a classifier; tabulate the loss
    of each classifier on what it learned from beside what it judges right; HTML."""
    least = study.shares[0]
    classifiers = [kind for kind in BEGINNINGS if study.of(kind, least)]

    def best(kinds: Sequence[str], share: float) -> tuple[str, float] | None:
        """The way to learn that judges most right, and how much; None where there is
        none."""
        means = [
            (kind, study.mean(runs))
            for kind in kinds
            if (runs := study.of(kind, share))
        ]
        return max(means, key=lambda one: one[1], default=None)

    each = [
        language.say(
            "shares_each",
            share=f"{decimal(100 * share)} %",
            classifier=language.say(f"shares_{one[0]}"),
            one=percent(one[1]),
            models=language.say(f"shares_{two[0]}"),
            two=percent(two[1]),
        )
        for share in study.shares
        if (one := best(classifiers, share)) and (two := best(GENERATIVE, share))
    ]
    said = []
    if each:
        said.append(language.html("shares_best", each="; ".join(each)))
    nothing = study.of("nothing", least)
    pretrained = best([kind for kind in classifiers if kind != "nothing"], least)
    if nothing and pretrained:
        said.append(
            language.html(
                "shares_chance",
                share=f"{decimal(100 * least)} %",
                labels=nothing[0].labels,
                mean=percent(study.mean(nothing)),
                kind=language.say(f"shares_{pretrained[0]}"),
                right=percent(pretrained[1]),
            )
        )
    if settled := pretraining_settled(study, language):
        said.append(escape(settled))
    rows = [
        [
            language.say(f"shares_{kind}"),
            *(
                language.say(
                    "shares_gap_cell",
                    loss=f"{sum(one.loss for one in runs) / len(runs):.2f}",
                    right=percent(study.mean(runs)),
                )
                if (runs := study.of(kind, share))
                else "–"
                for share in study.shares
            ),
        ]
        for kind in classifiers
    ]
    return fill(
        "sentiment.pretraining_found",
        language,
        said=said,
        shares=[f"{decimal(100 * share)} %" for share in study.shares],
        rows=rows,
    )


def poolings_text(scores: Sequence[PoolingScore], language: Language = ENGLISH) -> str:
    """Say what the table of poolings can show, and how much is chance if the number of
    texts is known; HTML."""
    said = language.html("poolings_text")
    texts = scores[0].texts
    if texts:
        share = sum(one.imdb for one in scores) / len(scores)
        error = 100 * math.sqrt(share * (1 - share) / texts)
        said += " " + language.html("poolings_error", error=f"{error:.2f}", texts=texts)
    return said


def poolings(scores: Sequence[PoolingScore], language: Language = ENGLISH) -> str:
    """Tabulate the measured accuracy by pooling and mask; HTML."""
    best = {test: max(getattr(one, test) for one in scores) for test in TESTS}
    return fill("sentiment.poolings", language, scores=scores, tests=TESTS, best=best)


def _reach(attribution: Attribution) -> float:
    """The effect in nats at which the colour is strongest."""
    return max(LEAST_REACH, float(np.abs(attribution.effect).max(initial=0)))
