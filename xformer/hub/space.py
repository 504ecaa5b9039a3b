"""Upload the part of this repository that a hosted Space needs."""

import re
import shutil
import tempfile
from pathlib import Path

from xformer.hub import card, checkpoint, repository
from xformer.hub.shipped import SENTIMENT, SHIPPED, TRANSLATION, Shipped
from xformer.results import UserError

FILES = ("README.md", "LICENSE", "app.py", "requirements.txt")
# the host has its own; other versions break its image or GPUs
OF_THE_HOST = {"gradio", "huggingface-hub", "spaces"}
NEWEST_TORCH = "2.13.0"  # the newest version for which GPUs are lent
FOLDERS = ("xformer", "assets")


def push(
    root: Path,
    name: str,
    *,
    translation: str | None = None,
    sentiment: str | None = None,
    mcp: bool = False,
    private: bool | None = None,
    message: str = "Upload the page",
) -> str:
    """Upload the files that a Space needs, from the code at `root`, to owner/name;
    return the address of the Space.

    translation, sentiment: owner/name[@revision] of checkpoints that the Hub fetches
    when it builds the Space, or the name of one that ships, which is uploaded; None:
    the usual one of those. mcp: make the Space an MCP server too. Raises UserError.
    """
    if missing := [name for name in (*FILES, *FOLDERS) if not (root / name).exists()]:
        raise UserError(
            f"There is no {' and no '.join(missing)} in {root}, and a Space needs it; run this in a whole "
            f"copy of the repository."
        )
    variables: dict[str, str | None] = {"GRADIO_MCP_SERVER": "True" if mcp else None}
    preloaded: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as temporary:
        staged = Path(temporary)
        for each in FOLDERS:
            left_out = shutil.ignore_patterns("__pycache__", "test_*")
            shutil.copytree(root / each, staged / each, ignore=left_out)
        for one, wanted in ((TRANSLATION, translation), (SENTIMENT, sentiment)):
            if wanted is None or wanted in (each.name for each in SHIPPED):
                _examine(root / "checkpoints" / (wanted or one.name), one.kind)
                variables[one.variable] = wanted
                _stage(root, one, staged)
            else:
                folder, commit = repository.pinned(wanted)
                _examine(folder, one.kind)
                variables[one.variable] = str(commit)
                preloaded[commit.repository] = (
                    f"{','.join(checkpoint.sizes(folder))} {commit.revision}"
                )
        shutil.copy(root / "LICENSE", staged)
        shutil.copy(root / "app.py", staged)
        (staged / "README.md").write_bytes(_readme(root / "README.md", preloaded))
        (staged / "requirements.txt").write_bytes(
            _requirements((root / "requirements.txt").read_text(encoding="utf-8"))
        )
        return repository.push_space(
            name,
            staged,
            (*FOLDERS, "checkpoints"),
            variables,
            private=private,
            commit_message=message,
        )


def _stage(root: Path, one: Shipped, staged: Path) -> None:
    """Copy a checkpoint that ships, and those that are offered beside it, as far as
    they are there. Raises UserError where a folder holds none."""
    for each in SHIPPED:
        folder = root / each.folder
        if each == one or each.beside == one and folder.is_dir():
            _examine(folder, each.kind)
            repository.copy(folder, staged / each.folder)


def _examine(folder: Path, kind: str) -> None:
    """Raise UserError if a folder holds no complete checkpoint of this kind."""
    held = checkpoint.examine(folder).kind
    if held.train != kind:
        wanted = next(
            known for known in checkpoint.KINDS.values() if known.train == kind
        )
        raise UserError(
            f"The checkpoint {folder} holds a {held.name}, but a {wanted.name} is needed; name another."
        )


def _requirements(text: str) -> bytes:
    """Leave out of the requirements the packages that a Space's host has, and limit
    torch to NEWEST_TORCH instead."""
    names = {
        line: named[0]
        for line in text.splitlines()
        if (named := re.match(r"[\w-]+", line))
    }
    return "".join(
        f"torch<={NEWEST_TORCH}\n" if name == "torch" else f"{line}\n"
        for line, name in names.items()
        if name not in OF_THE_HOST
    ).encode()


def _readme(path: Path, preloaded: dict[str, str]) -> bytes:
    """Add to a Space's README the repositories, and their files, that the Hub fetches
    when it builds the Space. Raises UserError if the README has no metadata of a Space.
    """
    read = card.read(path)
    if read.data.get("sdk") != "gradio":
        raise UserError(
            f"{path} does not say “sdk: gradio” between two lines of “---” at its beginning, and a Space "
            f"needs that; add it."
        )
    if not preloaded:
        return path.read_bytes()
    read.data["models"] = [*preloaded]
    read.data["preload_from_hub"] = [
        f"{name} {files}" for name, files in preloaded.items()
    ]
    return str(read).encode()
