"""The payload of step_player.js: a translation piece by piece, with what was likeliest
at each step."""

import math
from collections.abc import Sequence
from typing import Any

from xformer.figures.labels import sentence, shown, shown_all
from xformer.results import Forced
from xformer.strings import ENGLISH, Language

# Texts that the script fills in itself.
TEXTS = (
    "play_title", "play_sentence", "play_mask", "play_no_mask", "play_mask_text",
    "play_mask_row", "play_choices", "play_rest", "play_step", "play_of",
    "play_previous", "play_next", "play_start", "play_stop", "play_said",
    "play_said_rank", "play_said_first", "play_said_beyond", "play_given", "play_piece",
    "play_probability", "play_log_prob", "play_chosen", "play_rank", "decode_steps",
)  # fmt: skip


def payload(
    source: Sequence[str],
    forced: Forced,
    step: int,
    language: Language = ENGLISH,
    masked: bool = True,
    chosen_by: str = "typed",
) -> dict[str, Any]:
    """Pack the T steps of a target that was given piece by piece; labels are text,
    which the script escapes.

    source: pieces of the sentence that is translated. step: the first to show, from 1.
    masked: whether the decoder has a mask, as a transformer's has; a recurrent one has
    none. chosen_by: how the pieces were chosen, "beam", "draw", or "typed" by a person.

    Each step has the piece given last, the piece that was written, its log-probability,
    the sum so far, its rank among the likeliest pieces (0: it is not among them), these
    pieces with their log-probabilities, and the probability of all other pieces
    together.
    """
    steps = []
    total = 0.0
    for given, wanted, log_prob, likeliest in zip(
        forced.given,
        forced.predicted,
        forced.log_probs,
        forced.alternatives,
        strict=True,
    ):
        total += log_prob
        rank = next(
            (i for i, (piece, _) in enumerate(likeliest, 1) if piece == wanted), 0
        )
        listed = [[shown(piece), round(value, 6)] for piece, value in likeliest]
        rest = (
            1
            - sum(math.exp(value) for _, value in likeliest)
            - (0 if rank else math.exp(log_prob))
        )
        steps.append(
            {
                "given": shown(given),
                "wanted": shown(wanted),
                "log_prob": round(log_prob, 6),
                "total": round(total, 6),
                "rank": rank,
                "likeliest": listed,
                "rest": round(max(0.0, rest), 8),
            }
        )
    return {
        "title": language.say("play_title", text=sentence(source)),
        "source": shown_all(source),
        "steps": steps,
        "pair": [sentence(source), sentence(forced.predicted)],
        "step": min(max(1, step), len(steps)),
        "masked": masked,
        "because": language.say(f"play_because_{chosen_by}"),
        "texts": language.unfilled(TEXTS),
    }
