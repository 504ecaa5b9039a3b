"""Compare the translations of two texts, or of one text by two models."""

import argparse
import json
from collections.abc import Sequence
from contextlib import closing

from xformer.commands.arguments import add_search, search_options
from xformer.explain.pairs import Place, aligned
from xformer.hub.shipped import TRANSLATION
from xformer.results import Comparison, TwoModels, UserError


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Translate A and B, mark the words in which they and their translations differ, and print the "
        "log-probability of each translation after either text. With --models: translate A with two "
        "models, mark the words in which they differ, and print how likely, good and quick each is."
    )
    p.add_argument("first", metavar="A", help="English")
    p.add_argument(
        "second",
        metavar="B",
        nargs="?",
        help="English that differs from A in a word or two",
    )
    p.add_argument(
        "--models",
        metavar=("NAME", "OTHER"),
        nargs=2,
        help="two checkpoints that translate A, in place of B and of --checkpoint",
    )
    p.add_argument(
        "--reference",
        metavar="TEXT",
        default="",
        help="with --models: a translation to score both against",
    )
    add_search(p)


def run(args: argparse.Namespace) -> None:
    from xformer.serve.translation import Service

    options = search_options(args)
    if bool(args.models) == bool(args.second):
        raise UserError(
            "Give two texts, A and B; or one text, and two checkpoints with --models."
        )
    if args.models:
        from xformer.serve.two_models import through_both

        first, second = (
            Service.open(TRANSLATION.find(name), args.device, args.precision)
            for name in args.models
        )
        with closing(first), closing(second):
            found = through_both(first, second, args.first, options, args.reference)
        print(
            json.dumps(found.to_json(), ensure_ascii=False)
            if args.json
            else both(found)
        )
        return
    service = Service.open(
        TRANSLATION.find(args.checkpoint), args.device, args.precision
    )
    compared = service.compare(args.first, args.second, options)
    print(
        json.dumps(compared.to_json(), ensure_ascii=False)
        if args.json
        else report(compared)
    )


def both(found: TwoModels) -> str:
    """Write one text through two models as text: what differs in [brackets], and the
    numbers of each model."""
    targets = [translation.best.text.split() for translation in found.translations]
    places = aligned(*targets)
    heads = found.heads()
    names = [info.name for info in found.infos]
    lines = [
        f"{'AB'[side]}  {marked(targets[side], places, side)}" for side in range(2)
    ]
    wide = max(map(len, names)) + 4
    lines += ["", f"{'':{wide}}{'log-prob.':>10}{'BLEU':>8}{'seconds':>9}  best head"]
    for side, name in enumerate(names):
        bleu = f"{found.scores[side].score:.1f}" if found.scores else "–"
        lines.append(
            f"{'AB'[side] + '  ' + name:{wide}}{found.log_probs[side]:>10.3f}{bleu:>8}"
            f"{found.translations[side].seconds:>9.2f}  {heads[side] or '–'}"
        )
    return "\n".join(lines)


def report(compared: Comparison) -> str:
    """Write a comparison as text: both pairs with what differs in [brackets], and the
    log-probabilities crosswise."""
    sources = [translation.source.split() for translation in compared.translations]
    targets = [translation.best.text.split() for translation in compared.translations]
    of_sources = aligned(*sources)
    of_targets = aligned(*targets)
    lines = []
    for side, name in enumerate("AB"):
        lines += [
            f"{name}  {marked(sources[side], of_sources, side)}",
            f"   {marked(targets[side], of_targets, side)}",
        ]
    lines += ["", f"{'log-probability of':20}{'after A':>10}{'after B':>10}"]
    for translation, name in enumerate("AB"):
        after = (compared.totals[source][translation] for source in range(2))
        lines.append(
            f"{f'the translation of {name}':20}"
            + "".join(f"{value:10.2f}" for value in after)
        )
    return "\n".join(lines)


def marked(words: Sequence[str], places: Sequence[Place], side: int) -> str:
    """Join the words of one side, in brackets those that the other has otherwise or not
    at all."""
    own = [(place[side], place.same) for place in places]
    return " ".join(
        words[i] if same else f"[{words[i]}]" for i, same in own if i is not None
    )
