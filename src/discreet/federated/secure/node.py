"""The node's side of secure aggregation: a state machine that answers each request of a round at most one way."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.federated.secure import wire
from discreet.federated.secure.masks import (
    KEY,
    NONCE,
    agree,
    commitment,
    expand,
    public_of,
    seal,
    self_mask,
    unseal,
)
from discreet.federated.secure.round import Round
from discreet.federated.secure.shamir import WIDTH, Entropy, split
from discreet.federated.secure.statements import (
    Advert,
    bound,
    enough,
    read_key_list,
    sealed_pairs,
    survivor_statement,
    view_of,
)
from discreet.files import write_bytes
from discreet.nodes.refusals import AbortError, MessageError, RefusedError, SecureError
from discreet.nodes.signing import Signer

Draw = Callable[[], NDArray[np.int64]]
Keep = Callable[[bytes], None]
STEPS = ("invite", "key list", "share list", "survivors", "unmask")
_STATE = b"discreet/secure-node/1"


class SecureNode:
    """One node in one round.

    `draw` gives the vector, noise share included, and is called once, when the masked input is due. `keep` is handed
    the node's whole memory before any answer is returned: write it down, and a restarted node (`from_bytes`) goes on
    where it was and gives the same answers to the same requests. The memory holds secrets of this round.
    """

    def __init__(
        self,
        round_: Round,
        name: str,
        signer: Signer,
        draw: Draw,
        *,
        entropy: Entropy = os.urandom,
        keep: Keep | None = None,
    ) -> None:
        if round_.registry.get(name) != signer.public:
            raise SecureError(f"the signing key is not the one registered for {name!r}")
        self.round, self.name = round_, name
        self._signer, self._draw, self._entropy, self._keep = signer, draw, entropy, keep
        # The masking key, the key that shares for this node are encrypted to, and the seed of its self mask.
        self._secrets = [entropy(KEY) for _ in range(3)]
        self._log: dict[str, tuple[bytes, bytes]] = {}
        self.ended = ""

    # ---- what a driver asks

    @property
    def exposed(self) -> bool:
        """Whether a sum with this node's vector may have been opened: its masked input has left, so it is charged."""
        return "share list" in self._log

    @property
    def finished(self) -> bool:
        """Whether the node has given its part of opening the sum."""
        return "unmask" in self._log

    def answer(self, message: bytes) -> bytes:
        """The answer to a request of the coordinator; the same request gets the same bytes again."""
        kind = wire.kind_of(message)
        if kind not in STEPS:
            raise MessageError(f"a message of kind {kind!r} is not for a node")
        if kind in self._log:
            request, reply = self._log[kind]
            if request == message:
                return reply
            raise RefusedError(
                f"this node has answered a different request ({kind}) in this round and answers only one"
            )
        if self.ended:
            raise AbortError(f"the round is over for this node: {self.ended}")
        if kind != STEPS[len(self._log)]:
            raise RefusedError(f"the request ({kind}) is out of turn")
        try:
            reply = _STEPS[kind](self, message)
        except AbortError as error:
            self._end(str(error))
            raise
        secrets = self._secrets
        self._log[kind] = (message, reply)
        self._secrets = [] if kind == "unmask" else secrets
        try:
            self._save()
        except BaseException:  # what is not written down was not answered
            del self._log[kind]
            self._secrets = secrets
            raise
        return reply

    def abandon(self) -> bytes:
        """Give the round up and sign that this node will never help to open it.

        With `Round.refusals` such statements (see `abandoned`) a node knows that its masked input stays closed.
        """
        if self.finished:
            raise RefusedError("this node has already helped to open the sum")
        self._end(self.ended or "it was abandoned")
        return wire.encode("abandonment", self.name.encode(), self.round.signed(self._signer, "abandonment", b""))

    def _end(self, reason: str) -> None:
        self.ended, self._secrets = reason, []
        self._save()

    # ---- the steps

    def _advertise(self, message: bytes) -> bytes:
        if message != self.round.to_bytes():
            raise RefusedError("the invitation is for another round or on other terms than this node accepted")
        masking, sharing, seed = self._secrets
        advert = Advert(public_of(masking), public_of(sharing), commitment(seed, self.round.digest)).to_bytes()
        signature = self.round.signed(self._signer, "keys", advert)
        return wire.encode("keys", self.name.encode(), advert, signature)

    def _share(self, message: bytes) -> bytes:
        adverts = read_key_list(self.round, message)
        masking, sharing, seed = self._secrets
        mine = adverts.get(self.name)
        if mine != Advert(public_of(masking), public_of(sharing), commitment(seed, self.round.digest)):
            raise AbortError("this node's own keys are missing from the list or were replaced by older ones")
        points = [self.round.point(name) for name in adverts]
        of_seed = split(seed, points, self.round.threshold, self._entropy)
        of_key = split(masking, points, self.round.threshold, self._entropy)
        view = view_of(message)
        sealed = {
            name: seal(
                self._envelope(self.name, name, advert),
                first + second,
                bound(self.round, view, self.name, name),
                self._entropy(NONCE),
            )
            for (name, advert), first, second in zip(adverts.items(), of_seed, of_key, strict=True)
        }
        return wire.encode("shares", wire.pack_pairs(sealed))

    def _envelope(self, sender: str, recipient: str, theirs: Advert) -> bytes:
        """The key of an encrypted share; each direction has its own."""
        other = recipient if sender == self.name else sender
        purpose = wire.pack([b"share", sender.encode()])
        return agree(self._secrets[1], theirs.sharing, purpose, self.round.digest, self.name, other)

    def _mask(self, message: bytes) -> bytes:
        sharing = tuple(self._opened(message))
        enough(self.round, sharing, "shared their secrets")
        vector = np.asarray(self._draw())
        if vector.shape != (self.round.length,) or vector.dtype != np.int64:
            raise SecureError(f"the vector must have {self.round.length} integers of 64 bits")
        masking, _, seed = self._secrets
        total = vector.view(np.uint64) + self_mask(seed, self.round.digest, self.round.length)
        for name in sharing:
            if name != self.name:
                total = signed_mask(self.round, masking, self.name, name, self._adverts[name].masking, total)
        return wire.encode("masked", total.astype("<u8").tobytes())

    def _agree(self, message: bytes) -> bytes:
        sharing, active = (wire.read_names(part) for part in wire.decode(message, "survivors", 2))
        if sharing != self._sharing:
            raise AbortError("the coordinator names other nodes as having shared secrets than it showed before")
        if not set(active) <= set(sharing) or self.name not in active:
            raise AbortError("the survivors are not among those who shared secrets, or this node is left out")
        enough(self.round, active, "are in the sum")
        statement = survivor_statement(self._view, sharing, active)
        signature = self.round.signed(self._signer, "survivors", statement)
        return wire.encode("agreement", signature)

    def _unmask(self, message: bytes) -> bytes:
        parts = wire.decode(message, "unmask", 3)
        active, dropped = wire.read_names(parts[0]), wire.read_names(parts[1])
        agreed = wire.read_names(wire.decode(self._log["survivors"][0], "survivors", 2)[1])
        if set(active) & set(dropped):
            raise AbortError("a node is named both as active and as dropped: both its secrets are never given")
        if active != agreed:
            raise AbortError("the sum to be opened is over other nodes than this node agreed to")
        if set(active) | set(dropped) != set(self._sharing):
            raise AbortError("the active and dropped nodes are not all who shared secrets")
        statement = survivor_statement(self._view, self._sharing, active)
        signatures = wire.read_pairs(parts[2])
        for name, signature in signatures.items():
            if name not in active or not self.round.verified(name, "survivors", statement, signature):
                raise AbortError(f"{name!r} has not signed this survivor set: nodes are shown different ones")
        if len(signatures) < self.round.threshold:
            raise AbortError(f"{self.round.threshold} nodes must have signed the survivor set before it is opened")
        shares = self._opened(self._log["share list"][0])
        half = {True: slice(0, WIDTH), False: slice(WIDTH, None)}
        return wire.encode(
            "unmask shares", wire.pack_pairs({name: share[half[name in active]] for name, share in shares.items()})
        )

    # ---- what follows from the requests so far

    @cached_property
    def _adverts(self) -> dict[str, Advert]:
        return read_key_list(self.round, self._log["key list"][0])

    @property
    def _view(self) -> bytes:
        return view_of(self._log["key list"][0])

    @property
    def _sharing(self) -> tuple[str, ...]:
        (blob,) = wire.decode(self._log["share list"][0], "share list", 1)
        return tuple(sealed_pairs(blob))

    def _opened(self, share_list: bytes) -> dict[str, bytes]:
        """The decrypted shares that other nodes (and this one) made for this node."""
        (blob,) = wire.decode(share_list, "share list", 1)
        pairs = sealed_pairs(blob)
        if not set(pairs) <= set(self._adverts) or self.name not in pairs:
            raise AbortError("the shares are of nodes without keys, or this node's own are missing")
        opened = {}
        for name, sealed in pairs.items():
            key = self._envelope(name, self.name, self._adverts[name])
            opened[name] = unseal(key, sealed, bound(self.round, self._view, name, self.name))
        return opened

    # ---- memory

    def _save(self) -> None:
        if self._keep is not None:
            self._keep(self.to_bytes())

    def to_bytes(self) -> bytes:
        """All this node remembers of the round, secrets included: keep it where only the node can read."""
        log = [part for kind, pair in self._log.items() for part in (kind.encode(), *pair)]
        parts = [self.round.to_bytes(), self.name.encode(), wire.pack(self._secrets), wire.pack(log)]
        body = wire.pack([*parts, self.ended.encode()])
        return wire.pack([_STATE, hashlib.sha256(body).digest(), body])

    @classmethod
    def from_bytes(cls, memory: bytes, signer: Signer, draw: Draw, **options: Any) -> SecureNode:
        """The node as it was when it wrote this memory."""
        label, digest, body = wire.unpack(memory, 3)
        if label != _STATE or hashlib.sha256(body).digest() != digest:
            raise MessageError("the memory of the secure node is damaged or of another version")
        invitation, name, secrets, log, ended = wire.unpack(body, 5)
        node = cls(Round.from_bytes(invitation), wire.read_name(name), signer, draw, **options)
        node._secrets = wire.unpack(secrets)
        parts = wire.unpack(log)
        kinds = [kind.decode() for kind in parts[::3]]
        node._log = {kind: (parts[3 * i + 1], parts[3 * i + 2]) for i, kind in enumerate(kinds)}
        node.ended = ended.decode()
        return node


def signed_mask(
    round_: Round, private: bytes, mine: str, other: str, public: bytes, total: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """`total` with the mask of a pair of nodes: the one whose name comes first adds it, the other takes it away."""
    mask = expand(agree(private, public, b"mask", round_.digest, mine, other), round_.length)
    return total + mask if mine < other else total - mask


_STEPS: dict[str, Callable[[SecureNode, bytes], bytes]] = {
    "invite": SecureNode._advertise,
    "key list": SecureNode._share,
    "share list": SecureNode._mask,
    "survivors": SecureNode._agree,
    "unmask": SecureNode._unmask,
}


# ---- memory on disk: one private file per round, written before an answer leaves


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
