"""The energy of translations, E(x, y) = −ln P(y | x): the payload of energy.js, and a
sentence on what is found. Text is escaped by the script."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xformer.figures.labels import shown, times
from xformer.pieces import distance, words
from xformer.results import BeamTree, Energies, Energy, ModelInfo
from xformer.strings import ENGLISH, Language

PIECES = 1_200  # of all spoiled targets together, at most
SPOILED = 24  # targets, at most
TEXTS = (
    "energy_z",
    "energy_yours",
    "energy_spoiled",
    "energy_hover",
    "energy_figure",
    "energy_landscape",
    "energy_search",
    "energy_axis",
    "energy_axis_log",
    "energy_axis_distance",
    "energy_axis_step",
    "energy_key_least",
    "energy_key_beam",
    "energy_key_yours",
    "energy_key_spoiled",
    "energy_key_alive",
    "energy_key_ended",
    "energy_sum",
    "energy_which",
    "energy_column",
    "energy_nats",
    "energy_a_piece",
    "energy_each",
    "energy_after",
)


@dataclass(frozen=True)
class Measured:
    """The translations of a landscape: first those of a beam, then what the visitor
    typed, if anything, then spoiled ones."""

    energies: Energies
    beam: int  # how many are the beam's, in its order: z = 1, 2, …
    yours: bool

    def kind(self, item: int) -> str:
        """Whose a target is: "beam", "yours", "spoiled"."""
        if item < self.beam:
            return "beam"
        return "yours" if self.yours and item == self.beam else "spoiled"

    @property
    def least(self) -> int:
        """Where E is lowest over z: the place among the beam's."""
        return min(range(self.beam), key=lambda i: self.energies.targets[i].total)


def spoil(tokens: Sequence[int], pieces: Sequence[str]) -> list[tuple[int, ...]]:
    """Spoil a translation: leave out each word in turn, then let each two neighbours
    change places; at most SPOILED, and PIECES in all. tokens, pieces: without </s>."""
    groups = words(pieces)
    without = [
        [group for group in groups if group is not one]
        for one in groups
        if len(groups) > 1
    ]
    swapped = [
        [*groups[:i], groups[i + 1], groups[i], *groups[i + 2 :]]
        for i in range(len(groups) - 1)
    ]
    found = [
        tuple(tokens[at] for group in order for at in group)
        for order in (*without, *swapped)
    ]
    other = [one for one in dict.fromkeys(found) if one != tuple(tokens)]
    most = min(SPOILED, PIECES // (len(tokens) + 1))
    most = min(most, len(other))
    return [other[i * len(other) // most] for i in range(most)]


def falling(tree: BeamTree) -> dict[str, list[float | None]]:
    """After each step of a search: the lowest energy of the hypotheses that go on
    ("alive"), and the lowest of those that have ended so far ("ended"); None where
    there is none."""
    steps = 1 + max(branch.step for branch in tree.branches)
    alive: list[float | None] = []
    ended: list[float | None] = []
    lowest: float | None = None
    for step in range(steps):
        of_step = [branch for branch in tree.branches if branch.step == step]
        going = [-branch.total for branch in of_step if branch.fate == "kept"]
        over = [-branch.total for branch in of_step if branch.fate == "ended"]
        if over:
            lowest = min(over) if lowest is None else min(lowest, *over)
        alive.append(round(min(going), 6) if going else None)
        ended.append(None if lowest is None else round(lowest, 6))
    return {"alive": alive, "ended": ended}


def payload(
    tree: BeamTree,
    measured: Measured,
    info: ModelInfo,
    chosen: int,
    language: Language = ENGLISH,
) -> dict[str, Any]:
    """Pack the figure, the landscape and the search. chosen: the target whose numbers
    stand in the figure."""
    say = language.say
    found = measured.energies
    best = found.targets[measured.least]
    source = len(found.source.pieces)
    boxes = {
        "x": ["x", say("energy_pieces", count=source)],
        "encoder": [
            "Encoder",
            say("energy_layers", count=info.n_layers, rows=source, width=info.d_model),
            say("energy_length", value=f"{found.source.state:.2f}"),
        ],
        "least": [
            say("energy_least"),
            say("energy_least_value", value=f"{best.total:.2f}"),
            say("energy_least_at", z=measured.least + 1),
        ],
    }
    return {
        "title": say("energy_title", text=tree.translation.source),
        "pair": [tree.translation.source, tree.translation.best.text],
        "boxes": boxes,
        "items": [
            {
                "kind": measured.kind(i),
                "z": i + 1 if i < measured.beam else 0,
                "text": one.text,
                "pieces": [shown(piece) for piece in one.pieces],
                "parts": [round(part, 6) for part in one.parts],
                "total": round(one.total, 6),
                "mean": round(one.mean, 6),
                "distance": distance(one.pieces, best.pieces),
                "boxes": _boxes(one, i, measured, info, language),
            }
            for i, one in enumerate(found.targets)
        ],
        "least": measured.least,
        "chosen": chosen if 0 <= chosen < len(found.targets) else measured.least,
        "search": falling(tree),
        "told": told(tree, measured, language),
        "texts": language.unfilled(TEXTS),
    }


def _boxes(
    one: Energy, item: int, measured: Measured, info: ModelInfo, language: Language
) -> dict[str, list[str]]:
    """What stands in the boxes of the figure that a target changes."""
    say = language.say
    pieces = len(one.pieces)
    kind = measured.kind(item)
    return {
        "delay": [say("energy_delay"), "y[j] → y[j−1]", f"<s> + {pieces - 1}"],
        "predictor": [
            "Predictor",
            say(
                "energy_layers",
                count=info.n_decoder_layers,
                rows=pieces,
                width=info.d_model,
            ),
            *(
                []
                if one.state is None
                else [say("energy_length", value=f"{one.state:.2f}")]
            ),
        ],
        "z": [
            "z",
            say("energy_z_of", z=item + 1, count=measured.beam)
            if kind == "beam"
            else say(f"energy_z_{kind}"),
        ],
        "decoder": [
            "Decoder",
            say("energy_softmax", count=measured.energies.source.vocabulary),
            say("energy_right", share=f"{math.exp(-one.mean):.3f}"),
        ],
        "y": [
            "y" if kind == "yours" else "ỹ",
            say("energy_pieces", count=pieces),
        ],
        "energy": [
            "E(x, y)" if kind == "yours" else "E(x, ỹ)",
            say("energy_value", value=f"{one.total:.2f}"),
            say("energy_value_mean", value=f"{one.mean:.3f}"),
        ],
    }


def told(tree: BeamTree, measured: Measured, language: Language = ENGLISH) -> str:
    """Say what is lowest, whether the search chose it, and how far the visitor's own
    is from it."""
    say = language.say
    targets = measured.energies.targets
    least = targets[measured.least]
    said = [say("energy_told", z=measured.least + 1, value=f"{least.total:.2f}")]
    if measured.least:
        alpha = tree.translation.options.length_penalty
        said.append(say("energy_told_other", alpha=f"{alpha:g}"))
    if measured.yours:
        own = targets[measured.beam]
        worst = max(range(len(own.parts)), key=own.parts.__getitem__)
        apart = own.total - least.total
        said.append(
            say(
                "energy_told_yours" if apart > 0 else "energy_told_lower",
                value=f"{own.total:.2f}",
                apart=f"{abs(apart):.2f}",
                times=times(abs(apart), language),
                piece=shown(own.pieces[worst]),
                worst=f"{own.parts[worst]:.2f}",
            )
            if abs(apart) > 1e-4
            else say("energy_told_same")
        )
    return " ".join(said)
