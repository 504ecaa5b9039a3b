"""Gradients of an untrained transformer by depth, which show why post-norm needs a
warm-up.

Xiong et al., "On Layer Normalization in the Transformer Architecture" (2020), section 3
and figure 3: with post-norm the gradients near the output are large at the beginning,
so that a high learning rate ruins the weights; with pre-norm they are about the same at
all depths.
"""

import torch
import torch.nn.functional as F

from xformer.model import Config, Seeded, Transformer
from xformer.pieces import BOS
from xformer.results import SublayerGradient

# random sentences, and the pieces of each
BATCH = 8
LENGTH = 12
SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")


def untrained(layers: int, width: int, norm: str) -> Config:
    """The configuration of a transformer whose gradients are compared. Raises
    ValueError for an impossible shape."""
    return Config(
        vocab_size=1000,
        d_model=width,
        n_layers=layers,
        d_ff=4 * width,
        norm=norm,
        dropout=0.0,
    )


def gradients_at_the_beginning(config: Config, seed: int = 0) -> list[SublayerGradient]:
    """Draw random weights and sentences, run one backward pass, and return the
    gradient's norm for the weights of each sub-layer, encoder first, from the input to
    the output.

    There is no dropout. The loss is the mean cross-entropy of the target pieces.
    """
    with torch.inference_mode(False), torch.enable_grad():
        with Seeded(seed) as drawn:
            model = Transformer(config).eval()
        source, target = torch.randint(
            BOS + 1, config.vocab_size, (2, BATCH, LENGTH), generator=drawn.generator
        )
        wanted = torch.randint(
            BOS + 1, config.vocab_size, (BATCH, LENGTH), generator=drawn.generator
        )
        F.cross_entropy(
            model(source, target).flatten(0, 1), wanted.flatten()
        ).backward()
    gradients = []
    for stack, layers in (
        ("encoder", model.encoder.layers),
        ("decoder", model.decoder.layers),
    ):
        for depth, layer in enumerate(layers, 1):
            for name in SUBLAYERS:
                if hasattr(layer, name):
                    squares = [
                        p.grad.square().sum()
                        for p in getattr(layer, name).parameters()
                        if p.grad is not None
                    ]
                    gradients.append(
                        SublayerGradient(
                            stack, depth, name, float(torch.stack(squares).sum().sqrt())
                        )
                    )
    return gradients
