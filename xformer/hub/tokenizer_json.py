"""Read the tokenizer.json that transformers 5 saves, in place of SentencePiece's own
file, with NLLB's models."""

import base64
from typing import Any, NamedTuple

from xformer.tokenizer import field_of, number_of, piece_of

# kinds of a piece, as SentencePiece numbers them
UNKNOWN = 2
CONTROL = 3
BPE = 2  # and a kind of model
FIRST = ("<s>", "<pad>", "</s>", "<unk>")  # fairseq's


class Read(NamedTuple):
    """What a tokenizer.json holds."""

    model: bytes  # the same merges as a SentencePiece model
    ids: dict[str, int]  # of all pieces, those that were added too
    languages: list[str]  # names among them


def read(table: dict[str, Any]) -> Read:
    """Read byte-pair merges (Sennrich et al. 2016), and the pieces that stand for
    languages.

    A merge that comes earlier has a higher score in SentencePiece's form, as each had
    in the file that transformers made the merges of. Raises ValueError, KeyError or
    TypeError where it holds something else.
    """
    held = table["model"]
    if held["type"] != "BPE":
        raise ValueError(f"it holds {held['type']!r}, and only 'BPE' is read")
    added = {str(one["content"]): int(one["id"]) for one in table["added_tokens"]}
    ids = {**{str(piece): int(row) for piece, row in held["vocab"].items()}, **added}
    scores: dict[str, float] = {}
    for rank, merge in enumerate(held["merges"]):
        scores.setdefault(
            "".join(merge.split(" ") if isinstance(merge, str) else merge), -float(rank)
        )
    least = -float(len(held["merges"]))
    pieces = [
        piece
        for piece in sorted(held["vocab"], key=ids.__getitem__)
        if piece not in (*FIRST, *added)
    ]
    model = [
        piece_of("<unk>", 0.0, UNKNOWN),
        piece_of("<s>", 0.0, CONTROL),
        piece_of("</s>", 0.0, CONTROL),
        *(piece_of(piece, scores.get(piece, least)) for piece in pieces),
        # trainer_spec: model_type, vocab_size
        field_of(2, number_of(3, BPE) + number_of(4, len(pieces) + 3)),
        # normalizer_spec: precompiled_charsmap
        field_of(3, field_of(2, _charsmap(table.get("normalizer")))),
    ]
    return Read(
        b"".join(model), ids, [name for name in added if not name.startswith("<")]
    )


def _charsmap(normalizer: Any) -> bytes:
    """The table by which SentencePiece puts characters in place of others; b"" where
    there is none."""
    one = normalizer or {}
    found = next(
        (
            each
            for each in (one, *one.get("normalizers", ()))
            if each.get("type") == "Precompiled"
        ),
        None,
    )
    return base64.b64decode(found["precompiled_charsmap"]) if found else b""
