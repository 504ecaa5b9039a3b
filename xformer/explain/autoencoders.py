"""An autoencoder in one file: its weights in half precision, its vocabulary, its shape
and its scores."""

from pathlib import Path
from typing import Any, NamedTuple

import torch

from xformer.autoencoder import Autoencoder, AutoencoderConfig
from xformer.explain import archives
from xformer.tokenizer import Tokenizer

WEIGHT = "weight."  # begins the names of arrays that are weights


class Kept(NamedTuple):
    """An autoencoder as a file has it."""

    model: Autoencoder  # in float32, in evaluation mode
    tokenizer: Tokenizer
    metrics: dict[str, Any]  # of its training


def load(path: Path) -> Kept:
    """Read an autoencoder from its file. Raises UserError where it is missing or broken."""
    with archives.reading(path, "autoencoder_missing") as (about, kept):
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
