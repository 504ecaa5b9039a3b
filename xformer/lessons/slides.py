"""Checks for the slides of lectures: the sizes of the model on the page, what stands in
its maps, and the lectures' own arithmetic. They lie in `scene.CHECKS` with those of
checks.py, and are declared and named alike."""

import math
import re
from collections.abc import Sequence

import numpy as np

from xformer.explain import positions, principles
from xformer.figures.labels import percent, place, shown
from xformer.lessons.checks import (
    Certain,
    Chosen,
    Judged,
    Number,
    recorded_runs,
    stands,
)
from xformer.lessons.scene import Scene, choice, judged, number, there
from xformer.results import Head, Trace, decimal, fixed, questions
from xformer.serve.bleu import bleu

SAMPLES = 2_000  # of random vectors


def _map(trace: Trace, head: Head) -> np.ndarray:
    """The map (Q, K) of a head; of its stack's first where the model lacks it."""
    maps = getattr(trace, head.stack)
    there(maps if maps.size else None)
    layer, at = (
        min(one, most) - 1 for one, most in zip(head[1:], maps.shape[:2], strict=True)
    )
    return maps[layer, at]


# The sizes of the model


@number
def head_size(scene: Scene) -> Number:
    """How many numbers a query of one head has."""
    info = scene.service.info
    return info.d_model / info.n_heads, {"width": info.d_model, "heads": info.n_heads}


@number
def layers_of(scene: Scene, *, side: str) -> Number:
    """How many layers one side of the model has, "encoder" or "decoder"."""
    info = scene.service.info
    counts = {"encoder": info.n_layers, "decoder": info.n_decoder_layers}
    return counts[side], counts


@number
def all_heads(scene: Scene) -> Number:
    """How many heads the model has in all its stacks."""
    info = scene.service.info
    maps = {
        stack: info.layers(stack) for stack in ("encoder_self", "decoder_self", "cross")
    }
    return info.n_heads * sum(maps.values()), {**maps, "heads": info.n_heads}


@number
def share_of_weights(scene: Scene, *, of: str) -> Number:
    """The percentage of parameters in the blocks of a kind: "embedding", "attention" or
    "feed_forward"."""
    blocks = scene.service.blocks()
    found = sum(one.parameters for one in blocks if of in one.name)
    total = sum(one.parameters for one in blocks)
    return 100 * found / total, {
        "found": found,
        "total": total,
        "of": scene.language.say(f"slide_weights_{of}"),
    }


@choice
def norm_order(scene: Scene) -> Certain:
    """Whether the model normalises before a sub-layer, "pre", or after the sum,
    "post"."""
    info = scene.service.info
    return info.norm, {"name": info.name}


@number
def norms_in(scene: Scene, *, side: str) -> Number:
    """How many times a layer of a side normalises: of the "encoder" or "decoder"."""
    found = sum(
        bool(re.search(rf"\b{side}\.layers\.0\.\w+_residual", one.name))
        for one in scene.service.blocks()
    )
    there(found or None)
    return found, {"side": scene.language.say(f"slide_side_{side}")}


@number
def embedding_scale(scene: Scene) -> Number:
    """By what the embeddings are multiplied: the root of d_model."""
    width = scene.service.info.d_model
    return math.sqrt(width), {"width": width}


@number
def heads_on_batch_axis(scene: Scene, *, sentences: int) -> Number:
    """How long the batch axis is where the heads lie on it too."""
    heads = scene.service.info.n_heads
    return sentences * heads, {"sentences": sentences, "heads": heads}


# The sentence on the page


@number
def pieces_here(scene: Scene) -> Number:
    """How many pieces the encoder reads, </s> included; it hands over a vector for
    each."""
    source = scene.passed.source
    width = scene.service.info.d_model
    return len(source), {"width": width, "numbers": len(source) * width}


@number
def energy(scene: Scene) -> Number:
    """How many nats the translation on the page costs the model, E = −ln P(y | x)."""
    parts = scene.passed.log_probs
    total = -sum(parts)
    return total, {"pieces": len(parts), "mean": f"{total / len(parts):.2f}"}


@number
def pieces_of(scene: Scene, *, word: str) -> Number:
    """Into how many pieces the model splits a word."""
    pieces = scene.service.split(word)[0].pieces
    return len(pieces), {"word": word, "pieces": " · ".join(map(shown, pieces))}


@number
def scores_in(scene: Scene, *, stack: str) -> Number:
    """How many scores one head of a stack computes for this sentence."""
    asks, seen = getattr(scene.passed, stack).shape[2:]
    return asks * seen, {"asks": asks, "seen": seen}


@number
def hidden_by_mask(scene: Scene) -> Number:
    """The percentage of scores in the decoder's self-attention that the mask hides."""
    mask = scene.walk(Head("decoder_self", 1, 1)).mask
    return 100 * float((~mask).mean()), {
        "hidden": int((~mask).sum()),
        "all": mask.size,
    }


@number
def given_pieces(scene: Scene) -> Number:
    """After how many given pieces, <s> included, the last one is asked for."""
    trace = scene.passed
    return len(trace.target), {
        "given": shown(trace.target[-1]),
        "wanted": shown(trace.predicted[-1]),
    }


# Numbers in a map


@number
def heads_linking(scene: Scene, *, word: str, target: str, least: float) -> Number:
    """How many heads of the encoder put at least `least` of a word's weight on
    another."""
    asks, seen = (scene.position("source", one)[1] for one in (word, target))
    shares = scene.passed.encoder_self[:, :, asks, seen]
    return int((shares >= least).sum()), {
        "all": shares.size,
        "word": word,
        "target": target,
        "least": percent(least),
    }


@number
def row_weight(scene: Scene) -> Number:
    """The largest weight, in percent, of the row in First principles."""
    walk = scene.walk(scene.first)
    row = walk.probabilities[min(scene.query or 1, len(walk.queries)) - 1]
    return 100 * float(row.max()), {
        "best": shown(walk.keys[int(row.argmax())]),
        "bits": f"{float(principles.entropy(row[None])[0]):.2f}",
    }


@number
def column_sum(scene: Scene) -> Number:
    """What the largest column of a map adds up to, whose rows add up to 1: in the head
    that aligns best."""
    head = scene.service.best_head
    sums = _map(scene.passed, head).sum(axis=0)
    return float(sums.max()), {
        "least": f"{float(sums.min()):.2f}",
        "head": place(head, scene.language),
        "piece": shown(scene.passed.source[int(sums.argmax())]),
    }


@number
def mutual(scene: Scene) -> Number:
    """The mean cosine of A and its transpose, without the diagonal, over the heads of
    the encoder; beside what it is by chance."""
    maps = scene.passed.encoder_self
    there(maps if maps.size else None)
    found = principles.mutual(maps)
    return float(found.mean()), {
        "chance": fixed(float(principles.mutual_by_chance(maps).mean()), ".2f"),
        "least": fixed(float(found.min()), ".2f"),
        "most": fixed(float(found.max()), ".2f"),
    }


@number
def stretch(scene: Scene) -> Number:
    """How many times as long as x the query of a head is at most: the largest singular
    value of its W_Q."""
    values = np.linalg.svd(scene.walk(scene.first).w_q, compute_uv=False)
    return float(values[0]), {"least": f"{float(values[-1]):.2f}"}


@number
def sum_after(scene: Scene) -> Number:
    """What the weights of a row add up to where they are divided by the root of d_k
    after the softmax."""
    walk = scene.walk(scene.first)
    d = walk.q.shape[-1]
    return float(walk.probabilities[0].sum()) / math.sqrt(d), {"d": d}


@number
def leaked(scene: Scene) -> Number:
    """The percentage of weight on pieces to come where the mask writes 0 instead of
    minus infinity: in the decoder's first head, averaged over rows."""
    walk = scene.walk(Head("decoder_self", 1, 1))
    weights = principles.softmax(np.where(walk.mask, walk.scaled, 0.0))
    return 100 * float((weights * ~walk.mask).sum(axis=-1).mean()), {}


@number
def own_weight(scene: Scene) -> Number:
    """The percentage of weight that a piece puts on itself where queries and keys are
    what the head reads, without matrices: averaged over pieces."""
    walk = scene.walk(Head("encoder_self", 1, 1))
    weights = principles.softmax(
        principles.score("identity", walk.x, walk.y), walk.x.shape[-1] ** -0.5
    )
    return 100 * float(np.diag(weights).mean()), {"pieces": len(walk.keys)}


@number
def growth(scene: Scene) -> Number:
    """How many times as long the state of a piece is after the encoder's sub-layers as
    before them, averaged over pieces."""
    steps = scene.stream.sublayers
    first, last = (
        float(np.linalg.norm(one, axis=-1).mean())
        for one in (steps[0].state, steps[-1].after)
    )
    return last / first, {"first": f"{first:.1f}", "last": f"{last:.1f}"}


@number
def units_on(scene: Scene) -> Number:
    """The percentage of hidden units in the encoder's first feed-forward network that
    are above 0, averaged over pieces."""
    steps = scene.stream.sublayers
    hidden = there(next((one.hidden for one in steps if one.hidden is not None), None))
    return 100 * float((hidden > 0).mean()), {"units": hidden.shape[1]}


@number
def deviation(scene: Scene) -> Number:
    """The standard deviation of what the encoder's first LayerNorm makes of a state,
    before it is stretched and moved: averaged over pieces."""
    stream = scene.stream
    one = stream.sublayers[0]
    plain = (one.normed - one.beta) / one.gamma
    before = one.read(stream.norm).std(axis=-1)
    return float(plain.std(axis=-1).mean()), {"before": f"{float(before.mean()):.2f}"}


@number
def positions_share(scene: Scene) -> Number:
    """How long the position vectors are beside the embeddings, in percent: averaged
    over the pieces."""
    found = scene.service.ask(questions.EmbedSource(scene.translated))
    embedded, placed = (
        float(np.linalg.norm(one, axis=-1).mean())
        for one in (found.embeddings, found.positions)
    )
    return 100 * placed / embedded, {
        "embedded": f"{embedded:.1f}",
        "placed": f"{placed:.1f}",
    }


@judged
def translated(scene: Scene, *, text: str) -> Judged:
    """Which Spanish words stand in the translation of a text: the answer is them, each
    one of several where | divides them."""
    best = scene.service.translate(text).best
    right = stands(scene.answer, best)
    return 1.0 if right else -1.0, scene.answer, {"text": text, "found": best.text}


# What was measured and recorded


@number
def loss_after(scene: Scene, *, norm: str, warm: bool) -> Number:
    """The loss of the first recorded run of an order of normalisation, with warm-up or
    without, at its end."""
    run = recorded_runs(scene, norm, warm)[0]
    how = f"slide_{norm}_{'warm' if warm else 'cold'}"
    return run.loss[-1], {
        "how": scene.language.say(how),
        "first": f"{run.loss[0]:.2f}",
        "guess": f"{run.guess:.2f}",
    }


@number
def additive_width(scene: Scene) -> Number:
    """How many numbers W_q q and W_k k have in the GRU with attention."""
    name = "gru-attention"
    there(name if name in scene.models.names else None)
    with scene.models.lease(name) as service:
        return service.info.d_model, {}


@choice
def better_pooling(scene: Scene) -> Chosen:
    """Which of "mean", "max" and "attention" was the most accurate pooling on reviews
    of IMDb, of small classifiers that see all pieces and were not pre-trained; "none"
    where the best is not two standard errors of a difference ahead of the next."""
    scores = {
        one.pooling: one
        for one in there(scene.reviews).pooling_scores
        if not (one.causal or one.pretrained)
    }
    there(scores if len(scores) == 3 else None)
    best, second, _ = sorted(scores.values(), key=lambda one: -one.imdb)
    error = math.sqrt(best.imdb * (1 - best.imdb) / max(1, best.texts))
    ahead = (best.imdb - second.imdb) / (2 * math.sqrt(2) * error)
    values = {kind: percent(one.imdb) for kind, one in scores.items()}
    true = best.pooling if ahead > 1 else "none"
    return true, {**values, "error": f"{100 * error:.1f}"}, abs(ahead - 1)


@number
def accuracy_of(scene: Scene, *, kind: str, share: float) -> Number:
    """The percentage of reviews that a classifier judged rightly which began in a way
    (`results.reviews.PretrainingRun`) and learned from a share of the labels."""
    study = scene.study.pretraining()
    runs = there(study.of(kind, share) or None)
    nothing = there(study.of("nothing", share) or None)
    return 100 * study.mean(runs), {
        "labels": runs[0].labels,
        "kind": scene.language.say(f"slide_began_{kind}"),
        "nothing": percent(study.mean(nothing)),
    }


# The lectures' own arithmetic


@number
def product(_: Scene, *, of: Sequence[float], over: float = 1) -> Number:
    """A product of numbers of the lecture, divided by another."""
    written = " · ".join(decimal(one, 6) for one in of)
    if over != 1:
        written += f" / {decimal(over, 6)}"
    return math.prod(of) / over, {"written": written}


@number
def repeats(_: Scene, *, divisor: float) -> Number:
    """After how many positions sin(pos / divisor) repeats."""
    return float(2 * np.pi * divisor), {"divisor": decimal(divisor)}


@number
def longest_wave(scene: Scene, *, base: float = 0) -> Number:
    """After how many positions the slowest pair of dimensions repeats. base: 0 for that
    of the model."""
    info = scene.service.info
    base = base or info.position_base
    found = positions.wavelengths(info.d_model, base)
    return float(found[-1]), {"base": decimal(base, 6), "width": info.d_model}


@number
def waves_near(scene: Scene, *, steps: float) -> Number:
    """The percentage of pairs of dimensions that repeat within `steps` positions."""
    info = scene.service.info
    found = positions.wavelengths(info.d_model, info.position_base)
    near = int((found <= steps).sum())
    return 100 * near / len(found), {
        "near": near,
        "all": len(found),
        "steps": decimal(steps),
    }


@number
def dot_variance(scene: Scene) -> Number:
    """The variance of dot products of random vectors as long as a query here."""
    info = scene.service.info
    length = info.d_model // info.n_heads
    found = principles.variance((length,), SAMPLES)
    return float(found.plain[0]), {
        "length": length,
        "scaled": f"{float(found.scaled[0]):.2f}",
    }


@number
def largest_of_random(scene: Scene) -> Number:
    """The largest of ten weights, in percent, where queries and keys as long as here are
    random and their scores are not scaled."""
    info = scene.service.info
    found = principles.variance((info.d_model // info.n_heads,), SAMPLES)
    return 100 * float(found.largest_plain[0]), {
        "scaled": percent(float(found.largest_scaled[0]))
    }


@number
def factor(_: Scene, *, apart: float) -> Number:
    """By what the weight of a score is multiplied where the score is `apart` larger."""
    return math.exp(apart), {"apart": decimal(apart)}


@number
def softmax_share(_: Scene, *, scores: Sequence[float]) -> Number:
    """The weight, in percent, that the softmax gives to the first of these scores."""
    found = principles.softmax(np.array(scores, dtype=float))
    written = ", ".join(decimal(one) for one in scores)
    return 100 * float(found[0]), {"scores": written}


@number
def kernel(_: Scene, *, widths: float) -> Number:
    """The weight of a point that is `widths` widths of a Gaussian kernel away, in percent
    of the nearest point's."""
    return 100 * math.exp(-(widths**2) / 2), {"widths": decimal(widths)}


@number
def brevity(_: Scene, *, said: int, wanted: int) -> Number:
    """BLEU's factor, in percent, for a translation of `said` words beside a reference of
    `wanted`."""
    return 100 * math.exp(min(0.0, 1 - wanted / said)), {"said": said, "wanted": wanted}


@number
def precision(_: Scene, *, text: str, reference: str, n: int) -> Number:
    """The percentage of n-grams of a text that count, clipped."""
    found = bleu(text, reference)
    matches, count = found.matches[n - 1], found.totals[n - 1]
    return 100 * matches / count, {
        "matches": matches,
        "count": count,
        "n": n,
        "text": text,
        "reference": reference,
    }
