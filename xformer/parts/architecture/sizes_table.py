"""Tabulate the parameters and the cost of a transformer of given sizes. HTML, all text
escaped."""

from collections.abc import Sequence

from xformer.figures.templates import fill
from xformer.parts.architecture import sizes as counts
from xformer.parts.architecture.sizes import Part, Sizes
from xformer.strings import ENGLISH, Language


def name(part: Part, language: Language = ENGLISH) -> str:
    """Name a kind of block for readers, with its tower if both towers have one."""
    block = language.say(f"sizes_part_{part.name}")
    return f"{language.say(f'arch_{part.stack}')}: {block}" if part.stack else block


def table(parts: Sequence[Part], pieces: int, language: Language = ENGLISH) -> str:
    """Tabulate how many blocks there are of each kind, their parameters, and their
    products for a piece; HTML."""
    rows: list[list[object]] = [
        [
            name(part, language),
            part.blocks,
            part.parameters,
            round(part.products / pieces),
        ]
        for part in parts
    ]
    total = [
        sum(part.parameters for part in parts),
        round(sum(part.products for part in parts) / pieces),
    ]
    names = [
        language.say(f"sizes_column_{column}")
        for column in ("block", "number", "parameters", "products")
    ]
    return fill(
        "sizes.blocks",
        language,
        names=names,
        rows=[*rows, [language.say("sizes_sum"), "", *total]],
    )


def said(sizes: Sizes, pieces: int, language: Language = ENGLISH) -> str:
    """Say how large the model would be if heads mixed positions; HTML."""
    encoder, decoder = counts.mixing_all_positions(sizes, pieces)
    lines = [
        language.html(
            "sizes_mixing",
            n=pieces,
            size=pieces * (sizes.d_model // sizes.n_heads),
            encoder=encoder,
            decoder=decoder,
            times=language.number(counts.times_as_many(sizes, pieces), 1),
        )
    ]
    if sizes.decoder_layers and not sizes.shared:
        lines.append(language.html("sizes_vocabularies", n=sizes.vocabulary))
    return "".join(f"<p>{line}</p>" for line in lines)
