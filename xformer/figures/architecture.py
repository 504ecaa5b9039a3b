"""Draw Figure 1 of Vaswani et al. (2017) for a model's own sizes and order of normalisation. HTML, all text escaped.

Like the paper's figure, a tower is read from the bottom up; a bracket is the residual connection around a sub-layer.
"""

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from xformer.explain import source as code
from xformer.figures.labels import paragraph, percent
from xformer.results import Block, ModelInfo
from xformer.strings import ASSETS, ENGLISH, Language

SUBLAYERS = {"encoder": (("self_attention", "self_residual"), ("feed_forward", "feed_residual")),
             "decoder": (("self_attention", "self_residual"), ("cross_attention", "cross_residual"),
                         ("feed_forward", "feed_residual"))}
STACK = {("encoder", "self_attention"): "encoder_self", ("decoder", "self_attention"): "decoder_self",
         ("decoder", "cross_attention"): "cross"}
# The axes of each stack's attention maps: the towers of the queries and of the keys.
SIDES = {"encoder_self": ("encoder", "encoder"), "decoder_self": ("decoder", "decoder"),
         "cross": ("decoder", "encoder")}
# What teachers call the boxes and how they group them, and a table of the same things: assets/teachers.json.
TEACHING: dict[str, Any] = json.loads((ASSETS / "teachers.json").read_text(encoding="utf-8"))
OWN, TEACHERS = "own", tuple(TEACHING["teachers"])
FORMULAS = {"post": "<i>x</i> ← LayerNorm( <i>x</i> + Sublayer( <i>x</i> ) )",
            "pre": "<i>x</i> ← <i>x</i> + Sublayer( LayerNorm( <i>x</i> ) )"}


def architecture(info: ModelInfo, blocks: Sequence[Block], source: int | None = None, target: int | None = None,
                 language: Language = ENGLISH, teacher: str = OWN) -> str:
    """Draw both towers: every box with its parameters and its output's shape; attention boxes are buttons.

    source, target: numbers of pieces of the sentence on the page; without one, the letters S and T are written.
    teacher: one of TEACHERS, by whose words assets/blocks.js names and groups the boxes of a transformer; or OWN.
    """
    by_name = {block.name: block for block in blocks}
    lengths = {"encoder": "S" if source is None else str(source), "decoder": "T" if target is None else str(target)}
    towers = "".join(_tower(side, info, by_name, lengths, language) for side in ("encoder", "decoder"))
    said = paragraph(language, "arch_total", n=sum(block.parameters for block in blocks),
                     embedding=by_name["embedding"].parameters)
    codes = "".join(f'data-code="{row.get("code")}"' for row in TEACHING["rows"]) if teacher != OWN else ""
    return (f'{said}<div class="towers"{taught(language, teacher) if codes else ""}>{towers}</div>'
            f'{_found(info, blocks, lengths["encoder"], language)}{_sources(towers + codes, language)}')


def _found(info: ModelInfo, blocks: Sequence[Block], rows: str, language: Language) -> str:
    """Say which blocks hold how much of the parameters, and what the decoder gets. rows: the length of the source."""
    total = sum(block.parameters for block in blocks)

    def share(*marks: str) -> str:
        return percent(sum(one.parameters for one in blocks if any(mark in one.name for mark in marks)) / total)

    # The decoder of a "gru" gets the last state alone.
    return paragraph(language, "arch_found" if info.architecture == "transformer" else "arch_found_recurrent",
                     attention=share("attention"), feed=share("feed_forward"), gru=share("wards.", "layers."),
                     rows="1" if info.architecture == "gru" else rows, width=info.d_model)


def heading(info: ModelInfo, language: Language = ENGLISH) -> str:
    """Explain the towers, and what a click does; HTML."""
    key = "arch_text" if info.architecture == "transformer" else "arch_text_recurrent"
    return f'<p class="note">{language.html(key)} {language.html("arch_text_click")}</p>'


def taught(language: Language = ENGLISH, teacher: str = OWN) -> str:
    """Hand assets/blocks.js the words and groups of a teacher, or for OWN those of all, to tabulate; an attribute."""
    names = {one: language.say(f"arch_names_{one}") for one in (*TEACHERS, OWN) if teacher in (OWN, one) or one == OWN}
    texts = {key: language.texts[f"arch_{key}"] for key in ("code", "apart", "terms", "terms_what", "terms_text")}
    given = {"rows": TEACHING["rows"], "teacher": TEACHING["teachers"].get(teacher), "language": language.code}
    return f' data-taught="{escape(json.dumps({**given, "names": names, "texts": texts}, ensure_ascii=False))}"'


def _sources(drawn: str, language: Language) -> str:
    """Write the code of all blocks that are drawn; assets/blocks.js shows one at a time."""
    sections = ""
    for name in code.CODE:
        if f'data-code="{name}"' not in drawn:
            continue
        parts = "".join(f"<p>xformer/{lines.file}, {language.html('arch_line', n=lines.first)}</p>"
                        f"<pre>{escape(lines.text)}</pre>" for lines in code.of_block(name))
        sections += f'<section data-of="{name}" hidden>{parts}</section>'
    return (f'<aside class="code-of" aria-label="{language.html("arch_code_panel")}" hidden>'
            f'<button type="button" class="close" aria-label="{language.html("arch_close")}">×</button>'
            f"{sections}</aside>")


def classifier(info: ModelInfo, blocks: Sequence[Block], pieces: int | None = None, language: Language = ENGLISH
               ) -> str:
    """Draw a classifier: an encoder, the pooling of its states, and the matrix of the classes. pieces: of the text."""
    html, by_name = language.html, {block.name: block for block in blocks}
    pooling, head = by_name.get("pooling"), by_name["head"]
    classes = head.weights[0][1][0]
    top = [_box(language, "norm", f"pooling_{info.pooling}", html("first_number", n=info.d_model),
                _parameters(language, *([pooling] if pooling else []))),
           _box(language, "embedding", "classes", str(classes), _parameters(language, head)),
           _box(language, "positions", "softmax", str(classes))]
    lengths = {"encoder": "L" if pieces is None else str(pieces)}
    tower = _tower("encoder", info, by_name, lengths, language, top)
    total = paragraph(language, "arch_classifier", n=sum(block.parameters for block in blocks),
                      mask=html("arch_mask_causal" if info.causal else "arch_mask_full"))
    return (f'{total}<div class="towers" data-title="{html("arch_reader")} {escape(info.name)}" '
            f'data-name="{escape(info.name)}" data-identity="{info.identity}">{tower}</div>{_sources(tower, language)}')


def orders(own: str, language: Language = ENGLISH) -> str:
    """Draw one sub-layer in both orders of normalisation, side by side; the model's `own` order is marked."""
    html = language.html
    drawn = []
    for order in ("post", "pre"):
        mark = f' <span class="own">{html("arch_own")}</span>' if order == own else ""
        parts = _wrapped(order, _box(language, "norm", "norm"), _box(language, "attention", "sublayer"))
        drawn.append(f'<section class="tower order"><h3>{html(f"arch_{order}")}{mark}</h3>'
                     f'<div class="boxes">{parts}</div><p class="formula">{FORMULAS[order]}</p>'
                     f'{paragraph(language, f"arch_text_{order}", "note")}</section>')
    return f'<div class="towers" data-title="{html("arch_orders")}">{"".join(drawn)}</div>'


def _tower(side: str, info: ModelInfo, blocks: dict[str, Block], lengths: dict[str, str], language: Language,
           top: Sequence[str] = ()) -> str:
    """Draw the encoder or the decoder. lengths: of source and target, as text, by the tower that reads them. top: boxes
    that read the encoder's states in a model without a decoder."""
    html, rows = language.html, lengths[side]
    inside = _layers if info.architecture == "transformer" else _recurrent
    boxes = [_box(language, "pieces", f"pieces_{side}", rows), *inside(side, info, blocks, lengths, language)]
    if side == "decoder":
        logits = f"{rows} × {html('first_number', n=blocks['embedding'].weights[0][1][0])}"
        boxes += [_box(language, "embedding", "linear", logits, html("arch_shared"), of="linear"),
                  _box(language, "positions", "softmax", logits)]
    boxes = [*boxes[:-1], *top] if top else boxes
    return (f'<section class="tower" data-side="{side}"><h3>{html(f"arch_{side}")}</h3>'
            f'<div class="boxes">{"".join(boxes)}</div></section>')


def _layers(side: str, info: ModelInfo, blocks: dict[str, Block], lengths: dict[str, str], language: Language
            ) -> list[str]:
    """The boxes of a transformer's tower, from the embedding to the states."""
    html = language.html
    shape = f"{lengths[side]} × {html('first_number', n=info.d_model)}"
    embedding = _parameters(language, blocks["embedding"]) if side == "encoder" else html("arch_shared")
    boxes = [_box(language, "embedding", "embedding", shape, embedding, of="embedding"),
             _box(language, "positions", "positions", shape, _parameters(language), of="positions")]
    count, layers = info.layers(STACK[side, "self_attention"]), []
    for number in range(count):
        inside = "".join(_sublayer(side, number, part, residual, info, blocks, shape, lengths, language)
                         for part, residual in SUBLAYERS[side])
        times = f' <b class="times">× {count}</b>' if number == 0 and count > 1 else ""
        layers.append(f'<section class="layer"><h4><span class="name">{html("layer")} {number + 1}</span>{times}</h4>'
                      f"{inside}</section>")
    boxes.append(layers[0])
    if count > 1:
        boxes.append(f'<details class="others"><summary>{html("arch_others", count=count - 1)}</summary>'
                     f'<div class="boxes">{"".join(layers[1:])}</div></details>')
    if f"{side}.norm" in blocks:
        boxes.append(_box(language, "norm", "last_norm", shape, _parameters(language, blocks[f"{side}.norm"])))
    return [*boxes, _box(language, "pieces", "memory", shape)] if side == "encoder" else boxes


def _recurrent(side: str, info: ModelInfo, blocks: dict[str, Block], lengths: dict[str, str], language: Language
               ) -> list[str]:
    """The boxes of a tower of GRUs, from the embedding to the states, or what is read off them."""
    html, width = language.html, language.html("first_number", n=info.d_model)
    shape, looks = f"{lengths[side]} × {width}", "attention" in blocks

    def box(kind: str, key: str, size: str, *names: str, stack: str | None = None) -> str:
        title = ", ".join(f"{name}.{_shapes(weight)}" for name in names for weight in blocks[name].weights)
        return _box(language, kind, key, size, _parameters(language, *(blocks[name] for name in names)), stack, 1,
                    escape(title), key if key in code.CODE else "")

    if side == "encoder":
        memory = ("each", shape) if looks else ("last", f"1 × {width}")
        return [box("embedding", "embedding", shape, "embedding"),
                *(box("feed", "gru_both", shape, f"encoder.forwards.{i}", f"encoder.backwards.{i}")
                  for i in range(info.n_layers)), _box(language, "pieces", f"states_{memory[0]}", memory[1])]
    return [_box(language, "embedding", "embedding", shape, html("arch_shared")),
            box("norm", "first_states", f"{info.n_layers} × {width}",
                *(f"first_states.{i}" for i in range(info.n_layers))),
            *([box("attention", "additive", shape, "attention", stack="cross")] if looks else []),
            *(box("feed", "gru", shape, f"layers.{i}") for i in range(info.n_layers)),
            box("norm", "readout", shape, "readout")]


def _parameters(language: Language, *blocks: Block) -> str:
    """Say how many parameters blocks have together."""
    return language.html("arch_parameters", n=sum(block.parameters for block in blocks))


def _shapes(weight: tuple[str, tuple[int, ...]]) -> str:
    return f"{weight[0]} {' × '.join(map(str, weight[1]))}"


def _sublayer(side: str, number: int, part: str, residual: str, info: ModelInfo, blocks: dict[str, Block], shape: str,
              lengths: dict[str, str], language: Language) -> str:
    """Draw a sub-layer of layer `number` (from 0) in its residual connection."""
    html = language.html
    block, norm = (blocks[f"{side}.layers.{number}.{name}"] for name in (part, residual))
    stack = STACK.get((side, part))
    if stack is None:
        more = html("arch_inner", n=next(size[0] for weight, size in block.weights if weight == "inner.weight"))
    else:
        more = html("arch_maps", shape=" × ".join([str(info.n_heads), *(lengths[asked] for asked in SIDES[stack])]))
    before = _box(language, "norm", "norm", "", _parameters(language, norm), of="norm")
    opened = stack if info.n_decoder_layers else None  # the Attention tab does not show a classifier's heads
    inside = _box(language, "feed" if part == "feed_forward" else "attention", stack or part, shape,
                  f"{_parameters(language, block)} · {more}", opened, number + 1,
                  escape(", ".join(map(_shapes, block.weights))), part if stack is None else "attention")
    return _wrapped(info.norm, before, inside)


def _wrapped(order: str, norm: str, sublayer: str) -> str:
    """Put a sub-layer into its residual connection, with the normalisation before it or after the addition."""
    plus = '<div class="plus" aria-hidden="true">+</div>'
    if order == "pre":
        return f'<div class="bypass">{norm}{sublayer}</div>{plus}'
    return f'<div class="bypass">{sublayer}</div>{plus}{norm}'


def _box(language: Language, kind: str, key: str, shape: str = "", more: str = "", stack: str | None = None,
         layer: int = 0, title: str = "", of: str = "") -> str:
    """Draw a box, its other texts escaped already: a button if it has a stack to open, else a div.

    key: its name is the text "arch_{key}". of: the key of its code in explain.source.CODE; a second button shows that.
    """
    name = language.say(f"arch_{key}")
    inside = (f"<b>{escape(name)}</b>" + (f' <span class="shape">{shape}</span>' if shape else "")
              + (f'<span class="more">{more}</span>' if more else ""))
    titled = f' data-box="{key}"' + (f' title="{title}"' if title else "")
    if stack is None:
        box = f'<div class="box {kind}"{titled}>{inside}</div>'
    else:
        box = (f'<button type="button" class="box {kind}" data-stack="{stack}" data-layer="{layer}"{titled}>'
               f"{inside}</button>")
    if not of:
        return box
    said = language.html("arch_code", name=name)
    return (f'<div class="boxed">{box}<button type="button" class="code" data-code="{of}" aria-expanded="false" '
            f'aria-label="{said}" title="{said}">{{ }}</button></div>')
