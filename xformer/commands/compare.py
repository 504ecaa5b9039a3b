"""Compare the translations of two texts, and how likely each is after either."""

import argparse
import json
from collections.abc import Sequence

from xformer.commands.arguments import add_search, search_options
from xformer.explain.pairs import Place, aligned
from xformer.hub.shipped import TRANSLATION
from xformer.results import Comparison

HELP = "compare the translations of two texts"


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = ("Translate A and B, mark the words in which they and their translations differ, and print the "
                     "log-probability of each translation after either text.")
    p.set_defaults(run=run)
    p.add_argument("first", metavar="A", help="English")
    p.add_argument("second", metavar="B", help="English that differs from A in a word or two")
    add_search(p)


def run(args: argparse.Namespace) -> None:
    from xformer.serve.translation import Service
    options = search_options(args)
    service = Service.open(TRANSLATION.find(args.checkpoint), args.device, args.precision)
    compared = service.compare(args.first, args.second, options)
    print(json.dumps(compared.to_json(), ensure_ascii=False) if args.json else report(compared))


def report(compared: Comparison) -> str:
    """Write a comparison as text: both pairs with what differs in [brackets], and the log-probabilities crosswise."""
    sources = [translation.source.split() for translation in compared.translations]
    targets = [translation.best.text.split() for translation in compared.translations]
    of_sources, of_targets = aligned(*sources), aligned(*targets)
    lines = []
    for side, name in enumerate("AB"):
        lines += [f"{name}  {marked(sources[side], of_sources, side)}",
                  f"   {marked(targets[side], of_targets, side)}"]
    lines += ["", f"{'log-probability of':20}{'after A':>10}{'after B':>10}"]
    for translation, name in enumerate("AB"):
        after = (compared.totals[source][translation] for source in range(2))
        lines.append(f"{f'the translation of {name}':20}" + "".join(f"{value:10.2f}" for value in after))
    return "\n".join(lines)


def marked(words: Sequence[str], places: Sequence[Place], side: int) -> str:
    """Join the words of one side, in brackets those that the other has otherwise or not at all."""
    own = [(place[side], place.same) for place in places]
    return " ".join(words[i] if same else f"[{words[i]}]" for i, same in own if i is not None)
