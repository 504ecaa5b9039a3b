"""Study how transformers learn, and why some do not."""

from __future__ import annotations

import argparse

from xformer.commands.arguments import LARGEST_SEED, Within

HELP = "study how transformers learn, and why some do not"
MOST_LAYERS, MOST_WIDTH = 48, 1024


def add_arguments(p: argparse.ArgumentParser) -> None:
    kinds = p.add_subparsers(dest="what", required=True)
    defaults = argparse.ArgumentDefaultsHelpFormatter
    beginning = kinds.add_parser("beginning", help="gradients of an untrained model by depth", formatter_class=defaults)
    beginning.description = ("Print the norm of the gradient of each sub-layer's weights before the first step, for "
                             "post-norm and pre-norm (Xiong et al. 2020, figure 3).")
    beginning.set_defaults(run=run)
    beginning.add_argument("--n-layers", type=int, action=Within, least=1, most=MOST_LAYERS, default=6)
    beginning.add_argument("--d-model", type=int, action=Within, least=8, most=MOST_WIDTH, default=128,
                           help="a multiple of 8; d_ff is four times as wide")
    beginning.add_argument("--seed", type=int, action=Within, least=0, most=LARGEST_SEED, default=0)


def run(args: argparse.Namespace) -> None:
    """Print a line for each sub-layer: its place, the norm in a post-norm model, and in a pre-norm one."""
    from xformer.explain.gradients import gradients_at_the_beginning, untrained
    from xformer.results import UserError
    try:
        post, pre = (gradients_at_the_beginning(untrained(args.n_layers, args.d_model, norm), args.seed)
                     for norm in ("post", "pre"))
    except ValueError as error:
        raise UserError(f"There is no such model: {error}.") from error
    print(f"{'stack':8} {'layer':>5}  {'sub-layer':16} {'post-norm':>9} {'pre-norm':>9}")
    for a, b in zip(post, pre, strict=True):
        print(f"{a.stack:8} {a.layer:5}  {a.sublayer:16} {a.norm:9.3f} {b.norm:9.3f}")
