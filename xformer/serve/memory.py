"""Memory that was freed: kept in few places, and given back to the system."""

from __future__ import annotations

import ctypes
import os
import sys

ARENAS = 2  # parts that glibc keeps for threads; by itself it makes eight a core, and each keeps what it once held
M_ARENA_MAX = -8  # the number of that setting in glibc's malloc.h


def few_arenas() -> None:
    """Have glibc keep freed memory in ARENAS parts, unless MALLOC_ARENA_MAX says how many; before threads begin.

    Does nothing where there is no glibc.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        if (setting := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
            setting(M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Have glibc give back what was freed; by itself it keeps much of it, in a part of its own for each thread.

    Other threads go on meanwhile. Does nothing where there is no glibc.
    """
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
