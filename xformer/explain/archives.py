"""Files of arrays, .npz, which also hold a record as JSON: they ship beside a part."""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from xformer.results import Message, refusing, write_whole

BROKEN = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    RuntimeError,  # weights of another shape
    zipfile.BadZipFile,
    zlib.error,
)


def write(
    path: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray | bytes]
) -> None:
    """Write the file, whole or not at all. about: the record. Raises OSError."""
    content = io.BytesIO()
    about_bytes = json.dumps(about, ensure_ascii=False).encode()
    np.savez_compressed(
        content,
        allow_pickle=False,
        **{
            name: np.frombuffer(array, np.uint8) if isinstance(array, bytes) else array
            for name, array in (("about", about_bytes), *arrays.items())
        },
    )
    write_whole(path, content.getvalue())


@contextmanager
def reading(path: Path, key: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """The record and the arrays of a file, while what it holds is made of them. Raises
    UserError, of the text that is named, where it is missing or broken."""
    with (
        refusing(BROKEN, Message.of(key, file=path.name)),
        # bytes: numpy leaves a file open that breaks off
        np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays,
    ):
        yield json.loads(arrays["about"].tobytes()), arrays
