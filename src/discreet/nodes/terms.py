"""Terms: who takes part in what, under which schema and budget, how often; a file that a lawyer can read and sign."""

from __future__ import annotations

import hashlib
import math
import tomllib
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import tomli_w

from discreet.errors import DiscreetError
from discreet.nodes.settings import Settings
from discreet.privacy.budget import Budget
from discreet.schema import Schema

VERSION = "discreet terms 1"
KINDS = {"federate": "federation", "gossip": "gossip network"}


@dataclass(frozen=True)
class Terms:
    """What the members agree on; the file's own sentences are made of these values, and no others are taken."""

    kind: str
    members: tuple[str, ...]
    organiser: str
    schema: str
    target: str
    columns: tuple[str, ...]
    epsilon: float
    delta: float = 0.0
    rounds: int = 1
    adjacency: str = "add-remove"
    contributions: int = 1
    mechanism: str = "auto"
    numeric: str = "histogram"
    split: str = "weighted"
    secure: bool = False
    colluding: int = 1
    dropouts: int = 0
    title: str = ""
    notes: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not self.members or len(set(self.members)) != len(self.members):
            raise DiscreetError("terms name a federation or a gossip network, and each member once")
        if not all(isinstance(one, tuple) and all(isinstance(name, str) for name in one)
                   for one in (self.members, self.columns)):  # fmt: skip
            raise DiscreetError("terms list members and columns by their names")
        said = (self.organiser, self.schema, self.target, self.mechanism, self.title, *self.members, *self.columns)
        if not all(isinstance(one, str) and one.isprintable() for one in said):
            raise DiscreetError("terms name the organiser, members, columns, target and title in printable characters, "
                                "each on one line")  # fmt: skip
        if not isinstance(self.notes, str) or not "".join(self.notes.split("\n")).replace("\t", "").isprintable():
            raise DiscreetError("the notes of terms are lines of printable characters")
        if not 0 < self.epsilon < math.inf or not 0 <= self.delta < 1 or self.rounds < 1:
            raise DiscreetError("terms need a finite epsilon above zero, a delta below one, and one round at least")
        if self.secure and self.kind != "federate":
            raise DiscreetError("secure aggregation needs a coordinator: a gossip network has none")
        Settings.of(self.adjacency, self.numeric, self.split, self.contributions)
        self.total_delta()

    @classmethod
    def of(cls, kind: str, schema: Schema, **values: Any) -> Terms:
        """Terms over a schema."""
        columns = tuple(schema.names)
        return cls(kind, schema=schema.hash, target=str(schema.target), columns=columns, **values)

    @property
    def total(self) -> float:
        """What all rounds together cost."""
        return float(Fraction(str(self.epsilon)) * self.rounds)

    def total_delta(self) -> float:
        """The delta of all rounds together."""
        return float(Budget(self.epsilon, delta=Fraction(str(self.delta)) * self.rounds).delta)

    def sentences(self) -> list[str]:
        """The terms in words, a line each: title, who, what, at which cost, how often, and what if one drops out."""
        who = ", ".join(self.members)
        factor = math.exp(min(self.epsilon * self.rounds, 700.0))
        but = f" and delta = {self.total_delta():g}" if self.delta else ""
        unit = Settings.of(self.adjacency, self.numeric, self.split, self.contributions).unit
        return [
            f"TERMS of a {KINDS[self.kind]} ({VERSION})" + (f": {self.title}" if self.title else ""),
            f"WHO. These {len(self.members)} members take part: {who}. {self._organiser()}",
            f"WHAT. Each member counts its own rows of the table that the schema with the SHA-256 {self.schema} "
            f"declares: {', '.join(self.columns)}, and what is to be foretold, {self.target}. No row leaves a member. "
            "The result is one model with a certificate of what it cost.",
            f"PRIVACY. One round costs epsilon = {self.epsilon:g}" + (f", delta = {self.delta:g}" if self.delta else "")
            + f" ({unit}). {self._noise()} All rounds together cost at most epsilon = {self.total:g}{but}: whoever "
            "sees all results, whatever they know besides, can change their odds that a given person is in the data by "
            f"a factor of at most {factor:.4g}" + (", but for a chance of about that delta." if self.delta else "."),
            f"HOW OFTEN. {'Once' if self.rounds == 1 else f'At most {self.rounds} times'}. Each member's own ledger "
            "counts, and refuses what goes beyond it, whoever asks.",
            f"DROP-OUT. {self._dropout()}",
            "REVOCATION. A member whose key is lost or that has gone is revoked by the organiser; others then refuse "
            "to speak with it. What it has given to finished models stays in them.",
        ]  # fmt: skip

    def _organiser(self) -> str:
        if self.kind == "federate":
            return (f"The coordinator at {self.organiser} admits them, asks them, adds up what they send, and writes "
                    "the model.")  # fmt: skip
        return (f"The organiser at {self.organiser} admits them, and takes no part in the rounds: members speak with "
                "each other, and each writes the model.")  # fmt: skip

    def _noise(self) -> str:
        if self.secure:
            return ("Members add up under masks: nobody sees a single member's numbers, and the noise is that of the "
                    f"sum. It holds if at most {self.colluding} of the members, of those who see the model or work "
                    "with the coordinator, put their heads together.")  # fmt: skip
        return "Each member adds the whole noise to its own numbers before anything leaves it."

    def _dropout(self) -> str:
        if self.secure:
            many = f"Up to {self.dropouts} members" if self.dropouts else "No member"
            return (f"{many} may drop out of a round. If more do, nothing is opened and no model is written; "
                    "members whose masked numbers had left by then have paid for that round.")  # fmt: skip
        if self.kind == "federate":
            return ("A member that drops out before it has answered has paid nothing and is not in the model; one that "
                    "has answered is. The coordinator goes on only with as many as it said it would.")  # fmt: skip
        return ("A member that leaves hands what it holds to another, and its rows stay in the model. One that is lost "
                "for good takes what it holds along, and the others end a little off.")  # fmt: skip

    @property
    def text(self) -> str:
        """The file: sentences for people, and the values they are made of."""
        lines = "\n#\n".join(f"# {one}" for one in self.sentences())
        values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        return f"{lines}\n\n{tomli_w.dumps(values, multiline_strings=False)}"

    @property
    def hash(self) -> str:
        """The SHA-256 of the file, as `sha256sum` says it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @classmethod
    def read(cls, text: str) -> Terms:
        """The terms of a file, whose sentences must be those of its values."""
        try:
            values = tomllib.loads(text)
            known = {one.name for one in fields(cls)}
            if unknown := values.keys() - known:
                raise ValueError(f"unknown key {min(unknown)!r}")
            given: Any = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
            made = cls(**given)
        except (ValueError, TypeError) as error:
            raise DiscreetError(f"these are no terms of members: {error}") from None
        if made.text != text:
            raise DiscreetError("the sentences of these terms are not those of their values: they were altered")
        return made

    @classmethod
    def load(cls, path: Path) -> Terms:
        """The terms in a file."""
        try:
            return cls.read(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise DiscreetError(f"cannot read the terms in {path}") from None


def grouped(digest: str, groups: int = 8) -> str:
    """The first digits of a hash in groups of four, for two people to compare."""
    return ":".join(digest[at : at + 4] for at in range(0, 4 * groups, 4))
