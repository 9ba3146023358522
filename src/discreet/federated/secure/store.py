"""A node's memory on disk: one private file per round, written before an answer leaves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from discreet.federated.secure.node import Draw, SecureNode
from discreet.federated.secure.round import Round
from discreet.files import write_bytes
from discreet.nodes.signing import Signer


class NodeStore:
    """Rounds that a node has taken part in; a round that was begun is resumed, never begun anew."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def node(self, round_: Round, name: str, signer: Signer, draw: Draw, **options: Any) -> SecureNode:
        """The node of that round, as it was left or new."""
        path = self.directory / f"{round_.digest.hex()}.round"

        def keep(memory: bytes) -> None:
            write_bytes(path, memory, private=True)

        if path.exists():
            return SecureNode.from_bytes(path.read_bytes(), signer, draw, keep=keep, **options)
        return SecureNode(round_, name, signer, draw, keep=keep, **options)
