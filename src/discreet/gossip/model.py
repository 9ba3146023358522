"""From an estimate to a model: the same release and the same estimation as of a federated sum."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.bayes.estimate import estimate
from discreet.bayes.model import NaiveBayesModel
from discreet.errors import BudgetError
from discreet.gossip.vector import Layout
from discreet.nodes.certificate import aggregate_certificate
from discreet.nodes.members import Member, summed_release
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.update import Integers
from discreet.schema import Schema


def gossip_model(
    schema: Schema,
    settings: Settings,
    members: Sequence[Member],
    sums: Integers,
    *,
    smoothing: float = 1.0,
    overlap: bool = False,
) -> NaiveBayesModel:
    """The model that follows from the sum of all members' updates, with the noise of all of them."""
    if not members:
        raise BudgetError("there is nothing to make a model of: no member is known")
    layout = Layout.of(node_plan(schema, settings, members[0].budget, members[0].mechanism))
    prior, likelihoods = estimate(summed_release(schema, settings, members, layout.tables(sums)), smoothing)
    by_name = sorted(members, key=lambda member: member.node)
    certificate = aggregate_certificate(schema, settings, by_name, overlap, seen="its peers may have seen it")
    return NaiveBayesModel(schema, prior, likelihoods, certificate)
