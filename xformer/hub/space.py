"""Upload what a hosted Space needs of this repository."""

from __future__ import annotations

import re
from pathlib import Path

from xformer.hub import card, checkpoint, repository, shipped
from xformer.results import GENERATIONS, UserError

FILES = ("README.md", "LICENSE", "app.py", "requirements.txt")
OF_THE_HOST = {"gradio", "huggingface-hub", "spaces"}  # it brings its own: other versions break its image or its GPUs
NEWEST_TORCH = "2.13.0"  # that GPUs are lent for
FOLDERS = ("xformer", "assets")
CHECKPOINTS = {"translation": shipped.DEFAULT_CHECKPOINT, "sentiment": shipped.SENTIMENT_CHECKPOINT}
VARIABLES = {"translation": shipped.CHECKPOINT_VARIABLE, "sentiment": shipped.SENTIMENT_VARIABLE}


def push(root: Path, name: str, *, translation: str | None = None, sentiment: str | None = None,
         mcp: bool = False, private: bool | None = None, message: str = "Upload the page") -> str:
    """Upload the files that a Space needs, of the code at `root`, to owner/name; return the address of the Space.

    translation, sentiment: owner/name[@revision] of checkpoints that the Hub fetches when it builds the Space; None:
    the one that ships is uploaded. mcp: let the Space be an MCP server too. Raises UserError.
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
    preloaded: dict[str, str] = {}
    for kind, wanted in (("translation", translation), ("sentiment", sentiment)):
        if wanted is None:
            folder = root / CHECKPOINTS[kind]
            _examine(folder, kind)
            variables[VARIABLES[kind]] = None
            files |= {f"{CHECKPOINTS[kind]}/{file}": folder / file for file in checkpoint.sizes(folder)}
            files |= _generations(root) if kind == "translation" else _writer(root)
        else:
            folder, commit = repository.pinned(wanted)
            _examine(folder, kind)
            variables[VARIABLES[kind]] = str(commit)
            preloaded[commit.repository] = f"{','.join(checkpoint.sizes(folder))} {commit.revision}"
    files["README.md"] = _readme(root / "README.md", preloaded)
    files["requirements.txt"] = _requirements((root / "requirements.txt").read_text(encoding="utf-8"))
    return repository.push_space(name, files, (*FOLDERS, "checkpoints"), variables, private=private,
                                 commit_message=message)


def _generations(root: Path) -> dict[str, Path | bytes]:
    """List the files of the small models that the page compares with one another, as far as they are there."""
    found: dict[str, Path | bytes] = {}
    for name in GENERATIONS:
        folder = root / "checkpoints" / name
        if folder.is_dir():
            _examine(folder, "translation")
            found |= {f"checkpoints/{name}/{file}": folder / file for file in checkpoint.sizes(folder)}
    return found


def _writer(root: Path) -> dict[str, Path | bytes]:
    """List the files of the language model that the classifier began as, where it is there."""
    folder = root / shipped.WRITER_CHECKPOINT
    if not folder.is_dir():
        return {}
    _examine(folder, "language-model")
    return {f"{shipped.WRITER_CHECKPOINT}/{file}": folder / file for file in checkpoint.sizes(folder)}


def _examine(folder: Path, kind: str) -> None:
    """Raise UserError where a folder holds no whole checkpoint of a kind."""
    held = checkpoint.examine(folder).kind
    if held.train != kind:
        wanted = next(known for known in checkpoint.KINDS.values() if known.train == kind)
        raise UserError(f"The checkpoint {folder} holds a {held.name}, but a {wanted.name} is needed; name another.")


def _requirements(text: str) -> bytes:
    """Leave out of the requirements what a Space's host has, and of torch the limits but its own."""
    wanted = []
    for line in text.splitlines():
        named = re.match(r"[\w-]+", line)
        if named and named[0] == "torch":
            wanted.append(f"torch<={NEWEST_TORCH}")
        elif named and named[0] not in OF_THE_HOST:
            wanted.append(line)
    return "".join(f"{line}\n" for line in wanted).encode()


def _readme(path: Path, preloaded: dict[str, str]) -> bytes:
    """Add to a Space's README the repositories that the Hub fetches when it builds the Space, with their files.

    Raises UserError where the README is not that of a Space.
    """
    if card.read(path).data.get("sdk") != "gradio":
        raise UserError(f"{path} does not say “sdk: gradio” between two lines of “---” at its beginning, and a Space "
                        f"needs that; add it.")
    start, text = path.read_text(encoding="utf-8").split("\n", 1)
    if preloaded:
        models = [f"- {name}" for name in preloaded]
        preload = [f"- {name} {files}" for name, files in preloaded.items()]
        start = "\n".join([start, "models:", *models, "preload_from_hub:", *preload])
    return f"{start}\n{text}".encode()
