"""Addresses of before: where what they name stands now.

Links, lessons of a class and bookmarks keep what was once written into an address; a
page that is opened by one shows the same, and writes the address of now.
"""

from collections.abc import Mapping

from xformer.parts import choice

FRAGMENT = "#"
# By a control and what it held, what the address holds in its place;
# by FRAGMENT the place that it names, unless it names one itself.
FORMER: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("tab", "decoding"): {"tab": "translate", choice("translate"): "decoding"},
    ("tab", "pairs"): {"tab": "translate", choice("translate"): "pairs"},
    ("tab", "principles"): {"tab": "attention", choice("attention"): "principles"},
    ("model_part", "sizes"): {"model_part": "architecture"},
    ("model_part", "whole"): {"tab": "translate"},
    ("part", "path"): {"part": "generations", FRAGMENT: "path"},
}


def renewed(query: Mapping[str, str]) -> dict[str, str]:
    """Put an address of before as it is now."""
    kept = {key: value for key, value in query.items() if (key, value) not in FORMER}
    for one in query.items():
        kept |= FORMER.get(one, {})
    kept.pop(FRAGMENT, None)
    return kept
