"""Save, check and load a checkpoint: a folder with config.json, model.safetensors,
tokenizer.model, metrics.json and README.md (its model card); training may add the files
that `recorded` reads, an imported model those of its vocabulary.

Only JSON, safetensors and SentencePiece's own format are read, so no file can run code.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from xformer.classifier import (
    POOLINGS,
    ClassifierConfig,
    LanguageModel,
    LanguageModelConfig,
    TransformerClassifier,
)
from xformer.hub.recorded import HISTORY, MOMENTS
from xformer.model import Config, Network, Transformer
from xformer.recurrent import RecurrentConfig, RecurrentTranslator
from xformer.results import ModelInfo, UserError, refusing, unread, write_whole
from xformer.tokenizer import JOINT, SIDES, Tokenizer

FILES = ("config.json", "model.safetensors", "tokenizer.model")
# weights last
ALL_FILES = (
    "README.md",
    "metrics.json",
    HISTORY,
    MOMENTS,
    "config.json",
    *SIDES,
    JOINT,
    "model.safetensors",
)
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
FIX = "download or copy the whole checkpoint again"
# upper limit of max_length, which cannot be checked against the shapes of the weights
MOST_POSITIONS = 1 << 16
# upper limit of the size of every other file; these are read as a whole
MOST_BYTES = 1 << 26
# What the values in metrics.json must be that the page shows, by their names in it; and
# numbers that may be null.
RECORD = re.compile(r"lengths|calibration|alignment|guesses|imported|study")
RECORDS = re.compile(r"scores|poolings|lengths\.buckets|calibration\.bins|study\.\w+")
NUMBER = re.compile(
    r"bleu|alignment\.sentences|calibration\.(?!bins$).+|scores\.(bleu|chrf|accuracy)|"
    r"study\.\w+\.\w+|referring\..+|lengths\.buckets\..+|poolings\.(?!pooling(\.|$)).+",
    re.S,
)
# at least 0
COUNT = re.compile(
    r"alignment\.sentences|calibration\.bins\.count|scores\.(rows|sentences)|referring\..+"
)
# 0 to 1
SHARE = re.compile(
    r"alignment\.sides|calibration\.(error|error_before|bins\.(confidence|accuracy))|"
    r"poolings\.(imdb|sst2)|scores\.accuracy"
)
# how often a noun that is named is the one that is meant; each counts among the one before
REFERRING = ("pronouns", "said", "right")
TAUGHT = "taught_heads"  # of the encoder, [layer, head] from 1 (`research.continued`)
LACKING = re.compile(r"(?!calibration\.\w+$).+\.(last|bleu|chrf|training|steps)", re.S)
# of the weights, laid out for multiplying in several ways: measured, 0.9 GB for 0.31 GB
# of weights
COPIES = 2.0
TYPES = ("F16", "F32")  # of stored numbers; `save` writes F16


class ModelKind(NamedTuple):
    """A kind of model: its classes, and its names in different places."""

    key: str  # in config.json
    config: type[Config]
    model: type[Network]
    name: str  # in sentences
    train: str  # on the command line: python -m xformer train NAME
    task: str  # on the Hub


KINDS = {
    kind.key: kind
    for kind in (
        ModelKind(
            "translation",
            Config,
            Transformer,
            "translation model",
            "translation",
            "translation",
        ),
        ModelKind(
            "recurrent_translation",
            RecurrentConfig,
            RecurrentTranslator,
            "recurrent translation model",
            "translation",
            "translation",
        ),
        ModelKind(
            "language_model",
            LanguageModelConfig,
            LanguageModel,
            "language model",
            "language-model",
            "text-generation",
        ),
        ModelKind(
            "classifier",
            ClassifierConfig,
            TransformerClassifier,
            "text classifier",
            "sentiment",
            "text-classification",
        ),
    )
}
Model = TypeVar("Model", bound=Network)


@dataclass(frozen=True)
class Checkpoint(Generic[Model]):
    """A model loaded from a folder, in full precision on the CPU."""

    name: str
    model: Model
    tokenizer: Tokenizer
    metrics: dict[str, Any]
    identity: str  # first 12 hex digits of the SHA-256 of model.safetensors
    folder: Path  # from which it was read

    def info(self, device: object, precision: str) -> ModelInfo:
        """Describe the model for a page, with the device and the precision in which it
        answers."""
        config = self.model.config
        imported = self.metrics.get("imported", {})
        return ModelInfo(
            self.name,
            self.identity,
            self.model.parameter_count(),
            config.norm,
            config.n_layers,
            config.decoder_layers,
            config.n_heads,
            config.d_model,
            str(device),
            precision,
            config.position_base,
            config.architecture,
            getattr(config, "causal", isinstance(self.model, LanguageModel)),
            getattr(config, "pooling", ""),
            config.source,
            config.target,
            self.tokenizer.codes,
            *(str(imported.get(key, "")) for key in ("origin", "licence")),
        )


def save_config(folder: Path, model: Network, tokenizer: Tokenizer) -> None:
    """Write config.json and the vocabulary, which fix the shape of a model."""
    config = {"kind": kind_for(type(model)).key, **model.config.to_dict()}
    write_whole(folder / "config.json", (json.dumps(config, indent=2) + "\n").encode())
    for name, content in tokenizer.files.items():
        write_whole(folder / name, content)


def save(
    folder: Path,
    model: Network,
    tokenizer: Tokenizer,
    metrics: dict[str, Any],
    precision: torch.dtype = torch.float16,
) -> None:
    """Write a checkpoint, its weights in half precision or another; each file is
    replaced atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    save_config(folder, model, tokenizer)
    stored = {
        name: tensor.detach().to(precision).contiguous().cpu()
        for name, tensor in model.state_dict().items()
    }
    save_file(stored, folder / "model.safetensors.new", metadata={"format": "pt"})
    os.replace(folder / "model.safetensors.new", folder / "model.safetensors")
    write_metrics(folder, metrics)


def load(
    folder: str | Path,
    model_type: type[Model] = Transformer,  # type: ignore[assignment]
) -> Checkpoint[Model]:
    """Load a checkpoint that holds a model of this type. Raises UserError, which says
    what is wrong and what to do."""
    folder = Path(folder)
    require(folder, kind_for(model_type).train)
    tokenizer, model = build(folder, model_type)
    metrics = read_metrics(folder)
    weights = folder / "model.safetensors"
    with enough_memory(weights):
        model.load_state_dict(load_file(weights))
    for name, tensor in model.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise UserError(
                f"Some weights in {weights} are not numbers: {name} holds NaN or infinity; {FIX}."
            )
    return Checkpoint(
        name_of(folder), model, tokenizer, metrics, digest(weights)[:12], folder
    )


def load_translator(folder: str | Path) -> Checkpoint[Any]:
    """Load a checkpoint that translates, a Transformer or a RecurrentTranslator. Raises
    UserError as `load` does."""
    require(Path(folder))
    return load(folder, translator_type(Path(folder)))


def translator_type(folder: Path) -> type[Any]:
    """Return the type of a checkpoint's model if it translates, else Transformer, so
    that loading it raises UserError."""
    kind = kind_of(folder)
    return kind.model if kind.train == "translation" else Transformer


def average(parts: Sequence[tuple[Path, float]], out: Path) -> None:
    """Write a checkpoint whose weights are the weighted mean of others.

    Models trained further from the same weights can be averaged: the mean keeps what
    one had learned, and takes part of what the other learned since (Wortsman et al.,
    "Robust fine-tuning of zero-shot models", 2022; for moments of one run, Popel and
    Bojar, "Training Tips for the Transformer Model", 2018). parts: folders and their
    shares, above 0, which are divided by their sum. A head that one of them was taught
    to link stays named as such. Raises UserError if two models do
    not fit together, or `out` is not empty.
    """
    vacant(out)
    for folder, _ in parts:
        require(folder)
    first, *others = [load(folder, kind_of(folder).model) for folder, _ in parts]
    for other in others:
        # only training uses it: it may differ
        alike = replace(other.model.config, dropout=first.model.config.dropout)
        if (alike, other.tokenizer.model) != (
            first.model.config,
            first.tokenizer.model,
        ):
            raise UserError(
                f"The checkpoints {first.folder} and {other.folder} differ in their shape or their "
                f"vocabulary, so their weights cannot be averaged; name runs of the same model."
            )
    shares = [share / sum(share for _, share in parts) for _, share in parts]
    states = [one.model.state_dict() for one in (first, *others)]
    first.model.load_state_dict(
        {
            name: torch.stack(
                [
                    share * state[name]
                    for share, state in zip(shares, states, strict=True)
                ]
            ).sum(dim=0)
            for name in states[0]
        }
    )
    save(
        out,
        first.model,
        first.tokenizer,
        {
            **taught_heads(first, *others),
            "averaged": [
                {"name": one.name, "identity": one.identity, "share": round(share, 4)}
                for one, share in zip((first, *others), shares, strict=True)
            ],
        },
    )


def extend(folder: Path, out: Path) -> None:
    """Write a copy of a translation model whose vocabulary spells every character:
    `Tokenizer.extended`.

    The new rows of the embeddings, which the output shares, begin at the mean of the
    old rows; train the model further. Raises UserError if the vocabulary spells every
    character already, or `out` is not empty.
    """
    vacant(out)
    start = load_translator(folder)
    tokenizer = start.tokenizer.extended()
    if tokenizer is start.tokenizer:
        raise UserError(
            f"The vocabulary of {folder} has bytes for every character already; train on with it."
        )
    model = type(start.model)(replace(start.model.config, vocab_size=len(tokenizer)))
    weights = start.model.state_dict()
    old = weights["embedding.weight"]
    rows = old.mean(dim=0, keepdim=True).expand(len(tokenizer) - len(old), -1)
    model.load_state_dict({**weights, "embedding.weight": torch.cat((old, rows))})
    save(
        out,
        model,
        tokenizer,
        {
            "extended": {"name": start.name, "identity": start.identity},
            **taught_heads(start),
        },
    )


def taught_heads(*starts: Checkpoint[Any]) -> dict[str, Any]:
    """Name the heads that models were taught, for the metrics of one that is made of
    them."""
    heads = sorted(
        {tuple(head) for one in starts for head in one.metrics.get(TAUGHT, ())}
    )
    return {TAUGHT: heads} if heads else {}


def vacant(folder: Path) -> None:
    """Raise UserError if there is anything in a folder that is to be written, or it is
    a file."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UserError(
            f"The folder {folder} is not empty, or it is a file; name a folder that is empty or does not "
            f"exist yet."
        )


def require(folder: Path, train: str = "translation") -> None:
    """Raise UserError if a folder or one of its files is missing. train: the command
    that makes such a model."""
    if not folder.is_dir():
        raise UserError(
            f"There is no checkpoint folder at {folder}; check the path, or train one with "
            f"“python -m xformer train {train}”."
        )
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        pickles = sorted(
            p.name
            for p in folder.iterdir()
            if p.suffix in PICKLES and p.name != "state.pt"
        )
        if "model.safetensors" in missing and pickles:
            raise UserError(
                f"The checkpoint {folder} offers {pickles[0]}, which can run code when it is read; only "
                f"model.safetensors is loaded: convert the weights with the safetensors package."
            )
        raise UserError(f"The checkpoint {folder} lacks {', '.join(missing)}; {FIX}.")


def build(folder: Path, model_type: type[Model]) -> tuple[Tokenizer, Model]:
    """Load the vocabulary and make the model of a checkpoint, before its weights are
    read.

    Raises UserError if vocabulary, configuration and the shapes of the weights do not
    fit together. The shapes are compared first, so that a configuration cannot make a
    model much larger than the file of its weights.
    """
    config = read_config(folder, model_type)
    for name in (*SIDES, JOINT):
        if (folder / name).exists():
            _bounded(folder / name)
    # RecursionError: thousands of nested brackets
    with refusing(
        (ValueError, RecursionError),
        lambda error: (
            f"The file {folder / 'tokenizer.model'} cannot be used: {error}; {FIX}."
        ),
    ):
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
    if len(tokenizer) != config.vocab_size:
        raise UserError(
            f"The checkpoint {folder} does not fit together: config.json says {config.vocab_size} pieces, "
            f"tokenizer.model holds {len(tokenizer)}; {FIX}."
        )
    if config.max_length > MOST_POSITIONS:
        raise UserError(
            f"The file {folder / 'config.json'} describes no model: max_length is {config.max_length}; it "
            f"must be at most {MOST_POSITIONS}."
        )
    path = folder / "model.safetensors"
    stored = shapes(path)
    layers = config.n_layers + config.decoder_layers
    least = config.d_model * (
        config.vocab_size + layers * (config.d_model + config.d_ff)
    )
    if least > size(stored):
        raise UserError(
            f"The weights in {path} are of another shape than config.json says: {size(stored):,} numbers, "
            f"wanted more than {least:,}; {FIX}."
        )
    with enough_memory(path):
        model = model_type(config).eval().requires_grad_(False)
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for name in sorted(wanted.keys() | stored.keys()):
        if wanted.get(name) != stored.get(name):
            raise UserError(
                f"The weights in {path} are of another shape than config.json says: {name} is "
                f"{stored.get(name, 'missing')}, wanted {wanted.get(name, 'nothing of that name')}; {FIX}."
            )
    return tokenizer, model


class Summary(NamedTuple):
    """A description of a checkpoint, made without loading its weights."""

    name: str
    kind: ModelKind
    config: Config
    parameters: int
    identity: str
    metrics: dict[str, Any]


def examine(folder: Path) -> Summary:
    """Check a checkpoint of any kind as `load` does, and describe it. Raises
    UserError."""
    require(folder)
    kind = kind_of(folder)
    weights = folder / "model.safetensors"
    _, model = build(folder, kind.model)
    return Summary(
        name_of(folder),
        kind,
        model.config,
        size(shapes(weights)),
        digest(weights)[:12],
        read_metrics(folder),
    )


def sizes(folder: Path) -> dict[str, int]:
    """Return the size in bytes of each file that a checkpoint has."""
    return {
        name: (folder / name).stat().st_size
        for name in ALL_FILES
        if (folder / name).is_file()
    }


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Read the shape of each tensor from the header of a file.

    Raises UserError if the file is not complete, or a tensor's type is not one of
    TYPES.
    """
    with (
        refusing(
            (SafetensorError, OSError),
            (f"The file {path} is truncated or not in safetensors format; {FIX}."),
        ),
        enough_memory(path),
        safe_open(path, "pt") as file,
    ):
        stored = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        for name, tensor in sorted(stored.items()):
            if tensor.get_dtype() not in TYPES:
                raise UserError(
                    f"The weights in {path} are of a type that is not read: {name} is "
                    f"{tensor.get_dtype()}, wanted {' or '.join(TYPES)}; convert them with the safetensors "
                    f"package, or {FIX}."
                )
        return {name: tuple(tensor.get_shape()) for name, tensor in stored.items()}


@contextmanager
def enough_memory(path: Path) -> Iterator[None]:
    """Turn an error for lack of memory while weights are loaded into a UserError. path:
    of the weights."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # PyTorch has no error of its own for a lack of CPU memory
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        raise UserError(
            f"The weights in {path} ({path.stat().st_size:,} bytes) need more memory than there is; use a "
            f"machine with more, or another checkpoint."
        ) from error


def _bounded(path: Path) -> None:
    if fault := unread(path, MOST_BYTES):
        raise UserError(f"The file {path} {fault}: {FIX}.")


def size(tensors: dict[str, tuple[int, ...]]) -> int:
    """Count the numbers that tensors of these shapes hold."""
    return sum(math.prod(shape) for shape in tensors.values())


def memory(folder: Path) -> int:
    """Estimate the bytes of memory that a checkpoint's model takes once it answers: its
    weights in float32, and COPIES.

    Raises UserError if its weights cannot be read.
    """
    return round(4 * (1 + COPIES) * size(shapes(folder / "model.safetensors")))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hex digits; the first 12 for its weights are a
    checkpoint's identity."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


def name_of(folder: Path) -> str:
    """Return the name of a folder; in the Hub's cache
    (models--owner--name/snapshots/commit), owner/name@commit."""
    folder = folder.resolve()
    repository = folder.parent.parent.name
    snapshots = folder.parent.name
    if snapshots == "snapshots" and repository.startswith("models--"):
        return f"{repository.removeprefix('models--').replace('--', '/')}@{folder.name[:7]}"
    return folder.name


def read_metrics(folder: Path) -> dict[str, Any]:
    """Read what training and evaluation measured; {} if there is no metrics.json.

    Raises UserError if it cannot be read, or a number in it is NaN or infinite, which
    no picture could show.
    """
    path = folder / "metrics.json"
    metrics = _json(path) if path.is_file() else {}
    if fault := _fault(metrics):
        raise UserError(
            f"The file {path} {fault}; remove it, and measure again with “python -m xformer evaluate … "
            f"--save”."
        )
    return metrics


def write_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """Write metrics.json, in place of what it held."""
    write_whole(
        folder / "metrics.json", (json.dumps(metrics, indent=2) + "\n").encode()
    )


def _are_heads(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list) and [*map(type, one)] == [int, int] for one in value
    )


def _are_referents(value: Any) -> bool:
    """Whether a record has counts by REFERRING, none larger than the one before."""
    if not isinstance(value, dict) or not {*REFERRING} <= {*value}:
        return False
    counts = [value[name] for name in REFERRING]
    return {*map(type, counts)} == {int} and counts == sorted(counts, reverse=True)


def _fault(metrics: dict[str, Any]) -> str:
    """Name a value of metrics.json that no picture could show, or of another form than
    the page shows; "" if there is none."""
    # values, by their names, which those in a list share
    waiting: list[tuple[str, Any]] = [("", metrics)]
    while waiting:
        name, value = waiting.pop()
        number = isinstance(value, (int, float))
        many = value if isinstance(value, list) else [value]
        records = [one for one in many if isinstance(one, dict)]
        if number and not -1e300 < value < 1e300:
            return "holds a number that is NaN or infinite"
        for names, form, fits in (
            (RECORD, "a record", records == [value]),
            (RECORDS, "a list of records", records == value),
            (re.compile(r"scores\.set"), "a text", isinstance(value, str)),
            (
                re.compile(r"poolings\.pooling"),
                " or ".join(POOLINGS),
                value in POOLINGS,
            ),
            (
                re.compile("referring"),
                f"counts of {', '.join(REFERRING)}, none larger than the one before",
                _are_referents(value),
            ),
            (re.compile(TAUGHT), "pairs of a layer and a head", _are_heads(value)),
            (COUNT, "a count of at least 0", number and value >= 0),
            (SHARE, "a share from 0 to 1", number and 0 <= value <= 1),
            (NUMBER, "a number", number or value is None and LACKING.fullmatch(name)),
        ):
            if names.fullmatch(name) and not fits:
                return f"has a value of the wrong form: {name} is {str(value)[:40]!r} in place of {form}"
        waiting += [
            (f"{name}.{key}".lstrip("."), inner)
            for one in records
            for key, inner in one.items()
        ]
        waiting += [
            (f"{name}[]", one)
            for one in many
            if one is not value and not isinstance(one, dict)
        ]
    return ""


def _json(path: Path) -> dict[str, Any]:
    _bounded(path)
    # RecursionError: thousands of nested brackets
    with refusing(
        (ValueError, RecursionError),
        f"The file {path} is not readable as JSON; {FIX}.",
    ):
        value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise UserError(f"The file {path} does not hold a JSON object; {FIX}.")
    return value


def kind_for(model_type: type[Network]) -> ModelKind:
    """Return the kind whose models are of this type."""
    return next(kind for kind in KINDS.values() if kind.model is model_type)


def kind_of(folder: Path) -> ModelKind:
    """Read the kind of model from config.json; raises UserError where there is no such
    kind."""
    kind = _json(folder / "config.json").get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UserError(
            f"The file {folder / 'config.json'} is of the unknown kind {kind!r}; it must be one of "
            f"{', '.join(KINDS)}."
        )
    return KINDS[kind]


def languages(folder: Path) -> tuple[str, str]:
    """Return the codes of the languages that a translator reads and writes; "" where
    config.json does not tell."""
    with suppress(UserError):
        config = _json(folder / "config.json")
        if "translation" in str(config.get("kind")):
            return str(config.get("source", "en")), str(config.get("target", "es"))
    return "", ""


def read_config(folder: Path, model_type: type[Network]) -> Config:
    """Read the configuration of a model of this type. Raises UserError if it is broken
    or of another kind."""
    kind = kind_of(folder)
    wanted = kind_for(model_type)
    if kind is not wanted:
        raise UserError(
            f"The checkpoint {folder} holds a {kind.name}, but a {wanted.name} is needed; name another "
            f"folder, or train one with “python -m xformer train {wanted.train}”."
        )
    known = {f.name for f in fields(kind.config)}
    values = {
        key: value
        for key, value in _json(folder / "config.json").items()
        if key in known
    }
    with refusing(
        (TypeError, ValueError),
        lambda error: f"The file {folder / 'config.json'} describes no model: {error}.",
    ):
        return kind.config(**values)
