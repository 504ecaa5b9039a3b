"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Have glibc give back what was freed; by itself it keeps much of it, in a part of its own for each thread.

    Other threads go on meanwhile. Does nothing where there is no glibc.
    """
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
