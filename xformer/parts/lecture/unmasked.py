"""What small translators without masks and with them make of a sentence, and what they
scored: HTML that can be saved, and maps. All text is escaped."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np
import plotly.graph_objects as go

from xformer.figures.heatmap import Axis, Scale, matrix, weight
from xformer.figures.templates import fill
from xformer.results import Unmasked, fixed
from xformer.strings import ENGLISH, Language

KINDS = ("unmasked", "masked")
SETS = ("own", "new")  # sentences that were learned, and others
WAYS = ("given", "turn", "once")
MAPS = ("reliance", "looks")
# what `research.studies.unmasked.scores` calls them; BLEU is no share
SCORES = ("given", "turn", "exact_turn", "bleu_turn", "once")


def words_of(found: Unmasked, kind: str, way: str) -> list[tuple[str, bool]]:
    """What one model wrote in one way, each word with whether the translation that is
    given has it in that place. Written at once, the first word is EOS, as in the
    lecture: nothing is written there."""
    written = getattr(found.passes[kind], way)
    first = [("EOS", True)] if way == "once" else []
    return first + [
        (word, word == wanted or not found.is_own)
        for word, wanted in zip(written, found.target[1:], strict=True)
    ]


def said(found: Unmasked, language: Language = ENGLISH) -> str:
    """Show what both models write, and tell which words they do not know."""
    rows = [
        [
            language.say(f"unmasked_kind_{kind}"),
            language.say(f"unmasked_way_{way}"),
            " ".join(word for word, _ in words_of(found, kind, way)),
        ]
        for kind in KINDS
        for way in WAYS
    ]
    return fill(
        "unmasked.said",
        language,
        found=found,
        kinds=KINDS,
        ways=WAYS,
        words={
            (kind, way): words_of(found, kind, way) for kind in KINDS for way in WAYS
        },
        columns=[
            language.say("unmasked_model"),
            language.say("unmasked_way"),
            language.say("unmasked_answer"),
        ],
        rows=rows,
        told=known(found, language),
    )


def known(found: Unmasked, language: Language = ENGLISH) -> list[str]:
    """Tell how many words of the visitor's sentence the vocabulary does not have, and
    what is not read."""

    def quoted(words: Sequence[str]) -> str:
        return ", ".join(language.say("quoted", text=word) for word in words)

    about = found.about
    say = language.say
    told = [
        say(
            "unmasked_unknown" if found.unknown else "unmasked_known",
            words=len(found.text),
            unknown=len(found.unknown),
            which=quoted(found.unknown),
            count=about["words"],
        ),
        say(
            "unmasked_rare" if found.rare else "unmasked_common",
            rare=len(found.rare),
            which=quoted(found.rare),
            count=about["wide"],
            pairs=about["all_pairs"],
        ),
        say("unmasked_pieces", taken=found.taken, pieces=about["pieces"]),
    ]
    if found.missing:
        told.append(say("unmasked_missing", which=quoted(found.missing)))
    if found.cut:
        told.append(say("unmasked_cut", most=len(found.target) - 2))
    return told


def measured(
    runs: Sequence[Mapping[str, Any]], kind: str, of: str, score: str
) -> tuple[float, float, float]:
    """The mean of a score over the seeds of a kind, the least and the most; of: one of
    SETS. Shares are in percent."""
    times = 1 if score.startswith("bleu") else 100
    values = [
        times * run[of][score] for run in runs if run["masked"] == (kind == "masked")
    ]
    return mean(values), min(values), max(values)


def scores(found: Unmasked, language: Language = ENGLISH) -> str:
    """Tabulate what was measured, and explain the numbers of the lecture's slides."""
    say = language.say
    columns = [say(f"unmasked_column_{kind}_{of}") for kind in KINDS for of in SETS]
    table = {
        score: [measured(found.runs, kind, of, score) for kind in KINDS for of in SETS]
        for score in SCORES
    }
    rows = [
        [
            say(f"unmasked_score_{score}"),
            *(" ".join(fixed(one, ".1f") for one in cell) for cell in cells),
        ]
        for score, cells in table.items()
    ]
    seconds = [
        round(mean(run["seconds"] for run in found.runs if run["masked"] == masked))
        for masked in (False, True)
    ]
    about = found.about
    options = about["options"]
    encoder, decoder = about["tensors"]
    more = [
        say("unmasked_code"),
        say("unmasked_layers", encoder=encoder, decoder=decoder),
        say(
            "unmasked_time",
            pairs=about["pairs"],
            epochs=round(options["steps"] * options["rows"] / about["pairs"]),
            bare=seconds[0],
            masked=seconds[1],
            weights=about["weights"],
        ),
        say("unmasked_marks"),
        say(
            "unmasked_words",
            count=about["words"],
            share=f"{100 * about['unknown']['words']:.0f}",
            sentences=f"{100 * about['unknown']['sentences']:.0f}",
        ),
        say("unmasked_dropout"),
    ]
    return fill(
        "unmasked.scores",
        language,
        names=["", *columns],
        rows=rows,
        table=table,
        told=told(found, language),
        more=more,
    )


def told(found: Unmasked, language: Language = ENGLISH) -> str:
    """Say in one sentence what the scores show."""

    def share(kind: str, of: str, score: str) -> str:
        return f"{measured(found.runs, kind, of, score)[0]:.0f}"

    def loss(masked: bool) -> str:
        losses = [run["loss"] for run in found.runs if run["masked"] == masked]
        return f"{mean(losses):.2f}"

    return language.say(
        "unmasked_told",
        bare_loss=loss(False),
        masked_loss=loss(True),
        pairs=found.about["pairs"],
        bare_given=share("unmasked", "own", "given"),
        bare_turn=share("unmasked", "own", "turn"),
        masked_turn=share("masked", "own", "turn"),
        bare_new=share("unmasked", "new", "turn"),
        masked_new=share("masked", "new", "turn"),
        seeds=len(found.runs) // 2,
    )


def drawn(
    found: Unmasked, kind: str, name: str, language: Language = ENGLISH
) -> go.Figure:
    """Draw what each written word of one model hangs on, or where its self-attention
    looks. name: one of MAPS."""
    say = language.say
    values = {one: getattr(each, name) for one, each in found.passes.items()}
    signed = name == "reliance"
    most = max(float(np.abs(one).max()) for one in values.values()) if signed else 1.0
    labels = [f"{i} {word}" for i, word in enumerate(found.target)]
    return matrix(
        values[kind],
        Axis(say("unmasked_axis_written"), labels[1:]),
        Axis(say("unmasked_axis_given"), labels),
        (
            (
                lambda row, column, value: say(
                    "unmasked_hover", row=row, column=column, value=fixed(value, ".2f")
                )
            )
            if signed
            else weight(language)
        ),
        title=say(f"unmasked_map_{name}_{kind}"),
        scale=Scale(say(f"unmasked_bar_{name}"), most or 1.0, signed=signed),
        cell=(24, 24),
    )
