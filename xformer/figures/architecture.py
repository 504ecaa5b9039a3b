"""Draw Figure 1 of Vaswani et al. (2017) for a model's own sizes and order of normalisation. HTML, all text escaped.

Like the paper's figure, a tower is read from the bottom up; a bracket is the residual connection around a sub-layer.
"""

from collections.abc import Sequence
from html import escape

from xformer.explain import source as code
from xformer.figures.labels import percent
from xformer.figures.tables import header
from xformer.results import Block, ModelInfo
from xformer.strings import ENGLISH, Language

SUBLAYERS = {"encoder": (("self_attention", "self_residual"), ("feed_forward", "feed_residual")),
             "decoder": (("self_attention", "self_residual"), ("cross_attention", "cross_residual"),
                         ("feed_forward", "feed_residual"))}
STACK = {("encoder", "self_attention"): "encoder_self", ("decoder", "self_attention"): "decoder_self",
         ("decoder", "cross_attention"): "cross"}
# The axes of each stack's attention maps: the towers of the queries and of the keys.
SIDES = {"encoder_self": ("encoder", "encoder"), "decoder_self": ("decoder", "decoder"),
         "cross": ("decoder", "encoder")}
# Names of the same things elsewhere: in the paper, LeCun and Canziani's lectures, Kak's lecture, "The Annotated
# Transformer", and "Dive into Deep Learning" (d2l.ai).
TEACHERS = ("Vaswani et al. (2017)", "LeCun, Canziani", "Kak", "The Annotated Transformer", "d2l")
TERMS = (("feed-forward network", "1-D convolution", "FFN (W1, W2)", "PositionwiseFeedForward", "PositionWiseFFN"),
         ("softmax", "soft(arg)max", "nn.Softmax", "softmax", "masked_softmax"),
         ("Add & Norm", "Add, Norm", "LayerNorm (norm1, norm2, norm3)", "SublayerConnection", "AddNorm"),
         ("outputs (shifted right)", "unit delay: y[j] → y[j − 1]", "–", "tgt[:, :-1]", "dec_input: <bos>, Y[:, :-1]"),
         ("masking (set to −∞)", "–", "autoregressive masking: mask, apply_mask", "subsequent_mask", "dec_valid_lens"),
         ("masked self-attention, cross-attention", "predictor", "SelfAttention, CrossAttention",
          "self_attn, src_attn", "attention1, attention2"),
         ("a layer of the decoder, with its feed-forward network", "predictor, then decoder (1-D convolution)",
          "BasicDecoderWithMasking", "DecoderLayer", "DecoderBlock"),
         ("output of the encoder", "h^Enc", "final_encoder_out", "memory, m", "enc_outputs"),
         ("d_model", "d_model", "M, embedding_size", "d_model", "num_hiddens"),
         ("h, number of heads", "num_heads", "N_H, num_attn_heads", "h", "num_heads"),
         ("d_k = d_model / h", "d_k", "s_qkv = M / N_H", "d_k", "num_hiddens / num_heads"),
         ("q, k: d_k; v: d_v", "q, k: d′; v: d″", "s_qkv for all three", "d_k (“we assume d_v always equals d_k”)",
          "num_hiddens / num_heads for all three"),
         ("a row a token: softmax(QKᵀ/√d_k) V", "a column a token: H = V A, A = soft(arg)max_β(KᵀQ)",
          "a row a token: softmax(QKᵀ)/√M · V", "a row a token: attention(query, key, value)",
          "a row a token: softmax(QKᵀ/√d) V"),
         ("d_ff", "conv_hidden_dim", "2 · M (at all positions together)", "d_ff", "ffn_num_hiddens"),
         ("N, layers", "num_layers", "how_many_basic_encoders", "N", "num_layers"),
         ("linear, softmax", "–", "out, nn.LogSoftmax", "Generator", "dense"))
FORMULAS = {"post": "<i>x</i> ← LayerNorm( <i>x</i> + Sublayer( <i>x</i> ) )",
            "pre": "<i>x</i> ← <i>x</i> + Sublayer( LayerNorm( <i>x</i> ) )"}


def architecture(info: ModelInfo, blocks: Sequence[Block], source: int | None = None, target: int | None = None,
                 language: Language = ENGLISH) -> str:
    """Draw both towers: every box with its parameters and its output's shape; attention boxes are buttons.

    source, target: numbers of pieces of the sentence on the page; without one, the letters S and T are written.
    """
    html = language.html
    by_name = {block.name: block for block in blocks}
    embedding = by_name["embedding"].parameters
    lengths = {"encoder": "S" if source is None else str(source), "decoder": "T" if target is None else str(target)}
    tower = _tower if info.architecture == "transformer" else _recurrent_tower
    towers = "".join(tower(side, info, by_name, lengths, language) for side in ("encoder", "decoder"))
    total = sum(block.parameters for block in blocks)
    return (f'<p>{html("arch_total", n=total, embedding=embedding)}</p><div class="towers">{towers}</div>'
            f"{_found(info, blocks, lengths['encoder'], language)}{_sources(towers, language)}")


def _found(info: ModelInfo, blocks: Sequence[Block], rows: str, language: Language) -> str:
    """Say which blocks hold how much of the parameters, and what the decoder gets. rows: the length of the source."""
    total = sum(block.parameters for block in blocks)

    def share(*marks: str) -> str:
        return percent(sum(one.parameters for one in blocks if any(mark in one.name for mark in marks)) / total)

    if info.architecture == "gru":  # its decoder gets the last state alone
        rows = "1"
    key = "arch_found" if info.architecture == "transformer" else "arch_found_recurrent"
    said = language.html(key, attention=share("attention"), feed=share("feed_forward"), gru=share("wards.", "layers."),
                         rows=rows, width=info.d_model)
    return f"<p>{said}</p>"


def heading(info: ModelInfo, language: Language = ENGLISH) -> str:
    """Explain the towers, and what a click does; HTML."""
    key = "arch_text" if info.architecture == "transformer" else "arch_text_recurrent"
    return f'<p class="note">{language.html(key)} {language.html("arch_text_click")}</p>'


def terms(language: Language = ENGLISH) -> str:
    """Tabulate what teachers call the blocks and sizes; HTML."""
    rows = "".join("<tr>" + "".join(f"<td>{escape(term)}</td>" for term in row) + "</tr>" for row in TERMS)
    said = language.html("arch_terms_text", count=len(TEACHERS))
    return (f'<p class="note">{said}</p>'
            f'<div class="tables"><table class="plain">{header(TEACHERS)}<tbody>{rows}</tbody></table></div>')


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
    top = [_box("norm", html(f"arch_pooling_{info.pooling}"), html("first_number", n=info.d_model),
                html("arch_parameters", n=pooling.parameters if pooling else 0)),
           _box("embedding", html("arch_classes"), str(classes), html("arch_parameters", n=head.parameters)),
           _box("positions", "softmax", str(classes))]
    lengths = {"encoder": "L" if pieces is None else str(pieces)}
    tower = _tower("encoder", info, by_name, lengths, language, top)
    mask = html("arch_mask_causal" if info.causal else "arch_mask_full")
    total = html("arch_classifier", n=sum(block.parameters for block in blocks), mask=mask)
    return (f'<p>{total}</p><div class="towers" data-title="{html("arch_reader")} {escape(info.name)}" '
            f'data-name="{escape(info.name)}" data-identity="{info.identity}">{tower}</div>{_sources(tower, language)}')


def orders(own: str, language: Language = ENGLISH) -> str:
    """Draw one sub-layer in both orders of normalisation, side by side; the model's `own` order is marked."""
    html = language.html
    drawn = []
    for order in ("post", "pre"):
        mark = f' <span class="own">{html("arch_own")}</span>' if order == own else ""
        parts = _wrapped(order, _box("norm", html("arch_norm")), _box("attention", html("arch_sublayer")))
        drawn.append(f'<section class="tower order"><h3>{html(f"arch_{order}")}{mark}</h3>'
                     f'<div class="boxes">{parts}</div><p class="formula">{FORMULAS[order]}</p>'
                     f'<p class="note">{html(f"arch_text_{order}")}</p></section>')
    return f'<div class="towers" data-title="{html("arch_orders")}">{"".join(drawn)}</div>'


def _tower(side: str, info: ModelInfo, blocks: dict[str, Block], lengths: dict[str, str], language: Language,
           top: Sequence[str] = ()) -> str:
    """Draw the encoder or the decoder. lengths: of source and target, as text, by the tower that reads them. top: boxes
    that read the encoder's states in a model without a decoder."""
    html = language.html
    rows = lengths[side]
    shape = f"{rows} × {html('first_number', n=info.d_model)}"
    logits = f"{rows} × {html('first_number', n=blocks['embedding'].weights[0][1][0])}"
    shared = html("arch_shared")
    embedding = html("arch_parameters", n=blocks["embedding"].parameters) if side == "encoder" else shared
    boxes = [_box("pieces", html(f"arch_pieces_{side}"), rows),
             _box("embedding", html("arch_embedding"), shape, embedding, of="embedding", language=language),
             _box("positions", html("arch_positions"), shape, html("arch_parameters", n=0), of="positions",
                  language=language)]
    count, layers = info.layers(STACK[side, "self_attention"]), []
    for number in range(count):
        name = f"{html('layer')} {number + 1}"
        inside = "".join(_sublayer(side, number, part, residual, info, blocks, shape, lengths, language)
                         for part, residual in SUBLAYERS[side])
        times = f' <b class="times">× {count}</b>' if number == 0 and count > 1 else ""
        layers.append(f'<section class="layer">'
                      f'<h4><span class="name">{name}</span>{times}</h4>{inside}</section>')
    boxes.append(layers[0])
    if count > 1:
        boxes.append(f'<details class="others"><summary>{html("arch_others", count=count - 1)}</summary>'
                     f'<div class="boxes">{"".join(layers[1:])}</div></details>')
    final = blocks.get(f"{side}.norm")
    if final is not None:
        boxes.append(_box("norm", html("arch_norm"), shape, html("arch_parameters", n=final.parameters)))
    if side == "decoder":
        boxes += [_box("embedding", html("arch_linear"), logits, shared, of="linear", language=language),
                  _box("positions", "softmax", logits)]
    else:
        boxes += top or [_box("pieces", html("arch_memory"), shape)]
    return (f'<section class="tower"><h3>{html(f"arch_{side}")}</h3>'
            f'<div class="boxes">{"".join(boxes)}</div></section>')


def _recurrent_tower(side: str, info: ModelInfo, blocks: dict[str, Block], lengths: dict[str, str], language: Language
                     ) -> str:
    """Draw the encoder or the decoder of a translator of GRUs, from the pieces to the states or the next piece."""
    html = language.html
    rows, width = lengths[side], html("first_number", n=info.d_model)
    shape = f"{rows} × {width}"

    def box(kind: str, key: str, size: str, *names: str, stack: str | None = None) -> str:
        weights = [(name, weight) for name in names for weight in blocks[name].weights]
        title = ", ".join(f"{name}.{weight} {' × '.join(map(str, size))}" for name, (weight, size) in weights)
        count = sum(blocks[name].parameters for name in names)
        of = key.removeprefix("arch_") if key.removeprefix("arch_") in code.CODE else ""
        return _box(kind, html(key), size, html("arch_parameters", n=count), stack, 1, escape(title), of, language)

    boxes = [_box("pieces", html(f"arch_pieces_{side}"), rows)]
    if side == "encoder":
        boxes.append(box("embedding", "arch_embedding", shape, "embedding"))
        boxes += [box("feed", "arch_gru_both", shape, f"encoder.forwards.{i}", f"encoder.backwards.{i}")
                  for i in range(info.n_layers)]
        memory = "arch_states_each" if "attention" in blocks else "arch_states_last"
        boxes.append(_box("pieces", html(memory), shape if "attention" in blocks else f"1 × {width}"))
    else:
        boxes += [_box("embedding", html("arch_embedding"), shape, html("arch_shared")),
                  box("norm", "arch_first_states", f"{info.n_layers} × {width}",
                      *(f"first_states.{i}" for i in range(info.n_layers)))]
        if "attention" in blocks:
            boxes.append(box("attention", "arch_additive", shape, "attention", stack="cross"))
        boxes += [box("feed", "arch_gru", shape, f"layers.{i}") for i in range(info.n_layers)]
        logits = f"{rows} × {html('first_number', n=blocks['embedding'].weights[0][1][0])}"
        boxes += [box("norm", "arch_readout", shape, "readout"),
                  _box("embedding", html("arch_linear"), logits, html("arch_shared"), of="linear", language=language),
                  _box("positions", "softmax", logits)]
    return (f'<section class="tower"><h3>{html(f"arch_{side}")}</h3>'
            f'<div class="boxes">{"".join(boxes)}</div></section>')


def _sublayer(side: str, number: int, part: str, residual: str, info: ModelInfo, blocks: dict[str, Block], shape: str,
              lengths: dict[str, str], language: Language) -> str:
    """Draw a sub-layer of layer `number` (from 0) in its residual connection."""
    html = language.html
    block, norm = (blocks[f"{side}.layers.{number}.{name}"] for name in (part, residual))
    stack = STACK.get((side, part))
    more = html("arch_parameters", n=block.parameters)
    if stack is None:
        inner = next(size[0] for weight, size in block.weights if weight == "inner.weight")
        more += f" · {html('arch_inner', n=inner)}"
    else:
        maps = " × ".join([str(info.n_heads), *(lengths[asked] for asked in SIDES[stack])])
        more += f" · {html('arch_maps', shape=maps)}"
    title = ", ".join(f"{weight} {' × '.join(map(str, size))}" for weight, size in block.weights)
    before = _box("norm", html("arch_norm"), "", html("arch_parameters", n=norm.parameters), of="norm",
                  language=language)
    opened = stack if info.n_decoder_layers else None  # the Attention tab does not show a classifier's heads
    inside = _box("feed" if part == "feed_forward" else "attention", html(f"arch_{stack or part}"), shape, more, opened,
                  number + 1, escape(title), part if stack is None else "attention", language)
    return _wrapped(info.norm, before, inside)


def _wrapped(order: str, norm: str, sublayer: str) -> str:
    """Put a sub-layer into its residual connection, with the normalisation before it or after the addition."""
    plus = '<div class="plus" aria-hidden="true">+</div>'
    if order == "pre":
        return f'<div class="bypass">{norm}{sublayer}</div>{plus}'
    return f'<div class="bypass">{sublayer}</div>{plus}{norm}'


def _box(kind: str, name: str, shape: str = "", more: str = "", stack: str | None = None, layer: int = 0,
         title: str = "", of: str = "", language: Language = ENGLISH) -> str:
    """Draw a box whose texts are escaped already: a button if it has a stack to open, else a div.

    of: the key of its code in explain.source.CODE; a second button shows that code.
    """
    inside = f"<b>{name}</b>"
    if shape:
        inside += f' <span class="shape">{shape}</span>'
    if more:
        inside += f'<span class="more">{more}</span>'
    titled = f' title="{title}"' if title else ""
    if stack is None:
        box = f'<div class="box {kind}"{titled}>{inside}</div>'
    else:
        box = (f'<button type="button" class="box {kind}" data-stack="{stack}" data-layer="{layer}" title="{title}">'
               f"{inside}</button>")
    if not of:
        return box
    said = language.html("arch_code", name=name)
    return (f'<div class="boxed">{box}<button type="button" class="code" data-code="{of}" aria-expanded="false" '
            f'aria-label="{said}" title="{said}">{{ }}</button></div>')
