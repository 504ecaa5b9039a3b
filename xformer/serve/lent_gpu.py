"""GPUs that a host lends for one call at a time, as ZeroGPU does; the service itself
stays on the CPU.

The host forks a process for each call and gives the GPU to that process. Arguments and
results are pickled.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache, partial
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from xformer.results import UserError
from xformer.serve.protocol import public

if TYPE_CHECKING:
    from xformer.serve.loaded import ModelService

S = TypeVar("S", bound="ModelService[Any]")
log = logging.getLogger(__name__)

# that a call may keep a lent GPU; a visitor with less time left gets no GPU, but an
# answer from the CPU
SECONDS = 30
# methods of services that run no model
INSTANT = {"alignment_errors", "blocks", "clean", "split", "typed"}


def open_service(
    kind: type[S], folder: str | Path, device: str | None, *more: str
) -> S:
    """Open a service of this kind on a checkpoint folder, with kind.open(folder,
    device, *more).

    If the host lends GPUs and `device` is empty, the service is on the CPU. Its
    computing methods run on a lent GPU, by a second service that is opened in the
    process with the GPU; if no GPU is free, they run on the CPU.
    """
    if device or not lends():
        return kind.open(folder, device, *more)
    here = kind.open(folder, "cpu", *more)
    service = copy(here)
    service.info = replace(here.info, device="ZeroGPU")
    for name in computing(kind):
        setattr(
            service,
            name,
            partial(_borrow, service, kind, Path(folder), name, getattr(here, name)),
        )
    return service


def computing(kind: type) -> list[str]:
    """Names of the methods of a service that run its model, and so are worth a lent
    GPU: of its protocol's, all but INSTANT."""
    return sorted(
        name
        for name, one in public(kind.__bases__[-1]).items()
        if isfunction(one) and name not in INSTANT
    )


def lends() -> bool:
    """Whether this host lends GPUs: only there does `spaces.GPU` change a function
    (`app.py` imports `spaces`)."""
    return _decorated() is not _compute


@cache
def _decorated() -> Callable[..., Any]:
    spaces = sys.modules.get("spaces")
    return _compute if spaces is None else spaces.GPU(duration=SECONDS)(_compute)


def _borrow(
    service: S,
    kind: type,
    folder: Path,
    name: str,
    here: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Run a method on a lent GPU, or else on the CPU, under the guard of `service`.

    Callables among the arguments, which show progress, cannot be pickled and are left
    out.
    """
    here.__self__.guard = service.guard
    with service.guard.enter():
        try:
            answer = _decorated()(
                kind,
                folder,
                name,
                [None if callable(value) else value for value in args],
                {key: value for key, value in kwargs.items() if not callable(value)},
            )
        except Exception as error:
            # none is free, the visitor's time is used up, the process was ended …
            log.warning("no lent GPU (%s); computing on the CPU", error)
            return here(*args, **kwargs)
    if isinstance(answer, UserError):
        raise answer
    return answer


def _compute(
    kind: type, folder: Path, name: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Run a method in the process with the GPU; return its result, or the UserError
    that it raised."""
    import torch

    from xformer import device

    # a forked process has no OpenMP threads and would wait for them for ever
    device.THREADS = 1
    torch.set_num_threads(1)
    try:
        return getattr(_opened(kind, folder), name)(*args, **kwargs)
    except UserError as error:
        return error


@cache
def _opened(kind: Any, folder: Path) -> Any:
    """Open a second service: a forked process has neither the GPU's memory nor the
    decoding thread of the first."""
    return kind.open(folder)
