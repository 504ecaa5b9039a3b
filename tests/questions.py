"""One question of each kind, for tests that ask them all."""

from xformer.results import (
    EmbedSource,
    Examine,
    Follow,
    Force,
    GrowTree,
    Head,
    MapMeanings,
    Move,
    NearestContexts,
    NearestPieces,
    Occlude,
    Positions,
    RankHeads,
    ReadDecoder,
    Reverse,
    Reweigh,
    SweepBeta,
    TranslateByLayer,
    WalkHead,
    Weighing,
)


def one_of_each(source, target, piece):
    """Questions about a source and a target, and about a piece of the vocabulary."""
    head = Head("cross", 1, 1)
    return [WalkHead(source, target, head), Follow(source, target, "decoder"), Occlude(source, target),
            RankHeads(source, target, ["cross"]), ReadDecoder(source, target), Force(source, target),
            SweepBeta(source, target), Reweigh(source, target, Weighing(head)), Move(source, target, Positions("none")),
            Examine(source, target, "future"), GrowTree(source), TranslateByLayer(source), EmbedSource(source),
            NearestPieces(piece), NearestContexts(source, 0, 1), MapMeanings([(source, target)], "encoder", 1, 220),
            Reverse(source)]
