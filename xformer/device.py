"""The device and the precision that a model answers on, and the CPU threads that a
computation is worth."""

import platform

import torch

from xformer import fast
from xformer.model import Network
from xformer.results import Message, UserError, refusing

# sequences up to which one CPU thread is quicker than several that wait for each other
FEW_ROWS = 16
THREADS = torch.get_num_threads()  # that larger batches use


def choose_device(name: str | None) -> torch.device:
    """Return the device asked for, or the best there is; raises UserError where this
    machine lacks it."""
    # cuDNN's attention makes a plan for every new shape, and each batch has its own: a
    # training step took 0.4 s so.
    torch.backends.cuda.enable_cudnn_sdp(False)
    if name in (None, "", "auto"):
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    with refusing(
        (RuntimeError, AssertionError, NotImplementedError),
        Message.of("error_device", device=str(name)),
    ):
        device = torch.device(name)
        torch.empty(1, device=device)
    return device


def prepare(
    model: Network, name: str | None = None, precision: str = "auto"
) -> tuple[torch.device, str]:
    """Move a model to the device asked for, ready for inference; return the device, and
    the precision it answers in.

    precision: one of results.ANSWERS_IN; "auto" is float16 on CUDA, and float32
    elsewhere. Raises UserError where this machine lacks the device, or a way to
    multiply in 8 bits.
    """
    device = choose_device(name)
    if precision == "int8" and not (device.type == "cpu" and fast.multiplies_8_bits()):
        raise UserError(
            f"int8 needs an x86 processor, and the model runs on {device} ({platform.machine()}); choose "
            f"--device cpu there, or leave out --precision."
        )
    if precision == "auto":
        precision = "float16" if device.type == "cuda" else "float32"
    model.to(device, torch.float16 if precision == "float16" else torch.float32)
    fast.pack(model, quantised=precision == "int8")
    return device, precision


def use_threads(rows: int) -> None:
    """Let the calling thread compute with as many CPU threads as a batch of `rows`
    sequences is worth."""
    torch.set_num_threads(1 if rows <= FEW_ROWS else THREADS)
