"""How likely a language model finds a text: the payload of assets/writer.js, and two texts side by side as HTML."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from xformer.figures.labels import shown, times
from xformer.figures.tables import savable
from xformer.results import Scored
from xformer.strings import ENGLISH, Language

MOST_BITS = 13  # of surprise at which the colour is strongest: that of one among 8,192 equally likely pieces
# Texts that the script fills in itself.
TEXTS = ("lm_caption", "lm_more", "lm_play", "lm_pause", "lm_back", "lm_next", "lm_instead", "lm_after", "lm_drawn",
         "lm_drawn_never", "lm_said", "lm_said_next", "lm_rank_beyond", "lm_summary", "lm_summary_none", "lm_ended",
         "lm_bits", "lm_take", "lm_place", "lm_piece", "lm_rank", "lm_candidate", "lm_probability", "lm_log_prob",
         "lm_choices", "lm_certain", "lm_group")


def bits(log_prob: float) -> float:
    """The surprise at a piece: minus the logarithm of its probability to the base of 2."""
    return max(0.0, -log_prob / math.log(2))


def payload(text: Scored, place: int = 0, language: Language = ENGLISH) -> dict[str, Any]:
    """Pack a text with the likeliest pieces at each place; labels are text, which the script escapes.

    place: the one to look at, from 1; 0 for the place after the last piece. Each place has its likeliest pieces with
    their log-probabilities, and its perplexity: the number of equally likely pieces among which a choice would be as
    uncertain.
    """
    places = [{"unsure": round(math.exp(entropy), 2), "likeliest": [[shown(one.piece), round(one.log_prob, 6)]
                                                                   for one in listed]}
              for entropy, listed in zip(text.entropies, text.likeliest, strict=True)]
    last = len(text.tokens) + 1
    return {"title": language.say("lm_title", text=text.text or "…"), "text": text.text, "places": places,
            "pieces": [[shown(piece), piece, round(value, 6)] for piece, value in
                       zip(text.pieces, text.log_probs, strict=True)],
            "ranks": [next((rank for rank, one in enumerate(listed, 1) if one.token == token), 0)
                      for token, listed in zip(text.tokens, text.likeliest, strict=False)],
            "place": place if 1 <= place <= last else last, "finished": text.finished, "total": round(text.total, 6),
            "perplexity": None if text.perplexity is None else round(text.perplexity, 4),
            "chances": [round(chance, 6) for chance in text.chances], "choices": text.choices, "most_bits": MOST_BITS,
            "texts": {name: language.texts[name] for name in TEXTS}}


def likelier(texts: Sequence[Scored], language: Language = ENGLISH) -> str:
    """Show two whole texts, each piece shaded by its surprise, and which of them is likelier."""
    html, say = language.html, language.say
    first, second = texts
    gain = abs(first.total - second.total)
    if gain < 1e-6:
        said = html("lm_same")
    else:
        said = html("lm_likelier", name="A" if first.total > second.total else "B", times=times(gain),
                    nats=f"{gain:.2f}")
    sides, rows = "", []
    for name, text in zip("AB", texts, strict=True):
        chips = "".join(_chip(piece, value) for piece, value in zip(text.pieces, text.log_probs, strict=True))
        mean, total = -text.total / len(text.tokens) / math.log(2), f"{text.total:.2f}".replace("-", "−")
        sides += (f'<section><h3>{name}</h3><p class="text" lang="en">{chips}</p><p class="sub">'
                  f'{html("lm_total", total=total, pieces=len(text.tokens), bits=f"{mean:.2f}")}</p>'
                  "</section>")
        rows += [[name, shown(piece), round(value, 6), round(bits(value), 4)]
                 for piece, value in zip(text.pieces, text.log_probs, strict=True)]
    columns = [say("lm_text_column"), say("lm_piece"), say("lm_log_prob"), say("lm_bits_column")]
    body = (f'<p class="verdict" role="status">{said}</p><div class="sides">{sides}</div>'
            f'<p class="sub">{html("lm_likelier_note")}</p>')
    return savable(body, "likelier", " · ".join(text.text for text in texts), columns, rows)


def _chip(piece: str, log_prob: float) -> str:
    """A piece of a text, shaded by its surprise, with its bits below."""
    surprise = bits(log_prob)
    return (f'<span class="lm-piece" style="--share:{min(1.0, surprise / MOST_BITS):.3f}">{escape(shown(piece))}'
            f"<small>{surprise:.1f}</small></span> ")
