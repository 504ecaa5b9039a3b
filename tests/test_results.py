"""Records that travel: all are there by name, and their arrays have the shapes that the
table of the package says."""

import re
from dataclasses import fields, is_dataclass
from typing import get_type_hints

import numpy as np
import pytest

from xformer import results
from xformer.results import (
    STACKS,
    EmbedSource,
    Follow,
    Head,
    MeasureReach,
    Occlude,
    ReadDecoder,
    WalkHead,
)

ROW = re.compile(r"^\| (\w+)\.([\w, ]+) \| \(([^)]+)\) \|", re.MULTILINE)
TABLE = {
    (record, name): shape
    for record, names, shape in ROW.findall(results.__doc__)
    for name in names.split(", ")
}
RECORDS = [kind for kind in vars(results).values() if is_dataclass(kind)]


def test_every_array_stands_in_the_table_once():
    arrays = {
        (kind.__name__, name)
        for kind in RECORDS
        for name, hint in get_type_hints(kind).items()
        if hint is np.ndarray or np.ndarray in getattr(hint, "__args__", ())
    }
    assert set(TABLE) == arrays and len(TABLE) == sum(
        len(names.split(", ")) for _, names, _ in ROW.findall(results.__doc__)
    )


def test_every_name_of_its_modules_is_the_packages():
    here = {
        name
        for name, kind in vars(results).items()
        if getattr(kind, "__module__", "").startswith("xformer.res")
    }
    assert here < set(results.__all__) and all(
        hasattr(results, name) for name in results.__all__
    )
    assert {kind.__module__.rsplit(".", 1)[0] for kind in RECORDS} == {
        "xformer.results"
    }


@pytest.mark.parametrize("stack", STACKS)
def test_arrays_have_the_shapes_of_the_table(running, reader, learned_pairs, stack):
    pair = learned_pairs[1]
    info = running.info
    trace = running.trace(*pair)
    maps = trace.of(stack)
    walk = running.ask(WalkHead(*pair, Head(stack, 2, 3)))
    occlusion = running.ask(Occlude(*pair))
    attribution = reader.attribute("I am cold. Very cold.")
    stream = running.ask(
        Follow(*pair, "encoder" if stack == "encoder_self" else "decoder")
    )
    of_model = {
        "layers": info.layers(stack),
        "H": info.n_heads,
        "D": info.d_model,
        "d": info.d_model // info.n_heads,
    }
    of_pair = {**of_model, "S": len(trace.source), "T": len(trace.target)}
    of_reader = {
        "layers": reader.info.n_layers,
        "H": reader.info.n_heads,
        "W": len(attribution.words),
    }
    of_maps = {**of_model, "Q": len(maps.asks), "K": len(maps.seen)}
    for record, sizes in (
        (maps, of_maps),
        (walk, of_maps),
        (trace, of_pair),
        (running.ask(EmbedSource(pair[0])), of_pair),
        (running.ask(MeasureReach(pair[0])), of_pair),
        (running.ask(ReadDecoder(*pair)), of_pair),
        (attribution, of_reader),
        (occlusion, {**of_pair, "W": len(occlusion.words)}),
        (attribution.sentiment, {"L": len(attribution.sentiment.pieces)}),
        *(
            (one, {**of_model, "L": len(stream.pieces), "d_ff": 64})
            for one in stream.sublayers
        ),
    ):
        kind = type(record).__name__
        tried = [
            f.name
            for f in fields(record)
            if (kind, f.name) in TABLE and getattr(record, f.name) is not None
        ]
        assert tried
        for name in tried:
            wanted = tuple(
                eval(axis, {}, sizes)
                for axis in TABLE[kind, name].rstrip(",").split(", ")
            )
            assert getattr(record, name).shape == wanted, (kind, name)
