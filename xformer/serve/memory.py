"""Memory that libraries keep: what was freed, in glibc's few arenas, and what oneDNN
prepared."""

import ctypes
import os
import sys

# parts of glibc's heap; its default is up to eight a core, and each keeps the memory
# that it once held
ARENAS = 2
M_ARENA_MAX = -8  # this setting's number in glibc's malloc.h
# of matrices for which oneDNN keeps what it prepared; its default is 1,024
SHAPES = 128


def few_arenas() -> None:
    """Limit glibc to ARENAS arenas, unless MALLOC_ARENA_MAX is set. Call it before
    threads start.

    Does nothing without glibc.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        if (setting := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
            setting(M_ARENA_MAX, ARENAS)


def few_shapes() -> None:
    """Have oneDNN prepare for SHAPES shapes of matrices at a time, unless
    ONEDNN_PRIMITIVE_CACHE_CAPACITY says for how many; before torch multiplies. What it
    drops lies in pieces until `give_back`."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(SHAPES))


def give_back() -> None:
    """Have glibc return freed memory to the system; by default it keeps much of it in
    its arenas.

    Other threads go on meanwhile. Does nothing without glibc.
    """
    if (
        sys.platform == "linux"
        and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None
    ):
        trim(0)
