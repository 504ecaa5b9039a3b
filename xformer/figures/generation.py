"""What stands for the generations of translators: their names, colours and dashes, and
which are missing."""

from collections.abc import Sequence

from xformer.figures.labels import paragraph
from xformer.figures.layout import BLUE, GREY, ORANGE, TEAL
from xformer.results import GENERATIONS
from xformer.strings import ENGLISH, Language

COLOURS = dict(zip(GENERATIONS, (GREY, TEAL, ORANGE, BLUE), strict=True))
DASHES = dict(zip(GENERATIONS, ("dot", "dash", "dashdot", "solid"), strict=True))
KERNEL = 3  # width of the convolution that is compared


def label(name: str, language: Language = ENGLISH) -> str:
    """Name a generation for readers."""
    return language.say(f"gen_{name.replace('-', '_')}")


def missing(names: Sequence[str], language: Language = ENGLISH) -> str:
    """Say which generations are missing, and how to get them; HTML, empty if none is
    missing."""
    lacking = [name for name in GENERATIONS if name not in names]
    if not lacking:
        return ""
    named = ", ".join(f"“{label(name, language)}” ({name})" for name in lacking)
    return paragraph(language, "gen_missing", "note", names=named)
