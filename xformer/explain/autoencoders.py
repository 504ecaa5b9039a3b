"""An autoencoder in one file: its weights in half precision, its vocabulary, its shape
and its scores."""

import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from xformer.autoencoder import Autoencoder, AutoencoderConfig
from xformer.results import Message, refusing
from xformer.tokenizer import Tokenizer

WEIGHT = "weight."  # begins the names of arrays that are weights


class Kept(NamedTuple):
    """An autoencoder as a file has it."""

    model: Autoencoder  # in float32, in evaluation mode
    tokenizer: Tokenizer
    metrics: dict[str, Any]  # of its training


def save(
    path: Path, model: Autoencoder, tokenizer: Tokenizer, metrics: dict[str, Any]
) -> None:
    """Write the file, .npz, whole or not at all."""
    about = {"config": model.config.to_dict(), "metrics": metrics}
    new = path.with_name(f"new-{path.name}")
    np.savez_compressed(
        new,
        about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
        vocabulary=np.frombuffer(tokenizer.model, dtype=np.uint8),
        **{
            WEIGHT + name: tensor.detach().half().cpu().numpy()
            for name, tensor in model.state_dict().items()
        },
    )
    new.replace(path)


def load(path: Path) -> Kept:
    """Read what `save` has written. Raises UserError where it is missing or broken."""
    with (
        refusing(
            (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile),
            Message.of("autoencoder_missing", file=path.name),
        ),
        np.load(path, allow_pickle=False) as kept,
    ):
        about = json.loads(kept["about"].tobytes())
        model = Autoencoder(AutoencoderConfig(**about["config"]))
        model.load_state_dict(
            {
                name.removeprefix(WEIGHT): torch.from_numpy(kept[name]).float()
                for name in kept.files
                if name.startswith(WEIGHT)
            }
        )
        tokenizer = Tokenizer(kept["vocabulary"].tobytes())
    return Kept(model.eval(), tokenizer, about["metrics"])
