"""A translation whose pieces show their alternatives, the n-best table, and BLEU in parts. HTML, all text escaped."""

import math
from collections.abc import Sequence
from html import escape

from xformer.figures.labels import percent, shown
from xformer.figures.tables import header
from xformer.pieces import EOS, SPECIAL, UNK, WORD_START
from xformer.results import Bleu, Candidate
from xformer.strings import ENGLISH, Language


def translation(candidate: Candidate, language: Language = ENGLISH) -> str:
    """Show a translation piece by piece, each shaded by the model's uncertainty, with its alternatives as a tooltip."""
    html = language.html
    steps = zip(candidate.pieces, candidate.log_probs, candidate.alternatives, strict=True)
    pieces = "".join(_piece(*step, first=i == 0, language=language) for i, step in enumerate(steps))
    return (f'<div class="translation"><div {language.writes} class="large">{pieces}</div></div>'
            f'<p class="legend">{html("legend")} <span class="scale" aria-hidden="true">'
            f'{html("legend_sure")}<i></i>{html("legend_unsure")}</span></p>')


def _piece(piece: str, log_prob: float, alternatives: Sequence[tuple[str, float]], first: bool, language: Language
           ) -> str:
    """One piece of a translation, after a space if it begins a word."""
    probability = math.exp(log_prob)
    end, kind = piece == SPECIAL[EOS], {SPECIAL[EOS]: " end", SPECIAL[UNK]: " unknown"}.get(piece, "")
    label = piece.removeprefix(WORD_START) or "\u00a0"
    if kind:
        label = language.say("end" if end else "unknown_piece")
    space = " " if not first and (piece.startswith(WORD_START) or end) else ""
    listed = "".join(
        f'<li{" class=chosen" if other == piece else ""}><b>{escape(shown(other))}</b> {percent(math.exp(value))}</li>'
        for other, value in alternatives)
    heading = f"{escape(shown(piece))} {percent(probability)}"
    return (f'{space}<span class="piece{kind}" tabindex="{0 if first else -1}" style="--unsure:{1 - probability:.3f}">'
            f'{escape(label)}<span class="rivals" role="note"><span class="asked">{heading}</span>'
            f'<span class="sub">{language.html("rivals")}</span><ol>{listed}</ol></span></span>')


def n_best(candidates: Sequence[Candidate], language: Language = ENGLISH) -> str:
    """Tabulate the translations that the search found, best first; scores and log-probabilities on demand."""
    html = language.html
    rows = "".join(
        f'<tr><td>{rank}</td><td class="number asked">{c.score:.3f}</td>'
        f'<td class="number asked">{sum(c.log_probs):.2f}</td><td {language.writes}>{escape(c.text)}</td></tr>'
        for rank, c in enumerate(candidates, 1))
    return (f'<table class="plain n-best"><caption>{html("n_best_title")} <details class="numbers"><summary>'
            f'{html("numbers")}</summary></details></caption><thead><tr><th>{html("rank")}</th>'
            f'<th class="asked" title="{html("score_help")}">{html("score")}</th><th class="asked">{html("total")}</th>'
            f'<th>{html("translation")}</th></tr></thead><tbody>{rows}</tbody></table>')


def bleu(parts: Bleu, language: Language = ENGLISH) -> str:
    """Show BLEU and its parts: n-gram precisions and the brevity penalty."""
    say, html = language.say, language.html
    rows = []
    for n, (match, total) in enumerate(zip(parts.matches, parts.totals, strict=True), 1):
        precision = f"{100 * match / total:.1f} %" if total else "–"
        rows.append(f'<tr><td>{n}</td><td class="number">{match}</td><td class="number">{total}</td>'
                    f'<td class="number">{precision}</td></tr>')
    zero = f'<p>{html("bleu_zero", smoothed=f"{parts.smoothed:.1f}")}</p>' if parts.score == 0 else ""
    if 0 < parts.orders < len(parts.totals):
        zero += f'<p>{html("bleu_short", missing=parts.orders + 1, orders=parts.orders)}</p>'
    brevity = html("bleu_brevity", value=f"{parts.brevity_penalty:.3f}", length=parts.length,
                   reference=parts.reference_length)
    names = [say(key) for key in ("bleu_n", "bleu_matches", "bleu_total", "bleu_precision")]
    return (f'<p class="large">{html("bleu_score", score=f"{parts.score:.1f}")}</p><p>{html("bleu_text")}</p>'
            f'<table class="plain">{header(names)}<tbody>{"".join(rows)}</tbody></table>'
            f"<p>{brevity}</p>{zero}")
