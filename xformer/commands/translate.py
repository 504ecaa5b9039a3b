"""Translate a text, or each line of standard input."""

from __future__ import annotations

import argparse

from xformer.commands.arguments import Within, add_search, add_texts, search_options
from xformer.commands.lines import answer
from xformer.hub.shipped import checkpoint_folder

HELP = "translate a text, or each line of standard input"


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = "Translate TEXT, or each line of standard input; one result a line."
    p.set_defaults(run=run)
    add_texts(p)
    add_search(p)
    p.add_argument("--n-best", type=int, action=Within, least=1, most=32, default=1,
                   help="how many translations of each text (default 1)")


def run(args: argparse.Namespace) -> int:
    from xformer.serve.translation import Service
    options = search_options(args, n_best=args.n_best)
    service = Service.open(checkpoint_folder(args.checkpoint), args.device)
    return answer(args.text, lambda texts: service.translate_many(texts, options),
                  lambda translation: "\t".join(candidate.text for candidate in translation.n_best), args.json)
