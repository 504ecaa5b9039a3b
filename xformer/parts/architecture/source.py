"""Find the lines of this project's own code that compute a block of a model. No
torch."""

import ast
from dataclasses import dataclass
from functools import cache

from xformer.strings import PACKAGE

# in which the names stand, once each
FILES = ("model.py", "recurrent.py", "explain/passes.py", "explain/lenses.py")
# The code of each block: names of classes and functions, methods after a dot.
CODE = {
    "embedding": "Embedding",
    "positions": "sinusoids",
    "norm": "Residual",
    "attention": "scores attend Attention.split Attention.forward",
    "feed_forward": "FeedForward",
    "linear": "Network.logits",
    "encoder": "Encoder",
    "encoder_layer": "EncoderLayer",
    "decoder": "Decoder",
    "decoder_layer": "DecoderLayer",
    "masks": "padding_mask future_mask",
    "shift": "Pair",
    "loss": "teacher_forcing",
    "last_norm": "final_norm",
    "gru": "GRU",
    "gru_both": "RecurrentEncoder GRU",
    "additive": "AdditiveAttention",
    "readout": "RecurrentTranslator.forward",
}


@dataclass(frozen=True)
class Lines:
    """Some lines of a file."""

    file: str
    first: int  # from 1
    text: str


@cache
def of_block(name: str) -> tuple[Lines, ...]:
    """Return the lines that compute one of the blocks of CODE. Raises KeyError if no
    file has a name."""
    return tuple(_named()[path] for path in CODE[name].split())


@cache
def _named() -> dict[str, Lines]:
    """The lines of each class, function and method of FILES."""
    found = {}
    for file in FILES:
        text = (PACKAGE / file).read_text(encoding="utf-8")
        lines = text.splitlines()
        tree = ast.parse(text)
        within = (
            (f"{one.name}.", one.body)
            for one in tree.body
            if isinstance(one, ast.ClassDef)
        )
        for prefix, body in (("", tree.body), *within):
            found.update(
                {
                    prefix + one.name: Lines(
                        file,
                        one.lineno,
                        "\n".join(lines[one.lineno - 1 : one.end_lineno]),
                    )
                    for one in body
                    if isinstance(one, (ast.ClassDef, ast.FunctionDef))
                }
            )
    return found
