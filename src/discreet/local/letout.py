"""What a shuffler let out: its key, and beside it the hashed names of all reports that left, for its owner alone.

A report that is out hides nobody in a later batch, so names are on disk before their reports leave. Reports that only
wait are in no file: after a restart devices may send them again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.files import write_bytes
from discreet.local.wire.report import ID_BYTES

KEY = 32  # bytes
MAGIC = b"discreet let out 1\n"
HEAD = len(MAGIC) + 32


class LetOut:
    """The key of a file, made if it is not there, and the list `FILE.out` of what was let out under it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = list_beside(path)
        self._lock = _locked(path)
        try:
            self.key = self._made(Path(path))
            self._file = open(self.path, "r+b", buffering=0)  # noqa: SIM115 - as long as the shuffler lives
            self.names = self._read(path)
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, OSError):
                raise DiscreetError(f"cannot use the shuffler's key {path}: {error.strerror or error}") from None
            raise

    def _made(self, place: Path) -> bytes:
        """The key; list first, so that a key without one is always a loss and never a start that was broken off."""
        if not place.exists():
            if self.path.exists() and self.path.stat().st_size > HEAD:
                raise DiscreetError(f"the key {place} of the list {self.path} is lost: {AGAIN}")
            key = secrets.token_bytes(KEY)
            write_bytes(self.path, _head(key), private=True)
            write_bytes(place, key, private=True)
        found = place.read_bytes()
        if len(found) != KEY:
            raise DiscreetError(f"{place} is no key of a shuffler: name another file, and it is made")
        if not self.path.exists():
            raise DiscreetError(f"the list {self.path} of what was let out under the key {place} is lost: {AGAIN}")
        return found

    def _read(self, key: str | os.PathLike[str]) -> set[bytes]:
        content = self._file.read()
        if content[:HEAD] != _head(self.key):
            raise DiscreetError(f"{self.path} is not the list of what was let out under the key {key}: {AGAIN}")
        # A name that was cut short was being written when the power went: its batch had not left.
        self._end = len(content) - (len(content) - HEAD) % ID_BYTES
        return {content[place : place + ID_BYTES] for place in range(HEAD, self._end, ID_BYTES)}

    def keep(self, names: Iterable[bytes]) -> None:
        """Put names on disk; when this returns, they outlive a power cut."""
        added = b"".join(names)
        try:
            self._file.seek(self._end)
            left = memoryview(added)
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise DiscreetError(f"the disk of {self.path} takes nothing more ({error.strerror}): no report goes out "
                                "before there is room") from None  # fmt: skip
        self._end += len(added)

    def close(self) -> None:
        """Let another shuffler go on with the key."""
        self._file.close()
        os.close(self._lock)


AGAIN = "what was let out could count again, so begin a new collection under another key"


def list_beside(key: str | os.PathLike[str]) -> Path:
    """Where the names of what was let out under a key are."""
    return Path(f"{os.path.realpath(key)}.out")


def _head(key: bytes) -> bytes:
    """What a list begins with: a hash by which it belongs to its key."""
    return MAGIC + hashlib.sha256(b"list of " + key).digest()


def _locked(key: str | os.PathLike[str]) -> int:
    """One shuffler per key: two would each fill a batch with the same reports."""
    try:
        handle = os.open(f"{os.path.realpath(key)}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DiscreetError(f"cannot use the shuffler's key {key}: {error.strerror}") from None
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no locks on this system: one process at a time is up to its user
        pass
    except OSError:
        os.close(handle)
        raise DiscreetError(f"the key {key} is in use by another shuffler: stop it first") from None
    return handle
