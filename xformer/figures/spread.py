"""Say of runs that differ in their seeds which differences are larger than the spread
of these."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import mean

from xformer.strings import ENGLISH, Language

BETWEEN = "; "  # the things of a list, of which some have commas


def side(
    some: Sequence[float], others: Sequence[float] = (0.0,), margin: float = 0.0
) -> str:
    """Say whether all of some values lie "ahead" of all of the others by more than a
    margin, or "behind" them; else it is "open"."""
    if min(some) > max(others) + margin:
        return "ahead"
    return "behind" if max(some) < min(others) - margin else "open"


def ranked(found: Mapping[str, Sequence[float]], language: Language = ENGLISH) -> str:
    """Say of BLEU by names, each of several seeds, which neighbours from the best to
    the worst lie apart: every seed of the one above every seed of the other. Empty
    where fewer than two have several seeds."""
    several = {name: values for name, values in found.items() if len(values) > 1}
    if len(several) < 2:
        return ""
    order = sorted(several.items(), key=lambda one: -mean(one[1]))
    sides: dict[str, list[str]] = {"spread_ahead": [], "spread_open": []}
    for (one, high), (other, low) in pairwise(order):
        sides[f"spread_{side(high, low)}"].append(
            language.say(
                "spread_over",
                one=one,
                high=f"{mean(high):.1f}",
                other=other,
                low=f"{mean(low):.1f}",
            )
        )
    return _told(sides, language, seeds=min(map(len, several.values())))


def missed(
    whole: Sequence[float],
    without: Mapping[str, Sequence[float]],
    language: Language = ENGLISH,
) -> str:
    """Say of the BLEU of a whole model's seeds and of those without a part, by its
    name, which parts are missed: without which every run lies below, or above, all of
    the whole model's; a single run, by more than these lie apart. Empty where the whole
    model has one seed, or nothing is taken away."""
    if len(whole) < 2 or not without:
        return ""
    low = min(whole)
    high = max(whole)
    sides: dict[str, list[str]] = {
        f"missed_{which}": [] for which in ("behind", "ahead", "open")
    }
    for name, values in sorted(without.items(), key=lambda one: mean(one[1])):
        margin = high - low if len(values) == 1 else 0.0
        which = side(values, whole, margin)
        sides[f"missed_{which}"].append(f"{name} ({mean(values):.1f})")
    counts = [*map(len, without.values())]
    few = min(counts)
    many = max(counts)
    first = language.say(
        "missed_whole",
        seeds=len(whole),
        low=f"{low:.1f}",
        high=f"{high:.1f}",
        mean=f"{mean(whole):.1f}",
        runs=few if few == many else f"{few}–{many}",
    )
    if few == 1:
        first += " " + language.say("missed_single", width=f"{high - low:.1f}")
    return f"{first} {_told(sides, language)}"


def _told(
    sides: Mapping[str, Sequence[str]], language: Language, **values: object
) -> str:
    """A sentence for each side, by its text, on which there is something."""
    return " ".join(
        language.say(text, list=BETWEEN.join(some), **values)
        for text, some in sides.items()
        if some
    )
