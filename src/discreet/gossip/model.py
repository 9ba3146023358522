"""From an estimate to a model: the same release and the same estimation as of a federated sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.estimate import estimate
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.release import Release
from discreet.errors import BudgetError
from discreet.gossip.vector import Layout
from discreet.nodes.certificate import aggregate_certificate
from discreet.nodes.members import Member, summed_release
from discreet.nodes.settings import Settings, node_plan
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema

Integers = NDArray[np.int64]
SEEN = "as the coordinator saw it"
PEERS = "as its peers may have seen it"


def gossip_release(schema: Schema, settings: Settings, members: Sequence[Member], sums: Integers) -> Release:
    """The sum over all members as a release, with the noise of all of them."""
    if not members:
        raise BudgetError("there is nothing to make a model of: no member is known")
    layout = Layout.of(node_plan(schema, settings, members[0].budget, members[0].mechanism))
    return summed_release(schema, settings, members, layout.tables(sums))


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
