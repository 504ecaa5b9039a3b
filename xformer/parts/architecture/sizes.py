"""Count the parameters and multiplications of a transformer of given sizes. No
torch."""

from collections.abc import Sequence
from dataclasses import dataclass

from xformer.results import Block, Message, ModelInfo, UserError


@dataclass(frozen=True)
class Sizes:
    """Everything that determines the size of a transformer."""

    encoder_layers: int
    # 0: an encoder alone, whose output is not projected to the vocabulary
    decoder_layers: int
    d_model: int
    n_heads: int
    d_ff: int
    vocabulary: int
    norm: str  # "pre" or "post"
    # one matrix for both inputs and the output (section 3.4); else three, the last with
    # a bias
    shared: bool = True


@dataclass(frozen=True)
class Part:
    """All blocks of one kind in a stack."""

    stack: str  # "encoder", "decoder" or "" (embeddings, output)
    # "embedding", "self_attention", "cross_attention", "feed_forward", "norm", "output"
    name: str
    blocks: int
    parameters: int  # of all blocks together
    # multiplications by a weight or by another number, for one sentence and its
    # translation
    products: int


# Vaswani et al. (2017), table 3 and section 5.1
BASE = Sizes(6, 6, 512, 8, 2048, 37_000, "post")


def of_model(info: ModelInfo, blocks: Sequence[Block]) -> Sizes | None:
    """The sizes of a loaded model; None if it is no transformer."""
    if info.architecture != "transformer":
        return None
    shapes = {
        f"{block.name}.{weight}": shape
        for block in blocks
        for weight, shape in block.weights
    }
    vocabulary = next(
        block.weights[0][1][0] for block in blocks if block.name == "embedding"
    )
    d_ff = next(
        shape[0]
        for name, shape in shapes.items()
        if name.endswith("feed_forward.inner.weight")
    )
    return Sizes(
        info.n_layers,
        info.n_decoder_layers,
        info.d_model,
        info.n_heads,
        d_ff,
        vocabulary,
        info.norm,
    )


def check(sizes: Sizes) -> None:
    """Raise UserError if no transformer can have these sizes."""
    if sizes.d_model % 2:
        raise UserError(Message.of("sizes_odd", d=sizes.d_model))
    if sizes.d_model % sizes.n_heads:
        raise UserError(Message.of("sizes_heads", d=sizes.d_model, heads=sizes.n_heads))


def parts(sizes: Sizes, pieces: int) -> list[Part]:
    """Count the parameters and products of every kind of block, for a sentence and a
    translation of `pieces` each.

    A product is one multiplication, with the addition that follows it; biases, softmax,
    LayerNorm and residuals, which take few, are left out. The decoder is counted as in
    training: all positions at once, masked ones included.
    """
    n = pieces
    d = sizes.d_model
    f = sizes.d_ff
    v = sizes.vocabulary
    attention = 4 * d * d + 4 * d
    feed = 2 * d * f + f + d
    norm = 2 * d
    # four projections; scores, and values weighed by them
    looking = n * 4 * d * d + 2 * n * n * d
    last = 1 if sizes.norm == "pre" else 0  # the norm at the end of a pre-norm stack
    encoder = sizes.encoder_layers
    decoder = sizes.decoder_layers
    tables = 1 if sizes.shared or not decoder else 2
    feeding = n * 2 * d * f
    kinds = [
        ("", "embedding", tables, v * d, 0),
        ("encoder", "self_attention", encoder, attention, looking),
        ("encoder", "feed_forward", encoder, feed, feeding),
        ("encoder", "norm", 2 * encoder + last, norm, 0),
    ]
    if decoder:
        kinds += [
            ("decoder", "self_attention", decoder, attention, looking),
            ("decoder", "cross_attention", decoder, attention, looking),
            ("decoder", "feed_forward", decoder, feed, feeding),
            ("decoder", "norm", 3 * decoder + last, norm, 0),
            ("", "output", 1, 0 if sizes.shared else v * d + v, n * d * v),
        ]
    return [
        Part(stack, name, count, count * parameters, count * products)
        for stack, name, count, parameters, products in kinds
    ]


def mixing_all_positions(sizes: Sizes, words: int) -> tuple[int, int]:
    """Count the parameters of encoder and decoder if every layer multiplied all
    positions of a sentence together.

    TransformerFG of Kak's lecture does so. Each of a head's three matrices has (words
    s)^2 weights, with s = d_model / n_heads; there is no W_O, and the feed-forward
    network reads words d_model numbers. The output matrix counts with the decoder;
    embeddings are not counted.
    """
    d = sizes.d_model
    slice_ = words * (sizes.d_model // sizes.n_heads)
    wide = words * sizes.d_ff
    attention = sizes.n_heads * 3 * (slice_ * slice_ + slice_)
    feed = words * d * wide + wide + wide * words * d + words * d
    encoder = sizes.encoder_layers * (attention + feed + 2 * 2 * d)
    if not sizes.decoder_layers:
        return encoder, 0
    output = d * sizes.vocabulary + sizes.vocabulary
    return encoder, sizes.decoder_layers * (2 * attention + feed + 3 * 2 * d) + output


def times_as_many(sizes: Sizes, words: int) -> float:
    """The parameters of `mixing_all_positions` over those of the paper's layers and
    output, without embeddings."""
    layers = sum(part.parameters for part in parts(sizes, words) if part.stack)
    output = (sizes.d_model + 1) * sizes.vocabulary if sizes.decoder_layers else 0
    return sum(mixing_all_positions(sizes, words)) / (layers + output)
