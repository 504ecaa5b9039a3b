"""How likely a language model finds a text: the payload of writer.js, and two texts
side by side as HTML."""

import math
from collections.abc import Sequence
from typing import Any

from xformer.figures.labels import shown, times
from xformer.figures.templates import fill
from xformer.results import Scored
from xformer.strings import ENGLISH, Language

# of surprise at which the colour is strongest: that of one among 8,192 equally likely
# pieces
MOST_BITS = 13
# Texts that the script fills in itself.
TEXTS = (
    "lm_caption", "lm_more", "lm_play", "lm_pause", "lm_back", "lm_next", "lm_instead",
    "lm_after", "lm_drawn", "lm_drawn_never", "lm_said", "lm_said_next",
    "lm_rank_beyond", "lm_summary", "lm_summary_none", "lm_ended", "lm_bits", "lm_take",
    "lm_place", "lm_piece", "lm_rank", "lm_candidate", "lm_probability", "lm_log_prob",
    "lm_choices", "lm_certain", "lm_group",
)  # fmt: skip


def bits(log_prob: float) -> float:
    """The surprise at a piece: minus the logarithm of its probability to the base of
    2."""
    return max(0.0, -log_prob / math.log(2))


def payload(
    text: Scored, place: int = 0, language: Language = ENGLISH
) -> dict[str, Any]:
    """Pack a text with the likeliest pieces at each place; labels are text, which the
    script escapes.

    place: the one to look at, from 1; 0 for the place after the last piece. Each place
    has its likeliest pieces with their log-probabilities and tokens, and its
    perplexity: the number of equally likely pieces among which a choice would be as
    uncertain.
    """
    places = [
        {
            "unsure": round(math.exp(entropy), 2),
            "likeliest": [
                [shown(one.piece), round(one.log_prob, 6), one.token] for one in listed
            ],
        }
        for entropy, listed in zip(text.entropies, text.likeliest, strict=True)
    ]
    last = len(text.tokens) + 1
    return {
        "title": language.say("lm_title", text=text.text or "…"),
        "text": text.text,
        "places": places,
        "pieces": [
            [shown(piece), piece, round(value, 6)]
            for piece, value in zip(text.pieces, text.log_probs, strict=True)
        ],
        "ranks": [
            next((rank for rank, one in enumerate(listed, 1) if one.token == token), 0)
            for token, listed in zip(text.tokens, text.likeliest, strict=False)
        ],
        "place": place if 1 <= place <= last else last,
        "finished": text.finished,
        "total": round(text.total, 6),
        "perplexity": None if text.perplexity is None else round(text.perplexity, 4),
        "chances": [round(chance, 6) for chance in text.chances],
        "choices": text.choices,
        "most_bits": MOST_BITS,
        "texts": language.unfilled(TEXTS),
    }


def likelier(texts: Sequence[Scored], language: Language = ENGLISH) -> str:
    """Show two whole texts, each piece shaded by its surprise, and which of them is
    likelier."""
    first, second = texts
    gain = abs(first.total - second.total)
    said = (
        language.say(
            "lm_likelier",
            name="A" if first.total > second.total else "B",
            times=times(gain, language),
            nats=f"{gain:.2f}",
        )
        if gain >= 1e-6
        else language.say("lm_same")
    )
    return fill(
        "writing.likelier",
        language,
        title=f"{first.text} · {second.text}",
        said=said,
        most=MOST_BITS,
        texts=[
            (
                text,
                [bits(value) for value in text.log_probs],
                -text.total / len(text.tokens) / math.log(2),
            )
            for text in texts
        ],
    )
