"""A translation model read between its layers, as tables: translations by layer of the encoder, and the logit lens on
the decoder. All text is escaped."""

import difflib
import json
from collections.abc import Sequence
from html import escape

from xformer.figures.labels import of_pair, percent, sentence, shown
from xformer.figures.tables import header
from xformer.results import Candidate, DecoderReadings
from xformer.strings import ENGLISH, Language


def by_layer(source: str, found: Sequence[Candidate], language: Language = ENGLISH) -> str:
    """Tabulate the translations from the encoder's state after 0 to N layers; words that the last one lacks are marked.
    HTML."""
    html, last = language.html, found[-1].text
    rows = []
    for layer, candidate in enumerate(found):
        name = html("layers_none" if layer == 0 else "layers_all" if layer == len(found) - 1 else "layers_after",
                    layer=layer)
        same = html("layers_same") if candidate.text == last and layer < len(found) - 1 else ""
        rows.append(f'<tr><th scope="row">{name}</th><td {language.writes}>{_marked(candidate.text, last)}</td>'
                    f'<td class="number">{sum(candidate.log_probs):.2f}</td><td class="sub">{same}</td></tr>')
    names = [language.say(key) for key in ("layers_layer", "layers_translation", "layers_log_prob")]
    title = language.say("layers_title", text=source)
    pair = of_pair((source, last))
    return (f'<div class="table" data-title="{escape(title)}"{pair}><p class="caption">{html("layers_encoder")}</p>'
            f'<table class="translations">{header([*names, ""])}<tbody>{"".join(rows)}</tbody></table></div>')


def _marked(text: str, last: str) -> str:
    """Mark the words of a text that the last translation does not have in that place."""
    new, old = text.split(), last.split()
    parts = [escape(" ".join(new[a:b])) if kind == "equal" else f"<mark>{escape(' '.join(new[a:b]))}</mark>"
             for kind, a, b, _, _ in difflib.SequenceMatcher(a=new, b=old, autojunk=False).get_opcodes() if b > a]
    return " ".join(parts)


def lens(readings: DecoderReadings, source: Sequence[str], step: int, language: Language = ENGLISH) -> str:
    """Tabulate the likeliest piece of each step (row) after each of 0 to M layers (column), shaded by its probability.

    Each cell's label gives the probability and rank of the piece that was written. source: pieces of the sentence.
    step: the chosen one, from 1. HTML; assets/readings.js moves between cells with the arrow keys.
    """
    html, say = language.html, language.say
    layers = len(readings.pieces)
    heads = "".join(f'<th scope="col">{html("lens_embedded") if layer == 0 else html("lens_layer", layer=layer)}</th>'
                    for layer in range(layers))
    rows = []
    for at, (given, wanted) in enumerate(zip(readings.given, readings.predicted, strict=True)):
        cells = []
        for layer in range(layers):
            piece, p = readings.pieces[layer][at], float(readings.likeliest[layer, at])
            own, rank = float(readings.probabilities[layer, at]), int(readings.ranks[layer, at])
            after = say("lens_embedded") if layer == 0 else say("lens_layer", layer=layer)
            hint = html("lens_cell", layer=after, step=at + 1, piece=shown(piece), percent=percent(p),
                        wanted=shown(wanted), own=percent(own), rank=rank)
            kind = " same" if rank == 1 else ""
            first = at + 1 == step and layer == layers - 1
            cells.append(f'<td class="reading{kind}" {language.writes} style="--share:{p:.3f}" '
                         f'tabindex="{0 if first else -1}" data-step="{at + 1}" data-layer="{layer}" '
                         f'data-rank="{rank}" data-probability="{p:.6g}" data-own="{own:.6g}" title="{hint}" '
                         f'aria-label="{hint}">{escape(shown(piece))}</td>')
        name = escape(say("row_target", given=shown(given), wanted=shown(wanted)))
        rows.append(f'<tr{" class=chosen" if at + 1 == step else ""}><th scope="row">{at + 1} · {name}</th>'
                    f'{"".join(cells)}</tr>')
    pair = sentence(source), sentence(readings.predicted)
    title = say("lens_title", source=pair[0], target=pair[1])
    scale = (f'<p class="scale"><span>{html("lens_scale")}</span> <span class="number">0 %</span><i></i>'
             f'<span class="number">50 %</span><i class="upper"></i><span class="number">100 %</span> '
             f'<b class="same">{html("lens_same")}</b></p>')
    columns = escape(json.dumps([say("lens_likeliest"), say("lens_own"), say("lens_rank")]))
    return (f'<div class="table" data-title="{escape(title)}" data-columns="{columns}"{of_pair(pair)}>'
            f'<p class="caption">{html("lens_caption")}</p>{scale}'
            f'<div class="scroll"><table class="lens"><thead><tr><th>{html("lens_step")}</th>{heads}</tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div></div>')
