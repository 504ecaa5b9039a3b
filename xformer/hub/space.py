"""A hosted Space: what of this repository is uploaded to one, and GPUs that the host lends for the time of a call."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from xformer.hub import card, checkpoint, shipped
from xformer.hub import repository as hub
from xformer.results import UserError

if TYPE_CHECKING:
    from xformer.serve.reviews import SentimentService
    from xformer.serve.translation import Service

S = TypeVar("S", "Service", "SentimentService")
log = logging.getLogger(__name__)

FILES = ("README.md", "LICENSE", "app.py", "requirements.txt")
FOLDERS = ("xformer", "assets")
CHECKPOINTS = {"translation": shipped.DEFAULT_CHECKPOINT, "sentiment": shipped.SENTIMENT_CHECKPOINT}
VARIABLES = {"translation": shipped.CHECKPOINT_VARIABLE, "sentiment": shipped.SENTIMENT_VARIABLE}
SECONDS = 30  # that a call may keep a lent GPU; visitors with less than that left are refused, and computed for here
CALLS = ("translate", "translate_many", "choose", "trace", "walk", "embed", "explain", "with_positions", "embedded",
         "occlude", "head_effects", "classify", "attribute")  # what computes on a model


# Upload


def push(root: Path, repository: str, *, translation: str | None = None, sentiment: str | None = None,
         mcp: bool = False, private: bool | None = None, message: str = "Upload the page") -> str:
    """Upload what a Space needs of the repository at `root`, as one commit; the address of the Space.

    translation, sentiment: owner/name[@revision] of checkpoints that the Space takes from the Hub, and has fetched when
    it is built, in place of those in the repository. mcp: let it be an MCP server too. Raises UserError.
    """
    files: dict[str, Path | bytes] = {name: root / name for name in FILES}
    for path in sorted(path for name in FOLDERS for path in (root / name).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files[path.relative_to(root).as_posix()] = path
    missing = [name for name in (*FILES, *FOLDERS) if not (root / name).exists()]
    if missing:
        raise UserError(f"There is no {' and no '.join(missing)} in {root}, and a Space needs it; run this in a whole "
                        f"copy of the repository.")
    variables: dict[str, str | None] = {"GRADIO_MCP_SERVER": "True" if mcp else None}
    fetched: dict[str, str] = {}
    for kind, name in (("translation", translation), ("sentiment", sentiment)):
        variables[VARIABLES[kind]] = None
        if name is None:
            folder = root / CHECKPOINTS[kind]
            _examine(folder, kind)
            files |= {f"{CHECKPOINTS[kind]}/{file}": folder / file for file in checkpoint.sizes(folder)}
        else:
            found, commit = hub.pinned(name)
            _examine(found, kind)
            variables[VARIABLES[kind]] = str(commit)
            fetched[commit.repository] = f"{','.join(checkpoint.sizes(found))} {commit.revision}"
    files["README.md"] = _front_matter(root / "README.md", fetched)
    return hub.push_space(repository, files, (*FOLDERS, "checkpoints"), variables, private=private,
                          commit_message=message)


def _examine(folder: Path, kind: str) -> None:
    """Raise UserError where a folder holds no whole checkpoint of a kind."""
    found, wanted = checkpoint.examine(folder).kind, next(k for k in checkpoint.KINDS.values() if k.train == kind)
    if found is not wanted:
        raise UserError(f"The checkpoint {folder} holds a {found.name}, but a {wanted.name} is needed; name another.")


def _front_matter(path: Path, fetched: dict[str, str]) -> bytes:
    """The README with what the Space is to fetch when it is built; raises UserError where it is none of a Space."""
    if card.read(path).data.get("sdk") != "gradio":
        raise UserError(f"{path} does not say “sdk: gradio” between two lines of “---” at its beginning, and a Space "
                        f"needs that; add it.")
    start, text = path.read_text(encoding="utf-8").split("\n", 1)
    if fetched:
        preload = [f"- {repository} {files}" for repository, files in fetched.items()]
        start = "\n".join([start, "models:", *(f"- {name}" for name in fetched), "preload_from_hub:", *preload])
    return f"{start}\n{text}".encode()


# Lent GPUs


def open_service(kind: type[S], folder: str | Path, device: str | None) -> S:
    """A service; where the host lends a GPU for the time of a call, one that is on the CPU and has calls computed by
    another, which is opened in the process that was given the GPU. Where no GPU is to be had it computes itself."""
    if device or not lends():
        return kind.open(folder, device)
    here = kind.open(folder, "cpu")
    service = copy(here)
    service.info = replace(here.info, device="ZeroGPU")
    for name in CALLS:
        if hasattr(here, name):
            setattr(service, name, partial(_borrow, service, kind, Path(folder), name, getattr(here, name)))
    return service


def lends() -> bool:
    """Whether this host lends GPUs: `spaces.GPU`, which `app.py` imports where it exists, changes functions there only.
    """
    return _decorated() is not _compute


@cache
def _decorated() -> Callable[..., Any]:
    spaces = sys.modules.get("spaces")
    return _compute if spaces is None else spaces.GPU(duration=SECONDS)(_compute)


def _borrow(service: S, kind: type, folder: Path, name: str, here: Any, *args: Any, **kwargs: Any) -> Any:
    """Have a call computed on a lent GPU, or else here, under the guard of the service that was asked. Arguments and
    results travel between processes; what shows how far it is cannot, and is left out."""
    here.__self__.guard = service.guard
    with service.guard.enter():
        try:
            found = _decorated()(kind, folder, name, [None if callable(value) else value for value in args],
                                 {key: value for key, value in kwargs.items() if not callable(value)})
        except Exception as error:  # none is free, the visitor's time is used up, the process was ended …
            log.warning("no lent GPU (%s); computing on the CPU", error)
            return here(*args, **kwargs)
    if isinstance(found, UserError):
        raise found
    return found


def _compute(kind: type, folder: Path, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """In the process with the GPU: the result of a call, or the UserError that it raised."""
    import torch

    from xformer import device
    device.THREADS = 1  # those of OpenMP do not come along into a forked process, which would wait for them for ever
    torch.set_num_threads(1)
    try:
        return getattr(_opened(kind, folder), name)(*args, **kwargs)
    except UserError as error:
        return error


@cache
def _opened(kind: Any, folder: Path) -> Any:
    """Opened anew, as neither a model on a GPU nor a thread comes along into another process."""
    return kind.open(folder)
