"""Why a piece was written and not its rival, and what each piece owes to either side; HTML."""

from collections.abc import Sequence
from html import escape

import numpy as np

from xformer.figures.labels import place, shown, times
from xformer.figures.tables import savable
from xformer.results import STACKS, Head, Share, Sides, Why
from xformer.strings import ENGLISH, Language

LISTED = 8  # parts that are listed one by one


def why(found: Why, language: Language = ENGLISH) -> str:
    """Say by how much a piece was likelier than its rival, and take that apart: by parts of the decoder, by pieces of
    both sides, and where there is a twin, by head."""
    html, piece, rival = language.html, shown(found.piece), shown(found.rival)
    said = html("why_said", piece=piece, rival=rival, difference=f"{found.difference:+.2f}",
                times=times(found.difference))
    reach = _reach(np.concatenate((found.by_source, found.by_prefix)))
    inputs = "".join(
        f'<section><h4>{html(key)}</h4><p {side} class="said">'
        f'{"".join(_chip(*one, reach) for one in zip(names, values.tolist(), strict=True))}</p></section>'
        for key, side, names, values in (("why_source", language.reads, found.source, found.by_source),
                                         ("why_prefix", language.writes, found.prefix, found.by_prefix)))
    checked = html("why_checked", missed=f"{100 * found.missed:.0f}")
    body = (f'<p class="found">{said}</p>{_parts(found.shares, language)}<h3>{html("why_inputs")}</h3>'
            f'<div class="sides">{inputs}</div><p class="sub">{checked}</p>{_grids(found, language)}')
    rows = [[_name(share, language), round(share.value, 5)] for share in found.shares]
    return savable(body, "why", f"{piece} / {rival}", [language.say("why_part"), language.say("why_adds")], rows)


def _name(share: Share, language: Language) -> str:
    if share.head is not None:
        return _of_head(share.head, language)
    return language.say(f"why_{share.kind}", layer=share.layer)


def _of_head(head: Head, language: Language) -> str:
    return f"{language.say(f'stack_{head.stack}')} · {place(head, language)}"


def _parts(shares: Sequence[Share], language: Language) -> str:
    """The parts that add most, as bars, and all others in one."""
    if not shares:
        return f'<p class="sub">{language.html("why_needs_pre")}</p>'
    order = sorted(shares, key=lambda share: -abs(share.value))
    named = [(_name(share, language), share.value) for share in order[:LISTED]]
    named.append((language.say("why_others", count=len(order) - LISTED), sum(s.value for s in order[LISTED:])))
    reach = _reach([value for _, value in named])
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{_bar(value, reach)}</td>'
                   f'<td class="number">{value:+.2f}</td></tr>' for name, value in named)
    total = sum(share.value for share in shares)
    return (f'<table class="why"><thead><tr><th scope="col">{language.html("why_part")}</th><td></td>'
            f'<th scope="col">{language.html("why_adds")}</th></tr></thead><tbody>{rows}</tbody><tfoot><tr>'
            f'<th scope="row">{language.html("why_sum")}</th><td></td><td class="number">{total:+.2f}</td></tr></tfoot>'
            f"</table>")


def _bar(value: float, reach: float) -> str:
    return f'<span class="bar {_side(value)}" style="--share:{abs(value) / reach:.3f}"></span>'


def _side(value: float) -> str:
    return "for" if value >= 0 else "against"


def _reach(values: Sequence[float] | np.ndarray) -> float:
    return max(1e-6, float(np.abs(np.asarray(values)).max(initial=0)))


def _chip(piece: str, value: float, reach: float) -> str:
    return (f'<span class="word {_side(value)}" style="--share:{abs(value) / reach:.3f}">{escape(shown(piece))}'
            f"<small>{value:+.2f}</small></span> ")


def _grids(found: Why, language: Language) -> str:
    """The change of the difference with each head's answers taken from the twin; "" where there is none."""
    if not found.patched:
        return ""
    html, changes = language.html, {stack: grid - found.difference for stack, grid in found.patched.items()}
    stack, best = min(((stack, grid) for stack, grid in changes.items()), key=lambda one: one[1].min())
    layer, head = np.unravel_index(int(best.argmin()), best.shape)
    most = Head(stack, int(layer) + 1, int(head) + 1)
    reach = _reach(np.concatenate([grid.ravel() for grid in changes.values()]))
    said = html("why_twin_said", own=f"{found.difference:+.2f}", twin=f"{found.twin:+.2f}",
                head=_of_head(most, language), change=f"{best.min():+.2f}")
    tables = "".join(_grid(changes[one], one, reach, language) for one in STACKS)
    return f'<h3>{html("why_heads")}</h3><p class="found">{said}</p><div class="sides">{tables}</div>'


def _grid(changes: np.ndarray, stack: str, reach: float, language: Language) -> str:
    heads = "".join(f'<th scope="col">{h}</th>' for h in range(1, changes.shape[1] + 1))
    rows = "".join(f'<tr><th scope="row">{layer}</th>' + "".join(
        f'<td class="cell {_side(value)}" style="--share:{abs(value) / reach:.3f}">{value:+.1f}</td>'
        for value in row) + "</tr>" for layer, row in enumerate(changes.tolist(), 1))
    return (f'<table class="patched"><caption>{language.html(f"stack_{stack}")}</caption><thead><tr>'
            f'<td>{language.html("why_corner")}</td>{heads}</tr></thead><tbody>{rows}</tbody></table>')


def sides(found: Sides, language: Language = ENGLISH) -> str:
    """A bar for each piece of the translation: what it owes to the source, and to what was written before."""
    html, shares = language.html, found.from_source.sum(axis=1)
    rows = "".join(
        f'<tr><td {language.writes}>{escape(shown(piece))}</td><td><span class="both" style="--share:{share:.3f}">'
        f'</span></td><td class="number">{100 * share:.0f} %</td></tr>'
        for piece, share in zip(found.predicted, shares.tolist(), strict=True))
    body = (f'<p class="found">{html("why_sides_said", percent=f"{100 * float(shares.mean()):.0f}")}</p>'
            f'<table class="why"><thead><tr><th scope="col">{html("why_piece")}</th>'
            f'<th scope="col">{html("why_sides")}</th><th scope="col">{html("why_from_source")}</th></tr></thead>'
            f'<tbody>{rows}</tbody></table><p class="sub">{html("why_sides_note")}</p>')
    columns = [language.say("why_piece"), *map(shown, (*found.source, *found.given))]
    table = [[shown(piece), *np.round(np.concatenate((a, b)), 4).tolist()]
             for piece, a, b in zip(found.predicted, found.from_source, found.from_given, strict=True)]
    return savable(body, "sides", " ".join(map(shown, found.source)), columns, table)
