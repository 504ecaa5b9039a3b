"""Read a translation model at intermediate points: after each layer of encoder or
decoder, and at each given piece.

Functions of a model, its tokenizer and tokens, as in `passes.py`. Axes as in
`model.py`, with N encoder and M decoder layers.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from xformer.explain.passes import Pair
from xformer.explain.stream import steps
from xformer.model import Cache, Transformer, padding_mask
from xformer.pieces import EOS
from xformer.results import (
    DecoderReadings,
    Forced,
    Message,
    Options,
    UserError,
    decimal,
)
from xformer.search import Hypothesis, search
from xformer.tokenizer import Tokenizer
from xformer.translator import CachedScorer, Translator, target_limit

LIKELIEST = 10  # pieces that are listed for each step


def encoder_states(model: Transformer, source: Tensor) -> Tensor:
    """Encode source [1, S] -> [N + 1, S, D]: the encoder's output if it ended after 0
    to N layers."""
    mask = padding_mask(source)
    x = model.embedding(source)
    states = [x]
    for layer in model.encoder.layers:
        x = layer(x, mask)
        states.append(x)
    return torch.cat([model.encoder.norm(state) for state in states])


@torch.inference_mode()
def translate_by_layer(
    model: Transformer,
    source: Sequence[int],
    options: Options | None = None,
    max_length: int | None = None,
) -> list[Hypothesis]:
    """Translate from the encoder's state after 0 to N layers, all in one batch; the
    last is the model's translation.

    source: pieces without EOS. max_length: the most target pieces, EOS included.
    DecoderLens, Langedijk et al. 2023.
    """
    tokens = torch.tensor([[*source, EOS]], device=model.device)
    memory = encoder_states(model, tokens)
    mask = padding_mask(tokens).expand(len(memory), -1, -1, -1)
    cache = Cache(model.decoder.memories(memory, mask))
    limits = [
        max_length or target_limit(tokens.shape[1], model.config.max_length)
    ] * len(memory)
    return [
        best
        for best, *_ in search(
            CachedScorer(model, cache), limits, options, device=tokens.device
        )
    ]


@torch.inference_mode()
def decoder_readings(
    model: Transformer, tokenizer: Tokenizer, pair: Pair
) -> DecoderReadings:
    """Read the decoder's state after 0 to M layers by the output embedding, at each
    step of a teacher-forced pass.

    The logit lens (nostalgebraist 2020; Belrose et al. 2023, section 2), here for a
    decoder with cross-attention.
    """
    done = [*steps(model, pair, "decoder")]
    states = [done[0].state, *(one.after for one in done if one.name == "feed_forward")]
    # [M + 1, T, V]
    logits = model.logits(model.decoder.norm(torch.cat(states))).float()
    probabilities = logits.softmax(dim=-1)
    predicted = torch.tensor(pair.predicted, device=logits.device).expand(
        len(logits), -1
    )[:, :, None]
    best = probabilities.max(dim=-1)
    return DecoderReadings(
        tuple(tokenizer.pieces(pair.given)),
        tuple(tokenizer.pieces(pair.predicted)),
        tuple(tuple(tokenizer.pieces(row)) for row in best.indices.tolist()),
        best.values.cpu().numpy(),
        probabilities.gather(2, predicted)[:, :, 0].cpu().numpy(),
        ((logits > logits.gather(2, predicted)).sum(dim=-1) + 1).cpu().numpy(),
    )


@torch.inference_mode()
def teacher_forcing(
    model: Translator, tokenizer: Tokenizer, pair: Pair, smoothing: float = 0.1
) -> Forced:
    """Answer `results.Force`; smoothing as in Vaswani et al. (2017), section 5.4.
    Raises UserError for a wrong one."""
    if not 0 <= smoothing < 1:
        raise UserError(Message.of("error_smoothing", value=decimal(smoothing, 6)))
    device = model.device
    logits = model(
        torch.tensor([pair.source], device=device),
        torch.tensor([pair.given], device=device),
    )[0].float()
    predicted = torch.tensor(pair.predicted, device=device)
    log_probs = logits.log_softmax(dim=-1)
    losses = F.cross_entropy(
        logits, predicted, reduction="none", label_smoothing=smoothing
    )
    best = log_probs.topk(min(LIKELIEST, logits.shape[1]), dim=-1)
    alternatives = tuple(
        tuple(zip(tokenizer.pieces(tokens), values, strict=True))
        for tokens, values in zip(
            best.indices.tolist(), best.values.tolist(), strict=True
        )
    )
    return Forced(
        tuple(tokenizer.pieces(pair.given)),
        tuple(tokenizer.pieces(pair.predicted)),
        tuple(log_probs.gather(1, predicted[:, None])[:, 0].tolist()),
        tuple(losses.tolist()),
        smoothing,
        logits.shape[1],
        alternatives,
    )
