"""A checkpoint is a folder: config.json, model.safetensors, tokenizer.model, metrics.json, README.md (a model card).

Only JSON, safetensors and SentencePiece's own format are ever read, so that no file can run code.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from xformer.classifier import ClassifierConfig, LanguageModel, LanguageModelConfig, TransformerClassifier
from xformer.model import Config, EncoderStack, Transformer
from xformer.results import UserError
from xformer.tokenizer import Tokenizer

FILES = ("config.json", "model.safetensors", "tokenizer.model")
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
FIX = "download or copy the whole checkpoint again"


class Kind(NamedTuple):
    """One kind of model, as config.json names it."""

    config: type[Config]
    model: type[EncoderStack]
    name: str
    train: str  # python -m xformer train …


KINDS = {
    "translation": Kind(Config, Transformer, "translation model", "translation"),
    "language_model": Kind(LanguageModelConfig, LanguageModel, "language model", "language-model"),
    "classifier": Kind(ClassifierConfig, TransformerClassifier, "text classifier", "sentiment"),
}
Model = TypeVar("Model", bound=EncoderStack)


@dataclass(frozen=True)
class Checkpoint(Generic[Model]):
    """A model as it lies in a folder, loaded in full precision on the CPU."""

    name: str
    model: Model
    tokenizer: Tokenizer
    metrics: dict[str, Any]
    identity: str  # first 12 hex digits of the SHA-256 of model.safetensors


def write(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, however the process ends."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    os.replace(new, path)


def save_config(folder: Path, model: EncoderStack, tokenizer: Tokenizer) -> None:
    """Write what fixes the shape of a model: its kind, its configuration, and its vocabulary."""
    kind = next(name for name, kind in KINDS.items() if kind.model is type(model))
    config = {"kind": kind, **model.config.to_dict()}
    write(folder / "config.json", (json.dumps(config, indent=2) + "\n").encode())
    write(folder / "tokenizer.model", tokenizer.model)


def save(folder: Path, model: EncoderStack, tokenizer: Tokenizer, metrics: dict[str, Any]) -> None:
    """Write a checkpoint, weights in half precision; each file is replaced in one go."""
    folder.mkdir(parents=True, exist_ok=True)
    save_config(folder, model, tokenizer)
    half = {name: tensor.detach().half().contiguous().cpu() for name, tensor in model.state_dict().items()}
    save_file(half, folder / "model.safetensors.new", metadata={"format": "pt"})
    os.replace(folder / "model.safetensors.new", folder / "model.safetensors")
    write(folder / "metrics.json", (json.dumps(metrics, indent=2) + "\n").encode())


def load(folder: str | Path, model_type: type[Model] = Transformer) -> Checkpoint[Model]:  # type: ignore[assignment]
    """Read a checkpoint of one kind; raises UserError with one sentence on what is wrong with it and what to do."""
    folder = Path(folder)
    if not folder.is_dir():
        command = next(kind.train for kind in KINDS.values() if kind.model is model_type)
        raise UserError(f"There is no checkpoint folder at {folder}; check the path, or train one with "
                        f"“python -m xformer train {command}”.")
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        pickles = sorted(p.name for p in folder.iterdir() if p.suffix in PICKLES and p.name != "state.pt")
        if "model.safetensors" in missing and pickles:
            raise UserError(f"The checkpoint {folder} offers {pickles[0]}, which can run code when it is read; only "
                            f"model.safetensors is loaded: convert the weights with the safetensors package.")
        raise UserError(f"The checkpoint {folder} lacks {', '.join(missing)}; {FIX}.")
    config = read_config(folder, model_type)
    try:
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
    except ValueError as error:
        raise UserError(f"The file {folder / 'tokenizer.model'} cannot be used: {error}; {FIX}.") from error
    if len(tokenizer) != config.vocab_size:
        raise UserError(f"The checkpoint {folder} does not fit together: config.json says {config.vocab_size} pieces, "
                        f"tokenizer.model holds {len(tokenizer)}; {FIX}.")
    metrics = _json(folder / "metrics.json") if (folder / "metrics.json").is_file() else {}
    model = model_type(config).eval().requires_grad_(False)
    _load_weights(model, folder / "model.safetensors")
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    return Checkpoint(folder.resolve().name, model, tokenizer, metrics, digest[:12])


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"The file {path} is not readable as JSON; {FIX}.") from error
    if not isinstance(value, dict):
        raise UserError(f"The file {path} does not hold a JSON object; {FIX}.")
    return value


def kind_of(folder: Path) -> Kind:
    """The kind of model that config.json names; those written before there were others are of translation."""
    kind = _json(folder / "config.json").get("kind", "translation")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UserError(f"The file {folder / 'config.json'} is of the unknown kind {kind!r}; it must be one of "
                        f"{', '.join(KINDS)}.")
    return KINDS[kind]


def read_config(folder: Path, model_type: type[EncoderStack]) -> Config:
    """The configuration in a folder; raises UserError where it is broken, or that of another kind of model."""
    found = kind_of(folder)
    if found.model is not model_type:
        wanted = next(kind for kind in KINDS.values() if kind.model is model_type)
        raise UserError(f"The checkpoint {folder} holds a {found.name}, but a {wanted.name} is needed; name another "
                        f"folder, or train one with “python -m xformer train {wanted.train}”.")
    known = {f.name for f in fields(found.config)}
    values = {key: value for key, value in _json(folder / "config.json").items() if key in known}
    try:
        return found.config(**values)
    except (TypeError, ValueError) as error:
        raise UserError(f"The file {folder / 'config.json'} describes no model: {error}.") from error


def _load_weights(model: torch.nn.Module, path: Path) -> None:
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise UserError(f"The file {path} is truncated or not in safetensors format; {FIX}.") from error
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise UserError(f"The weights in {path} are of another shape than config.json says: {name} is "
                            f"{found.get(name, 'missing')}, wanted {wanted.get(name, 'nothing of that name')}; {FIX}.")
    model.load_state_dict(weights)
