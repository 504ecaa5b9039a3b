"""The payload of why.js: why a piece stands in a translation and not its rival, as
numbers that sum up."""

from typing import Any

import numpy as np

from xformer.figures.labels import head_label, sentence, shown, shown_all, times
from xformer.results import STACKS, Forced, Head, Trace, Why, fixed
from xformer.strings import ENGLISH, Language

# Texts that the script fills in itself.
TEXTS = (
    "why_sides", "why_from_source", "why_from_given", "why_bar", "why_sides_note",
    "why_rivals", "why_parts", "why_sum", "why_parts_note", "why_heads", "why_inputs",
    "why_way_0", "why_way_1", "why_way_0_said", "why_way_1_said", "why_twin_title",
    "why_twin_text", "why_twin_field", "why_twin_run", "why_cell", "why_column_what",
    "why_column_where", "why_column_value", "finder_where", "layer_short", "head_short",
)  # fmt: skip
SEEN = 0.005  # nats, of which numbers are shown with two decimals
# to show what they are
TWINS = {"en": "She is tired. → He is tired.", "es": "Está cansada. → Está cansado."}


def payload(
    trace: Trace,
    from_source: np.ndarray,
    forced: Forced,
    step: int,
    rival: str,
    found: Why,
    language: Language = ENGLISH,
) -> dict[str, Any]:
    """Pack what stands at a step, from 1, beside its rival; labels are text, which the
    script escapes.

    from_source: what each of the T pieces owes to each source piece (T, S). rival: one
    of the likeliest at that step. `twin` packs the rest.
    """
    say = language.say
    piece = trace.predicted[step - 1]
    adds = found.adds
    heads = found.adds.shape[1] // 2
    groups = {
        "decoder_self": adds[:, :heads],
        "cross": adds[:, heads:-1],
        "feed_forward": adds[:, -1:],
    }
    embedding, position, biases = found.rest
    parts = [
        (say("why_embedding", piece=shown(trace.target[step - 1])), embedding),
        (say("why_position"), position),
        *(
            (say(f"why_{name}", layer=layer), float(group[layer - 1].sum()))
            for layer in range(1, len(adds) + 1)
            for name, group in groups.items()
        ),
        (say("why_bias"), biases),
    ]
    names = {"piece": shown(piece), "rival": shown(rival)}
    difference = forced.log_probs[step - 1] - dict(forced.alternatives[step - 1])[rival]
    whole = sum(value for _, value in parts)
    texts = language.unfilled(TEXTS)
    # parts are of the weights as they are kept, and int8 rounds them
    if abs(whole - difference) >= SEEN:
        texts["why_parts_note"] = say(
            "why_parts_note_rounded", sum=signed(whole), difference=signed(difference)
        )
    inputs = (
        (say("why_of_source"), "source", trace.source, found.by_source),
        (say("why_of_given"), "target", trace.target[:step], found.by_given),
    )
    return {
        "title": say("why_title", source=sentence(trace.source), **names),
        "step": step,
        "against": rival,
        "pair": [sentence(trace.source), sentence(trace.predicted)],
        "bars": [
            (shown(one), round(float(share), 4))
            for one, share in zip(trace.predicted, from_source.sum(axis=1), strict=True)
        ],
        "rivals": [
            (one, shown(one), value)
            for one, value in forced.alternatives[step - 1]
            if one != piece
        ],
        "log_prob": forced.log_probs[step - 1],
        "difference": difference,
        "change": found.change,
        "said": say(
            "why_said",
            difference=signed(difference),
            times=times(difference, language),
            **names,
        ),
        "parts": parts,
        "heads": [(say(f"stack_{name}"), groups[name].tolist()) for name in STACKS[1:]],
        "inputs": [
            {
                "name": name,
                "tongue": side,
                "pieces": shown_all(pieces),
                "values": values.tolist(),
            }
            for name, side, pieces, values in inputs
        ],
        "texts": texts,
    }


def twin(
    text: str,
    swapped: tuple[dict[str, np.ndarray], float] | None,
    problem: str,
    difference: float,
    language: Language = ENGLISH,
) -> dict[str, Any]:
    """Pack what each head's answers for a twin sentence change of a difference;
    problem: why there is no such twin."""
    packed = {
        "text": text,
        "problem": problem,
        "example": TWINS.get(language.source, ""),
    }
    if swapped is None:
        return packed
    changes = {stack: grid - difference for stack, grid in swapped[0].items()}

    def largest(one: tuple[str, np.ndarray]) -> float:
        return float(np.abs(one[1]).max())

    stack, most = max(changes.items(), key=largest)
    head = Head.highest(stack, np.abs(most))
    said = language.say(
        "why_twin_said",
        twin=signed(swapped[1]),
        difference=signed(difference),
        head=head_label(head, language),
        change=signed(float(most[head.at])),
    )
    return {
        **packed,
        "said": said,
        "grids": [
            (language.say(f"stack_{one}"), changes[one].tolist()) for one in STACKS
        ],
    }


def signed(value: float) -> str:
    """Write a number of nats with its sign."""
    return fixed(value, "+.2f")
