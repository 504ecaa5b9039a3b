"""An autoencoder of short texts: what goes in comes back out of a few numbers.

Rumelhart, Hinton and Williams, "Learning internal representations by error propagation"
(1986): between an encoder and a decoder stands a bottleneck, the code, which lets
through only what matters most. Here the encoder of `model.py` reads all pieces, one
matrix makes the code of them, and another makes of the code a vector for each position,
to which a stack with a causal mask adds the pieces written so far.

The code is nested (Rippel, Gelbart and Adams, "Learning ordered representations with
nested dropout", 2014): its first numbers are a code by themselves, so that one model
has several widths. A denoising autoencoder (Vincent et al. 2008) is given spoiled texts
in training, and has to give back the whole ones.

Axes as in `model.py`; L is `max_length`, to which every text is filled up, C `code`.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer.model import Config, Encoder, EncoderStack, future_mask, padding_mask
from xformer.pieces import BOS, EOS, PAD

ROUGHNESS = 0.1  # deviation of what training adds to each number of a code


@dataclass(frozen=True)
class AutoencoderConfig(Config):
    """The shape of an autoencoder; n_layers: of its encoder, and of its decoder."""

    code: int = 128  # numbers of a code, at most
    widths: tuple[int, ...] = (8, 32, 128)  # of the bottleneck, in which it is trained

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "widths", tuple(self.widths))  # JSON knows lists only
        if not self.widths or not all(0 < width <= self.code for width in self.widths):
            raise ValueError(
                f"widths are {self.widths}; each must be from 1 to {self.code}"
            )


class Autoencoder(EncoderStack):
    """Reads a text into a code, and writes it again from the code alone."""

    config: AutoencoderConfig

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__(config)
        size = config.max_length * config.d_model
        self.to_code = nn.Linear(size, config.code)
        self.from_code = nn.Linear(config.code, size)
        self.decoder = Encoder(config)
        self.initialise()

    def encode(self, tokens: Tensor, width: int) -> Tensor:
        """tokens [B, S] from BOS to EOS, padded on the right, S <= L -> code [B, C],
        its numbers between -1 and 1, all but the first `width` of them 0"""
        states = self.encoder(self.embedding(tokens), padding_mask(tokens))
        states = states * (tokens != PAD)[..., None]
        filled = F.pad(states, (0, 0, 0, self.config.max_length - tokens.shape[1]))
        code = torch.tanh(self.to_code(filled.flatten(1)))
        if self.training:
            code = code + ROUGHNESS * torch.randn_like(code)
        return code * (torch.arange(self.config.code, device=code.device) < width)

    def decode(self, code: Tensor, tokens: Tensor) -> Tensor:
        """code [B, C] and the pieces so far [B, T], the first of them BOS -> logits [B,
        T, V] of the piece that follows each"""
        length = tokens.shape[1]
        places = self.from_code(code).view(len(code), -1, self.config.d_model)
        x = self.embedding(tokens) + places[:, :length]
        return self.logits(self.decoder(x, future_mask(length, tokens.device)))

    def write(self, code: Tensor) -> list[list[int]]:
        """The likeliest next piece, again and again: code [B, C] -> pieces of each
        text, without BOS and EOS."""
        tokens = torch.full((len(code), 1), BOS, device=code.device)
        for _ in range(self.config.max_length - 1):
            best = self.decode(code, tokens)[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat((tokens, best), dim=1)
        texts = [row[1:] for row in tokens.tolist()]
        return [row[: row.index(EOS)] if EOS in row else row for row in texts]
