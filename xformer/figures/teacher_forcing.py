"""A given translation, piece by piece: the piece given, the piece wanted, and the loss. All text is escaped."""

import math
from collections.abc import Sequence
from html import escape

from xformer.explain.counterfactual import parting
from xformer.figures.labels import of_pair, percent, sentence, shown
from xformer.pieces import WORD_START
from xformer.results import Candidate, Forced
from xformer.strings import ENGLISH, Language


def steps(forced: Forced, source: Sequence[str], step: int, language: Language = ENGLISH) -> str:
    """Tabulate the T steps, a column each: the piece given, the piece wanted, its log-probability and its loss. HTML.

    The wanted piece of a column is the given piece of the next. step: the chosen one, from 1; a click on another step
    triggers 'choose' {step} (assets/readings.js).
    """
    html = language.html
    numbers, given, wanted, log_probs, losses = [], [], [], [], []
    worst = max(forced.losses)
    for at, (before, piece, log_prob, loss) in enumerate(
            zip(forced.given, forced.predicted, forced.log_probs, forced.losses, strict=True), 1):
        chosen = ' class="chosen"' if at == step else ""
        numbers.append(f'<th scope="col"{chosen}>{at}</th>')
        given.append(f'<td{chosen} {language.writes}>{escape(shown(before))}</td>')
        hint = html("force_column", step=at, given=shown(before), piece=shown(piece),
                    percent=percent(math.exp(log_prob)), loss=f"{loss:.3f}")
        wanted.append(f'<td{chosen} {language.writes}><button type="button" data-step="{at}" aria-label="{hint}" '
                      f'title="{hint}" tabindex="{0 if at == step else -1}" aria-pressed="{str(at == step).lower()}">'
                      f"{escape(shown(piece))}</button></td>")
        log_probs.append(f'<td{chosen}>{log_prob:.2f}</td>')
        losses.append(f'<td{chosen} style="--share:{loss / worst if worst > 0 else 0:.3f}">{loss:.2f}</td>')
    rows = (("force_given", "given", given), ("force_wanted", "wanted", wanted),
            ("force_log_prob", "number", log_probs), ("force_loss", "loss", losses))
    body = "".join(f'<tr class="{name}"><th scope="row">{html(key)}</th>{"".join(cells)}</tr>'
                   for key, name, cells in rows)
    count, total, loss = len(forced.losses), sum(forced.log_probs), sum(forced.losses)
    sums = " ".join((html("force_sum", total=f"{total:.3f}", pieces=count, mean=f"{total / count:.3f}"),
                     html("force_losses", smoothing=f"{forced.smoothing:g}", total=f"{loss:.3f}",
                          mean=f"{loss / count:.3f}")))
    pair = sentence(source), sentence(forced.predicted)
    title = language.say("force_title", source=pair[0], target=pair[1])
    return (f'<div class="table" data-title="{escape(title)}"{of_pair(pair)}>'
            f'<p class="caption" data-hint>{html("force_caption")}</p>'
            f'<div class="scroll"><table><thead><tr><th scope="row">{html("force_step")}</th>{"".join(numbers)}</tr>'
            f'</thead><tbody>{body}</tbody></table></div><p class="sums">{sums}</p></div>')


def targets(forced: Forced, step: int) -> list[tuple[str, float, float, bool]]:
    """List the likeliest pieces of a step, the wanted piece, and all others together (""), each as: piece, the model's
    probability, the smoothed target's probability, whether it is the wanted piece.

    step: from 1. The target is (1 - e) on the wanted piece, plus e / V on every piece of a vocabulary of V (Szegedy et
    al. 2016; Vaswani et al. 2017, section 5.4).
    """
    wanted, share = forced.predicted[step - 1], forced.smoothing / forced.vocabulary
    listed = dict(forced.alternatives[step - 1])
    listed.setdefault(wanted, forced.log_probs[step - 1])
    rows = [(piece, math.exp(log_prob), share + (1 - forced.smoothing) * (piece == wanted), piece == wanted)
            for piece, log_prob in listed.items()]
    rest = max(0.0, 1 - sum(p for _, p, _, _ in rows))
    return [*rows, ("", rest, share * (forced.vocabulary - len(rows)), False)]


def distribution(forced: Forced, source: Sequence[str], step: int, language: Language = ENGLISH) -> str:
    """Draw the model's distribution at a step beside the smoothed target, and how the loss follows from them. HTML.

    source: pieces of the sentence. step: from 1.
    """
    html, index = language.html, step - 1
    rows = []
    for piece, model, target, is_wanted in targets(forced, step):
        others = forced.vocabulary - len(forced.alternatives[index]) - (
            forced.predicted[index] not in dict(forced.alternatives[index]))
        name = (f'<td {language.writes}>{escape(shown(piece))}</td>' if piece
                else f'<td>{html("force_rest", count=others)}</td>')
        rows.append(f'<tr{" class=chosen" if is_wanted else ""}>{name}{_bar(model, "model")}{_bar(target, "target")}'
                    f'<td class="number">{math.log(model) if model > 0 else -math.inf:.2f}</td></tr>')
    heads = "".join(f"<th>{html(key)}</th>" for key in ("force_piece", "force_model", "force_target", "force_ln"))
    smoothing, loss, own = forced.smoothing, forced.losses[index], -forced.log_probs[index]
    if smoothing > 0:  # the loss is (1 - e) times that of the wanted piece, plus e times the mean over all pieces
        said = html("force_loss_smoothed", loss=f"{loss:.3f}", rest=f"{1 - smoothing:g}", own=f"{own:.3f}",
                    smoothing=f"{smoothing:g}", mean=f"{(loss - (1 - smoothing) * own) / smoothing:.3f}")
    else:
        said = html("force_loss_plain", loss=f"{loss:.3f}")
    title = language.say("force_distribution", step=step, given=shown(forced.given[index]),
                         wanted=shown(forced.predicted[index]))
    pair = of_pair((sentence(source), sentence(forced.predicted)))
    return (f'<div class="table" data-title="{escape(title)}"{pair}><p class="caption">{escape(title)}</p>'
            f'<table class="shares"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
            f'<p class="note">{said}</p></div>')


def _bar(value: float, kind: str) -> str:
    """A cell with a number between 0 and 1 and its bar."""
    return (f'<td class="share {kind}" data-value="{value:.8g}"><span class="track"><i style="--share:{value:.4f}"></i>'
            f'</span><span class="number">{value:.4f}</span></td>')


def free(forced: Forced, tokens: Sequence[int], best: Candidate, language: Language = ENGLISH) -> str:
    """Show the model's own translation beneath a given one, and the first step at which the two differ. HTML.

    tokens: of the given translation, with </s> if the model's own has it.
    """
    html, step = language.html, parting(tokens, best.tokens)
    own = f'<p class="sub">{html("force_free")}</p>'
    if step is None:
        return f'{own}<p class="large" {language.writes}>{escape(best.text)}</p><p>{html("force_same")}</p>'
    same, other = (_parted(pieces, step) for pieces in (best.pieces, forced.predicted))
    pieces = [shown(pieces[step]) if step < len(pieces) else "</s>" for pieces in (forced.predicted, best.pieces)]
    gap = sum(forced.log_probs) - sum(best.log_probs)
    return (f'{own}<p class="large" {language.writes}>{same}</p><p class="sub">{html("force_yours")}</p>'
            f'<p class="large" {language.writes}>{other}</p>'
            f'<p>{html("force_part", step=step + 1, given=pieces[0], free=pieces[1])} '
            f'{html("force_gap", gap=f"{gap:+.3f}")}</p>')


def _parted(pieces: Sequence[str], step: int) -> str:
    """A translation, marked from the step at which it differs from another."""
    before, after = sentence(pieces[:step]), sentence(pieces[step:])
    joined = " " if step < len(pieces) and pieces[step].startswith(WORD_START) and before else ""
    return f"{escape(before)}{joined}<mark>{escape(after)}</mark>" if after else escape(before)
