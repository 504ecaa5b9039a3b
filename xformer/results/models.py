"""A loaded model: its facts, its heads and its boxes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xformer.results.messages import Message, UserError
from xformer.strings import ENGLISH, Language

__all__ = ["GENERATIONS", "SIDES", "STACKS", "Block", "Head", "LayerTimes", "ModelInfo"]

# The stacks of attention, and of which side of a pair the pieces are that ask in each,
# and that are looked at.
SIDES = {
    "encoder_self": ("source", "source"),
    "decoder_self": ("target", "target"),
    "cross": ("target", "source"),
}
STACKS = (*SIDES,)
# Names of the small models that are compared with one another, the oldest first.
GENERATIONS = ("gru", "gru-attention", "post-norm", "pre-norm")


class Head(NamedTuple):
    """The place of an attention head; written "cross.1.2" outside the program: in
    addresses, menus and files."""

    stack: str  # of STACKS
    layer: int  # from 1
    head: int  # from 1

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.head}"

    @classmethod
    def every(cls, stack: str, layers: int, heads: int) -> list[Head]:
        """The heads of a stack, layer by layer. heads: of each layer."""
        return [
            cls(stack, layer, head)
            for layer in range(1, layers + 1)
            for head in range(1, heads + 1)
        ]

    @classmethod
    def highest(cls, stack: str, values: np.ndarray) -> Head:
        """The head with the largest of values (layers, H); the first of several."""
        layer, head = np.unravel_index(values.argmax(), values.shape)
        return cls(stack, int(layer) + 1, int(head) + 1)

    @property
    def at(self) -> tuple[int, int]:
        """Where it stands in an array (layers, H, …) of its stack."""
        return self.layer - 1, self.head - 1

    @classmethod
    def parse(cls, name: str) -> Head:
        """Read the name of a head: "cross.1.2", or "cross 1 2" as in older links.

        Raises UserError for anything else; but not for a head that a model lacks, which
        its `ModelInfo` knows.
        """
        stack, *numbers = name.replace(".", " ").split() or [""]
        if (
            stack not in STACKS
            or len(numbers) != 2
            or not all(re.fullmatch("[0-9]{1,9}", n) for n in numbers)
        ):
            raise UserError(Message.of("error_head", value=name[:40]))
        return cls(stack, int(numbers[0]), int(numbers[1]))


@dataclass(frozen=True)
class ModelInfo:
    """The facts about a loaded model that the page shows."""

    name: str
    identity: str  # beginning of the hash of its weights
    parameters: int
    norm: str  # "pre" or "post"
    n_layers: int  # of the encoder
    n_decoder_layers: int
    n_heads: int
    d_model: int
    device: str
    precision: str
    position_base: float = 10_000.0  # of its sinusoidal positions
    architecture: str = "transformer"  # or "gru", "gru-attention"
    # of a model without a decoder: whether a piece sees only those before it
    causal: bool = False
    pooling: str = ""  # of a classifier: how it makes one vector of all pieces'
    source: str = "en"  # code of the language that a translator reads
    target: str = "es"  # and of that which it writes
    # before a text, of a model that writes several: which language to write
    codes: tuple[str, ...] = ()
    origin: str = ""  # of a model that was not trained here: its repository or file
    licence: str = ""  # and its licence

    @property
    def versioned(self) -> str:
        """Its name and its identity."""
        return f"{self.name} {self.identity}"

    def line(self, language: Language = ENGLISH) -> str:
        """The model in a line: its name, and how it is built."""
        return language.say(
            "html_model",
            name=self.name,
            identity=self.identity,
            norm=self.norm,
            encoder=self.n_layers,
            decoder=self.n_decoder_layers,
            heads=self.n_heads,
        )

    def layers(self, stack: str) -> int:
        """The number of layers of one of STACKS that have attention maps."""
        if self.architecture != "transformer":
            return 1 if stack == "cross" and self.architecture == "gru-attention" else 0
        return self.n_layers if stack == "encoder_self" else self.n_decoder_layers


@dataclass(frozen=True)
class Block:
    """One box in the figure of a model: a sub-layer, a normalisation, or the
    embeddings."""

    name: str  # "encoder.layers.0.self_attention"
    weights: tuple[tuple[str, tuple[int, ...]], ...]  # name and shape of each

    @property
    def parameters(self) -> int:
        """The number of parameters in the box."""
        return sum(math.prod(shape) for _, shape in self.weights)


@dataclass(frozen=True)
class LayerTimes:
    """How long one layer takes to read a sequence, measured on this machine."""

    pieces: int
    # seconds, of a GRU as `recurrent.GRU` has it, a loop in Python, one step a piece
    recurrence: float
    library: float  # seconds, of PyTorch's own GRU
    attention: float  # seconds, of self-attention, in one pass
