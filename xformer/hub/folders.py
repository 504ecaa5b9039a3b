"""The folders of checkpoints that ship, by name."""

from pathlib import Path

from xformer.strings import PACKAGE

# The folder that holds checkpoints/: an installed package, or a clone with app.py,
# xformer/ and assets/.
ROOT = PACKAGE if (PACKAGE / "checkpoints").is_dir() else PACKAGE.parent


def folder_of(name: str) -> Path:
    """Return the folder of this name; where there is none, that of the checkpoint that
    ships under it, if one does."""
    path = Path(name)
    own = ROOT / "checkpoints" / name
    return (
        own
        if name and name == path.name and not path.is_dir() and own.is_dir()
        else path
    )
