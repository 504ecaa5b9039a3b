"""Say of runs that differ in their seeds which differences are larger than the spread
of these."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import mean

from xformer.strings import ENGLISH, Language

BETWEEN = "; "  # the things of a list, of which some have commas


def ranked(found: Mapping[str, Sequence[float]], language: Language = ENGLISH) -> str:
    """Say of BLEU by names, each of several seeds, which neighbours from the best to
    the worst lie apart: every seed of the one above every seed of the other. Empty
    where fewer than two have several seeds."""
    several = {name: values for name, values in found.items() if len(values) > 1}
    if len(several) < 2:
        return ""
    order = sorted(several.items(), key=lambda one: -mean(one[1]))
    sides: dict[str, list[str]] = {"apart": [], "within": []}
    for (one, high), (other, low) in pairwise(order):
        sides["apart" if min(high) > max(low) else "within"].append(
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
    sides: dict[str, list[str]] = {"worse": [], "better": [], "among": []}
    for name, values in sorted(without.items(), key=lambda one: mean(one[1])):
        margin = high - low if len(values) == 1 else 0.0
        side = (
            "worse"
            if max(values) < low - margin
            else "better"
            if min(values) > high + margin
            else "among"
        )
        sides[side].append(f"{name} ({mean(values):.1f})")
    counts = [*map(len, without.values())]
    few = min(counts)
    many = max(counts)
    first = language.say(
        "spread_whole",
        seeds=len(whole),
        low=f"{low:.1f}",
        high=f"{high:.1f}",
        mean=f"{mean(whole):.1f}",
        runs=few if few == many else f"{few}–{many}",
    )
    if few == 1:
        first += " " + language.say("spread_single", width=f"{high - low:.1f}")
    return f"{first} {_told(sides, language)}"


def _told(
    sides: Mapping[str, Sequence[str]], language: Language, **values: object
) -> str:
    """A sentence for each side on which there is something."""
    return " ".join(
        language.say(f"spread_{side}", list=BETWEEN.join(some), **values)
        for side, some in sides.items()
        if some
    )
