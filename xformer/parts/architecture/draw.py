"""Draw Figure 1 of Vaswani et al. (2017) for a model's own sizes and order of
normalisation. HTML, all text escaped.

Like the paper's figure, a tower is read from the bottom up; a bracket is the residual
connection around a sub-layer.
"""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from xformer.figures.generation import label
from xformer.figures.labels import FORMULAS, percent
from xformer.figures.templates import fill
from xformer.parts.architecture import source as code
from xformer.results import Block, ModelInfo
from xformer.strings import ENGLISH, Language

# The sub-layers of each tower, each attention with its stack and the axes of its maps:
# the towers of queries and keys.
SUBLAYERS = {
    "encoder": (
        ("self_attention", "encoder_self", ("encoder", "encoder")),
        ("feed_forward", "", ()),
    ),
    "decoder": (
        ("self_attention", "decoder_self", ("decoder", "decoder")),
        ("cross_attention", "cross", ("decoder", "encoder")),
        ("feed_forward", "", ()),
    ),
}
# What teachers call the boxes and how they group them, and a table of the same things:
# teachers.json.
TEACHING: dict[str, Any] = json.loads(
    Path(__file__).with_name("teachers.json").read_text(encoding="utf-8")
)
OWN = "own"
TEACHERS = tuple(TEACHING["teachers"])


def architecture(
    info: ModelInfo,
    blocks: Sequence[Block],
    source: int | None = None,
    target: int | None = None,
    language: Language = ENGLISH,
    teacher: str = OWN,
) -> str:
    """Draw both towers: every box with its parameters and its output's shape; attention
    boxes are buttons.

    source, target: numbers of pieces of the sentence on the page; without one, the
    letters S and T are written.
    teacher: one of TEACHERS, by whose words blocks.js names and groups the boxes of a
    transformer; or OWN.
    """
    total = sum(block.parameters for block in blocks)
    kinds = {
        "attention": ("attention",),
        "feed": ("feed_forward",),
        "gru": ("wards.", "layers."),
    }
    shares = {
        kind: percent(
            sum(
                one.parameters
                for one in blocks
                if any(mark in one.name for mark in marks)
            )
            / total
        )
        for kind, marks in kinds.items()
    }
    return fill(
        "architecture.architecture",
        language,
        total=total,
        shares=shares,
        model={
            **_model(
                info,
                blocks,
                encoder="S" if source is None else str(source),
                decoder="T" if target is None else str(target),
            ),
            "opens": "cross",
        },
        taught=taught(language, teacher) if teacher != OWN else "",
        named=[row.get("code") for row in TEACHING["rows"]] if teacher != OWN else [],
    )


def _model(info: ModelInfo, blocks: Sequence[Block], **lengths: str) -> dict[str, Any]:
    """What the template draws. lengths: of source and target, as text, by the tower
    that reads them."""
    return {
        "info": info,
        "blocks": {block.name: block for block in blocks},
        "lengths": lengths,
        "inside": SUBLAYERS,
        "code": {name: code.of_block(name) for name in code.CODE},
        "opens": "",  # the stack that a click opens, where it does
    }


def heading(info: ModelInfo, language: Language = ENGLISH) -> str:
    """Explain the towers, and what a click does; HTML."""
    key = "arch_text" if info.architecture == "transformer" else "arch_text_recurrent"
    return (
        f'<p class="note">{language.html(key)} {language.html("arch_text_click")}</p>'
    )


def taught(language: Language = ENGLISH, teacher: str = OWN) -> str:
    """Hand blocks.js the words and groups of a teacher, or for OWN those of all, to
    tabulate; an attribute."""
    names = {
        one: language.say(f"arch_names_{one}")
        for one in (*TEACHERS, OWN)
        if teacher in (OWN, one) or one == OWN
    }
    texts = {
        key: language.texts[f"arch_{key}"]
        for key in ("code", "apart", "terms", "terms_what", "terms_text")
    }
    given = {
        "rows": TEACHING["rows"],
        "teacher": TEACHING["teachers"].get(teacher),
        "language": language.code,
    }
    return f' data-taught="{escape(json.dumps({**given, "names": names, "texts": texts}, ensure_ascii=False))}"'


def classifier(
    info: ModelInfo,
    blocks: Sequence[Block],
    pieces: int | None = None,
    language: Language = ENGLISH,
) -> str:
    """Draw a classifier: an encoder, the pooling of its states, and the matrix of the
    classes. pieces: of the text."""
    return fill(
        "architecture.classifier",
        language,
        total=sum(block.parameters for block in blocks),
        model=_model(info, blocks, encoder="L" if pieces is None else str(pieces)),
    )


def both(
    models: Sequence[tuple[ModelInfo, Sequence[Block]]],
    language: Language = ENGLISH,
) -> str:
    """Draw the GRU and the GRU with attention side by side, the boxes marked that only
    one of them has, for S pieces and T; HTML."""
    lengths = {"encoder": "S", "decoder": "T"}
    (before, _), (after, blocks_after) = models
    cost = sum(one.parameters for one in blocks_after if one.name == "attention")
    return fill(
        "architecture.both",
        language,
        models=[
            (label(info.architecture, language), _model(info, blocks, **lengths))
            for info, blocks in models
        ],
        names=" · ".join(info.versioned for info, _ in models),
        rows=lengths["encoder"],
        cost=cost,
        widths=(before.d_model, after.d_model),
    )


def orders(own: str, language: Language = ENGLISH) -> str:
    """Draw one sub-layer in both orders of normalisation, side by side; the model's
    `own` order is marked."""
    return fill(
        "architecture.orders", language, own=own, formulas=FORMULAS["architecture"]
    )
