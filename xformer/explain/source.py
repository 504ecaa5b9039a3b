"""Find the lines of this project's own code that compute a block of a model. No torch."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent
# The code of each block: a file, and the names of classes and functions in it, methods after a dot.
CODE = {
    "embedding": ("model.py", ("Embedding",)),
    "positions": ("model.py", ("sinusoids",)),
    "norm": ("model.py", ("Residual",)),
    "attention": ("model.py", ("scores", "attend", "Attention.split", "Attention.forward")),
    "feed_forward": ("model.py", ("FeedForward",)),
    "linear": ("model.py", ("Network.logits",)),
    "encoder": ("model.py", ("Encoder",)), "encoder_layer": ("model.py", ("EncoderLayer",)),
    "decoder": ("model.py", ("Decoder",)), "decoder_layer": ("model.py", ("DecoderLayer",)),
    "masks": ("model.py", ("padding_mask", "future_mask")), "shift": ("explain/passes.py", ("Pair",)),
    "loss": ("explain/lenses.py", ("teacher_forcing",)), "last_norm": ("model.py", ("final_norm",)),
    "gru": ("recurrent.py", ("GRU",)),
    "gru_both": ("recurrent.py", ("RecurrentEncoder", "GRU")),
    "additive": ("recurrent.py", ("AdditiveAttention",)),
    "readout": ("recurrent.py", ("RecurrentTranslator.forward",)),
}


@dataclass(frozen=True)
class Lines:
    """Some lines of a file."""

    file: str
    first: int  # from 1
    text: str


@cache
def of_block(name: str) -> tuple[Lines, ...]:
    """Return the lines that compute one of the blocks of CODE. Raises LookupError if the file lacks a name."""
    file, names = CODE[name]
    text = (HOUSE / file).read_text(encoding="utf-8")
    lines, tree = text.splitlines(), ast.parse(text)
    found = []
    for path in names:
        node: ast.AST = tree
        for part in path.split("."):
            node = next((child for child in ast.iter_child_nodes(node)
                         if isinstance(child, (ast.ClassDef, ast.FunctionDef)) and child.name == part), ast.Pass())
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            raise LookupError(f"{file} has no {path}")
        found.append(Lines(file, node.lineno, "\n".join(lines[node.lineno - 1:node.end_lineno])))
    return tuple(found)
