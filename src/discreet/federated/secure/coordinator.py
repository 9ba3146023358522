"""The coordinator's side of secure aggregation: it collects answers stage by stage and learns one sum."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from discreet.federated.secure import wire
from discreet.federated.secure.masks import agree, commitment, public_of, self_mask
from discreet.federated.secure.node import STEPS, signed_mask
from discreet.federated.secure.round import Round
from discreet.federated.secure.shamir import WIDTH, join, weights
from discreet.federated.secure.statements import Advert, enough, read_advert, sealed_pairs, survivor_statement, view_of
from discreet.nodes.refusals import AbortError, MessageError, RefusedError, TooFewNodesError

_REPLY = {
    "invite": ("keys", 3),
    "key list": ("shares", 1),
    "share list": ("masked", 1),
    "survivors": ("agreement", 1),
    "unmask": ("unmask shares", 1),
}


class SecureCoordinator:
    """Drives one round: send `message(name)` to every node in `awaiting`, `receive` what comes back, then `close`.

    A node that does not answer, or whose answer is refused, has dropped out. `close` moves to the next stage or raises
    if too few nodes are left; a new attempt is a new `Round`, in which nodes draw fresh keys and fresh noise.
    """

    def __init__(self, round_: Round) -> None:
        self.round = round_
        self.stage = STEPS[0]
        self.awaiting: tuple[str, ...] = round_.nodes
        self.sharing: tuple[str, ...] = ()
        self.survivors: tuple[str, ...] = ()
        self.opened = False
        self._adverts: dict[str, Advert] = {}
        self._raw: dict[str, bytes] = {}
        self._sealed: dict[str, dict[str, bytes]] = {}
        self._sum: NDArray[np.uint64] = np.zeros(round_.length, np.uint64)
        self._signatures: dict[str, bytes] = {}
        self._shares: dict[str, dict[str, bytes]] = {}
        self._answered: dict[str, bytes] = {}
        self._common: bytes | None = None
        self._result: NDArray[np.int64] | None = None
        self._probe = X25519PrivateKey.generate().private_bytes_raw()  # only to notice keys of low order

    @property
    def done(self) -> bool:
        """Whether the sum is known."""
        return self._result is not None

    @property
    def result(self) -> NDArray[np.int64]:
        """The sum of the survivors' vectors, modulo 2^64 as signed integers."""
        if self._result is None:
            raise RefusedError("the round is not finished")
        return self._result

    def message(self, name: str) -> bytes:
        """What to send to a node in this stage."""
        if name not in self.awaiting:
            raise RefusedError(f"nothing is due to {name!r} in this stage")
        if self.stage == "share list":
            pairs = {sender: self._sealed[sender][name] for sender in self.sharing}
            return wire.encode("share list", wire.pack_pairs(pairs))
        if self._common is None:
            self._common = self._compose()
        return self._common

    def _compose(self) -> bytes:
        if self.stage == "invite":
            return self.round.to_bytes()
        if self.stage == "key list":
            return wire.encode("key list", wire.pack_pairs(self._raw))
        dropped = sorted(set(self.sharing) - set(self.survivors))
        if self.stage == "survivors":
            return wire.encode("survivors", wire.pack_names(self.sharing), wire.pack_names(self.survivors))
        return wire.encode(
            "unmask", wire.pack_names(self.survivors), wire.pack_names(dropped), wire.pack_pairs(self._signatures)
        )

    def receive(self, name: str, message: bytes) -> None:
        """Take a node's answer in; `name` is who the transport says it is. A bad answer is refused with a reason."""
        if self.done or name not in self.awaiting:
            raise RefusedError(f"no answer is due from {name!r} in this stage")
        if name in self._answered:
            if self._answered[name] == message:
                return
            raise RefusedError(f"{name!r} has answered this stage differently before")
        parts = wire.decode(message, *_REPLY[self.stage])
        getattr(self, "_take_" + self.stage.replace(" ", "_"))(name, *parts)
        self._answered[name] = message

    def _take_invite(self, name: str, given: bytes, payload: bytes, signature: bytes) -> None:
        try:
            if wire.read_name(given) != name:
                raise RefusedError(f"{name!r} sent keys under another name")
            advert = read_advert(self.round, name, payload, signature)
            for key in (advert.masking, advert.sharing):
                agree(self._probe, key, b"probe", b"", "", name)
        except AbortError as error:
            raise RefusedError(str(error)) from None
        others = {key for other in self._adverts.values() for key in (other.masking, other.sharing)}
        if advert.masking == advert.sharing or others & {advert.masking, advert.sharing}:
            raise RefusedError(f"{name!r} sent a key that is used already")
        self._adverts[name] = advert
        self._raw[name] = wire.pack([payload, signature])

    def _take_key_list(self, name: str, blob: bytes) -> None:
        sealed = dict(sealed_pairs(blob))
        if tuple(sealed) != self.awaiting:
            raise MessageError(f"{name!r} did not make one share for every node")
        self._sealed[name] = sealed

    def _take_share_list(self, name: str, blob: bytes) -> None:
        if len(blob) != 8 * self.round.length:
            raise MessageError(f"{name!r} sent a vector of another length")
        self._sum = self._sum + np.frombuffer(blob, dtype="<u8").astype(np.uint64)

    def _take_survivors(self, name: str, signature: bytes) -> None:
        statement = survivor_statement(self._view, self.sharing, self.survivors)
        if not self.round.verified(name, "survivors", statement, signature):
            raise RefusedError(f"{name!r} has not signed the survivor set")
        self._signatures[name] = signature

    def _take_unmask(self, name: str, blob: bytes) -> None:
        shares = wire.read_pairs(blob)
        if tuple(shares) != self.sharing or any(len(share) != WIDTH for share in shares.values()):
            raise MessageError(f"{name!r} did not send one share for every node")
        self._shares[name] = shares
        self.opened = self.opened or len(self._shares) >= self.round.threshold

    def close(self) -> None:
        """End the stage with the nodes that have answered."""
        answered = tuple(sorted(self._answered))
        if self.stage in {"survivors", "unmask"}:
            if len(answered) < self.round.threshold:
                raise TooFewNodesError(
                    f"only {len(answered)} nodes answered, and the sum opens with {self.round.threshold}: start again "
                    f"with fresh keys and fresh noise"
                )
        else:
            enough(self.round, answered, "answered")
        if self.stage == "key list":
            self.sharing = answered
        elif self.stage == "share list":
            self.survivors = answered
        if self.stage == "unmask":
            self._result = self._open()
            self.awaiting = ()
            return
        if self.stage == "invite":
            self._view = view_of(wire.encode("key list", wire.pack_pairs(self._raw)))
        # Every survivor is asked to help with the opening, whether or not its signature came in time.
        self.awaiting = self.survivors if self.stage == "survivors" else answered
        self.stage = STEPS[STEPS.index(self.stage) + 1]
        self._answered, self._common = {}, None

    def _open(self) -> NDArray[np.int64]:
        """Take off the self masks of the survivors and the pairwise masks that dropped nodes left behind."""
        total, secrets = self._sum, self._secrets()
        for name, secret in secrets.items():
            if name in self.survivors:
                total = total - self_mask(secret, self.round.digest, self.round.length)
                continue
            for survivor in self.survivors:
                total = signed_mask(self.round, secret, name, survivor, self._adverts[survivor].masking, total)
        return total.view(np.int64)

    def _secrets(self) -> dict[str, bytes]:
        """One secret per node; if there are answers to spare, a single wrong one is worked around."""
        answered, threshold = sorted(self._shares), self.round.threshold
        failure = ""
        for left_out in ("", *answered[:threshold]):
            helpers = [name for name in answered if name != left_out][:threshold]
            if len(helpers) < threshold:
                break
            secrets = self._joined(helpers)
            if isinstance(secrets, dict):
                return secrets
            failure = secrets
        raise AbortError(f"the shares of {failure!r} do not fit its keys: a node answered wrongly")

    def _joined(self, helpers: list[str]) -> dict[str, bytes] | str:
        """The secrets out of the helpers' shares, or the first node whose shares do not fit what it advertised."""
        points = [self.round.point(name) for name in helpers]
        counts = dict(zip(points, weights(points), strict=True))
        secrets: dict[str, bytes] = {}
        for name in self.sharing:
            shares = {self.round.point(helper): self._shares[helper][name] for helper in helpers}
            secret, advert = join(shares, counts), self._adverts[name]
            if secret is None:
                return name
            if name in self.survivors:
                fits = commitment(secret, self.round.digest) == advert.commitment
            else:
                fits = public_of(secret) == advert.masking
            if not fits:
                return name
            secrets[name] = secret
        return secrets
