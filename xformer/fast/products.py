"""x W^T + b for inference on a CPU: in float32 by one of four ways, in a search by what
is measured to be the quickest; or in 8 bits.

What is quickest depends on the processor's maker, on the shape of W and on the rows of
x. With few rows, as in decoding one sentence, it is bound by how fast W comes from
memory. Microseconds on an AMD EPYC whose other core was busy:

| W | rows | plain | columns | packed | halves | 8 bits |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| 960 x 320 | 1 | 143 | 81 | 124 | 58 | 21 |
| 320 x 1280 | 1 | 76 | 185 | 135 | 64 | 21 |
| 8000 x 320 | 1 | 1021 | 474 | 835 | 338 | 62 |
| 960 x 320 | 5 | 206 | 165 | 111 | 77 | 28 |
| 8000 x 320 | 5 | 1864 | 1397 | 794 | 464 | 116 |

With 32 rows packed weights and halves are level there, before all others; on an Intel
Xeon plain ones were twice as fast as packed ones for one row.

Two processes may measure otherwise, and ways differ in the last bits. So only a step of
a search goes by measurement; a pass over whole sentences, which makes the maps,
multiplies by USUAL, the same in all processes of a machine.
"""

import math
import time
import warnings
from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

# numbers that a measurement walks through: more than the caches next to a core hold, as
# a model's are
COLD = 1 << 20
MOST = 16  # weights of a small shape
ROUNDS = 3
# for up to KEY rows, what was measured with that many decides; for more, USUAL
ROWS = {1: 1, 8: 4, 32: 16}
MANY = max(ROWS) + 1  # rows that nothing is measured with

Multiply = Callable[[Tensor], Tensor]  # x [..., in] -> x W^T + b [..., out]
# Else PyTorch asks weights that FBGEMM has packed for `__torch_function__` at each
# call, which they answer by two exceptions of C++: 8 of the 13 microseconds that a
# small product in 8 bits takes.
undisturbed = torch.DisableTorchFunctionSubclass


def plain(weight: Tensor, bias: Tensor | None) -> Multiply:
    """W [out, in] as it is; PyTorch hands it to MKL."""
    return lambda x: F.linear(x, weight, bias)


def columns(weight: Tensor, bias: Tensor | None) -> Multiply:
    """W with the numbers of a column, not of a row, next to each other in memory."""
    turned = weight.t().contiguous().t()
    return lambda x: F.linear(x, turned, bias)


def packed(weight: Tensor, bias: Tensor | None) -> Multiply:
    """W in the layout that oneDNN likes best."""
    laid_out = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)
    return lambda x: torch.ops.mkldnn._linear_pointwise.default(
        x, laid_out, bias, "none", [], ""
    )


def halves(weight: Tensor, bias: Tensor | None) -> Multiply:
    """W kept in float16 and multiplied in float32, by FBGEMM: half of the bytes come
    from memory.

    Nothing is lost where every number of W is one of float16, as after loading a
    checkpoint.
    """
    kept = torch.ops.quantized.linear_prepack_fp16(weight, bias)
    return lambda x: torch.ops.quantized.linear_dynamic_fp16.default(x, kept)


def eight_bits(weight: Tensor, bias: Tensor | None) -> Multiply:
    """W in 8 bits, with one scale for each of its rows, and x in 8 bits, with one scale
    for all of it that is computed at each call; by FBGEMM.

    A quarter of the bytes come from memory, and the products are of whole numbers;
    results are near those of float32. As all of x shares a scale, they depend a little
    on what else is in the batch.
    """
    scales = weight.abs().amax(dim=1).clamp(min=1e-8) / 127
    with warnings.catch_warnings():
        # such tensors shall go some day; see `multiplies_8_bits`
        warnings.simplefilter("ignore", UserWarning)
        kept = torch.quantize_per_channel(
            weight, scales, torch.zeros(len(weight), dtype=torch.int64), 0, torch.qint8
        )
    prepared = torch.ops.quantized.linear_prepack(kept, bias)
    # Without instructions for 8-bit products (VNNI) sums of two would leave 16 bits, if
    # x had all of its 8.
    reduced = not getattr(torch.cpu, "_is_vnni_supported", lambda: False)()
    return lambda x: torch.ops.quantized.linear_dynamic.default(x, prepared, reduced)


def multiplies_8_bits() -> bool:
    """Whether PyTorch can multiply in 8 bits on this machine's CPU."""
    return torch.backends.quantized.engine in ("x86", "fbgemm") and hasattr(
        torch, "quantize_per_channel"
    )


WAYS = {"plain": plain, "columns": columns}
if torch.backends.quantized.engine in ("x86", "fbgemm") and hasattr(
    torch.ops.quantized, "linear_prepack_fp16"
):
    WAYS["halves"] = halves
if torch.backends.mkldnn.is_available() and hasattr(
    torch.ops.mkldnn, "_linear_pointwise"
):
    WAYS["packed"] = packed
# with many rows, in passes, and where nothing is clearly quicker
USUAL = "packed" if "packed" in WAYS else "plain"


@cache
@torch.inference_mode()
def quickest(outputs: int, inputs: int, rows: int, exact: bool) -> str:
    """The way in which one thread multiplies W [outputs, inputs] fastest with this
    number of rows.

    exact: whether all of W are numbers of float16. It is measured in some milliseconds,
    once for each shape in a process. A way that gains less than a tenth over USUAL is
    not worth another copy of W.
    """
    x = torch.ones(rows, inputs)
    weights = torch.ones(min(MOST, max(1, COLD // (outputs * inputs))), outputs, inputs)
    ready = {
        way: [make(weight, None) for weight in weights]
        for way, make in WAYS.items()
        if exact or way != "halves"
    }
    seconds = dict.fromkeys(ready, math.inf)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for _ in range(ROUNDS):
        for way, products in ready.items():
            began = time.perf_counter()
            with undisturbed():
                for multiply in products:
                    multiply(x)
            seconds[way] = min(seconds[way], time.perf_counter() - began)
    torch.set_num_threads(threads)
    seconds[USUAL] *= 0.9
    return min(seconds, key=lambda way: seconds[way])


class Product:
    """x W^T + b in float32, or in 8 bits; keeps a copy of W for each way in which it is
    multiplied.

    The copies do not follow when W changes or moves.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor | None = None, quantised: bool = False
    ) -> None:
        self.weight = weight.detach()
        self.bias = None if bias is None else bias.detach()
        self.quantised = quantised
        self.exact = not quantised and torch.equal(
            self.weight.half().float(), self.weight
        )
        self._by_rows: dict[int, Multiply] = {}  # of x
        self._by_way: dict[str, Multiply] = {}

    def __call__(self, x: Tensor) -> Tensor:
        """x [..., in] -> [..., out]"""
        with undisturbed():
            return (self._by_rows.get(MANY) or self._choose(MANY))(x)

    def step(self, x: Tensor) -> Tensor:
        """x [..., in] -> [..., out] in a step of a search, by the way that is measured
        to be the quickest; called when it is `undisturbed`."""
        rows = x.numel() // x.shape[-1]
        return (self._by_rows.get(rows) or self._choose(rows))(x)

    def _choose(self, rows: int) -> Multiply:
        measured = next((ROWS[most] for most in ROWS if rows <= most), None)
        way = (
            "8 bits"
            if self.quantised
            else quickest(*self.weight.shape, measured, self.exact)
            if measured
            else USUAL
        )
        if way not in self._by_way:
            self._by_way[way] = (eight_bits if self.quantised else WAYS[way])(
                self.weight, self.bias
            )
        self._by_rows[rows] = self._by_way[way]
        return self._by_way[way]

    def measure(self) -> None:
        """Find out now, not when the first person waits, what is quickest for weights
        of this shape."""
        if not self.quantised:
            for rows in ROWS.values():
                quickest(*self.weight.shape, rows, self.exact)


def usable() -> bool:
    """Whether nothing is asked of a product that only `F.linear` can do: gradients, and
    autocast's bfloat16."""
    return not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"))
