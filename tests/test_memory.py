"""Memory that was freed: how many parts glibc keeps it in."""

import sys
from types import SimpleNamespace

import pytest

from xformer.serve import memory


@pytest.mark.skipif(sys.platform != "linux", reason="it is of glibc")
@pytest.mark.parametrize(("variable", "made"), [(None, [(-8, memory.ARENAS)]), ("4", [])])
def test_few_arenas_are_made_unless_the_environment_says_how_many(monkeypatch, variable, made):
    asked = []
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if variable:
        monkeypatch.setenv("MALLOC_ARENA_MAX", variable)
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=lambda *what: asked.append(what)))
    memory.few_arenas()
    assert asked == made
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: SimpleNamespace())
    memory.few_arenas()
