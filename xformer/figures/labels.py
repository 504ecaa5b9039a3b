"""Labels of pieces and heads, and probabilities as people read them."""

import json
import math
from collections.abc import Iterable, Sequence
from html import escape

from xformer.pieces import BYTES, SPECIAL, WORD_START, spelled
from xformer.results import Head, ModelInfo, decimal
from xformer.strings import ASSETS, ENGLISH, Language

# HTML, by the module of figures and by what each is of.
FORMULAS: dict[str, dict[str, str]] = json.loads(
    (ASSETS / "formulas.json").read_text(encoding="utf-8")
)


def shown(piece: str) -> str:
    """Label a piece, or a word of joined ones: bare if it begins a word, after an
    ellipsis if it continues one.

    A byte of a character is "byte D0", in English and Spanish alike; bytes within a
    word are its characters.
    """
    if piece in SPECIAL.values():
        return piece
    if piece in BYTES:
        return f"byte {piece[3:5]}"
    piece = spelled(piece)
    if piece.startswith(WORD_START):
        return piece.removeprefix(WORD_START) or "␣"
    return piece if not any(c.isalnum() for c in piece) else f"…{piece}"


def shown_all(pieces: Sequence[str]) -> list[str]:
    """Label several pieces."""
    return [shown(piece) for piece in pieces]


def readable(piece: str) -> str:
    """Write a piece for readers: a word's first piece bare, its other pieces after a
    hyphen, a byte as "byte D0"."""
    if piece in BYTES:
        return shown(piece)
    return piece[1:] or "␣" if piece.startswith(WORD_START) else f"-{piece}"


def sentence(pieces: Sequence[str]) -> str:
    """Join pieces to the text that they spell, without special pieces."""
    return (
        spelled("".join(piece for piece in pieces if piece not in SPECIAL.values()))
        .replace(WORD_START, " ")
        .strip()
    )


def bare(word: str) -> str:
    """A word of joined pieces without the mark of its beginning."""
    return word.replace(WORD_START, " ").strip() or "␣"


def shortened(text: str, most: int) -> str:
    """Cut a text after `most` letters, of which the last is then an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def place(head: Head, language: Language = ENGLISH) -> str:
    """Name a head within its stack: "layer 1, head 2"."""
    return language.say("finder_where", layer=head.layer, head=head.head)


def head_label(head: Head, language: Language) -> str:
    """Label a head for readers: stack, layer and head."""
    return f"{language.say(f'stack_{head.stack}')} · {place(head, language)}"


def of_model(info: ModelInfo, text: str, hidden: bool = False) -> str:
    """Name the model of the surrounding figures; assets/save.js writes the name into
    saved files. HTML."""
    return (
        f'<span data-name="{escape(info.name)}" data-identity="{escape(info.identity)}"'
        f"{' hidden' if hidden else ''}>{escape(text)}</span>"
    )


def percent(probability: float) -> str:
    """Write a probability in percent, to one decimal; 100 % only if it is certain. No
    line ends within it."""
    value = 100 * probability
    if value >= 99.95:
        text = "100 %" if probability >= 0.9999995 else "> 99.9 %"
    else:
        text = f"{value:.1f} %" if value >= 0.1 else "< 0.1 %"
    return text.replace(" ", "\u00a0")


def times(gain: float, language: Language = ENGLISH) -> str:
    """Write e^gain, how many times likelier something is, to two digits."""
    if gain > math.log(1e9):
        return "10" + f"{gain / math.log(10):.0f}".translate(
            str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
        )
    value = math.exp(gain)
    rounded = decimal(value, 2)
    return language.number(float(rounded)) if value >= 10 else rounded


def paragraph(language: Language, key: str, kind: str = "", /, **values: object) -> str:
    """Write a text of a language as a paragraph of HTML. kind: its CSS class, or
    "status" for what is read out."""
    attribute = (
        ' role="status"' if kind == "status" else f' class="{kind}"' if kind else ""
    )
    return f"<p{attribute}>{language.html(key, **values)}</p>"


def paragraphs(texts: Iterable[str]) -> str:
    """Write texts as paragraphs of HTML, escaped."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def lesson(
    language: Language, name: str, formula: str, text: str, **values: object
) -> str:
    """Introduce a figure: its title, its formula (HTML), and what to notice in it; as
    HTML. name, text: the keys."""
    return (
        f'<h3>{language.html(name)} <span class="formula">{formula}</span></h3>'
        f"{paragraph(language, text, 'note', **values)}"
    )


def beta_label(beta: float, own: float | None = None, root: str = "dₖ") -> str:
    """Write β, a factor of the scores; also as 1/√dₖ if it is the rule's `own`. root:
    the name under the root."""
    if math.isinf(beta):
        return "β → ∞"
    scaled = own is not None and own != 1 and math.isclose(beta, own)
    return f"β = {decimal(beta)}{f' = 1/√{root}' if scaled else ''}"
