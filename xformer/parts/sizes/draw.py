"""Draw the parameters and the cost of a transformer of given sizes, as bars and tables. HTML, all text escaped."""

from collections.abc import Sequence

import plotly.graph_objects as go

from xformer.figures.layout import BLUE, GREY, ORANGE, TEAL, axis, layout
from xformer.figures.templates import fill
from xformer.parts.sizes import sizes as counts
from xformer.parts.sizes.sizes import Part, Sizes
from xformer.strings import ENGLISH, Language

COLOURS = {"embedding": GREY, "output": GREY, "self_attention": BLUE, "cross_attention": TEAL, "feed_forward": ORANGE,
           "norm": GREY}
MEGA, GIGA = 1 << 20, 1 << 30


def parameters(parts: Sequence[Part], language: Language = ENGLISH) -> go.Figure:
    """Draw a bar for the parameters of every kind of block, from the embeddings at the top to the output."""
    names = [name(part, language) for part in parts]
    total = sum(part.parameters for part in parts)
    data = go.Bar(x=[part.parameters for part in parts], y=names, orientation="h",
                  marker={"color": [COLOURS[part.name] for part in parts]},
                  text=[f"{part.parameters / 1e6:.2f} M" if part.parameters >= 1e6 else f"{part.parameters:,}"
                        for part in parts], textposition="outside", cliponaxis=False,
                  hovertemplate="%{y}: %{x:,}<extra></extra>")
    return go.Figure(data, layout(language.say("sizes_total", n=total), height=30 * len(parts), showlegend=False,
                                  x=axis(language.say("sizes_column_parameters"), nticks=4,
                                         range=[0, 1.45 * max(part.parameters for part in parts)]),
                                  y={"autorange": "reversed", "automargin": True, "gridcolor": "rgba(0,0,0,0)"}))


def name(part: Part, language: Language = ENGLISH) -> str:
    """Name a kind of block for readers, with its tower if both towers have one."""
    block = language.say(f"sizes_part_{part.name}")
    return f"{language.say(f'arch_{part.stack}')}: {block}" if part.stack else block


def table(parts: Sequence[Part], pieces: int, language: Language = ENGLISH) -> str:
    """Tabulate how many blocks there are of each kind, their parameters, and their products for a piece; HTML."""
    rows: list[list[object]] = [[name(part, language), part.blocks, part.parameters, round(part.products / pieces)]
                                for part in parts]
    total = [sum(part.parameters for part in parts), round(sum(part.products for part in parts) / pieces)]
    names = [language.say(f"sizes_column_{column}") for column in ("block", "number", "parameters", "products")]
    return fill("sizes.blocks", language, names=names, rows=[*rows, [language.say("sizes_sum"), "", *total]])


def said(sizes: Sizes, parts: Sequence[Part], pieces: int, batch: int, language: Language = ENGLISH) -> str:
    """Say what memory training and decoding take, and how large the model would be if heads mixed positions; HTML."""
    html = language.html
    total = sum(part.parameters for part in parts)
    kept = batch * counts.activations(sizes, pieces) * counts.BYTES
    lines = [html("sizes_training", weights=memory(total * counts.TRAINING_BYTES, language), batch=batch, n=pieces,
                  kept=memory(kept, language))]
    if sizes.decoder_layers:
        lines.append(html("sizes_decoding", weights=memory(total * counts.BYTES, language), n=pieces,
                          cache=memory(counts.cached(sizes, pieces) * counts.BYTES, language)))
    encoder, decoder = counts.mixing_all_positions(sizes, pieces)
    lines.append(html("sizes_mixing", n=pieces, size=pieces * (sizes.d_model // sizes.n_heads), encoder=encoder,
                      decoder=decoder, times=f"{counts.times_as_many(sizes, pieces):,.1f}"))
    if sizes.decoder_layers and not sizes.shared:
        lines.append(html("sizes_vocabularies", n=sizes.vocabulary))
    return "".join(f"<p>{line}</p>" for line in lines)


def memory(count: int, language: Language = ENGLISH) -> str:
    """Write a number of bytes in a unit that fits."""
    if count >= GIGA:
        return language.say("sizes_gib", n=f"{count / GIGA:,.2f}")
    return language.say("sizes_mib", n=f"{count / MEGA:,.1f}" if count >= MEGA else f"{count / MEGA:,.3f}")
