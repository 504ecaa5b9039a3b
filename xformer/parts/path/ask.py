"""How far each piece reaches in an encoder: derivatives of states by inputs (Pascanu et
al. 2013, equation 5)."""

from collections.abc import Callable, Sequence

import torch

from xformer.model import Trace, Transformer
from xformer.results import MeasureReach, Message, Reach, UserError
from xformer.serve.answers import Answers, of_pair
from xformer.tokenizer import Tokenizer
from xformer.translator import Translator

WORK = 10_000  # directions times squared pieces, half a second on a core
FEWEST = 16  # the fewest directions


def reach(
    model: Translator,
    tokenizer: Tokenizer,
    source: Sequence[int],
    pause: Callable[[], None] = lambda: None,
    directions: int = 0,
) -> Reach:
    """Answer `results.MeasureReach` for a source with its EOS. Raises UserError if it
    has too many pieces.

    With J the derivative (D, D) of a state by an input vector and V (D, r) the first r
    columns of a random orthogonal matrix, D / r ‖Vᵀ J‖² is ‖J‖² on average, and exactly
    if r = D. directions: r; 0: as many as time allows.
    """
    count = len(source)
    width = model.config.d_model
    if count > MeasureReach.MOST:
        raise UserError(
            Message.of("path_error", pieces=count, least=1, most=MeasureReach.MOST)
        )
    directions = min(width, directions or max(FEWEST, WORK // count**2))
    with torch.inference_mode(False), torch.enable_grad():
        tokens = torch.tensor([source], device=model.device)
        squares = list[torch.Tensor]()
        x = (
            (model.embedding if isinstance(model, Transformer) else model.embed)(tokens)
            .detach()
            .requires_grad_()
        )
        # [1, S, D]; traced: fused attention derives one after the other
        states = (
            model.encoder(x, None, Trace())
            # nowhere is padding
            if isinstance(model, Transformer)
            else model.encoder(x, tokens.bool())[0]
        )
        drawn = torch.randn(
            count, width, directions, generator=torch.Generator().manual_seed(0)
        )
        # [r, D]
        for place, seeds in enumerate(torch.linalg.qr(drawn)[0].mT.to(states)):
            (moved,) = torch.autograd.grad(
                states[0, place], x, seeds, retain_graph=True, is_grads_batched=True
            )
            squares.append(moved.float().square().sum((0, 1, 3)))  # of [r, 1, S, D]
            pause()
    norms = (torch.stack(squares) * (width / directions)).sqrt().cpu().numpy()
    return Reach(tuple(tokenizer.pieces(source)), norms, directions % width)


ANSWERS: Answers = {
    MeasureReach: of_pair(
        lambda model, tokenizer, pair, pause: reach(
            model, tokenizer, pair.source, pause
        ),
        any_model=True,
    )
}
