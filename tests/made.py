"""Records and readings that tests of several modules make up."""

import re

import numpy as np

from xformer.results import Trace


def trace_of_cats():
    """Two layers of two heads over "the cat the" and its translation; every number
    tells where it stands."""
    source = ("▁the", "▁ca", "t", "▁the", "</s>")
    target = ("<s>", "▁el", "▁gato")
    rng = np.random.default_rng(0)

    def maps(queries, keys):
        raw = rng.random((2, 2, queries, keys)).astype(np.float32)
        return raw / raw.sum(axis=-1, keepdims=True)

    return Trace(
        source,
        target,
        ("▁el", "▁gato", "</s>"),
        (-0.1, -0.2, -0.3),
        maps(5, 5),
        maps(3, 3),
        maps(3, 5),
        *(1 + rng.random((2, 2, keys)).astype(np.float32) for keys in (5, 3, 5)),
        "the cat the",
        (7, 8),
    )


def cells(html):
    return [
        [
            re.sub("<[^>]*>", "", cell)
            for cell in re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row)
        ]
        for row in re.findall("<tr>(.*?)</tr>", html)
    ]


def rows_below(html):
    """The texts of a table, row by row, below its row of names."""
    rows = re.findall(r"<tr.*?</tr>", html, re.DOTALL)[1:]
    return [
        [re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]
