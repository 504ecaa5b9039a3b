"""Make checkpoints of translation models of others: Marian's (opus-mt), as transformers
or Marian itself stores them, and the family of M2M-100 (SMaLL-100, NLLB), as
transformers stores it.

They are the transformer of `model.py` with other names, and with sines and cosines in
two halves where ours take turns; so the axis of the residual stream is put in another
order, and every number stays what it was.
"""

import ast
import json
import math
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from babel.core import get_global
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from xformer.hub import card, checkpoint, tokenizer_json
from xformer.model import ACTIVATIONS, LANGUAGE, Config, Transformer, sinusoids
from xformer.pieces import BOS, EOS, SPECIAL, repeats
from xformer.results import UserError, refusing, unread
from xformer.tokenizer import CODE, JointTokenizer, listed

# Nothing else is read of a repository, so that a pickle beside these is no danger.
FILES = (
    "README.md",
    "config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.json",
    "source.spm",
    "target.spm",
    "sentencepiece.bpe.model",
    "tokenizer.json",
    "model.safetensors",
)
# What config.json must say of both families, and of Marian's models: (so it must be, so
# it is where nothing is said).
ALWAYS = {
    "tie_word_embeddings": (True, True),
    "share_encoder_decoder_embeddings": (True, True),
}
FAMILIES: dict[str, dict[str, tuple[bool, bool]]] = {
    "marian": {
        **ALWAYS,
        "scale_embedding": (True, False),
        "normalize_before": (False, False),
        "normalize_embedding": (False, False),
        "add_final_layer_norm": (False, False),
        "static_position_embeddings": (True, True),
    },
    "m2m_100": {**ALWAYS, "scale_embedding": (True, True)},
}
# Names of the one matrix of embeddings, of which safetensors keeps one.
MATRIX = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
BIAS = "final_logits_bias"
# texts that every language has words for
TRIAL = ("Anna, 25.", "Paris 2024", "Hotel Maria")
NEVER = -1e4  # bias of a piece that is never written
TYPES = ("F16", "BF16", "F32", "F64")  # of stored numbers
# in the weights: 8 GB as float32; the largest model that is read here has 1.4
MOST_NUMBERS = 2_000_000_000
NEAR = 1e-4  # of a stored table of positions to the formula
# Names in a layer: of transformers, and ours.
SUBLAYERS = {
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "feed_residual.norm",
    "self_attn.out_proj": "self_attention.out_proj",
    "self_attn_layer_norm": "self_residual.norm",
    "encoder_attn.out_proj": "cross_attention.out_proj",
    "encoder_attn_layer_norm": "cross_residual.norm",
}
# Of Marian, and of transformers.
MARIAN = {
    "self_Wo_ln_scale": "self_attn_layer_norm.weight",
    "self_Wo_ln_bias": "self_attn_layer_norm.bias",
    "context_Wo_ln_scale": "encoder_attn_layer_norm.weight",
    "context_Wo_ln_bias": "encoder_attn_layer_norm.bias",
    "ffn_ffn_ln_scale": "final_layer_norm.weight",
    "ffn_ffn_ln_bias": "final_layer_norm.bias",
    "ffn_W1": "fc1.weight",
    "ffn_b1": "fc1.bias",
    "ffn_W2": "fc2.weight",
    "ffn_b2": "fc2.bias",
    **{
        f"{marian}_{kind}{short}": f"{name}.{long}_proj.{part}"
        for (marian, name), (short, long), (kind, part) in product(
            (("self", "self_attn"), ("context", "encoder_attn")),
            (("q", "q"), ("k", "k"), ("v", "v"), ("o", "out")),
            (("W", "weight"), ("b", "bias")),
        )
    },
}


class Imported(NamedTuple):
    """A model of others in our form."""

    model: Transformer
    tokenizer: JointTokenizer
    warnings: list[str]


class Files(NamedTuple):
    """What the files of a model of others hold, in the names of transformers."""

    config: dict[str, Any]
    weights: dict[str, Tensor]
    pieces: list[str]  # by row of the matrix of embeddings
    special: dict[str, int]  # rows of <pad>, <unk>, </s>
    models: list[bytes]  # SentencePiece's, of the source and of the target, or of both


class Unusable(UserError):
    """A model of others that is not read, with the reason in one sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This model cannot be imported: {reason}.")


def convert(folder: Path, source: str = "", target: str = "") -> Imported:
    """Convert the model whose files are in a folder.

    source, target: codes of the languages, where the files do not tell or the model has
    several. Raises UserError, which says what is wrong. Sizes, kinds, types and shapes
    are looked at before anything is made of them, as a stranger's files may say what
    they like.
    """

    def said(error: Exception) -> Unusable:
        reason = next(iter(str(error).splitlines()), "")[:200]
        return Unusable(
            f"its files do not fit together ({type(error).__name__}: {reason})"
        )

    with refusing(Exception, said):
        return _convert(folder, source, target)


def _convert(folder: Path, source: str, target: str) -> Imported:
    marian = next(iter(sorted(folder.glob("*.npz"))), None)
    files = _read_marian(marian) if marian else _read_transformers(folder)
    weights = files.weights
    matrix = _matrix(files)
    rows, pieces = _rows(files)
    opening, forced, languages = _codes(files, pieces, source, target)
    config = _config(files, len(rows), *languages)
    if matrix.shape[1] != config.d_model:
        raise Unusable(
            f"its embeddings are {matrix.shape[1]} wide where config.json says {config.d_model}"
        )
    # new 2i is old i, new 2i + 1 is old D / 2 + i
    order = torch.arange(config.d_model).view(2, -1).t().flatten()
    bias = weights.get(BIAS, torch.zeros(len(matrix))).flatten()[rows]
    bias[BOS] = NEVER  # what stands before a translation is a row of the matrix twice
    state = {"embedding.weight": matrix[rows][:, order], "output_bias": bias}
    for stack, layers in (
        ("encoder", config.n_layers),
        ("decoder", config.decoder_layers),
    ):
        for layer in range(layers):
            state.update(
                _layer(
                    weights,
                    f"model.{stack}.layers.{layer}.",
                    f"{stack}.layers.{layer}.",
                    order,
                    config.d_ff,
                )
            )
        if config.norm == "pre":
            state.update(
                {
                    f"{stack}.norm.{part}": _take(
                        weights, f"model.{stack}.layer_norm.{part}", len(order)
                    )[order]
                    for part in ("weight", "bias")
                }
            )
        if (name := f"model.{stack}.embed_positions.weight") in weights:
            length = min([*weights[name].shape, 0][0], checkpoint.MOST_POSITIONS)
            stored = _take(weights, name, length, config.d_model)
            formula = sinusoids(
                length, config.d_model, config.position_base, config.first_position
            )
            if (stored[:, order] - formula).abs().max() > NEAR:
                raise Unusable(f"the positions of its {stack} are no sines and cosines")
    model = Transformer(config).eval().requires_grad_(False)
    for name, tensor in model.state_dict().items():
        if state[name].shape != tensor.shape:
            raise Unusable(
                f"{name} is {tuple(state[name].shape)} where config.json says {tuple(tensor.shape)}"
            )
    model.load_state_dict(state)
    strange = "lm_head.weight" in weights and not torch.equal(
        weights["lm_head.weight"], matrix
    )
    return Imported(
        model,
        JointTokenizer(
            files.models, {"pieces": pieces, "opening": opening, "forced": forced}
        ),
        [
            "The stored lm_head differs from the embeddings, a known fault of conversions; it was left out."
        ]
        * strange,
    )


def write(
    folder: Path, one: Imported, found: Path, origin: str, commit: str, half: bool
) -> None:
    """Write the checkpoint of an imported model, with a card that tells whose it is.

    found: the folder of its files. origin, commit: the name by which it was asked for,
    and the commit of the Hub. half: store half precision.
    """
    theirs = found / "README.md"
    whose = card.read(theirs) if theirs.is_file() else None
    about = {
        "origin": origin,
        "commit": commit,
        "licence": str(whose and whose.data.get("license") or "unknown"),
    }
    checkpoint.save(
        folder,
        one.model,
        one.tokenizer,
        {"imported": about},
        torch.float16 if half else torch.float32,
    )
    card.credit(
        folder,
        checkpoint.examine(folder),
        about,
        whose.text if whose else "It had none.",
        half,
    )


def try_out(translate: Callable[[str], Sequence[int]]) -> None:
    """Raise UserError if a new checkpoint only babbles, as broken conversions do.

    translate: the pieces of a text's translation, with </s> at its end unless it came
    to none.
    """
    written = [translate(text) for text in TRIAL]
    if all(
        len(pieces) < 2 or pieces[-1] != EOS or repeats(pieces) for pieces in written
    ):
        raise Unusable(
            "it babbles or says nothing, as weights from a broken conversion do; try another revision"
        )


def _layer(
    weights: Mapping[str, Tensor], theirs: str, ours: str, order: Tensor, inner: int
) -> dict[str, Tensor]:
    """The weights of a layer, by our names; W_Q, W_K and W_V in one matrix. inner: the
    width of its network."""
    width = len(order)
    state = dict[str, Tensor]()
    shapes = {
        "fc1.weight": (inner, width),
        "fc1.bias": (inner,),
        "fc2.weight": (width, inner),
    }

    def take(name: str) -> Tensor:
        square = (width, width) if name.endswith("_proj.weight") else (width,)
        return _take(weights, f"{theirs}{name}", *shapes.get(name, square))

    for attention, name in (
        ("self_attn", "self_attention"),
        ("encoder_attn", "cross_attention"),
    ):
        if f"{theirs}{attention}.q_proj.weight" in weights:
            for part in ("weight", "bias"):
                stacked = torch.cat(
                    [take(f"{attention}.{one}_proj.{part}") for one in "qkv"]
                )
                state[f"{ours}{name}.in_proj.{part}"] = (
                    stacked[:, order] if part == "weight" else stacked
                )
    for one, name in SUBLAYERS.items():
        if ours.startswith("encoder") and one.startswith("encoder_attn"):
            continue
        for part in ("weight", "bias"):
            tensor = take(f"{one}.{part}")
            state[f"{ours}{name}.{part}"] = (
                tensor[:, order]
                if one == "fc1" and part == "weight"
                else (tensor if one == "fc1" else tensor[order])
            )
    return state


def _take(weights: Mapping[str, Tensor], name: str, *shape: int) -> Tensor:
    if name not in weights:
        raise Unusable(f"its weights lack {name}")
    if weights[name].shape != shape:
        raise Unusable(
            f"{name} is {tuple(weights[name].shape)} where config.json says {shape}"
        )
    return weights[name]


def _matrix(files: Files) -> Tensor:
    """The embeddings [V, D], after a look at all weights."""
    for name, tensor in files.weights.items():
        if not torch.isfinite(tensor).all():
            raise Unusable(f"{name} holds NaN or infinity")
    found = next(
        (files.weights[name] for name in MATRIX if name in files.weights), None
    )
    if found is None:
        raise Unusable(f"its weights have none of {', '.join(MATRIX)}")
    if found.dim() != 2:
        raise Unusable(f"its embeddings have {found.dim()} dimensions, and not 2")
    for name, count in (
        ("embeddings", len(found)),
        (BIAS, files.weights.get(BIAS, found[:, :1]).numel()),
    ):
        if count != len(files.pieces):
            raise Unusable(
                f"its vocabulary has {len(files.pieces):,} pieces and its {name} {count:,} rows"
            )
    if files.config["model_type"] == "marian" and found[files.special["<pad>"]].any():
        raise Unusable("the row of <pad>, with which a translation begins, is not zero")
    return found


def _rows(files: Files) -> tuple[list[int], list[str]]:
    """Rows of the matrix in our order, the four special ones first, and the pieces that
    they stand for."""
    pad, unk, eos = (files.special[name] for name in ("<pad>", "<unk>", "</s>"))
    start = files.config.get("decoder_start_token_id", pad)
    if type(start) is not int or not 0 <= start < len(files.pieces):
        raise Unusable(
            f"config.json says that decoder_start_token_id is {str(start)[:40]!r}, which is no row of its "
            f"{len(files.pieces):,} pieces"
        )
    first = [pad, unk, start, eos]
    others = [row for row in range(len(files.pieces)) if row not in (pad, unk, eos)]
    names = [
        f"{piece} " if (piece := files.pieces[row]) in SPECIAL.values() else piece
        for row in others
    ]
    return [*first, *others], [*SPECIAL.values(), *names]


def _codes(
    files: Files, pieces: list[str], source: str, target: str
) -> tuple[str, str, tuple[str, str]]:
    """The code that is put before a text, the one with which a translation begins, and
    the two languages."""
    config = files.config
    codes = {piece[2:-2]: piece for piece in pieces if CODE.fullmatch(piece)}
    if not codes:
        return (
            "",
            "",
            (
                _language(source or config.get("source_lang")),
                _language(target or config.get("target_lang")),
            ),
        )

    def code(language: str) -> str:
        named = [
            one for one in codes if language in (one, _language(one.split("_")[0]))
        ]
        if not named:
            raise Unusable(
                f"it has no language {language!r}; name one of {', '.join([*codes][:12])} …"
                if language
                else f"it writes several languages; name one with --target: {', '.join([*codes][:12])} …"
            )
        return codes[named[0]]

    to = code(target)
    writes = _language(to[2:-2].split("_")[0])
    if config["model_type"] == "marian":
        return to, "", (_language(source or config.get("source_lang")), writes)
    if config.get("tokenizer_class") == "SMALL100Tokenizer":
        return to, "", (_language(source or "en"), writes)
    return code(source or "en"), to, (_language(source or "en"), writes)


def _language(name: object) -> str:
    """The code of a language as ISO 639 has it, "mul" for a group of languages."""
    short = get_global("language_aliases").get(
        str(name).split("_")[0], str(name).split("_")[0]
    )
    return short if LANGUAGE.fullmatch(short) else "mul"


def _config(files: Files, vocab_size: int, source: str, target: str) -> Config:
    one = files.config
    for name, (wanted, usual) in FAMILIES[one["model_type"]].items():
        if bool(one.get(name, usual)) != wanted:
            raise Unusable(
                f"config.json says {name} {one.get(name, usual)}, and only {wanted} is read"
            )
    for part in ("attention_heads", "ffn_dim"):
        if one.get(f"encoder_{part}") != one.get(f"decoder_{part}"):
            raise Unusable(f"its encoder and its decoder differ in {part}")
    activation = str(one.get("activation_function"))[:40]
    activation = "swish" if activation == "silu" else activation
    if activation not in ACTIVATIONS:
        raise Unusable(
            f"its activation is {activation!r}; read are {', '.join(ACTIVATIONS)}"
        )
    later = one["model_type"] == "m2m_100"
    with refusing(
        (KeyError, TypeError, ValueError, ArithmeticError),
        lambda error: Unusable(f"config.json describes no model: {error}"),
    ):
        if one["max_position_embeddings"] > checkpoint.MOST_POSITIONS:
            raise ValueError(
                f"max_position_embeddings is {one['max_position_embeddings']}; it must be at most "
                f"{checkpoint.MOST_POSITIONS}"
            )
        half = one["d_model"] // 2
        return Config(
            vocab_size,
            one["d_model"],
            one["encoder_attention_heads"],
            one["encoder_layers"],
            one["decoder_layers"],
            one["encoder_ffn_dim"],
            "pre" if later else "post",
            activation=activation,
            output_bias=True,
            max_length=one["max_position_embeddings"],
            position_base=10_000 ** (half / (half - 1)) if later else 10_000.0,
            first_position=2 if later else 0,
            source=source,
            target=target,
        )


def _read_transformers(folder: Path) -> Files:
    config = _json(folder / "config.json")
    words = _json(folder / "tokenizer_config.json", {})
    config = {
        **{
            key: value
            for key, value in words.items()
            if key in ("source_lang", "target_lang", "tokenizer_class")
        },
        **config,
    }
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise Unusable(
            f"it is of the type {str(kind)[:40]!r}; read are {', '.join(FAMILIES)}"
        )
    marian = kind == "marian"
    # transformers 5 saves it in place of NLLB's SentencePiece model
    table = folder / "tokenizer.json"
    saved = None
    if (
        not marian
        and table.is_file()
        and not (folder / "sentencepiece.bpe.model").is_file()
    ):
        with refusing(
            (LookupError, TypeError, ValueError, AttributeError),
            lambda error: Unusable(f"{table.name} is none of NLLB's ({error})"),
        ):
            saved = tokenizer_json.read(_json(table))
    models = (
        [saved.model]
        if saved
        else [
            _bytes(folder / name)
            for name in (
                ("source.spm", "target.spm") if marian else ("sentencepiece.bpe.model",)
            )
        ]
    )
    try:
        weights = _read_weights(folder / "model.safetensors")
    except FileNotFoundError as error:
        pickle = next(
            (
                path.name
                for path in folder.iterdir()
                if path.suffix in (".bin", ".pt", ".h5")
            ),
            "",
        )
        raise Unusable(
            f"it has no model.safetensors{f', and {pickle} can run code when it is read' * bool(pickle)}"
        ) from error
    except (SafetensorError, OSError) as error:
        raise Unusable("model.safetensors is truncated or no such file") from error
    # NLLB has no vocab.json: its pieces are fairseq's special ones, and all others of
    # SentencePiece.
    ids: dict[str, int] = (
        saved.ids
        if saved
        else _json(folder / "vocab.json", None if marian else {})
        or {
            name: i
            for i, name in enumerate(
                ["<s>", "<pad>", "</s>", "<unk>", *listed(models[0])[3:]]
            )
        }
    )
    numbered = table.name if saved else "vocab.json"
    if any(type(row) is not int for row in ids.values()) or {*ids.values()} != {
        *range(len(ids))
    }:
        raise Unusable(f"{numbered} does not number its pieces 0, 1, 2, …")
    pieces = sorted(ids, key=ids.__getitem__)
    if any("\ud800" <= sign <= "\udfff" for sign in "".join(pieces)):
        raise Unusable(f"{numbered} has a piece with half a character")
    if not marian:
        languages = saved.languages if saved else _languages(folder, words, ids)
        if not languages:
            other = table.name if saved else "tokenizer_config.json"
            raise Unusable(
                f"neither special_tokens_map.json nor {other} names its languages"
            )
        codes = {name: f">>{name.strip('_')}<<" for name in languages}
        pieces = [
            codes.get(piece, piece)
            for piece in (pieces if saved else [*pieces, *languages])
        ]
        count = next((len(weights[name]) for name in MATRIX if name in weights), 0)
        pieces += [f"madeupword{i}" for i in range(count - len(pieces))]
    special: dict[str, int] = {
        name: ids[name] for name in ("<pad>", "<unk>", "</s>") if name in ids
    }
    if len(special) < 3:
        raise Unusable("its vocabulary lacks one of <pad>, <unk>, </s>")
    for key, name in (("eos_token_id", "</s>"), ("pad_token_id", "<pad>")):
        if config.get(key, special[name]) != special[name]:
            raise Unusable(
                f"config.json says that {key} is {config[key]}, and the vocabulary {special[name]}"
            )
    return Files(config, weights, pieces, special, models)


def _languages(
    folder: Path, words: Mapping[str, Any], ids: Mapping[str, int]
) -> list[str]:
    """The names of the languages of M2M-100, by row. words: tokenizer_config.json,
    which has them where transformers 5 saved the model."""
    found = _json(folder / "special_tokens_map.json", {}).get(
        "additional_special_tokens"
    ) or words.get("extra_special_tokens")
    return [name for name in found or () if isinstance(name, str) and name not in ids]


def _read_weights(path: Path) -> dict[str, Tensor]:
    """The weights in a file in float32, once their types and their number were looked
    at. Raises FileNotFoundError."""
    _regular(path, 8 * MOST_NUMBERS)
    with safe_open(path, "pt") as file:
        stored = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        for name, tensor in stored.items():
            if tensor.get_dtype() not in TYPES:
                raise Unusable(
                    f"{name} is stored as {tensor.get_dtype()}; read are {', '.join(TYPES)}"
                )
        _few(sum(math.prod(tensor.get_shape()) for tensor in stored.values()))
    return {name: tensor.float() for name, tensor in load_file(path).items()}


def _few(numbers: int) -> None:
    if numbers > MOST_NUMBERS:
        raise Unusable(
            f"its weights are {numbers:,} numbers; at most {MOST_NUMBERS:,} are read"
        )


def _read_marian(path: Path) -> Files:
    """Read Marian's own file of weights and what stands beside it in a zip of OPUS-MT:
    no code is run."""
    folder = path.parent
    vocabulary = next(iter(sorted(folder.glob("*vocab.yml"))), folder / "vocab.yml")
    _regular(path, 4 * MOST_NUMBERS)

    def said(error: Exception) -> Unusable:
        return Unusable(
            f"{path.name} is no file of Marian's weights ({str(error).splitlines()[0]})"
        )

    with refusing(
        (OSError, ValueError, KeyError, zipfile.BadZipFile),
        said,
    ):
        with zipfile.ZipFile(path) as packed:
            _few(sum(one.file_size for one in packed.infolist()) // 4)
        with np.load(path, allow_pickle=False) as arrays:
            stored = {name: arrays[name] for name in arrays.files}
        settings = dict(
            re.findall(
                r"^([\w-]+): *(.*?) *$",
                bytes(stored.pop("special:model.yml")).decode(),
                re.M,
            )
        )
    if (
        settings.get("type") != "transformer"
        or settings.get("tied-embeddings-all") != "true"
    ):
        raise Unusable(
            "its model.yml does not say “type: transformer” and “tied-embeddings-all: true”"
        )
    for key, wanted in (
        ("transformer-preprocess", ""),
        ("transformer-postprocess", "dan"),
        ("transformer-postprocess-emb", "d"),
    ):
        if settings.get(key, wanted).strip("\"'") != wanted:
            raise Unusable(
                f"its model.yml says {key}: {settings[key]}, and only {wanted!r} is read"
            )
    pieces = [
        piece
        for piece, _ in sorted(_lines(_bytes(vocabulary)), key=lambda line: line[1])
    ]
    if not {"</s>", "<unk>"} <= set(pieces):
        raise Unusable(f"{vocabulary.name} lacks </s> or <unk>")
    special = {
        "</s>": pieces.index("</s>"),
        "<unk>": pieces.index("<unk>"),
        "<pad>": len(pieces),
    }
    weights = {}
    for name, array in stored.items():
        tensor = torch.from_numpy(np.array(array, dtype=np.float32))
        if found := re.fullmatch(r"(encoder|decoder)_l(\d+)_(\w+)", name):
            stack, layer, part = found.groups()
            if part in MARIAN:
                turned = (
                    tensor.t()
                    if part.split("_")[-1].startswith("W") and "_ln_" not in part
                    else tensor.flatten()
                )
                weights[f"model.{stack}.layers.{int(layer) - 1}.{MARIAN[part]}"] = (
                    turned.contiguous()
                )
    empty = torch.zeros(1, stored["Wemb"].shape[1])
    weights[MATRIX[0]] = torch.cat((torch.from_numpy(stored["Wemb"]).float(), empty))
    weights[BIAS] = torch.cat(
        (
            torch.from_numpy(stored["decoder_ff_logit_out_b"]).float().flatten(),
            torch.zeros(1),
        )
    )
    heads = int(settings["transformer-heads"])
    width = int(settings["transformer-dim-ffn"])
    config = {
        "model_type": "marian",
        "scale_embedding": True,
        "d_model": int(settings["dim-emb"]),
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": width,
        "decoder_ffn_dim": width,
        "encoder_layers": int(settings["enc-depth"]),
        "decoder_layers": int(settings["dec-depth"]),
        "max_position_embeddings": 512,
        "activation_function": settings["transformer-ffn-activation"].strip("\"'"),
    }
    return Files(
        config,
        weights,
        [*pieces, "<pad>"],
        special,
        [_bytes(folder / name) for name in ("source.spm", "target.spm")],
    )


def _lines(content: bytes) -> list[tuple[str, int]]:
    """Read Marian's vocabulary line by line, as parsers of YAML skip some: `"piece":
    12`, quoted where it must be."""
    found = []
    for line in content.decode().rstrip("\n").split("\n"):
        piece, _, number = line.rpartition(":")
        if piece[:1] == piece[-1:] == "'":
            piece = piece[1:-1].replace("''", "'")
        elif piece[:1] == piece[-1:] == '"':
            for short, sign in (
                ("N", "x85"),
                ("_", "xa0"),
                ("L", "u2028"),
                ("P", "u2029"),
                ("e", "x1b"),
                ("/", "x2f"),
            ):
                piece = piece.replace(f"\\{short}", f"\\{sign}")
            piece = ast.literal_eval(piece)
        found.append((piece, int(number)))
    return found


def _bytes(path: Path) -> bytes:
    with refusing(OSError, Unusable(f"it lacks {path.name}")):
        _regular(path)
        return path.read_bytes()


def _regular(path: Path, most: int = checkpoint.MOST_BYTES) -> None:
    if fault := unread(path, most):
        raise Unusable(f"{path.name} {fault}")


def _json(path: Path, otherwise: dict[str, Any] | None = None) -> dict[str, Any]:
    """The object in a file; `otherwise` where there is none."""
    if otherwise is not None and not path.is_file():
        return otherwise
    with refusing(
        (ValueError, RecursionError),
        Unusable(f"{path.name} is not readable as JSON"),
    ):
        value = json.loads(_bytes(path))
    if not isinstance(value, dict):
        raise Unusable(f"{path.name} does not hold a JSON object")
    return value
