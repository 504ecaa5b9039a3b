"""GPUs that a host lends for the time of a call, as ZeroGPU does: a service on the CPU has its calls computed on them.

The host forks a process for each call and gives that process the GPU. Arguments and results are pickled on their way.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from xformer.results import UserError

if TYPE_CHECKING:
    from xformer.serve.reviews import SentimentService
    from xformer.serve.translation import Service
    from xformer.serve.writer import Writer

S = TypeVar("S", "Service", "SentimentService", "Writer")
Method = TypeVar("Method", bound=Callable[..., Any])
log = logging.getLogger(__name__)

SECONDS = 30  # that a call may keep a lent GPU; visitors with less than that left are refused, and computed for here


def computes(method: Method) -> Method:
    """Mark a method of a service that runs its model, and so is worth a lent GPU."""
    method.computes = True  # type: ignore[attr-defined]
    return method


def computing(kind: type) -> list[str]:
    """Names of the methods of a service that are marked by `computes`."""
    return [name for name in dir(kind) if getattr(getattr(kind, name), "computes", False)]


def open_service(kind: type[S], folder: str | Path, device: str | None, *more: str) -> S:
    """Open a service of this kind on a checkpoint folder; `more` follows the device where the kind opens it.

    Where the host lends GPUs and no device is asked for, it is one on the CPU whose computing methods run on a lent
    GPU, by a service that is opened in the process that was given it; where no GPU is free, it computes itself.
    """
    if device or not lends():
        return kind.open(folder, device, *more)
    here = kind.open(folder, "cpu", *more)
    service = copy(here)
    service.info = replace(here.info, device="ZeroGPU")
    for name in computing(kind):
        setattr(service, name, partial(_borrow, service, kind, Path(folder), name, getattr(here, name)))
    return service


def lends() -> bool:
    """Whether this host lends GPUs: `spaces.GPU`, which `app.py` imports where it exists, changes functions there only.
    """
    return _decorated() is not _compute


@cache
def _decorated() -> Callable[..., Any]:
    spaces = sys.modules.get("spaces")
    return _compute if spaces is None else spaces.GPU(duration=SECONDS)(_compute)


def _borrow(service: S, kind: type, folder: Path, name: str, here: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a method on a lent GPU, or else here, under the guard of the service that was asked.

    Callables among the arguments, which show progress, cannot travel and are left out.
    """
    here.__self__.guard = service.guard
    with service.guard.enter():
        try:
            answer = _decorated()(kind, folder, name, [None if callable(value) else value for value in args],
                                  {key: value for key, value in kwargs.items() if not callable(value)})
        except Exception as error:  # none is free, the visitor's time is used up, the process was ended …
            log.warning("no lent GPU (%s); computing on the CPU", error)
            return here(*args, **kwargs)
    if isinstance(answer, UserError):
        raise answer
    return answer


def _compute(kind: type, folder: Path, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """In the process with the GPU: return the result of a method, or the UserError that it raised."""
    import torch

    from xformer import device
    device.THREADS = 1  # those of OpenMP do not come along into a forked process, which would wait for them for ever
    torch.set_num_threads(1)
    try:
        return getattr(_opened(kind, folder), name)(*args, **kwargs)
    except UserError as error:
        return error


@cache
def _opened(kind: Any, folder: Path) -> Any:
    """Opened anew, as neither a model on a GPU nor a thread comes along into another process."""
    return kind.open(folder)
