"""A beam as a tree: the payload of beam_tree.js, and why a hypothesis won or lost, in
words. HTML is escaped."""

import json
from typing import Any

from xformer.figures.labels import sentence, shown
from xformer.figures.templates import fill
from xformer.pieces import EOS, SPECIAL
from xformer.results import BeamTree, fixed
from xformer.strings import ENGLISH, Language

# Texts that the script fills in itself.
TEXTS = (
    "tree_title",
    "tree_step",
    "tree_hover",
    "tree_kept",
    "tree_ended",
    "tree_dropped",
    "tree_winner",
    "tree_cut",
    "tree_label",
    "tree_column_step",
    "tree_column_rank",
    "tree_column_piece",
    "tree_column_parent",
    "tree_log_prob",
    "tree_total",
    "tree_score",
    "tree_fate",
)


def path(tree: BeamTree, node: int) -> list[int]:
    """List the nodes from the root to a branch, which is included."""
    found = []
    at = node if 0 <= node < len(tree.branches) else None
    while at is not None:
        found.append(at)
        at = tree.branches[at].parent
    return found[::-1]


def tokens(tree: BeamTree, node: int) -> tuple[int, ...]:
    """The tokens from the root to a branch, which is included."""
    return tuple(tree.branches[at].token for at in path(tree, node))


def places(tree: BeamTree) -> dict[int, int]:
    """The place of each finished hypothesis in the n-best list, from 1, by the branch
    that ends it."""
    ranks = {
        candidate.tokens: rank
        for rank, candidate in enumerate(tree.translation.n_best, 1)
    }
    return {
        node: ranks[own]
        for node, branch in enumerate(tree.branches)
        if branch.fate == "ended" and (own := tokens(tree, node)) in ranks
    }


def winner(tree: BeamTree) -> int:
    """The branch that ends the best hypothesis."""
    return next(node for node, place in places(tree).items() if place == 1)


def payload(tree: BeamTree, node: int, language: Language = ENGLISH) -> dict[str, Any]:
    """Pack every branch: its parent, step and rank within the step (from 0), piece,
    numbers, and fate.

    node: the branch that is chosen. Labels are text, which the script escapes. The
    branches are one text, in JSON: Gradio's page puts each of thousands of numbers
    behind a proxy and reads all of them again and again.
    """
    best = {*path(tree, winner(tree))}
    ranks = places(tree)
    in_step: dict[int, int] = {}
    nodes = []
    for at, (branch, piece) in enumerate(zip(tree.branches, tree.pieces, strict=True)):
        row = in_step[branch.step] = in_step.get(branch.step, -1) + 1
        nodes.append(
            {
                "parent": branch.parent,
                "step": branch.step,
                "row": row,
                "piece": shown(piece),
                "log_prob": round(branch.log_prob, 6),
                "total": round(branch.total, 6),
                "score": round(branch.score, 6),
                "fate": branch.fate,
                "place": ranks.get(at, 0),
                "best": at in best,
                "cut": branch.fate == "ended" and piece != SPECIAL[EOS],
            }
        )
    return {
        "title": language.say(
            "tree_title",
            width=tree.translation.options.beam,
            text=tree.translation.source,
        ),
        "nodes": json.dumps(nodes),
        "chosen": node,
        "pair": [tree.translation.source, tree.translation.best.text],
        "texts": language.unfilled(TEXTS),
    }


def why(tree: BeamTree, node: int, language: Language = ENGLISH) -> str:
    """Say why a hypothesis won or lost, with its numbers beside the winner's, at the
    same step and at its end; HTML."""
    say = language.say
    branch = tree.branches[node]
    best = path(tree, winner(tree))
    columns = {say("tree_this"): branch}
    if node != best[-1]:
        same = best[min(branch.step, len(best) - 1)]
        if same != best[-1]:
            columns[say("tree_winner_here", step=tree.branches[same].step + 1)] = (
                tree.branches[same]
            )
        columns[say("tree_winner_end", step=tree.branches[best[-1]].step + 1)] = (
            tree.branches[best[-1]]
        )
    return fill(
        "beam_tree.why",
        language,
        text=sentence([tree.pieces[at] for at in path(tree, node)]),
        verdict=verdict(tree, node, language),
        columns=columns,
        alpha=tree.translation.options.length_penalty,
    )


def verdict(tree: BeamTree, node: int, language: Language = ENGLISH) -> str:
    """Say in a sentence or two what became of a hypothesis."""
    say = language.say
    branch = tree.branches[node]
    best = winner(tree)
    step = [at for at, one in enumerate(tree.branches) if one.step == branch.step]
    rank = step.index(node) + 1
    width = tree.translation.options.beam
    winning = tree.branches[best]
    # at the greatest length
    is_cut = branch.fate == "ended" and tree.pieces[node] != SPECIAL[EOS]
    cut = say("tree_why_cut", pieces=branch.step + 1) + " " if is_cut else ""
    if node == best:
        ended = sum(one.fate == "ended" for one in tree.branches)
        return cut + say("tree_why_won", score=fixed(branch.score, ".4f"), count=ended)
    if branch.fate == "ended":
        place = places(tree).get(node)
        if place is None:
            return cut + say(
                "tree_why_displaced", score=fixed(branch.score, ".4f"), width=width
            )
        said = say(
            "tree_why_place",
            place=place,
            score=fixed(branch.score, ".4f"),
            winner=fixed(winning.score, ".4f"),
            below=fixed(winning.score - branch.score, ".4f"),
        )
        likelier = branch.total > winning.total
        return f"{cut}{said} {say('tree_why_shorter' if likelier else 'tree_why_less')}"
    if branch.fate == "dropped":
        kept = [
            tree.branches[at].total for at in step if tree.branches[at].fate == "kept"
        ]
        values = {
            "step": branch.step + 1,
            "rank": rank,
            "width": width,
            "score": fixed(branch.score, ".4f"),
        }
        # nothing is kept at the length limit
        if tree.pieces[node] == SPECIAL[EOS] or not kept:
            return say(
                "tree_why_end_worse"
                if rank <= width
                else "tree_why_no_end"
                if kept
                else "tree_why_limit",
                **values,
            )
        return say(
            "tree_why_dropped",
            total=fixed(branch.total, ".3f"),
            least=fixed(min(kept), ".3f"),
            **values,
        )
    said = say("tree_why_kept", step=branch.step + 1, rank=rank, width=width)
    return f"{said} {_later(tree, node, best, language)}"


def _later(tree: BeamTree, node: int, best: int, language: Language) -> str:
    """Say what became of the continuations of a hypothesis that was kept."""
    say = language.say
    descendants = {node}
    for at, branch in enumerate(tree.branches):
        if branch.parent in descendants:
            descendants.add(at)
    if best in descendants:
        return say("tree_later_won")
    if ends := [place for end, place in places(tree).items() if end in descendants]:
        return say("tree_later_ended", place=min(ends))
    if ended := [
        tree.branches[at].score
        for at in descendants
        if tree.branches[at].fate == "ended"
    ]:
        return say(
            "tree_later_displaced",
            score=fixed(max(ended), ".4f"),
            width=tree.translation.options.beam,
        )
    # A branch that is kept at a step either has a continuation that is kept at the
    # next, or has died out.
    last = max(
        tree.branches[at].step for at in descendants if tree.branches[at].fate == "kept"
    )
    if last == max(branch.step for branch in tree.branches):
        return say("tree_later_alive")
    return say("tree_later_dropped", step=last + 2)
