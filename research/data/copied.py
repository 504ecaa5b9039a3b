"""Made-up sentence pairs with what a translation must copy: names, numbers, dates,
addresses, codes, formulas, signs.

Data have few of each, and of most kinds none, so that a model turns "john@example.com"
into a word it knows. Sentences with slots stand in carriers.tsv; what fills the slots
is drawn from the lists of fillings.json, in which an item that is likelier than others
stands several times.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits

from research.options import CopiedPairs
from xformer.results import write_whole
from xformer.training.data.corpora import LISTS as NAMES
from xformer.training.data.corpora import surname

Filling = tuple[str, str]  # English, Spanish
CARRIERS = Path(__file__).with_name("carriers.tsv")
SLOT = re.compile(r"\{([a-z]+)(2?)\}")  # in a sentence
PART = re.compile(r"\{(\w+)(?:-(\d+))?\}")  # in an item of a list
BARE = 0.12  # share of pairs that are a filling alone
# share of pairs about a word of another script, on top of those drawn among all
FOREIGN = 0.06
EMOJI = (
    *range(0x1F600, 0x1F650),
    *range(0x1F400, 0x1F43F),
    *range(0x1F340, 0x1F380),
    *range(0x1F680, 0x1F6C0),
    0x2764,
    0x2600,
    0x2B50,
    0x1F44D,
    0x1F389,
    0x1F525,
    0x1F64F,
    0x1F44B,
    0x1F914,
    0x1F92F,
    0x1F973,
)
SCRIPTS = (
    (0x410, 0x44F),
    (0x3B1, 0x3C9),
    (0x3041, 0x3093),
    (0x30A1, 0x30F3),
    (0x4E00, 0x5E00),
    (0xAC00, 0xB800),
    (0x5D0, 0x5EA),
    (0x627, 0x64A),
    (0x905, 0x939),
    (0xE01, 0xE2E),
)
LISTS: dict[str, list[str]] = {
    **NAMES,
    **json.loads(Path(__file__).with_name("fillings.json").read_text(encoding="utf-8")),
}


def one(name: str, rng: Random) -> str:
    """Draw an item of a list, and its parts: {1-99} is a number, {word} an item of
    another list or of MADE, {Word} the same with a capital, and {WORD} in capitals.
    ({words} are English, and one piece of the vocabulary each.)"""

    def part(found: re.Match[str]) -> str:
        name, most = found.groups()
        if most:
            return str(rng.randint(int(name), int(most)))
        drawn = (
            MADE[name.lower()](rng) if name.lower() in MADE else one(name.lower(), rng)
        )
        return (
            drawn
            if name.islower()
            else drawn.upper()
            if name.isupper()
            else drawn.capitalize()
        )

    return PART.sub(part, rng.choice(LISTS[name]))


def alike(text: str) -> Filling:
    return text, text


def copied(name: str, rng: Random) -> Filling:
    return alike(one(name, rng))


def titled(titles: str, rng: Random) -> Filling:
    english, spanish = one(titles, rng).split("|")
    name = one("bearer", rng)
    return f"{english} {name}", f"{spanish} {name}"


def separated(value: int, rng: Random) -> Filling:
    """Write a whole number with separators: "3,450" is "3.450". One of four digits has
    none in a third of the draws, as the academy of Spanish asks: "3450" on both sides,
    so that which of the two to write can be learned."""
    if 1_000 <= value <= 9_999 and rng.random() < 1 / 3:
        return alike(str(value))
    return f"{value:,}", f"{value:,}".replace(",", ".")


def number(rng: Random) -> Filling:
    return separated(
        rng.randint(1, 999) * 10 ** rng.randint(1, 6)
        + rng.choice((0, rng.randint(0, 9_999))),
        rng,
    )


def decimals(rng: Random, places: int = 0) -> Filling:
    english = f"{rng.randint(0, 99)}.{rng.randint(0, 9):d}" + "".join(
        rng.choice(digits) for _ in range((places or rng.randint(1, 3)) - 1)
    )
    return english, english.replace(".", ",")


def money(rng: Random) -> Filling:
    """Draw an amount: "€3,450.75" is "3.450,75 €"."""
    english, spanish = separated(int(10 ** rng.uniform(0.3, 6)), rng)
    if rng.random() < 0.45:
        cents = f"{rng.randint(0, 99):02d}"
        english = f"{english}.{cents}"
        spanish = f"{spanish},{cents}"
    sign = rng.choice("$$€€£¥")
    return (
        f"{english} {sign}"
        if sign == "€" and rng.random() < 0.25
        else f"{sign}{english}"
    ), f"{spanish} {sign}"


def percent(rng: Random) -> Filling:
    english, spanish = (
        decimals(rng, 1) if rng.random() < 0.35 else alike(str(rng.randint(1, 100)))
    )
    return f"{english}%", f"{spanish} %"


def degrees(rng: Random) -> Filling:
    value = rng.choice(("", "", "", "-")) + str(rng.randint(0, 250))
    if rng.random() < 0.25:
        return alike(f"{value}°")
    sign = rng.choice(("°C", "°C", "°F"))
    return f"{value}{rng.choice((' ', ''))}{sign}", f"{value} {sign}"


def measure(rng: Random) -> Filling:
    unit = one("units", rng)
    english, spanish = (
        decimals(rng, 1)
        if rng.random() < 0.35
        else separated(rng.randint(1, 2_000), rng)
    )
    return f"{english}{rng.choice((' ', ' ', ''))}{unit}", f"{spanish} {unit}"


def date(rng: Random) -> Filling:
    """Draw a date. One in figures stays as it is: whether 12/03 is in March or in
    December is not known."""
    day = rng.randint(1, 28)
    month = rng.randint(1, 12)
    year = rng.randint(1890, 2035)
    chance = rng.random()
    if chance < 0.45:
        sign = rng.choice("///.-")
        return alike(
            rng.choice(
                (
                    f"{day:02d}{sign}{month:02d}{sign}{year}",
                    f"{day}{sign}{month}{sign}{year}",
                    f"{day:02d}{sign}{month:02d}{sign}{year % 100:02d}",
                )
            )
        )
    if chance < 0.55:
        return alike(f"{year}-{month:02d}-{day:02d}")
    english, spanish = LISTS["months"][month - 1].split("|")
    ordinal = f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
    if chance < 0.7:
        return rng.choice(
            (f"{english} {day}", f"{english} {ordinal}", f"{day} {english}")
        ), f"{day} de {spanish}"
    return (
        rng.choice(
            (
                f"{english} {day}, {year}",
                f"{english} {ordinal}, {year}",
                f"{day} {english} {year}",
            )
        ),
        f"{day} de {spanish} de {year}",
    )


def time(rng: Random) -> Filling:
    """Draw a time, from two o'clock on, so that its article is plural; "5:45 pm" is
    "17:45"."""
    hour = rng.randint(2, 12)
    minute = rng.randint(0, 59)
    chance = rng.random()
    if chance < 0.6:
        return alike(f"{rng.choice((hour, hour + 11))}:{minute:02d}")
    if chance < 0.8 and hour < 12:
        return (
            f"{hour}:{minute:02d}{rng.choice((' pm', ' p.m.', 'pm', ' PM'))}",
            f"{hour + 12}:{minute:02d}",
        )
    return alike(f"{hour:02d}:{minute:02d}")


def figures(shape: str, rng: Random) -> str:
    """Put a digit for each # of a shape, a capital for each @."""
    return "".join(
        rng.choice(digits)
        if c == "#"
        else rng.choice(ascii_uppercase)
        if c == "@"
        else c
        for c in shape
    )


def code(rng: Random) -> Filling:
    made = figures(one("codes", rng), rng)
    return alike(made if rng.random() < 0.85 else made.lower())


def plain(name: str, rng: Random) -> str:
    """Draw an item of a list as it can stand in an address: its letters without marks,
    in lower case."""
    return "".join(c for c in one(name, rng).lower() if c in ascii_lowercase) or "info"


def formula(rng: Random) -> Filling:
    a = rng.randint(0, 20)
    b = rng.randint(0, 20)
    c = rng.randint(2, 9)
    x, y, z = rng.sample("abcfkmnpqtuvwxyz", 3)
    return alike(
        rng.choice(LISTS["formulas"]).format(
            a=a,
            b=b,
            c=c,
            x=x,
            y=y,
            z=z,
            sum=a + b,
            difference=a - b,
            product=a * b,
            square=a * a,
        )
    )


def foreign(rng: Random) -> Filling:
    if rng.random() < 0.5:
        return alike(one("foreign", rng))
    first, last = rng.choice(SCRIPTS)
    return alike(
        "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 6)))
    )


MADE: dict[str, Callable[[Random], str]] = {
    "surname": surname,
    "initial": lambda rng: rng.choice(ascii_uppercase),
    "letters": partial(plain, "word"),
    "forename": partial(plain, "first"),
    "part": partial(plain, "owner"),
}
FILLINGS: dict[str, Callable[[Random], Filling]] = {
    **{
        name: partial(copied, name)
        for name in (
            "person",
            "place",
            "brand",
            "password",
            "email",
            "url",
            "file",
            "version",
            "software",
            "command",
            "hashtag",
            "language",
            "year",
            "handle",
        )
    },
    "mtitled": partial(titled, "male"),
    "ftitled": partial(titled, "female"),
    "number": number,
    "small": lambda rng: alike(str(int(10 ** rng.uniform(0.3, 3)))),
    "decimal": decimals,
    "money": money,
    "percent": percent,
    "degrees": degrees,
    "measure": measure,
    "date": date,
    "time": time,
    "code": code,
    "phone": lambda rng: alike(figures(one("phones", rng), rng)),
    "formula": formula,
    "foreign": foreign,
    "emoji": lambda rng: alike(chr(rng.choice(EMOJI))),
    "score": lambda rng: alike(figures("#-#", rng)),
    "acronym": lambda rng: alike(figures("@" * rng.randint(3, 5), rng)),
}


@cache
def carriers() -> list[tuple[str, str]]:
    """Read the sentences with slots: English and Spanish."""
    rows = (
        line.split("\t") for line in CARRIERS.read_text(encoding="utf-8").splitlines()
    )
    return [(english, spanish) for english, spanish in rows]


@cache
def foreign_carriers() -> list[tuple[str, str]]:
    return [pair for pair in carriers() if "{foreign}" in pair[0]]


def draw(rng: Random) -> tuple[str, str]:
    """Draw a pair: mostly a sentence with its slots filled, else what fills one,
    alone."""
    if rng.random() < BARE:
        english, spanish = FILLINGS[rng.choice([*FILLINGS])](rng)
        return english, spanish[0].upper() + spanish[1:] if english[
            0
        ].isupper() else spanish
    english, spanish = rng.choice(
        foreign_carriers() if rng.random() < FOREIGN else carriers()
    )
    slots = {match[0]: FILLINGS[match[1]](rng) for match in SLOT.finditer(english)}
    return (
        SLOT.sub(lambda match: slots[match[0]][0], english),
        SLOT.sub(lambda match: slots[match[0]][1], spanish),
    )


def write_copied(wanted: CopiedPairs) -> Path:
    """Draw pairs, and write copied.tsv.xz, English TAB Spanish; return its path."""
    rng = Random(wanted.seed)
    lines = ["\t".join(draw(rng)) for _ in range(wanted.pairs)]
    wanted.out.mkdir(parents=True, exist_ok=True)
    path = wanted.out / "copied.tsv.xz"
    write_whole(path, lzma.compress("\n".join(lines).encode()))
    return path
