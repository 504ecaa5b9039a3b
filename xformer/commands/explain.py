"""Write the attention maps of a translation to a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from xformer.commands.arguments import add_checkpoint, add_device
from xformer.hub.shipped import checkpoint_folder
from xformer.results import UserError

HELP = "write the attention maps of a translation to a file"


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = "Write every attention map of one pass over TEXT and its translation (or --target) to a file."
    p.set_defaults(run=run)
    p.add_argument("text", metavar="TEXT", help="English")
    p.add_argument("--target", metavar="TEXT", help="Spanish; the model's own translation if not given")
    p.add_argument("--out", required=True, metavar="FILE", help=".json, .npz, or .html that opens offline")
    add_checkpoint(p)
    add_device(p)


def run(args: argparse.Namespace) -> None:
    """Write the file, whole or not at all."""
    from xformer.explain import export
    from xformer.hub import checkpoint
    from xformer.serve.translation import Service
    out = Path(args.out)
    export.check(out)
    service = Service.open(checkpoint_folder(args.checkpoint), args.device)
    trace = service.explain(args.text, args.target)
    try:
        checkpoint.write(out, export.encode(trace, service.info, out.suffix, service.best_head))
    except OSError as error:
        raise UserError(f"The file {out} cannot be written ({error.strerror}); name another.") from error
