"""Figure 1 of Vaswani et al. (2017), drawn for a model's own sizes and its order of normalisation. HTML, all escaped.

Like the paper's, a tower is read from the bottom up; a bracket is the residual connection around a sub-layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from xformer.results import Block, ModelInfo
from xformer.strings import text

SUBLAYERS = {"encoder": (("self_attention", "self_residual"), ("feed_forward", "feed_residual")),
             "decoder": (("self_attention", "self_residual"), ("cross_attention", "cross_residual"),
                         ("feed_forward", "feed_residual"))}
STACK = {("encoder", "self_attention"): "encoder_self", ("decoder", "self_attention"): "decoder_self",
         ("decoder", "cross_attention"): "cross"}
FORMULAS = {"post": "<i>x</i> ← LayerNorm( <i>x</i> + Sublayer( <i>x</i> ) )",
            "pre": "<i>x</i> ← <i>x</i> + Sublayer( LayerNorm( <i>x</i> ) )"}


def architecture(info: ModelInfo, blocks: Sequence[Block], source: int | None = None, target: int | None = None,
                 language: str = "en") -> str:
    """Both towers, every box with its parameters and the shape that leaves it; attention boxes are buttons.

    source, target: pieces of the sentence on the page, the letters S and T where there is none.
    """
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    by_name = {block.name: block for block in blocks}
    vocabulary = by_name["embedding"].weights[0][1][0]
    embedding = by_name["embedding"].parameters
    d = text("first_number", language, n=info.d_model)
    towers = []
    for side, layers, length in (("encoder", info.n_layers, source), ("decoder", info.n_decoder_layers, target)):
        rows = str(length) if length is not None else {"encoder": "S", "decoder": "T"}[side]
        shape = f"{rows} × {d}"
        boxes = [_box("pieces", say(f"arch_pieces_{side}"), rows),
                 _box("embedding", say("arch_embedding"), shape,
                      say("arch_parameters", n=embedding) if side == "encoder" else say("arch_shared")),
                 _box("positions", say("arch_positions"), shape, say("arch_parameters", n=0))]
        for number in range(layers):
            inside = "".join(_sublayer(info, by_name, side, number, names, shape, source, target, language)
                             for names in SUBLAYERS[side])
            boxes.append(f'<section class="layer" aria-label="{say(f"arch_{side}")}, {say("layer")} {number + 1}">'
                         f'<h5>{say("layer")} {number + 1}</h5>{inside}</section>')
        final = by_name.get(f"{side}.norm")
        if final is not None:
            boxes.append(_box("norm", say("arch_norm"), shape, say("arch_parameters", n=final.parameters)))
        if side == "decoder":
            boxes += [_box("embedding", say("arch_linear"), f"{rows} × {say('first_number', n=vocabulary)}",
                           say("arch_shared")),
                      _box("positions", "softmax", f"{rows} × {say('first_number', n=vocabulary)}")]
        else:
            boxes.append(_box("pieces", say("arch_memory"), shape))
        towers.append(f'<section class="tower"><h4>{say(f"arch_{side}")}</h4><div class="boxes">'
                      f'{"".join(boxes)}</div></section>')
    total = sum(block.parameters for block in blocks)
    return (f'<p>{say("arch_total", n=total, embedding=embedding)}</p><div class="towers">{"".join(towers)}</div>')


def orders(own: str, language: str = "en") -> str:
    """One sub-layer in both orders of normalisation, side by side; `own`, the model's, is marked."""
    def say(key: str) -> str:
        return escape(text(key, language))

    drawn = []
    for order in ("post", "pre"):
        mark = f' <span class="own">{say("arch_own")}</span>' if order == own else ""
        parts = _wrapped(order, _box("norm", say("arch_norm")), _box("attention", say("arch_sublayer")))
        drawn.append(f'<section class="tower order"><h4>{say(f"arch_{order}")}{mark}</h4>'
                     f'<div class="boxes">{parts}</div><p class="formula">{FORMULAS[order]}</p>'
                     f'<p class="note">{say(f"arch_text_{order}")}</p></section>')
    return f'<div class="towers" data-title="{say("arch_orders")}">{"".join(drawn)}</div>'


def _sublayer(info: ModelInfo, blocks: dict[str, Block], side: str, number: int, names: tuple[str, str], shape: str,
              source: int | None, target: int | None, language: str) -> str:
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    name, residual = names
    block, norm = (blocks[f"{side}.layers.{number}.{part}"] for part in (name, residual))
    kind = "feed" if name == "feed_forward" else "attention"
    stack = STACK.get((side, name))
    label, more = say(f"arch_{stack or name}"), say("arch_parameters", n=block.parameters)
    if stack is not None:
        asks, seen = (source if stack == "encoder_self" else target), (target if stack == "decoder_self" else source)
        letters = {"encoder_self": "S × S", "decoder_self": "T × T", "cross": "T × S"}[stack]
        maps = f"{info.n_heads} × {letters if asks is None or seen is None else f'{asks} × {seen}'}"
        more += f' · {say("arch_maps", shape=maps)}'
    else:
        inner = next(shape[0] for weight, shape in block.weights if weight == "inner.weight")
        more += f' · {say("arch_inner", n=inner)}'
    title = ", ".join(f"{weight} {' × '.join(map(str, size))}" for weight, size in block.weights)
    return _wrapped(info.norm, _box("norm", say("arch_norm"), "", say("arch_parameters", n=norm.parameters)),
                    _box(kind, label, shape, more, stack, number + 1, escape(title)))


def _wrapped(order: str, norm: str, sublayer: str) -> str:
    """A sub-layer in its residual connection, with the normalisation inside of it or after the addition."""
    plus = '<div class="plus" aria-hidden="true">+</div>'
    if order == "pre":
        return f'<div class="bypass">{norm}{sublayer}</div>{plus}'
    return f'<div class="bypass">{sublayer}</div>{plus}{norm}'


def _box(kind: str, name: str, shape: str = "", more: str = "", stack: str | None = None, layer: int = 0,
         title: str = "") -> str:
    """A box of text that is escaped already; a button where it has a stack to open."""
    inside = (f"<b>{name}</b>" + (f' <span class="shape">{shape}</span>' if shape else "")
              + (f'<span class="more">{more}</span>' if more else ""))
    if stack is None:
        return f'<div class="box {kind}"{f" title={chr(34)}{title}{chr(34)}" if title else ""}>{inside}</div>'
    return (f'<button type="button" class="box {kind}" data-stack="{stack}" data-layer="{layer}" title="{title}">'
            f"{inside}</button>")
