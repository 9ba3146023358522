"""What shuffled reports guarantee in the centre, beside what every device guarantees by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any

from discreet.errors import BudgetError
from discreet.local.campaign import Campaign
from discreet.privacy.budget import number
from discreet.privacy.certificate import Certificate
from discreet.privacy.plan import checked_count
from discreet.privacy.shuffling import Variation, central_epsilon

DELTA = 1e-6


@dataclass(frozen=True)
class Central:
    """The central (ε, δ) of batches of at least `reports` reports, of which at most `colluding` are not honest."""

    epsilon: float
    delta: float
    reports: int
    colluding: int
    local: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return dict(vars(self))

    @property
    def honest(self) -> int:
        """Reports of a batch that others hide among."""
        return self.reports - self.colluding

    @property
    def clause(self) -> str:
        """What a certificate says of it."""
        return (
            "whoever sees the shuffled reports and not who sent them learns no more than "
            f"epsilon = {above(self.epsilon)} with delta = {self.delta:g} about what one person's row says "
            "(amplification by shuffling), if the reports came through a shuffler that does not collude with the "
            "collector, in batches of at least "
            f"{self.reports}, of which at least {self.honest} are of devices that report by their law; otherwise "
            f"the local epsilon = {self.local:g} holds"
        )

    def stated(self, certificate: Certificate) -> Certificate:
        """The certificate of reports that were shuffled: the local guarantee, and this one beside it."""
        if certificate.epsilon_value != self.local:
            raise BudgetError("the reports are of another epsilon than the campaign that was shuffled")
        return certificate.model_copy(
            update={
                "accounting": f"{certificate.accounting}; {self.clause}",
                "assumptions": (*certificate.assumptions, ASSUMED),
            }
        )


def above(epsilon: float) -> str:
    """A bound in four digits, never below the number."""
    return f"{float(Context(4, ROUND_CEILING).create_decimal(repr(epsilon))):.4g}"


ASSUMED = "for the central epsilon: the shuffler is honest, and each person has one report in one batch"


def variation_of(campaign: Campaign) -> Variation:
    """How reports of a campaign can differ: which question is answered is drawn before, so variations are averaged."""
    if campaign.reports > 1:
        return Variation.of(campaign.epsilon)
    whole = math.fsum(_total(one.mechanism.variation, campaign.epsilon) for one in campaign.questions)
    return Variation.of(campaign.epsilon, whole / len(campaign.questions))


def _total(known: Fraction | None, epsilon: Fraction) -> float:
    most = Variation.of(epsilon).total
    return most if known is None else min(most, float(known))


def central(campaign: Campaign, reports: Any, delta: Any = DELTA, colluding: Any = 0) -> Central:
    """What batches of at least so many shuffled reports of a campaign guarantee in the centre.

    `reports` is the public least size of a batch, never the number that happened to come.
    """
    batch = checked_count(reports, "the least number of reports in a batch")
    others = checked_count(colluding, "the number of colluding devices", least=0)
    if others >= batch:
        raise BudgetError("all reports of a batch would be of colluding devices: shuffle larger batches")
    allowed = float(number(delta, "delta"))
    found = central_epsilon(variation_of(campaign), batch - others, allowed)
    return Central(min(found, float(campaign.epsilon)), allowed, batch, others, float(campaign.epsilon))
