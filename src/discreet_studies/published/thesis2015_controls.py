"""The choice of λ in thesis2015 as an audit control: on rows where a single one of them decides it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet import sources
from discreet.audit import AuditCase, Claim, Pair
from discreet.linear.encode import Encoding
from discreet.schema import Numeric, Schema
from discreet_studies.published.thesis2015_logistic import output, tuned

Cells = tuple[tuple[int, int], ...]  # rows of either class at −1, 0 and 1
SCHEMA = Schema([Numeric("x", -1, 1)], "y", [0, 1])
LIGHT, HEAVY = 100.0, 1e5
# Light regularisation says 1 at 0, because of the clear rows at 1; heavy says 0, because most rows at −1 are zeros.
LEFT, RIGHT, HALF = (2166, 1446), (60, 540), 301


@dataclass(frozen=True)
class TunedAsPublished:
    """Algorithm 6 with λ by five-fold cross-validation on the private rows, as section 4.5 runs it."""

    epsilon: float

    def sample(self, data: Cells, size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """The decimal order of the released weights, which are a hundred times smaller under heavy regularisation."""
        x = np.repeat([-1.0, 0.0, 1.0], [sum(cell) for cell in data])
        y = np.concatenate([np.repeat([0, 1], cell) for cell in data])
        encoding = Encoding(SCHEMA, "scaled")
        design = encoding.design(sources.open(x[:, None], SCHEMA, y).held())
        sizes = [
            np.linalg.norm(tuned(output, design, self.epsilon, rng, lambdas=(LIGHT, HEAVY))[0]) for _ in range(size)
        ]
        return np.floor(np.log10(sizes))[:, None]


def audit_cases() -> list[AuditCase]:
    """At 0 one row more is a one, or one row more is a zero: as many hits more for light, or for heavy."""
    more, fewer = (LEFT, (HALF, HALF + 1), RIGHT), (LEFT, (HALF + 1, HALF), RIGHT)
    return [
        AuditCase(
            name="control-thesis2015-cross-validation",
            claim=Claim(1.0),
            build=TunedAsPublished,
            pairs=lambda epsilon: [Pair(more, fewer, "one of 4815 rows changes its label")],
            adjacency="replace",
            control=True,
            note="λ is picked by cross-validation on the private rows, and the size of the noise gives it away",
            samples=400,
        )
    ]
