"""The audit of what leaves a gossip node: the first message is the noised update and no more."""

import numpy as np

from discreet.audit.registry import Registry
from discreet.bayes.audits import FEW
from discreet.gossip.audits import FirstMessage, audit_cases


def test_the_case_is_found_and_holds():
    registry = Registry()
    registry.discover(["discreet.gossip.audits"])
    # A sound message is called unsound in one of a million runs at most.
    result = registry.case("gossip-first-message").run(samples=300, confidence=1 - 1e-6, processes=1)
    assert result.lower_bound <= 1.0


def test_a_message_without_noise_is_found_out():
    """The same message at a hundredth of the noise: so few runs have teeth, and below 260 none would."""
    (case,) = audit_cases()
    loud = type(case)(case.name, case.claim, lambda epsilon: FirstMessage(100.0), case.pairs, case.adjacency)
    assert loud.run(samples=300, confidence=1 - 1e-6, processes=1).lower_bound > 1.0


def test_the_message_holds_the_noised_integers_and_a_whole_weight():
    drawn = FirstMessage(1.0)(FEW)
    assert drawn.dtype == np.int64 and drawn[-2] == 1
