"""A checkpoint is a folder: config.json, model.safetensors, tokenizer.model, metrics.json, README.md (a model card).

Only JSON, safetensors and SentencePiece's own format are ever read, so that no file can run code.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from xformer.model import Config, Transformer
from xformer.results import UserError
from xformer.tokenizer import Tokenizer

FILES = ("config.json", "model.safetensors", "tokenizer.model")
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
FIX = "download or copy the whole checkpoint again"


@dataclass(frozen=True)
class Checkpoint:
    """A translation model as it lies in a folder, loaded in full precision on the CPU."""

    name: str
    model: Transformer
    tokenizer: Tokenizer
    metrics: dict[str, Any]
    identity: str  # first 12 hex digits of the SHA-256 of model.safetensors


def write(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, however the process ends."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    os.replace(new, path)


def save(folder: Path, model: Transformer, tokenizer: Tokenizer, metrics: dict[str, Any]) -> None:
    """Write a checkpoint, weights in half precision; each file is replaced in one go."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "config.json", (json.dumps(model.config.to_dict(), indent=2) + "\n").encode())
    write(folder / "tokenizer.model", tokenizer.model)
    half = {name: tensor.detach().half().contiguous().cpu() for name, tensor in model.state_dict().items()}
    save_file(half, folder / "model.safetensors.new", metadata={"format": "pt"})
    os.replace(folder / "model.safetensors.new", folder / "model.safetensors")
    write(folder / "metrics.json", (json.dumps(metrics, indent=2) + "\n").encode())


def load(folder: str | Path) -> Checkpoint:
    """Read a checkpoint; raises UserError with one sentence on what is wrong with it and what to do."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"There is no checkpoint folder at {folder}; check the path, or train one with "
                        f"“python -m xformer train translation”.")
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        pickles = sorted(p.name for p in folder.iterdir() if p.suffix in PICKLES and p.name != "state.pt")
        if "model.safetensors" in missing and pickles:
            raise UserError(f"The checkpoint {folder} offers {pickles[0]}, which can run code when it is read; only "
                            f"model.safetensors is loaded: convert the weights with the safetensors package.")
        raise UserError(f"The checkpoint {folder} lacks {', '.join(missing)}; {FIX}.")
    config = _config(folder)
    try:
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
    except ValueError as error:
        raise UserError(f"The file {folder / 'tokenizer.model'} cannot be used: {error}; {FIX}.") from error
    if len(tokenizer) != config.vocab_size:
        raise UserError(f"The checkpoint {folder} does not fit together: config.json says {config.vocab_size} pieces, "
                        f"tokenizer.model holds {len(tokenizer)}; {FIX}.")
    metrics = _json(folder / "metrics.json") if (folder / "metrics.json").is_file() else {}
    model = Transformer(config).eval().requires_grad_(False)
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


def _config(folder: Path) -> Config:
    known = {f.name for f in fields(Config)}
    values = {key: value for key, value in _json(folder / "config.json").items() if key in known}
    try:
        return Config(**values)
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
