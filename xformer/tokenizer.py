"""Text to pieces and back, with a joint SentencePiece vocabulary, or with two of an
imported model; the only file that imports sentencepiece."""

from __future__ import annotations

import io
import json
import re
import struct
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import sentencepiece

from xformer.pieces import BOS, BYTES, EOS, PAD, SPECIAL, UNK, WORD_START
from xformer.results import Message, UserError, refusing

# What is worth a piece of its own in a vocabulary of Latin script: its letters with
# every mark, and signs of amounts, addresses, formulas and quotation. Everything else
# can be spelled in bytes.
LETTERS = [
    chr(code)
    for code in (*range(0x21, 0x180), *range(0x218, 0x21C), *range(0x1EA0, 0x1EFA))
]
SIGNS = "“”„‘’‚–—†•€₹ẞ←→↑↓−≤≥≠≈∞√∑∫παβγδελθσφωΔΣΩ‰′″⁄"
# kinds of pieces in sentencepiece_model.proto
NORMAL = 1
BYTE = 6
# files of the two vocabularies of an imported model
SIDES = ("tokenizer.model", "target.model")
JOINT = "pieces.json"  # and of what joins them
CODE = re.compile(r">>[^<>\s]{1,40}<<")  # names the language to write, before a text


class Tokenizer:
    """A trained vocabulary. Thread-safe: encoding and decoding change nothing."""

    # of the languages to choose from, the usual one first, of a model that writes
    # several
    codes: tuple[str, ...] = ()

    def __init__(self, model: bytes) -> None:
        """`model` is the content of a tokenizer.model; raises ValueError where it is
        not one of ours."""
        self.model = model
        self._sp = _processor(model)
        ids = (
            self._sp.pad_id(),
            self._sp.unk_id(),
            self._sp.bos_id(),
            self._sp.eos_id(),
        )
        if ids != (PAD, UNK, BOS, EOS):
            raise ValueError(
                f"its special pieces pad, unk, bos, eos are {ids}; they must be {(PAD, UNK, BOS, EOS)}"
            )

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[bytes]]:
        """Let another process have it."""
        return Tokenizer, (self.model,)

    @staticmethod
    def load(path: Path) -> Tokenizer:
        """Read tokenizer.model, and what stands beside it of an imported model. Raises
        ValueError where it is none."""
        joint = path.with_name(JOINT)
        target = path.with_name(SIDES[1])
        if not joint.is_file():
            return Tokenizer(path.read_bytes())
        models = [
            path.read_bytes(),
            *([target.read_bytes()] if target.is_file() else []),
        ]
        return JointTokenizer(models, json.loads(joint.read_text(encoding="utf-8")))

    @property
    def files(self) -> dict[str, bytes]:
        """The content of each of its files in a checkpoint."""
        return {SIDES[0]: self.model}

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocab_size: int = 8000,
        threads: int = 2,
        fold_case: bool = False,
    ) -> Tokenizer:
        """Learn a unigram vocabulary (Kudo 2018) from sentences; raises ValueError
        where they are too few for it.

        fold_case: capitals are read as small letters, in learning and ever after.
        """
        model = io.BytesIO()

        def said(error: Exception) -> ValueError:
            return ValueError(
                f"a vocabulary of {vocab_size} pieces cannot be learned from this text; choose another size or give "
                f"more text ({str(error).splitlines()[-1]})"
            )

        with refusing(
            RuntimeError,
            said,
        ):
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                vocab_size=vocab_size,
                model_type="unigram",
                character_coverage=0.9999,
                split_digits=True,
                num_threads=threads,
                minloglevel=2,
                normalization_rule_name="nmt_nfkc_cf" if fold_case else "nmt_nfkc",
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
            )
        return cls(model.getvalue())

    def extended(self) -> Tokenizer:
        """Return this vocabulary with LETTERS and SIGNS that it lacks, and 256 bytes in
        which it spells all the rest.

        The new pieces come last, so that the others keep their numbers, and a text of
        known characters is cut as before. A vocabulary that has them all is returned as
        it is.
        """
        if self.id_of(BYTES[0]) is not None:
            return self
        known = {self._sp.id_to_piece(i) for i in range(len(self))}
        characters = [
            c
            for c in (*LETTERS, *SIGNS)
            if c not in known
            and unicodedata.normalize("NFKC", c) == c
            and unicodedata.category(c)[0] not in "CZ"
        ]
        least = min(self.log_probs(range(EOS + 1, len(self))))
        # Two messages of protocol buffers one after the other are one: repeated fields
        # are joined, others overwritten.
        pieces = [
            *(piece_of(c, least) for c in characters),
            *(piece_of(byte, 0.0, BYTE) for byte in BYTES),
        ]
        # vocab_size, byte_fallback
        trainer = field_of(2, number_of(4, len(self) + len(pieces)) + number_of(35, 1))
        return Tokenizer(b"".join((self.model, *pieces, trainer)))

    def __len__(self) -> int:
        return self._sp.get_piece_size()

    def encode(
        self, text: str, sampling: float = 0.0, target: bool = False
    ) -> list[int]:
        """Ids of the pieces of a text, without special ones. target: of a translation,
        which some models cut otherwise.

        `sampling` above 0 draws one of the many ways to split it (sub-word
        regularisation, Kudo 2018); the larger, the nearer to the best one.
        """
        return self._sp.encode(
            text, enable_sampling=sampling > 0, alpha=sampling, nbest_size=-1
        )

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids; special ones leave nothing behind."""
        return self._sp.decode([i for i in ids if i not in SPECIAL])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as SentencePiece writes them: a word's first begins with "▁"."""
        return [SPECIAL[i] if i in SPECIAL else self._sp.id_to_piece(i) for i in ids]

    def id_of(self, piece: str) -> int | None:
        """The id of a piece as `pieces` writes it; None where the vocabulary lacks
        it."""
        for token, name in SPECIAL.items():
            if piece == name:
                return token
        # half a character, which SentencePiece does not take
        if any("\ud800" <= sign <= "\udfff" for sign in piece):
            return None
        token = self._sp.piece_to_id(piece)
        return None if token == UNK else token

    def log_probs(self, ids: Sequence[int]) -> list[float]:
        """Log-probability of each piece under the unigram model (Kudo 2018, equation
        1); of one it lacks, a penalty."""
        return [self._sp.get_score(i) for i in ids]

    def splits(self, text: str, count: int) -> list[list[int]]:
        """The likeliest ways to split a text, at most `count`, the likeliest first."""
        return self._sp.nbest_encode(text, nbest_size=count)

    def forced(self, text: str) -> list[int]:
        """The pieces with which every translation of a text begins."""
        return []

    def unknown(self, text: str, target: bool = False) -> list[str]:
        """Characters or runs of them that no piece covers, each once, in order."""
        found = zip(
            self.encode(text, target=target), self._cut(text, target), strict=True
        )
        surfaces = (
            piece.removeprefix(WORD_START) for token, piece in found if token == UNK
        )
        return list(dict.fromkeys(surface for surface in surfaces if surface))

    def _cut(self, text: str, target: bool) -> list[str]:
        """The pieces of a text, as they stand in it where the vocabulary lacks them."""
        return self._sp.encode(text, out_type=str)


class JointTokenizer(Tokenizer):
    """The vocabulary of an imported model: one SentencePiece model a side, or one for
    both, and a list of pieces, whose numbers are the model's. As the `MarianTokenizer`
    of transformers, it reads a piece that the list lacks as UNK.

    Of a model that writes several languages, a text may begin with the code of one, as
    >>spa<<. It is put before the pieces of the text, or of M2M-100 before those of the
    translation.
    """

    def __init__(self, models: Sequence[bytes], joint: Any) -> None:
        """joint: what pieces.json holds: all "pieces", and the codes, or "", with which
        a text ("opening") and a translation ("forced") begin where none is typed.
        Raises ValueError where it does not.
        """
        held = joint if isinstance(joint, dict) else {}
        pieces = held.get("pieces")
        codes = [held.get(key) for key in ("opening", "forced")]
        if not isinstance(pieces, list) or not all(
            isinstance(piece, str) for piece in pieces
        ):
            raise ValueError(f"{JOINT} has no list of pieces")
        if pieces[: len(SPECIAL)] != [*SPECIAL.values()] or len(set(pieces)) < len(
            pieces
        ):
            raise ValueError(
                f"the pieces in {JOINT} must begin with {', '.join(SPECIAL.values())}, each stand once"
            )
        self._sides = [_processor(model) for model in models]
        self.models = tuple(models)
        self._joint = joint
        self._pieces = pieces
        self.model = models[0]
        self._sp = self._sides[0]
        self._rows = {piece: row for row, piece in enumerate(pieces)}
        self._opening, self._forced = (code or "" for code in codes)
        usual = self._forced or self._opening
        listed = [piece for piece in pieces if CODE.fullmatch(piece)]
        # the usual one first
        self.codes = tuple(sorted(listed, key=lambda code: code != usual))
        if strange := [code for code in codes if code and code not in self.codes]:
            raise ValueError(
                f"{JOINT} begins with {strange[0]!r}, which is no language's code among its pieces"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return JointTokenizer, (self.models, self._joint)

    @property
    def files(self) -> dict[str, bytes]:
        joint = json.dumps(self._joint, ensure_ascii=False).encode()
        return {**dict(zip(SIDES, self.models, strict=False)), JOINT: joint}

    def extended(self) -> Tokenizer:
        return self

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(
        self, text: str, sampling: float = 0.0, target: bool = False
    ) -> list[int]:
        return self._ids(self._cut(text, target, sampling))

    def _cut(self, text: str, target: bool, sampling: float = 0.0) -> list[str]:
        if target:
            return self._sides[-1].encode(text, out_type=str)
        code, text = self._split(text)
        return [
            *self._before(code),
            *self._sp.encode(
                text,
                out_type=str,
                enable_sampling=sampling > 0,
                alpha=sampling,
                nbest_size=-1,
            ),
        ]

    def _split(self, text: str) -> tuple[str, str]:
        """Split a text into the code typed before it and the rest. Raises UserError for
        a code that there is not."""
        written = CODE.match(text) if self.codes else None
        if written and written[0] not in self.codes:
            raise UserError(
                Message.of(
                    "error_code", code=written[0], codes=" ".join(self.codes[:12])
                )
            )
        return (written[0], text[written.end() :]) if written else ("", text)

    def _before(self, code: str) -> list[str]:
        """What is put before the pieces of a text that begins with a code, or with
        none."""
        return (
            [one]
            if (one := self._opening if self._forced else code or self._opening)
            else []
        )

    def forced(self, text: str) -> list[int]:
        return self._ids([self._split(text)[0] or self._forced]) if self._forced else []

    def _ids(self, pieces: Iterable[str]) -> list[int]:
        return [self._rows.get(piece, UNK) for piece in pieces]

    def decode(self, ids: Sequence[int]) -> str:
        written = [self._pieces[i] for i in ids if i not in SPECIAL]
        text = self._sides[-1].decode(
            [piece for piece in written if piece not in self.codes]
        )
        # it stays in pieces of the other side's
        return text.replace(WORD_START, " ").strip()

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[i] for i in ids]

    def id_of(self, piece: str) -> int | None:
        row = self._rows.get(piece)
        return None if row == UNK and piece != SPECIAL[UNK] else row

    def log_probs(self, ids: Sequence[int]) -> list[float]:
        return [self._sp.get_score(self._sp.piece_to_id(self._pieces[i])) for i in ids]

    def splits(self, text: str, count: int) -> list[list[int]]:
        code, text = self._split(text)
        return [
            self._ids([*self._before(code), *cut])
            for cut in self._sp.nbest_encode(text, nbest_size=count, out_type=str)
        ]


def listed(model: bytes) -> list[str]:
    """All pieces of a SentencePiece model, in its own order. Raises ValueError where it
    is none."""
    sp = _processor(model)
    return [sp.id_to_piece(i) for i in range(sp.get_piece_size())]


def _processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    """Read a SentencePiece model, which of no bytes SentencePiece would read later.
    Raises ValueError where it is none."""
    with refusing(
        (RuntimeError, TypeError),
        ValueError("it is not a SentencePiece model"),
    ):
        if not model:
            raise TypeError("it is empty")
        return sentencepiece.SentencePieceProcessor(model_proto=model)


def _varint(value: int) -> bytes:
    """Write a number as protocol buffers do: seven bits a byte, the least first."""
    return (
        bytes([value])
        if value < 0x80
        else bytes([value & 0x7F | 0x80]) + _varint(value >> 7)
    )


def number_of(field: int, value: int) -> bytes:
    """Write a field that holds a number."""
    return _varint(field << 3) + _varint(value)


def piece_of(piece: str, score: float, kind: int = NORMAL) -> bytes:
    """Write a piece as a SentencePiece model lists it."""
    return field_of(
        1,
        field_of(1, piece.encode())
        + struct.pack("<Bf", 2 << 3 | 5, score)
        + number_of(3, kind),
    )


def field_of(field: int, content: bytes) -> bytes:
    """Write a field that holds bytes, a text or a message."""
    return _varint(field << 3 | 2) + _varint(len(content)) + content
