"""Memory that libraries keep: how many parts glibc makes, and for how many shapes
oneDNN prepares."""

import os
import sys
from types import SimpleNamespace

import pytest

from xformer.serve import memory


@pytest.mark.skipif(sys.platform != "linux", reason="it is of glibc")
@pytest.mark.parametrize(
    ("variable", "made"), [(None, [(-8, memory.ARENAS)]), ("4", [])]
)
def test_few_arenas_are_made_unless_the_environment_says_how_many(
    monkeypatch, variable, made
):
    asked = []
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if variable:
        monkeypatch.setenv("MALLOC_ARENA_MAX", variable)
    monkeypatch.setattr(
        memory.ctypes,
        "CDLL",
        lambda name: SimpleNamespace(mallopt=lambda *what: asked.append(what)),
    )
    memory.few_arenas()
    assert asked == made
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: SimpleNamespace())
    memory.few_arenas()


def test_few_shapes_are_prepared_for_unless_the_environment_says_how_many(monkeypatch):
    variable = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    monkeypatch.setattr(os, "environ", {})
    memory.few_shapes()
    assert os.environ == {variable: str(memory.SHAPES)}
    monkeypatch.setitem(os.environ, variable, "1024")
    memory.few_shapes()
    assert os.environ == {variable: "1024"}
