"""Facts: what a released model says of its own guarantee, in the words of a dossier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.domain import text
from discreet.errors import ModelError
from discreet.models import ReleasedModel
from discreet.privacy.budget import Adjacency
from discreet.privacy.certificate import ChargeRecord, GroupRecord, Leaf, ResponseRecord, SmoothRecord

CENTRAL, LOCAL, FEDERATED, MASKED, GOSSIP, SHUFFLED = "central", "local", "federated", "masked", "gossip", "shuffled"
ONE_PROCESS = "in the one process that held all rows"  # reports that no device drew

TRUST = {
    CENTRAL: (
        "One organisation, the curator, holds the rows and is trusted with them. Everybody else sees the released "
        "model at the most."
    ),
    LOCAL: (
        "Nobody but each person is trusted. Every report was randomised on the person's own device before it was "
        "sent, so that whoever collects the reports, or steals them, is held off by the same guarantee."
    ),
    FEDERATED: (
        "Each organisation keeps its own rows and is trusted with those alone. A coordinator received noisy counts of "
        "each of them, never rows."
    ),
    MASKED: (
        "Each organisation keeps its own rows. A coordinator saw the sum of masked counts only, and the noise in it "
        "comes from all organisations together: the guarantee rests on so many of them adding their share, and not "
        "working with the coordinator, as the assumptions say."
    ),
    GOSSIP: (
        "Each organisation keeps its own rows and is trusted with those alone. Members passed shares of noisy counts "
        "to each other; there is no coordinator."
    ),
    SHUFFLED: (
        "Nobody but each person is trusted for the ε stated here: every report was randomised on the person's own "
        "device. Reports also passed through a shuffler; what its mixing adds holds if it keeps no record of who sent "
        "what, and stands in the accounting."
    ),
}
REGISTRY = {
    CENTRAL: "Central", LOCAL: "Local", FEDERATED: "Federated", MASKED: "Federated",
    GOSSIP: "Federated", SHUFFLED: "Shuffle",
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """A model and what follows from its certificate alone."""

    model: ReleasedModel

    def __post_init__(self) -> None:
        certificate = self.model.certificate
        if not certificate.private:
            raise ModelError("this model is not private: there is nothing to sign, and it must not be released")
        if certificate.simulation:
            raise ModelError(
                "this model was made for study (a seed, or rows dealt out by the simulation): fit it without a seed "
                "before a dossier is made of it"
            )
        if certificate.epsilon is None:
            raise ModelError("the certificate states rho alone: fit with an epsilon and a delta, as officers ask for")

    @property
    def certificate(self) -> Any:
        """The model's certificate."""
        return self.model.certificate

    @property
    def epsilon(self) -> float:
        """ε as a number."""
        return float(self.certificate.epsilon_value)

    @property
    def delta(self) -> float:
        """δ as a number."""
        return float(self.certificate.delta_value)

    @property
    def trust(self) -> str:
        """Who may see the rows: which trust model the certificate is of."""
        said = " ".join((self.certificate.covers, self.certificate.accounting, *self.certificate.assumptions)).lower()
        if any(isinstance(one, ResponseRecord) for one in self.certificate.charges()):
            if ONE_PROCESS in self.certificate.sampler:
                return CENTRAL  # somebody held all rows, and drew every person's report
            return SHUFFLED if "shuffl" in said else LOCAL
        if "coordinator opened" in said:
            return MASKED
        if "peers may have seen" in said:
            return GOSSIP
        return FEDERATED if "coordinator" in said else CENTRAL

    @property
    def variant(self) -> str:
        """The kind of differential privacy, by its usual name."""
        return "Approximate DP" if self.delta else "Pure DP"

    @property
    def budget(self) -> str:
        """ε and δ in one phrase."""
        return f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")

    @property
    def unit(self) -> str:
        """Who or what is protected as one."""
        if self.trust in (LOCAL, SHUFFLED):
            return "Person (one device's report)"
        rows = self.certificate.contributions
        return "Person with one row" if rows == 1 else f"Person with up to {rows} rows"

    @property
    def neighbours(self) -> str:
        """Which two tables the guarantee compares."""
        rows = self.certificate.contributions
        several = "one row" if rows == 1 else f"up to {rows} rows of one person"
        if self.trust in (LOCAL, SHUFFLED):
            return "Two tables are adjacent if they differ in what one person's row says, the label included."
        if self.certificate.adjacency == Adjacency.REPLACE:
            return (
                f"Two tables are adjacent if one arises from the other by changing what {several} says, the label "
                "included; the number of rows is the same in both, and is public."
            )
        return (
            f"Two tables are adjacent if one arises from the other by adding or removing {several}; the number of rows "
            "is hidden like everything else."
        )

    @property
    def unprotected(self) -> list[str]:
        """What the release says, or takes for granted, in the clear."""
        found = [
            "The schema: names of columns, classes, categories, limits of numbers and their bins, declared as public."
        ]
        if self.certificate.elsewhere:
            bought = "; ".join(f"{one.what} (epsilon {one.epsilon})" for one in self.certificate.elsewhere)
            found.append(f"Parts of the schema follow from private releases that are paid for elsewhere: {bought}.")
        if self.model.schema.inferred:
            found = ["The schema (classes, categories, limits) was read off the rows themselves, and is NOT protected."]
        if self.trust in (LOCAL, SHUFFLED):
            found.append("How many people sent a report, and when.")
        elif self.certificate.adjacency == Adjacency.REPLACE:
            found.append("The number of rows.")
        if self.certificate.tables and "refused" in self.certificate.tables:
            found.append(f"The guarantee is for {self.certificate.tables}.")
        return found

    @property
    def charges(self) -> list[dict[str, Any]]:
        """Every release of the ledger: what, how, and its share of the budget that it was charged to."""
        return _spread(self.certificate.ledger)

    @property
    def mechanisms(self) -> list[str]:
        """The laws of noise that were used, each once."""
        named = {one.mechanism.lower(): one.mechanism for one in reversed(self.certificate.charges())}
        return list(reversed(named.values()))

    @property
    def presence(self) -> bool:
        """Whether it is hidden who is in the data at all; else only what their rows say is."""
        return self.certificate.adjacency != Adjacency.REPLACE and self.trust not in (LOCAL, SHUFFLED)

    @property
    def about(self) -> str:
        """What a guess at e^ε is about."""
        return "that this person is in the data" if self.presence else "about what this person's row says"

    def after(self, before: float) -> float:
        """How sure an attacker can be at the most who was this sure before; with a δ, but for that chance."""
        ratio = before / (1 - before) * math.exp(min(self.epsilon, 700.0))
        return ratio / (1 + ratio)

    @property
    def even(self) -> float:
        """How often an even guess is right afterwards at the most, δ included."""
        rise = math.exp(min(self.epsilon, 700.0))
        return min((rise + self.delta) / (1 + rise), 1.0)

    def power(self, false_alarms: float) -> float:
        """The most of the people in the data that a test finds which errs this often about people who are not."""
        rise = math.exp(min(self.epsilon, 700.0))
        return max(0.0, min(1.0, rise * false_alarms + self.delta, 1 - (1 - self.delta - false_alarms) / rise))

    @property
    def strength(self) -> str:
        """What an ε of this size is, in a word that the field's guides would use."""
        if self.delta > 1e-4:
            return "weak: its δ is no small chance"
        if self.epsilon <= 1:
            return "strong"
        if self.epsilon <= 5:
            return "moderate: judge it together with the unit and the purpose"
        return "weak by itself: it rests on more than the number, so say on what"

    @property
    def columns(self) -> str:
        """The columns that the model is about."""
        schema = self.model.schema
        classes = ", ".join(text(label) for label in schema.classes)
        return f"{schema.target} ({classes}), predicted from {', '.join(schema.names)}"


def _spread(node: Leaf | GroupRecord, path: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    if isinstance(node, GroupRecord):
        inside = (*path, node.what) if len(node.parts) > 1 else path
        return [one for part in node.parts for one in _spread(part, inside)]
    scale = None
    if isinstance(node, ChargeRecord):
        scale = float(Fraction(node.spread))
    return [
        {
            "what": node.what,
            "within": " › ".join(path),
            "mechanism": node.mechanism,
            "measure": node.measure,
            "cost": float(Fraction(node.cost)),
            "scale": scale,
            "private_scale": isinstance(node, SmoothRecord),
        }
    ]
