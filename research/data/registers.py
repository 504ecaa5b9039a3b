"""Pairs of kinds of text (registers) by which `evaluate quality` fits how far a
translation can be trusted, drawn from the other corpora that are learned from.

Pairs of dev and FLORES-200 dev, which no model learns from, are two kinds more.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from research.options import RegisterPairs
from xformer.results import UserError, write_whole
from xformer.training.data import corpora

# the origins of each kind, by the beginnings of their names, and its distinct sources
KINDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "speeches": (300, ("europarl",)),
    "talk": (300, ("cocoa_mt",)),
    "stories": (
        250,
        ("vn_a_violet_view", "vn_carpe_diem", "storybooks_minnesota", "stardew_"),
    ),
    "help": (
        250,
        (
            "irs_direct_file",
            "login_gov_help",
            "usagov_benefits",
            "bloom_housing",
            "mozilla_legal",
            "usdoj_crt_portal",
        ),
    ),
}
WORDS = range(3, 51)  # English words of a source: a longer one may not be read


def write_registers(wanted: RegisterPairs) -> dict[Path, int]:
    """Draw pairs of each kind of KINDS from `extra` and `extra2`, and write NAME.tsv;
    -> pairs by path.

    Raises UserError where neither file is there, or a kind has no pair in them.
    """
    files = [
        path
        for name in ("extra", "extra2")
        if (path := corpora.data_file(wanted.data, name))
    ]
    if not files:
        raise UserError(
            f"There is neither extra.tsv nor extra2.tsv in {wanted.data}; they hold "
            "English, Spanish and origin on each line, with tabs between them."
        )
    rows = [row for path in files for row in corpora.read_marked_pairs(path)]
    wanted.out.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, (count, origins) in KINDS.items():
        # the first of the pairs with the same English
        pairs: dict[str, str] = {}
        for english, spanish, origin in rows:
            if origin.startswith(origins) and len(english.split()) in WORDS:
                pairs.setdefault(english, spanish)
        if not pairs:
            raise UserError(
                f"Neither extra.tsv nor extra2.tsv in {wanted.data} has a pair of "
                f"{name}: its origins begin with {', '.join(origins)}."
            )
        drawn = Random(wanted.seed).sample([*pairs.items()], min(count, len(pairs)))
        path = wanted.out / f"{name}.tsv"
        write_whole(path, "".join(f"{en}\t{es}\n" for en, es in drawn).encode())
        written[path] = len(drawn)
    return written
