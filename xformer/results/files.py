"""Files that are read, or written, as a whole."""

import stat
from pathlib import Path

__all__ = ["unread", "write_whole"]


def unread(path: Path, most: int) -> str:
    """Say why a file is not read as a whole: a pipe or a device may have no end, and
    another may have far more than `most` bytes; "" for one that is. Raises OSError
    where there is none."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        return "is no regular file"
    return (
        f"has {found.st_size:,} bytes; it must have at most {most:,}"
        if found.st_size > most
        else ""
    )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: however the process ends, the file is complete or
    unchanged. Raises OSError."""
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(content)
    new.replace(path)
