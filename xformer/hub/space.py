"""Upload what a hosted Space needs of this repository."""

from __future__ import annotations

from pathlib import Path

from xformer.hub import card, checkpoint, shipped
from xformer.hub import repository as hub
from xformer.results import UserError

FILES = ("README.md", "LICENSE", "app.py", "requirements.txt")
FOLDERS = ("xformer", "assets")
CHECKPOINTS = {"translation": shipped.DEFAULT_CHECKPOINT, "sentiment": shipped.SENTIMENT_CHECKPOINT}
VARIABLES = {"translation": shipped.CHECKPOINT_VARIABLE, "sentiment": shipped.SENTIMENT_VARIABLE}


def push(root: Path, repository: str, *, translation: str | None = None, sentiment: str | None = None,
         mcp: bool = False, private: bool | None = None, message: str = "Upload the page") -> str:
    """Upload what a Space needs of the repository at `root`, as one commit; returns the address of the Space.

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
            folder, commit = hub.pinned(name)
            _examine(folder, kind)
            variables[VARIABLES[kind]] = str(commit)
            fetched[commit.repository] = f"{','.join(checkpoint.sizes(folder))} {commit.revision}"
    files["README.md"] = _front_matter(root / "README.md", fetched)
    return hub.push_space(repository, files, (*FOLDERS, "checkpoints"), variables, private=private,
                          commit_message=message)


def _examine(folder: Path, kind: str) -> None:
    """Raise UserError where a folder holds no whole checkpoint of a kind."""
    held, wanted = checkpoint.examine(folder).kind, next(k for k in checkpoint.KINDS.values() if k.train == kind)
    if held is not wanted:
        raise UserError(f"The checkpoint {folder} holds a {held.name}, but a {wanted.name} is needed; name another.")


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
