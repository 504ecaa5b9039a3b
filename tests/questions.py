"""One question of each kind, for tests that ask them all."""

from xformer.results import (
    AskWhy,
    Begin,
    EmbedSource,
    Examine,
    Follow,
    Force,
    GrowTree,
    Head,
    MapMeanings,
    MeasureReach,
    Move,
    NearestContexts,
    NearestPairs,
    NearestPieces,
    Occlude,
    Positions,
    RankHeads,
    ReadDecoder,
    Reverse,
    Reweigh,
    SwapHeads,
    SweepBeta,
    TellSides,
    TranslateByLayer,
    WalkHead,
    WatchForm,
    Weighing,
)


def one_of_each(source, target, piece):
    """Questions to a transformer about a source and a target, and about a piece of the
    vocabulary: all but `WalkAdditive`, which it refuses."""
    head = Head("cross", 1, 1)
    return [
        WalkHead(source, target, head),
        Follow(source, target, "decoder"),
        Occlude(source, target),
        RankHeads(source, target, ["cross"]),
        ReadDecoder(source, target),
        Force(source, target),
        MeasureReach(source),
        SweepBeta(source, target),
        Reweigh(source, target, Weighing(head)),
        Move(source, target, Positions("none")),
        Begin(source, target, head),
        Examine(source, target, "future"),
        GrowTree(source),
        TranslateByLayer(source),
        EmbedSource(source),
        NearestPieces(piece),
        NearestContexts(source, 0, 1),
        AskWhy(source, target, 0, "</s>"),
        TellSides(source, target),
        SwapHeads(
            source,
            target,
            0,
            "</s>",
            source if isinstance(source, str) else source.source,
        ),
        MapMeanings([(source, target)], "encoder", 1, 220),
        Reverse(source),
        NearestPairs(source if isinstance(source, str) else source.source),
        WatchForm("The dog eats.", "El perro come."),
    ]
