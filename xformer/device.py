"""The device and the precision that a model answers on, and the CPU threads that a computation is worth."""

from __future__ import annotations

import torch

from xformer.model import Network
from xformer.results import Message, UserError

FEW_ROWS = 16  # sequences up to which one CPU thread is quicker than several that wait for each other
THREADS = torch.get_num_threads()  # that larger batches use


def choose_device(name: str | None = None) -> torch.device:
    """Return the device asked for, or the best there is; raises UserError where this machine lacks it."""
    if name in (None, "", "auto"):
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(Message.of("error_device", device=str(name))) from error
    return device


def prepare(model: Network, name: str | None = None) -> tuple[torch.device, torch.dtype]:
    """Move a model to the device asked for, in the precision that suits it, ready for inference."""
    device = choose_device(name)
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    model.to(device, dtype).pack()
    return device, dtype


def use_threads(rows: int) -> None:
    """Let the calling thread compute with as many CPU threads as a batch of `rows` sequences is worth."""
    torch.set_num_threads(1 if rows <= FEW_ROWS else THREADS)
