"""Fingerprints: one SHA-256 for plain values, the same in every language that reads them as JSON."""

from __future__ import annotations

import hashlib
import struct
from typing import Any


def fingerprint(value: Any) -> str:
    """The fingerprint of what a JSON file says: numbers as doubles, texts as UTF-8, names in the order of their bytes.

    >>> fingerprint({"a": 1, "b": [True, None]}) == fingerprint({"b": [True, None], "a": 1.0})
    True
    """
    return hashlib.sha256(_bytes(value)).hexdigest()


def _bytes(value: Any) -> bytes:
    if value is None or isinstance(value, bool):
        return {None: b"n", False: b"f", True: b"t"}[value]
    if isinstance(value, int | float):
        return b"d" + struct.pack(">d", value)
    if isinstance(value, str):
        raw = value.encode()
        return b"s" + struct.pack(">I", len(raw)) + raw
    if isinstance(value, dict):
        named = sorted(((key.encode(), one) for key, one in value.items()), key=lambda item: item[0])
        items = [b"k" + struct.pack(">I", len(key)) + key + _bytes(one) for key, one in named]
        return b"o" + struct.pack(">I", len(items)) + b"".join(items)
    return b"l" + struct.pack(">I", len(value)) + b"".join(_bytes(one) for one in value)
