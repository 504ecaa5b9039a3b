"""A translation as text whose pieces can be asked about, and tables of what the search found. HTML, all of it escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from xformer.figures.labels import percent, shown
from xformer.pieces import WORD_START
from xformer.results import Bleu, Candidate
from xformer.strings import text


def translation(candidate: Candidate, language: str = "en") -> str:
    """The pieces of a translation, each shaded by how unsure the model was, with its rivals for whoever asks."""
    parts = []
    steps = zip(candidate.pieces, candidate.log_probs, candidate.alternatives, strict=True)
    for i, (piece, log_prob, rivals) in enumerate(steps):
        probability = math.exp(log_prob)
        end = piece == "</s>"
        label = text("end", language) if end else piece.removeprefix(WORD_START) or "\u00a0"
        space = " " if i and (piece.startswith(WORD_START) or end) else ""
        listed = "".join(
            f'<li{" class=chosen" if rival == piece else ""}><b>{escape(shown(rival))}</b> '
            f"{percent(math.exp(value))}</li>" for rival, value in rivals)
        heading = f"{escape(shown(piece))} {percent(probability)}"
        parts.append(
            f'{space}<span class="piece{" end" if end else ""}" tabindex="0" style="--unsure:{1 - probability:.3f}">'
            f'{escape(label)}<span class="rivals" role="note"><span class="asked">{heading}</span>'
            f'<span class="sub">{escape(text("rivals", language))}</span><ol>{listed}</ol></span></span>')
    legend = (f'<p class="legend">{escape(text("legend", language))} <span class="scale" aria-hidden="true">'
              f'{escape(text("legend_sure", language))}<i></i>{escape(text("legend_unsure", language))}</span></p>')
    return f'<div class="translation"><div lang="es" class="large">{"".join(parts)}</div></div>{legend}'


def n_best(candidates: Sequence[Candidate], language: str = "en") -> str:
    """What the search found, best first, with scores."""
    def say(key: str) -> str:
        return escape(text(key, language))
    rows = "".join(
        f'<tr><td>{rank}</td><td class="number">{c.score:.3f}</td><td class="number">{sum(c.log_probs):.2f}</td>'
        f'<td lang="es">{escape(c.text)}</td></tr>' for rank, c in enumerate(candidates, 1))
    return (f'<table class="plain"><caption>{say("n_best_title")}</caption><thead><tr><th>{say("rank")}</th>'
            f'<th title="{say("score_help")}">{say("score")}</th><th>{say("total")}</th><th>{say("translation")}</th>'
            f"</tr></thead><tbody>{rows}</tbody></table>")


def bleu(parts: Bleu, language: str = "en") -> str:
    """BLEU taken apart: the n-gram precisions and the brevity penalty, and what they multiply to."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))
    rows = "".join(
        f'<tr><td>{n}</td><td class="number">{match}</td><td class="number">{total}</td>'
        f'<td class="number">{f"{100 * match / total:.1f} %" if total else "–"}</td></tr>'
        for n, (match, total) in enumerate(zip(parts.matches, parts.totals, strict=True), 1))
    zero = f'<p>{say("bleu_zero", smoothed=f"{parts.smoothed:.1f}")}</p>' if parts.score == 0 else ""
    brevity = say("bleu_brevity", value=f"{parts.brevity_penalty:.3f}", length=parts.length,
                  reference=parts.reference_length)
    return (f'<p class="large">{say("bleu_score", score=f"{parts.score:.1f}")}</p><p>{say("bleu_text")}</p>'
            f'<table class="plain"><thead><tr><th>{say("bleu_n")}</th><th>{say("bleu_matches")}</th>'
            f'<th>{say("bleu_total")}</th><th>{say("bleu_precision")}</th></tr></thead><tbody>{rows}</tbody></table>'
            f"<p>{brevity}</p>{zero}")


def notice(sentences: Sequence[str], kind: str) -> str:
    """Sentences for a person, as an alert ("error") or as remarks ("warning"); nothing where there are none."""
    if not sentences:
        return ""
    role = "alert" if kind == "error" else "status"
    return f'<div class="notice {kind}" role="{role}">{"".join(f"<p>{escape(s)}</p>" for s in sentences)}</div>'
