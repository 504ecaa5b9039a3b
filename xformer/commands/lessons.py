"""Choose the sentences that the lessons are asked of."""

from __future__ import annotations

import argparse

from xformer.commands.arguments import add_model, add_part, plainly
from xformer.hub.shipped import SENTIMENT, SHIPPED, TRANSLATION
from xformer.results import GENERATIONS, UserError


def add_arguments(p: argparse.ArgumentParser) -> None:
    q = add_part(
        p.add_subparsers(dest="what", required=True),
        choose,
        "by how clear the answers about each are with given weights",
    )
    q.add_argument(
        "lessons",
        metavar="LESSON",
        nargs="*",
        help="measure the lists of these only, as “it”; if not given, all",
    )
    add_model(q)
    q.add_argument(
        "--write",
        action="store_true",
        help="put the clearest sentence of each list into its lesson",
    )


def choose(args: argparse.Namespace) -> None:
    """Measure, for each sentence of assets/lesson_sentences.json, how far the answers
    to the questions about it are from where other answers would be right. 1 is clear;
    0 means that no answer is right; “any” that no other is near. A star marks the
    sentence that a lesson has, an arrow the one with the largest least margin."""
    from tqdm import tqdm

    from xformer.explain import alignment
    from xformer.hub import checkpoint
    from xformer.lessons import choosing, files
    from xformer.lessons.scene import Scene
    from xformer.serve.pool import Models
    from xformer.serve.reviews import SentimentService
    from xformer.serve.study import Study
    from xformer.serve.translation import Service
    from xformer.training.evaluation import evaluate_alignment

    chosen = [
        of
        for of in files.sentences()
        if not args.lessons or of.split(".")[0] in args.lessons
    ]
    if unknown := {*args.lessons} - {of.split(".")[0] for of in chosen}:
        raise UserError(
            f"{' and '.join(sorted(unknown))} names no lesson that has a list of sentences; write some of "
            f"{', '.join(sorted({of.split('.')[0] for of in files.sentences()}))}."
        )
    folder = TRANSLATION.find(args.checkpoint)
    source, _ = checkpoint.languages(folder)
    if source not in ("en", ""):  # what is no translator is refused as it is opened
        raise UserError(
            f"{checkpoint.name_of(folder)} reads {source!r}, and the lessons are asked of English "
            f"sentences; name another checkpoint."
        )
    service = Service.open(folder, args.device)
    # nobody has measured its heads yet
    if "alignment" not in service.metrics:
        gold = alignment.read_gold(alignment.GOLD["en"])
        with plainly():
            service.metrics["alignment"] = evaluate_alignment(service, gold).to_json()
    beside = {one.name: one.path for one in SHIPPED if one.name in GENERATIONS}
    scene = Scene(
        service,
        Models(service, beside, args.device),
        Study(),
        SentimentService.open(SENTIMENT.find(), args.device),
    )
    rows = [
        *tqdm(
            choosing.measured(scene, chosen),
            total=sum(len(files.sentences()[of]) for of in chosen),
            unit="sentence",
            dynamic_ncols=True,
            leave=False,
        )
    ]
    best = {}
    for of in chosen:
        found = files.sentences()[of]
        own = [row for row in rows if row.of == of]
        clearest = max(own, key=lambda row: row.least)
        best[of] = clearest.sentence
        steps = "".join(f"{number:>6}" for number in own[0].margins)
        print(f"{of:<60}{steps} least")
        for row in own:
            marks = "*" if row.sentence == found[0] else " "
            marks += ">" if row is clearest else " "
            margins = "".join(
                f"{choosing.shown(one):>6}" for one in row.margins.values()
            )
            text = str(row.sentence["text"])
            print(f"{marks} {text[:57]:<58}{margins}{choosing.shown(row.least):>6}")
    moved = sum(one != files.sentences()[of][0] for of, one in best.items())
    print(
        f"{moved} of {len(best)} lists have a clearer sentence than the first, checkpoint "
        f"{service.info.versioned}"
    )
    if args.write:
        choosing.write(best, files.SENTENCES)
