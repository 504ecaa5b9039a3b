"""Checks of answers: each computes what is true of the model on the page, by the name
that a lesson's file gives it.

Parameters name words, settings and models; none is an answer, so a question can be
asked of other sentences and other weights. A check raises UserError where it makes no
sense there.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from xformer.explain.alignment import given_heads
from xformer.explain.principles import softmax
from xformer.explain.recorded import kinds, learned, verdict
from xformer.figures.labels import percent, place, shown, times
from xformer.figures.locked_word import Lock
from xformer.figures.word_link import grid, group_of, text_of
from xformer.lessons.scene import (
    NATS,
    SHARE,
    Scene,
    Word,
    apart,
    between,
    choice,
    judged,
    most,
    number,
    stays,
    there,
)
from xformer.pieces import words
from xformer.results import (
    GENERATIONS,
    Candidate,
    Head,
    Message,
    Trace,
    TrainingCourse,
    Translation,
    UserError,
    Walk,
    decimal,
    options,
    questions,
)

# What a check measures, by its kind in scene.py; each with the values of its text.
Values = dict[str, Any]
Number = tuple[float, Values]
Chosen = tuple[str, Values, float]  # an option, and how clear it is
Certain = tuple[str, Values]  # an option, where nothing is near
Judged = tuple[float, str, Values]
Table = tuple[Mapping[str, float], Values]
# the translations of two searches, the best first
Both = tuple[Sequence[Candidate], Sequence[Candidate]]
NONE = -math.inf
SURE = 0.9  # a verdict on a review that is surer is a sure one
RIVALS = options.Options(n_best=5)  # a beam of 5, and all that is left of it


def _shares(scene: Scene, stack: str, asks: Word, seen: Word) -> np.ndarray:
    """How much a word looks at another in each head of a stack, (layers, heads), as the
    page shows it."""
    given = given_heads(scene.service.info, scene.service.alignment_errors)
    found = grid(scene.passed, stack, Lock(asks, seen), given)
    return np.nan_to_num(there(found if np.isfinite(found).any() else None))


def _best(shares: np.ndarray, stack: str) -> tuple[Head, float]:
    head = Head.highest(stack, shares)
    return head, float(shares[head.at])


def _name(scene: Scene, head: Head) -> str:
    return f"{scene.language.say(f'stack_{head.stack}')}, {place(head, scene.language)}"


def _scaled(scene: Scene) -> tuple[Walk, np.ndarray]:
    """The walk of First principles, and the masked scores of its row."""
    walk = scene.walk(scene.first)
    return walk, walk.masked[min(scene.query or 1, len(walk.queries)) - 1]


def _sure(trace: Trace, one: Word) -> float:
    """The probability of a Spanish word of the pass: of all its pieces together."""
    return math.exp(sum(trace.log_probs[i - 1] for i in group_of(trace, one)))


# Probabilities


@number
def sure_of(scene: Scene, *, place: int) -> Number:
    """How sure the model is of the piece at a place of its translation, in percent."""
    best = scene.translated.best
    at = min(place, len(best.pieces)) - 1
    return 100 * math.exp(best.log_probs[at]), {"piece": shown(best.pieces[at])}


@number
def sure_of_word(scene: Scene, *, word: str) -> Number:
    """How sure the model is of a Spanish word of the pass, in percent."""
    return 100 * _sure(scene.passed, scene.position("target", word)), {"word": word}


@partial(most, written=lambda value: percent(-value))
def least_sure(scene: Scene) -> Table:
    """The Spanish word of the pass with the lowest probability."""
    return {
        text_of(scene.passed, one): -_sure(scene.passed, one)
        for one in scene.every("target")
    }, {}


@choice
def whole(scene: Scene) -> Chosen:
    """Whether the whole translation is less likely than its least likely piece:
    "smaller", "same" or "greater"."""
    logs = scene.translated.best.log_probs
    true, margin = between(
        sum(logs) - min(logs), {"smaller": NONE, "same": -1e-6, "greater": 1e-6}, NATS
    )
    values = {
        "whole": percent(math.exp(sum(logs))),
        "least": percent(math.exp(min(logs))),
    }
    return true, values, margin


@judged
def unsure_start(scene: Scene, *, below: float) -> Judged:
    """A typed sentence whose translation begins with a piece that has a probability
    under `below` percent."""
    best = scene.service.translate(scene.typed).best
    sure = math.exp(best.log_probs[0])
    return (
        (below / 100 - sure) / SHARE,
        "",
        {"text": best.text, "piece": shown(best.pieces[0]), "share": percent(sure)},
    )


# Attention


@most
def looks_back(scene: Scene, *, word: str) -> Table:
    """The English word that a Spanish one looks at most in the head that aligns
    best."""
    head = scene.service.best_head
    asks = scene.position("target", word)
    row = {
        text_of(scene.passed, one): float(_shares(scene, "cross", asks, one)[head.at])
        for one in scene.every("source")
    }
    return row, {"word": word, "head": place(head, scene.language)}


@most
def looks_most(scene: Scene, *, word: str, among: Sequence[str]) -> Table:
    """Of some English words, the one that a word looks at most, in whichever head of
    the encoder that is."""
    asks = scene.position("source", word)
    found = {
        one: _best(
            _shares(scene, "encoder_self", asks, scene.position("source", one)),
            "encoder_self",
        )
        for one in among
    }
    best = max(found.values(), key=lambda one: one[1])[0]
    return {one: share for one, (_, share) in found.items()}, {
        "word": word,
        "head": place(best, scene.language),
    }


@judged
def head_for(scene: Scene, *, word: str, target: str, part: float) -> Judged:
    """A head of the encoder in which a word looks at another, with at least this part
    of the largest share."""
    shares = _shares(
        scene,
        "encoder_self",
        scene.position("source", word),
        scene.position("source", target),
    )
    best, share = _best(shares, "encoder_self")
    head = scene.head
    own = float(shares[head.at]) if head.stack == "encoder_self" else 0.0
    return (
        (own - part * share) / SHARE,
        f"{_name(scene, head)} ({own:.2f})",
        {
            "head": place(best, scene.language),
            "word": word,
            "target": target,
            "share": f"{share:.2f}",
        },
    )


@judged
def aligning_head(scene: Scene, *, near: float) -> Judged:
    """A head of the cross-attention whose alignment error is near the lowest."""
    best = min(there(scene.service.alignment_errors(scene.service.best_head)))
    own = (
        min(there(scene.service.alignment_errors(scene.head)))
        if scene.head.stack == "cross"
        else 1.0
    )
    return (
        (best + near - own) / SHARE,
        f"{_name(scene, scene.head)} ({own:.2f})",
        {
            "head": place(scene.service.best_head, scene.language),
            "error": f"{best:.2f}",
        },
    )


@choice
def row_reading(scene: Scene) -> Chosen:
    """Which piece a row of the best head stands for: the one it was "given", or
    "predicted"; "either", where the errors are less than 0.1 apart."""
    predicted, given = there(scene.service.alignment_errors(scene.service.best_head))
    true, margin = between(
        predicted - given, {"predicted": NONE, "either": -0.1, "given": 0.1}, SHARE
    )
    values = {"given": f"{given:.2f}", "predicted": f"{predicted:.2f}"}
    return true, values, margin


@stays
def without_head(scene: Scene) -> Both:
    """The translation without the head on the page."""
    before = scene.translated
    after = scene.service.translate(before.source, before.options, off=[scene.head])
    return before.n_best, after.n_best


@choice
def costs_more(scene: Scene, *, word: str) -> Chosen:
    """What costs the translation more: the "head" on the page, or a "word" of the
    source; "both" alike, where less than half a nat is between them."""
    trace = scene.passed
    scene.position("source", word)  # says so where there is no such word
    off = scene.service.trace(trace.text, trace.tokens, off=[scene.head])
    head = sum(trace.log_probs) - sum(off.log_probs)
    found = scene.service.ask(questions.Occlude(trace.text, trace.tokens))
    lost = float(
        found.effect[
            :, [shown(one).lower() for one in found.words].index(word.lower())
        ].sum()
    )
    true, margin = between(
        head - lost, {"word": NONE, "both": -NATS, "head": NATS}, NATS
    )
    values = {
        "word": word,
        "lost": f"{lost:.2f}",
        "less": f"{head:.2f}",
        "head": place(scene.head, scene.language),
    }
    return true, values, margin


# One head, number by number


@most
def key_of_row(scene: Scene) -> Table:
    """The English word that the row of First principles looks at most."""
    walk, scores = _scaled(scene)
    weights = softmax(scores)
    return {
        text_of(scene.passed, one): sum(
            float(weights[i])
            for group in words(walk.keys)
            if one[1] in group
            for i in group
        )
        for one in scene.every("source")
    }, {}


@judged
def times_larger(scene: Scene) -> Judged:
    """How many times the second weight of a row the first is: from 1, 10, 100 or 1000
    on."""
    first, second = (float(one) for one in np.sort(_scaled(scene)[1])[::-1][:2])
    bounds = {str(least): math.log(least) for least in (1, 10, 100, 1000)}
    true, margin = between(first - second, bounds, NATS)
    return (
        margin if scene.answer == true else -max(margin, 1e-9),
        scene.answer,
        {
            "first": f"{first:.2f}",
            "second": f"{second:.2f}",
            "value": decimal(math.exp(first - second)),
        },
    )


@choice
def with_beta(scene: Scene, *, beta: float) -> Chosen:
    """What a row becomes where scores are multiplied: all on "one" piece, "even", or
    "between"."""
    scores = _scaled(scene)[1]
    weights = softmax(scores[np.isfinite(scores)], beta)
    largest = float(weights.max())
    bounds = {"even": NONE, "between": 1.5 / len(weights), "one": 0.9}
    true, margin = between(largest, bounds, 0.5 / len(weights))
    return true, {"beta": decimal(beta, 6), "share": f"{largest:.2f}"}, margin


@choice
def unscaled(scene: Scene) -> Chosen:
    """Whether the largest weight is "larger", "smaller" or the "same" to a hundredth
    where scores are not divided by the root of d."""
    walk, scores = _scaled(scene)
    now = float(softmax(scores).max())
    then = float(softmax(scores, math.sqrt(walk.q.shape[-1])).max())
    bounds = {"smaller": NONE, "same": -0.01, "larger": 0.01}
    true, margin = between(then - now, bounds, SHARE)
    return true, {"now": f"{now:.3f}", "then": f"{then:.3f}"}, margin


# Order, masks


@stays
def moved(scene: Scene, *, how: str, value: float = 0, seed: int | None = None) -> Both:
    """The translation with other positions, or with the words of the source
    shuffled."""
    before = scene.translated
    found = scene.service.ask(
        questions.Move(
            before,
            before.best.tokens,
            options.Positions(how, value),
            seed,
            _search(before.options),
        )
    )
    return before.n_best, found.translation.n_best


def _search(used: options.Options) -> options.Options:
    """The same search again, without what only the page shows of it."""
    return replace(used, alternatives=0, quality=False)


@judged
def keeps_translation(scene: Scene, *, how: str) -> Judged:
    """A typed sentence whose translation stays as it is with other positions."""
    before = scene.service.translate(scene.typed, RIVALS)
    after = scene.service.translate(
        before.source, before.options, positions=options.Positions(how)
    )
    return _alike(before.n_best, after.n_best), "", _texts("before", before, after)


def _alike(before: Sequence[Candidate], after: Sequence[Candidate]) -> float:
    """How far two translations are from being different, below 0 where they are."""
    margin = apart(before, after, _same)
    return max(margin, 1e-9) * (1 if _same(before[0], after[0]) else -1)


def _same(one: Candidate, other: Candidate) -> bool:
    return one.text == other.text


def _texts(first: str, before: Translation, after: Translation) -> Values:
    second = {"before": "after", "beam": "greedy"}[first]
    return {first: before.best.text, second: after.best.text}


@number
def may_see(scene: Scene, *, place: int) -> Number:
    """How many pieces the piece at a place of the translation may look at, itself and
    <s> included."""
    walk = scene.walk(Head("decoder_self", 1, 1))
    at = min(place, len(walk.queries) - 1)
    return float(walk.mask[at].sum()), {"piece": shown(walk.queries[at])}


@choice
def sees(scene: Scene, *, stack: str) -> Certain:
    """Whether the first piece of a stack looks at the last at all, in every head,
    "some" or none of them: "yes", "some" or "no"."""
    walk = scene.walk(Head(stack, 1, 1))
    seen = getattr(scene.passed, stack)[:, :, 0, -1] > 0
    true = "yes" if seen.all() else "some" if seen.any() else "no"
    return true, {"first": shown(walk.queries[0]), "last": shown(walk.keys[-1])}


@stays
def weighed(scene: Scene, *, stack: str, how: str) -> Both:
    """The translation where all heads of a stack weigh otherwise."""
    before = scene.translated
    change = options.Weighing(Head(stack, 1, 1), kind=how)
    again = scene.service.ask(
        questions.Reweigh(before, before.best.tokens, change, _search(before.options))
    )
    return before.n_best, again.translation.n_best


# Search, layers


@stays
def greedy(scene: Scene) -> Both:
    """What the beam and what greedy search find for the sentence on the page."""
    beam, alone = _beam_and_greedy(scene, scene.translated.source)
    return beam.n_best, alone.n_best


@judged
def greedy_differs(scene: Scene) -> Judged:
    """A typed sentence for which the beam and greedy search find different
    translations."""
    beam, alone = _beam_and_greedy(scene, scene.typed)
    return -_alike(beam.n_best, alone.n_best), "", _texts("beam", beam, alone)


def _beam_and_greedy(scene: Scene, text: str) -> tuple[Translation, Translation]:
    beam, alone = (
        scene.service.translate(text, how) for how in (RIVALS, options.GREEDY)
    )
    return beam, alone


@choice
def likelier(scene: Scene) -> Chosen:
    """Whose translation has the larger probability: "beam", "greedy" or "same"."""
    beam, alone = (
        sum(one.best.log_probs)
        for one in _beam_and_greedy(scene, scene.translated.source)
    )
    bounds = {"greedy": NONE, "same": -1e-3, "beam": 1e-3}
    true, margin = between(beam - alone, bounds, NATS)
    shares = {"beam": percent(math.exp(beam)), "greedy": percent(math.exp(alone))}
    return true, shares, margin


def _length_changed(before: Candidate, after: Candidate) -> tuple[str, ...]:
    """What becomes of a translation: it is the "same", "shorter" or "longer" in pieces,
    or an "other" that is as long."""
    if before.text == after.text:
        return ("same",)
    longer = len(after.pieces) - len(before.pieces)
    return ("longer" if longer > 0 else "shorter" if longer else "other",)


@partial(stays, change=_length_changed)
def length_with(scene: Scene, *, penalty: float, beside: float) -> Both:
    """The translations with two length penalties."""
    first, second = (
        scene.service.translate(
            scene.translated.source, replace(RIVALS, length_penalty=float(one))
        ).n_best
        for one in (beside, penalty)
    )
    return first, second


def _by_layer(scene: Scene) -> tuple[Candidate, ...]:
    return scene.service.ask(questions.TranslateByLayer(scene.translated))


@number
def first_right_layer(scene: Scene) -> Number:
    """The first layer of the encoder from which on the translation is the final one."""
    texts = [one.text for one in _by_layer(scene)]
    first = max((i + 1 for i, text in enumerate(texts) if text != texts[-1]), default=0)
    return first, {"before": texts[max(0, first - 1)], "after": texts[-1]}


@stays
def layer_reads(scene: Scene, *, layer: int) -> Both:
    """The translation from an early layer of the encoder."""
    found = _by_layer(scene)
    return found[-1:], [found[min(layer, len(found) - 1)]]


@number
def piece_ready(scene: Scene, *, place: int) -> Number:
    """The layer of the decoder from which on the piece at a place is the likeliest."""
    found = scene.service.ask(
        questions.ReadDecoder(scene.passed.text, scene.passed.tokens)
    )
    at = min(place, len(found.predicted)) - 1
    ready = max(
        (i + 1 for i, rank in enumerate(found.ranks[:, at]) if rank != 1), default=0
    )
    return ready, {
        "piece": shown(found.predicted[at]),
        "early": shown(found.pieces[max(0, ready - 1)][at]),
    }


# Measured and recorded


def _bleu(scene: Scene) -> dict[str, float]:
    """BLEU of each generation, as it was measured."""
    found = {}
    for name in there(GENERATIONS if {*GENERATIONS} <= {*scene.models.names} else None):
        with scene.models.lease(name) as service:
            found[name] = float(service.metrics.get("bleu", 0))
    return found


@judged
def generation(scene: Scene, *, worst: bool) -> Judged:
    """The generation that is the best, or the worst, by BLEU."""
    scores = _bleu(scene)
    say = scene.language.say
    true = (min if worst else max)(scores, key=lambda one: scores[one])
    named = {
        name: f"{say('gen_' + name.replace('-', '_'))}, {bleu:.1f}"
        for name, bleu in scores.items()
    }
    gap = min(abs(scores[true] - bleu) for name, bleu in scores.items() if name != true)
    return (
        gap if scene.answer == true else -max(gap, 1e-9),
        named.get(scene.answer, ""),
        {"name": named[true]},
    )


@number
def bleu_gain(scene: Scene, *, first: str, second: str) -> Number:
    """By how many points of BLEU the second generation is better than the first."""
    scores = _bleu(scene)
    return scores[second] - scores[first], {
        "before": f"{scores[first]:.1f}",
        "after": f"{scores[second]:.1f}",
    }


@stays
def alike(scene: Scene, *, model: str) -> Both:
    """The translation by one of the generations."""
    with scene.models.lease(
        there(model if model in scene.models.names else None)
    ) as service:
        other = service.translate(scene.translated.source, RIVALS)
    return scene.translated.n_best, other.n_best


def recorded_runs(scene: Scene, norm: str, warm: bool) -> list[TrainingCourse]:
    """The recorded runs of an order of normalisation, with warm-up or without. Raises
    UserError where there is none."""
    return there(
        [
            one
            for kind, runs in kinds(
                scene.study.recorded("order").courses, "order"
            ).items()
            for one in runs
            if kind.norm == norm and (kind.warmup > 0) == warm
        ]
        or None
    )


@choice
def run_learns(scene: Scene, *, norm: str, warm: bool) -> Certain:
    """Whether the first recorded run "learned", "failed" from the start, or "broke"
    after it had begun to."""
    run = recorded_runs(scene, norm, warm)[0]
    is_broken = verdict(run).key in ("run_no_number", "run_diverged")
    return "learned" if learned(run) else "broke" if is_broken else "failed", {
        "first": f"{run.loss[0]:.2f}",
        "last": f"{run.loss[-1]:.2f}",
        "guess": f"{run.guess:.2f}",
    }


@number
def runs_learned(scene: Scene, *, norm: str, warm: bool) -> Number:
    """How many recorded runs learned."""
    runs = recorded_runs(scene, norm, warm)
    return sum(map(learned, runs)), {"count": len(runs)}


# Reviews, bias


@choice
def label_of(scene: Scene) -> Chosen:
    """What the classifier makes of the review on the page: "positive" or "negative",
    with "_unsure" where it gives that less than SURE."""
    (found,) = there(scene.reviews).classify([scene.review])
    positive = found.probability if found.label == "positive" else 1 - found.probability
    bounds = {
        "negative": NONE,
        "negative_unsure": 1 - SURE,
        "positive_unsure": 0.5,
        "positive": SURE,
    }
    true, margin = between(positive, bounds, SHARE)
    return true, {"share": percent(found.probability)}, margin


@judged
def review_with(scene: Scene, *, word: str, label: str) -> Judged:
    """A typed review that has a word, and gets a label."""
    (found,) = there(scene.reviews).classify([scene.typed])
    has = re.search(rf"\b{re.escape(word)}\b", scene.typed, re.IGNORECASE)
    sure = found.probability - 0.5
    return (
        sure / SHARE if has and found.label == label else -max(sure, 1e-9) / SHARE,
        "" if has else scene.language.say("lesson_lacks", word=word),
        {
            "label": scene.language.say(f"label_{found.label}"),
            "share": percent(found.probability),
        },
    )


@number
def right_at(scene: Scene, *, confidence: float) -> Number:
    """How often the classifier is right where it is about so sure, in percent: in the
    nearest bin on each side."""
    found = there(
        [one for one in there(there(scene.reviews).calibration).bins if one.count]
        or None
    )
    bins = sorted(found, key=lambda one: one.confidence)
    above = sum(100 * one.confidence <= confidence for one in bins)
    near = bins[max(0, above - 1) : above + 1]
    texts = sum(one.count for one in near)
    right, sure = (
        sum(one.count * getattr(one, of) for one in near) / texts
        for of in ("accuracy", "confidence")
    )
    return 100 * right, {"sure": percent(sure), "texts": texts}


@number
def pretraining_gain(scene: Scene, *, share: float) -> Number:
    """How many points of accuracy pre-training is worth with a share of the labels."""
    study = scene.study.pretraining()
    runs = [there(study.of(kind, share) or None) for kind in ("nothing", "language")]
    before, after = map(study.mean, runs)
    return 100 * (after - before), {
        "labels": runs[0][0].labels,
        "before": percent(before),
        "after": percent(after),
    }


def _spanish(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def stands(said: str, one: Candidate) -> bool:
    """Whether each of some words, divided by spaces, stands in a translation; or one of
    several, divided by |."""
    text = {*_spanish(one.text)}
    return all(not text.isdisjoint(word.split("|")) for word in said.lower().split())


def _standing(said: str, found: Sequence[Candidate]) -> float:
    """How far a translation is from not having some words, below 0 where it has not."""
    margin = apart(found[:1], found, lambda _, one: stands(said, one))
    return margin if stands(said, found[0]) else -max(margin, 1e-9)


@judged
def stands_in(scene: Scene) -> Judged:
    """Which Spanish words stand in the translation: the answer is them, each one of
    several where | divides them."""
    found = scene.translated.n_best
    return _standing(scene.answer, found), scene.answer, {"text": found[0].text}


@judged
def makes(scene: Scene, *, word: str) -> Judged:
    """A typed sentence whose translation has a Spanish word."""
    found = scene.service.translate(scene.typed, RIVALS).n_best
    return _standing(word, found), "", {"text": found[0].text}


@choice
def leaning(scene: Scene, *, first: str, second: str) -> Chosen:
    """Which of two Spanish words the model takes, and whether the other in its place is
    at least ten times less likely: "first" or "second", with "_unsure" where not.
    Raises UserError where neither stands in the translation."""
    best = scene.translated.best
    said = _spanish(best.text)
    taken, other = (first, second) if first in said else (second, first)
    if taken not in said:
        raise UserError(Message.of("error_answer_word", word=first))
    changed = re.sub(rf"\b{taken}\b", other, best.text)
    than = scene.service.explain(scene.translated.source, changed)
    lead = sum(best.log_probs) - sum(than.log_probs)
    bounds = {
        "second": NONE,
        "second_unsure": -math.log(10),
        "first_unsure": 0.0,
        "first": math.log(10),
    }
    true, margin = between(lead if taken == first else -lead, bounds, NATS)
    values = {"text": best.text, "other": changed, "value": times(lead, scene.language)}
    return true, values, margin


# Where a step leads, computed: keys and values of the address. The scene is that of the
# step's sentence.


def link(scene: Scene, *, word: str, target: str) -> Values:
    """The head of the encoder in which a word looks most at another, with both
    locked."""
    asks, seen = (scene.position("source", one) for one in (word, target))
    head, _ = _best(_shares(scene, "encoder_self", asks, seen), "encoder_self")
    return {**head._asdict(), "lock": f"en{asks[1]}-en{seen[1]}"}


def aligned(scene: Scene, *, word: str = "") -> Values:
    """The head of the cross-attention that aligns best, with a Spanish word locked."""
    lock = {"lock": f"es{scene.position('target', word)[1]}"} if word else {}
    return {**scene.service.best_head._asdict(), **lock}


def by_hand(scene: Scene, *, word: str) -> Values:
    """The same head in First principles, and the row of a Spanish word."""
    best = scene.service.best_head
    at = scene.position("target", word)[1]
    given = best in given_heads(scene.service.info, scene.service.alignment_errors)
    return {
        **{f"first_{key}": value for key, value in best._asdict().items()},
        "query": at + 1 if given else at,
    }


PLACES = {finder.__name__: finder for finder in (link, aligned, by_hand)}
