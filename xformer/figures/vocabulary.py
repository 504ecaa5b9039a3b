"""Draw how a text is split into pieces, and the neighbours of a piece or of a word in a sentence. Escaped HTML."""

import math
from collections.abc import Sequence
from html import escape

from xformer.figures.labels import shown as label
from xformer.figures.tables import header, savable
from xformer.pieces import BYTES, WORD_START
from xformer.results import Neighbour, Pieced
from xformer.strings import ENGLISH, Language


def readable(piece: str) -> str:
    """Write a piece for readers: a word's first piece bare, its other pieces after a hyphen, a byte as "byte D0"."""
    if piece in BYTES:
        return label(piece)
    return piece[1:] or "␣" if piece.startswith(WORD_START) else f"-{piece}"


def splits(ways: Sequence[tuple[str, Pieced]], language: Language = ENGLISH) -> str:
    """Tabulate the splits of a sentence as typed and changed. ways: what was changed, and the split. HTML."""
    say, html = language.say, language.html
    body, rows = "", []
    for how, split in ways:
        sums = html("vocab_way", n=len(split.pieces), value=f"{split.log_prob:.1f}")
        body += f'<h3>{escape(how)} <span class="note">{sums}</span></h3><p>{_chips(split, language)}</p>'
        rows += [[how, split.text, split.pieces, split.log_probs, split.log_prob]]
    return savable(f'{body}<p class="note">{html("vocab_splits_text")}</p>', "pieces-of",
                   say("vocab_splits"), ["written", "text", "pieces", "log-probabilities", "log-probability"], rows)


def others(word: str, ways: Sequence[Pieced], shown: int, language: Language = ENGLISH) -> str:
    """List the `shown` likeliest ways to split a word, with the probability of each among all `ways`; HTML."""
    best = max(way.log_prob for way in ways)
    total = sum(math.exp(way.log_prob - best) for way in ways)
    shares = [math.exp(way.log_prob - best) / total for way in ways]
    body = "".join(f"<tr><td>{_chips(way, language)}</td>{_bar(share, f'{share:.1%}')}</tr>"
                   for way, share in zip(ways[:shown], shares, strict=False))
    table = (f'<table class="plain">{header([language.say("vocab_column_pieces"), language.say("vocab_column_share")])}'
             f"<tbody>{body}</tbody></table>")
    return savable(f'<h3>{language.html("vocab_others", word=word)}</h3>{table}', "pieces-of",
                   language.say("vocab_others", word=word), ["pieces", "log-probability", "share"],
                   [[way.pieces, way.log_prob, share] for way, share in zip(ways, shares, strict=True)])


def nearest(piece: str, found: Sequence[tuple[str, float]], language: Language = ENGLISH) -> str:
    """List the pieces whose embeddings are nearest to that of `piece`, with bars; HTML."""
    title = language.say("vocab_nearest", piece=readable(piece))
    body = "".join(f"<tr><th scope=row>{escape(readable(other))}</th>{_bar(cosine, f'{cosine:.2f}')}</tr>"
                   for other, cosine in found)
    head = header([language.say("vocab_column_piece"), language.say("vocab_column_cosine")])
    return savable(f'<h3>{escape(title)}</h3><table class="plain">{head}<tbody>{body}</tbody></table>', "pieces-of",
                   title, ["piece", "cosine"], [list(row) for row in found])


def found(own: Pieced, piece: str, near: Sequence[tuple[str, float]], language: Language = ENGLISH) -> str:
    """Say how many pieces the sentence makes, and which has the vector most like that of `piece`, the first of
    `near`; HTML."""
    if not near:
        return ""
    other, cosine = near[0]
    said = language.html("vocab_found", count=len(own.pieces), piece=readable(piece), other=readable(other),
                         cosine=f"{cosine:.2f}")
    return f"<p>{said}</p>"


def contexts(piece: str, layer: int, found: Sequence[Neighbour], language: Language = ENGLISH) -> str:
    """List the sentences in which a piece, marked there, has a state like that of `piece`; HTML."""
    after = language.say("vocab_after_0") if layer == 0 else language.say("vocab_after", layer=layer)
    title = language.say("vocab_contexts", piece=readable(piece), after=after)
    body = "".join(f"<tr><td>{_sentence(one)}</td>{_bar(one.similarity, f'{one.similarity:.2f}')}</tr>"
                   for one in found)
    head = header([language.say("vocab_column_sentence"), language.say("vocab_column_cosine")])
    return savable(f'<h3>{escape(title)}</h3><table class="plain">{head}<tbody>{body}</tbody></table>', "pieces-of",
                   title, ["sentence", "piece", "position", "cosine"],
                   [["".join(one.pieces).replace(WORD_START, " ").strip(), one.pieces[one.position], one.position + 1,
                     one.similarity] for one in found])


def _sentence(one: Neighbour) -> str:
    """Write a sentence with its piece marked."""
    written = ""
    for position, piece in enumerate(one.pieces):
        space = " " if piece.startswith(WORD_START) and position else ""
        text = escape(piece.removeprefix(WORD_START))
        written += space + (f"<mark>{text}</mark>" if position == one.position else text)
    return written


def _chips(split: Pieced, language: Language) -> str:
    return "".join(
        f'<span class="unit" title="{language.html("vocab_piece_log_prob", value=f"{value:.2f}")}">'
        f"{escape(readable(piece))}<small>{value:.1f}</small></span>"
        for piece, value in zip(split.pieces, split.log_probs, strict=True))


def _bar(share: float, text: str) -> str:
    return f'<td class="share" style="--share: {max(0.0, min(1.0, share)):.3f}">{text}</td>'
