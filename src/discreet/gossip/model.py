"""From an estimate to a model: the same release and the same estimation as of a federated sum."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.estimate import estimate
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.release import Release
from discreet.errors import BudgetError
from discreet.federated.aggregate import Member
from discreet.federated.certificate import aggregate_certificate
from discreet.federated.update import Settings, node_plan
from discreet.gossip.membership import budget_kind
from discreet.gossip.vector import Layout
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema

Integers = NDArray[np.int64]
SEEN = "as the coordinator saw it"
PEERS = "as its peers may have seen it"


def gossip_release(schema: Schema, settings: Settings, members: Sequence[Member], sums: Integers) -> Release:
    """The sum over all members as a release, with the noise of all of them."""
    counted = list(Counter((member.budget, member.mechanism) for member in members).items())
    if not counted:
        raise BudgetError("there is nothing to make a model of: no member is known")
    if len({budget_kind(budget) for (budget, _), _ in counted}) > 1:
        raise BudgetError("nodes without noise, with epsilon and with rho cannot be mixed in one model")
    plans = [(node_plan(schema, settings, *key), count) for key, count in counted]
    plan = plans[0][0]
    noise = {
        item.key: math.fsum(count * other.items[i].variance for other, count in plans)
        for i, item in enumerate(plan.items)
    }
    return Release(
        plan,
        Layout.of(plan).tables(sums),
        samplers=tuple(dict.fromkeys(member.sampler for member in members)),
        simulation=any(member.simulation for member in members),
        noise=noise,
    )


def gossip_certificate(schema: Schema, settings: Settings, members: Sequence[Member], overlap: bool) -> Certificate:
    """What the whole guarantees; a peer sees what a coordinator would."""
    made = aggregate_certificate(schema, settings, sorted(members, key=lambda member: member.node), overlap)
    return made.model_copy(update={"covers": made.covers.replace(SEEN, PEERS)})


def gossip_model(
    schema: Schema,
    settings: Settings,
    members: Sequence[Member],
    sums: Integers,
    *,
    smoothing: float = 1.0,
    overlap: bool = False,
) -> NaiveBayesModel:
    """The model that follows from the sum of all members' updates."""
    release = gossip_release(schema, settings, members, sums)
    prior, likelihoods = estimate(release, smoothing)
    return NaiveBayesModel(schema, prior, likelihoods, gossip_certificate(schema, settings, members, overlap))
