"""What the gossip experiments measure with: updates as rows, and the models that nodes make of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.estimate import estimate
from discreet.bayes.likelihoods import GaussianLikelihood, Likelihood
from discreet.bayes.plan import Plan
from discreet.bayes.release import Release
from discreet.gossip.vector import Layout
from discreet.nodes.settings import node_plan
from discreet.privacy.budget import Budget
from discreet.schema import Numeric, Schema
from discreet_studies.giaretta2022.federated.experiments import MODELS
from discreet_studies.giaretta2022.federated.trials import Bench
from discreet_studies.giaretta2022.linear import as_published, bell, half_range
from discreet_studies.giaretta2022.simulate import noised_stack
from discreet_studies.published.giaretta2022 import local_updates

Floats = NDArray[np.float64]
KINDS = ("prior", "conditional", "mean", "deviation")


@dataclass(frozen=True)
class Fitted:
    """One node's model as coefficients, and its parameters by kind."""

    coefficients: Floats
    parameters: dict[str, Floats]


def fitted(schema: Schema, prior: Floats, likelihoods: list[Likelihood]) -> Fitted:
    """A sound model."""
    constant, parts = prior.copy(), []
    parameters: dict[str, list[Floats]] = {kind: [] for kind in KINDS}
    parameters["prior"].append(np.exp(prior))
    for feature, one in zip(schema.features, likelihoods, strict=True):
        if isinstance(one, GaussianLikelihood):
            assert isinstance(feature, Numeric)
            shift, part = bell(feature, one.mean, one.variance)
            constant = constant + shift
            parameters["mean"].append((one.mean - feature.lower) / (2 * half_range(feature)))
            parameters["deviation"].append(np.sqrt(one.variance) / (2 * half_range(feature)))
        else:
            assert one.by_cell is not None
            part = one.by_cell
            parameters["conditional"].append(np.exp(part).ravel())
        parts.append(part)
    coefficients = np.concatenate([constant[:, None], *parts], axis=1)
    return Fitted(coefficients, {kind: np.concatenate(v) if v else np.empty(0) for kind, v in parameters.items()})


class Sound:
    """Updates of the library: noised integers scaled to public bounds."""

    gaussian: bool

    def __init__(self, held: Bench, model: str, epsilon: float, nodes: int) -> None:
        self.held, self.nodes = held, nodes
        self.gaussian = model == "gaussian"
        self.plan: Plan = node_plan(held.schema, MODELS[model], Budget(epsilon), "auto")
        self.layout = Layout.of(self.plan)

    def rows(self, where: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """All nodes' updates, a row for each."""
        parts = self.held.coded.parts(where, self.nodes, self.plan.detail)
        stack = noised_stack(parts, [self.plan] * self.nodes, rng=rng)
        flat = [stack.values[key].reshape(self.nodes, -1) for key, _ in self.layout.shapes]
        return np.rint(np.concatenate(flat, axis=1)).astype(np.int64)

    def scale(self) -> Floats:
        """The public standard deviation of one node's noise, column by column."""
        spread = {item.key: np.sqrt(item.variance) for item in self.plan.items}
        return np.concatenate([np.full(a * b, spread[key]) for key, (a, b) in self.layout.shapes])

    def fit(self, average: Floats) -> Fitted:
        """The model that a node makes of its estimate."""
        noise = {item.key: item.variance * self.nodes for item in self.plan.items}
        release = Release(self.plan, self.layout.tables(average * self.nodes), noise=noise)
        return fitted(self.held.schema, *estimate(release))


class AsPublished:
    """Updates of the paper: noise scaled to each node's own largest value. Not private."""

    gaussian = True

    def __init__(self, held: Bench, epsilon: float, nodes: int) -> None:
        self.held, self.epsilon, self.nodes = held, epsilon, nodes

    def rows(self, where: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """All nodes' updates, a row for each."""
        updates = local_updates(self.held.rows, where, np.full(self.nodes, self.epsilon), rng=rng).noisy
        self.shapes = {name: values.shape[1:] for name, values in updates.items()}
        return np.concatenate([values.reshape(self.nodes, -1) for values in updates.values()], axis=1)

    def fit(self, average: Floats) -> Fitted:
        """The model by equations 9 to 11."""
        summary, start = {}, 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            summary[name] = average[start : start + size].reshape(shape) * self.nodes
            start += size
        coefficients, parameters = as_published(self.held.schema, summary)
        flat = {kind: [value.ravel() for value in parameters.get(kind, [])] for kind in KINDS}
        return Fitted(coefficients, {kind: np.concatenate(v) if v else np.empty(0) for kind, v in flat.items()})
