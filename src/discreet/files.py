"""Small file manners shared by every room: whole files or none, and JSON without surprises."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary name beside `path` that takes its place only if the block succeeds.

    A `private` file, which says something about single people, can be read by its owner alone from its first byte on;
    any other gets the mode that new files have here. What a link leads to is replaced, not the link; a device or a
    pipe stays what it is, and is written to.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder, f"whole{target.suffix}")
            yield whole
            with open(whole, "rb") as done, open(target, "wb") as sink:
                shutil.copyfileobj(done, sink)
        return
    # mkstemp makes files that only their owner may read.
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if not private:
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        with open(temporary, "rb") as done:
            os.fsync(done.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder outlive a power cut, where the system lets folders be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    write_bytes(path, text.encode(), private=private)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, private: bool = False) -> None:
    """Write a file, whole or not at all."""
    with replacing(path, private=private) as temporary:
        temporary.write_bytes(content)


def make_private(path: str | os.PathLike[str]) -> None:
    """Make an empty file that only its owner may read, for a database to grow in; one with content is left alone.

    SQLite gives its journals the mode of the database.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not os.fstat(handle).st_size:
            os.chmod(path, 0o600)
    finally:
        os.close(handle)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def parse_json(text: str | bytes) -> Any:
    """Parse strict JSON: no NaN or Infinity, and deep nesting is an ordinary error."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
