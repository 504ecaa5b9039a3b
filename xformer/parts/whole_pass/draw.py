"""The payload of whole_pass.js: a whole pass in one picture, from the sentence to the
next word; and the numbers of one layer of it."""

import math
from typing import Any

import numpy as np

from xformer.figures import stream as stream_figures
from xformer.figures.labels import sentence, shown, shown_all
from xformer.figures.packed import packed
from xformer.figures.templates import fill
from xformer.results import STACKS, Embedded, Forced, Head, Stream, Trace
from xformer.strings import ENGLISH, Language

HOWS = ("mean", "strongest")  # of the heads of a layer, which flows are drawn
CELLS = 28  # of the strip of a vector, each the mean of some of its numbers
LIKELIEST = 5  # pieces that are listed for each step
# the stacks of a layer
SIDES = {"encoder": ("encoder_self",), "decoder": ("decoder_self", "cross")}
# Where the page shows more of what a picture's parts stand for: addresses, in which the
# script fills in the step.
OPENS = {
    "step": '{"tab":"translate","translate_part":"decoding","decode":"steps","step":"{step}","lock":"es{step}"}',
    "positions": '{"tab":"positions"}',
}
# Texts that the script fills in itself.
TEXTS = (
    "whole_title", "whole_sentence", "whole_embedding", "whole_encoder", "whole_memory",
    "whole_decoder", "whole_output", "whole_next", "whole_layer", "whole_layer_name",
    "whole_written", "whole_so_far", "whole_cross", "whole_said", "whole_said_words",
    "whole_said_other", "whole_said_head", "whole_said_mean", "whole_follow",
    "whole_picture", "whole_part", "whole_from", "whole_to", "whole_weight",
    "whole_open_step", "whole_open_positions", "whole_strip_name",
    "play_step", "play_of", "play_previous", "play_next", "play_start", "play_stop",
    "decode_steps",
)  # fmt: skip


def flows(maps: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Choose the attention of each layer that is drawn, of maps (layers, H, Q, K):
    (layers, Q, K).

    how: "mean", over the heads; or "strongest", for each query the head with the
    largest probability, (layers, Q) of which, from 1, are the second answer.
    """
    if how == "mean":
        return maps.mean(axis=1), None
    heads = maps.max(axis=3).argmax(axis=1)
    return np.take_along_axis(maps, heads[:, None, :, None], axis=1)[:, 0], heads + 1


def cells(states: np.ndarray) -> np.ndarray:
    """Strips (L, CELLS) of states (L, D): means of neighbouring numbers; of narrow
    states the numbers themselves."""
    count = min(CELLS, states.shape[1])
    return np.stack(
        [part.mean(axis=1) for part in np.array_split(states, count, axis=1)], axis=1
    )


def _strip(states: np.ndarray) -> dict[str, Any]:
    """Pack strips as bytes, 127 for `reach` and all above: a few dimensions are ten
    times as large as the others."""
    means = cells(states)
    reach = float(np.quantile(np.abs(means), 0.98)) or 1.0
    levels = np.round(np.clip(means / reach, -1, 1) * 127).astype(np.int8)
    return {"data": packed(levels), "cells": means.shape[1], "reach": reach}


def payload(
    trace: Trace,
    passed: dict[str, Stream],
    embedded: Embedded,
    forced: Forced,
    how: str,
    step: int,
    language: Language = ENGLISH,
) -> dict[str, Any]:
    """Pack a pass; labels are text, which the script escapes.

    passed: both sides of the same pair. how: one of HOWS. step: the first to show, from
    1. Strips are bytes, each state with a scale of its own; attention (layers, Q, K) is
    16-bit numbers, 65,535 for 1. Each step has the piece that is written, its
    probability and rank (0: beyond the likeliest), and the likeliest pieces.
    """
    attention = dict[str, str]()
    heads = dict[str, Any]()
    for stack in STACKS:
        chosen, of_rows = flows(trace.of(stack).probabilities, how)
        attention[stack] = packed(
            np.round(np.clip(chosen, 0, 1) * 65_535).astype("<u2")
        )
        heads[stack] = None if of_rows is None else of_rows.tolist()
    steps = list[dict[str, Any]]()
    for wanted, log_prob, likeliest in zip(
        forced.predicted, forced.log_probs, forced.alternatives, strict=True
    ):
        best = likeliest[:LIKELIEST]
        steps.append(
            {
                "wanted": shown(wanted),
                "p": round(math.exp(log_prob), 6),
                "rank": next(
                    (i for i, (piece, _) in enumerate(best, 1) if piece == wanted), 0
                ),
                "likeliest": [
                    [shown(piece), round(math.exp(value), 6)] for piece, value in best
                ],
                "so_far": sentence([*forced.given[1 : len(steps) + 1], wanted]),
            }
        )
    # the states (L, D) after 0 to all layers
    encoder, decoder = (
        [
            one.sublayers[0].state,
            *{sub.layer: sub.after for sub in one.sublayers}.values(),
        ]
        for one in (passed["encoder"], passed["decoder"])
    )
    width = encoder[0].shape[1]
    return {
        "title": language.say("whole_title", text=trace.text),
        "pair": [trace.text, sentence(trace.predicted)],
        "source": shown_all(trace.source),
        "given": shown_all(trace.target),
        "steps": steps,
        "step": min(max(1, step), len(steps)),
        "how": language.say(f"whole_heads_{how}_rule"),
        "rule": language.say("whole_strips", width=width, cells=min(CELLS, width)),
        "attention": attention,
        "heads": heads,
        "strips": {
            "embedding": _strip(embedded.embeddings),
            "position": _strip(embedded.positions),
            "encoder": [*map(_strip, encoder)],
            "memory": _strip(passed["encoder"].output),
            "decoder": [*map(_strip, decoder)],
            "output": _strip(passed["decoder"].output),
        },
        "opens": OPENS,
        "texts": language.unfilled(TEXTS),
    }


def looked_at(trace: Trace, step: int) -> int:
    """The source piece, from 0, at which the decoder looks most to write the piece of a
    step, from 1; never </s>."""
    return int(trace.cross[:, :, step - 1, :-1].mean(axis=1).max(axis=0).argmax())


def block(
    trace: Trace,
    passed: dict[str, Stream],
    name: str,
    piece: int,
    language: Language = ENGLISH,
) -> str:
    """Open a layer, such as "encoder.1", for a piece of its side, from 0: what it does,
    what each sub-layer changed, at what the piece looks, the numbers of its vector, and
    where more is to be seen; HTML."""
    side, number = name.split(".")
    layer = int(number)
    stream = passed[side]
    last = stream.of_layer(layer)[-1]
    shapes = trace.of(SIDES[side][0]).probabilities.shape
    return fill(
        "whole_pass.block",
        language,
        name=name,
        layer=layer,
        piece=shown(stream.pieces[piece]),
        at=piece + 1,
        heads=shapes[1],
        units=0 if last.hidden is None else last.hidden.shape[1],
        vector=last.after[piece],
        sums=stream_figures.sums(
            stream, layer, piece, [trace.text, sentence(trace.predicted)], language
        ),
        looks=[_looks(trace, stack, layer, piece) for stack in SIDES[side]],
    )


def _looks(
    trace: Trace, stack: str, layer: int, piece: int
) -> tuple[Head, str, str, float]:
    """The head of a layer in which a piece looks most at another, both pieces, and how
    much."""
    maps = trace.of(stack)
    rows = maps.probabilities[layer - 1, :, piece]
    head, seen = divmod(int(rows.argmax()), rows.shape[1])
    return (
        Head(stack, layer, head + 1),
        shown(maps.asks[piece]),
        shown(maps.seen[seen]),
        float(rows.max()),
    )
