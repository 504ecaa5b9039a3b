"""Write the attention maps of a translation to a file, or print what each layer makes
of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from xformer.commands.arguments import add_model
from xformer.hub.shipped import TRANSLATION
from xformer.results import ReadDecoder, TranslateByLayer, refusing, write_whole

if TYPE_CHECKING:
    from xformer.serve.translation import Service


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Write every attention map of one pass over TEXT and its translation (or --target) to a file, or "
        "print what the model makes of it after each layer."
    )
    p.add_argument("text", metavar="TEXT", help="English")
    p.add_argument(
        "--target",
        metavar="TEXT",
        help="Spanish; the model's own translation if not given",
    )
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--out", metavar="FILE", help=".json, .npz, or .html that opens offline"
    )
    what.add_argument(
        "--layers",
        action="store_true",
        help="print the translation from each layer of the encoder, and the likeliest piece at each "
        "layer of the decoder with the rank of the piece that follows",
    )
    add_model(p)


def run(args: argparse.Namespace) -> None:
    from xformer.serve.translation import Service

    if args.layers:
        print_layers(
            Service.open(TRANSLATION.find(args.checkpoint), args.device),
            args.text,
            args.target,
        )
        return
    from xformer.explain import export
    from xformer.explain.alignment import given_heads

    out = Path(args.out)
    export.check(out)
    service = Service.open(TRANSLATION.find(args.checkpoint), args.device)
    trace = service.explain(args.text, args.target)
    given = given_heads(service.info, service.alignment_errors)
    with refusing(
        OSError,
        lambda error: (
            f"The file {out} cannot be written ({error.strerror}); name another."
        ),
    ):
        # Whole or not at all.
        write_whole(
            out,
            export.encode(
                trace, service.info, out.suffix, service.best_head, given=given
            ),
        )


def print_layers(service: Service, text: str, target: str | None) -> None:
    """Print a translation for each layer of the encoder, then a row for each layer of
    the decoder."""
    translations = service.ask(TranslateByLayer(text))
    for layer, candidate in enumerate(translations):
        print(f"encoder, layer {layer}: {candidate.text}")
    readings = service.ask(
        ReadDecoder(text, translations[-1].tokens if target is None else target)
    )
    print(f"predicted: {' '.join(readings.predicted)}")
    for layer, (pieces, ranks) in enumerate(
        zip(readings.pieces, readings.ranks.tolist(), strict=True)
    ):
        row = " ".join(
            f"{piece} ({rank})" for piece, rank in zip(pieces, ranks, strict=True)
        )
        print(f"decoder, layer {layer}: {row}")
