"""Nearly every registered case is audited in each run of the tests: by those of its room, else here.

Of a mechanism that is audited under both adjacencies here, each run has the replaced row, which moves twice what
another row moves, and `make slow` the other: enumerations and watched fits have both in each run.

Confidence is 1 − 1e-8 per audit, so that the sound cases give a false alarm in under 1e-6 of the runs. So few runs
find gross leaks alone: faults planted by tests of the rooms show that the cases have power, and `make slow` audits all
of them by the command.
"""

import re
from pathlib import Path

import pytest

from discreet.audit import list_cases
from tests.local import test_audits as local

TESTS = Path(__file__).parents[1]
SURE = {"confidence": 1 - 1e-8, "seed": 5, "processes": 1}
WHOLE = {  # rooms whose tests go through all cases
    "discreet.additive.audits": "additive/test_audits.py",
    "discreet.audit.controls": "audit/test_controls.py",
    "discreet.calibration.audits": "calibration/test_calibrate.py",
    "discreet.federated.audits": "federated/test_audits.py",
    "discreet.linear.audits": "linear/test_audits.py",
}
PARTS = (  # and those whose tests name the ones that they audit
    "answers", "bounds", "dependence", "evaluation", "gossip", "resolution", "sources", "trees", "tuning",
)  # fmt: skip
NAMED = {
    name for room in PARTS for name in re.findall(r'"([a-z0-9-]+)"', (TESTS / room / "test_audits.py").read_text())
} | {
    "control-giaretta2022-as-published", "control-thesis2015-iterative", "control-thesis2015-mask-without-t",
    "private-answers-add-remove", "private-answers-replace", "settlement-add-remove", "settlement-replace",
}  # fmt: skip
NAMED |= {case.name for case in local.CASES}


def home(case):
    return getattr(case.build, "func", case.build).__module__  # of what a partial call calls


SLOW = {
    "search-random-stopping",  # some ten fits a run: what it is made of, stopping and trees, is audited in each
    "control-selection-gumbel-with-delta",  # tells by very many runs what an enumeration tells at once
}
HERE = {case.name: case for case in list_cases() if home(case) not in WHOLE and case.name not in NAMED}
SLOW |= {name for name in HERE if "-add-remove" in name and name.replace("-add-remove", "-replace") in HERE}
LEFT = [pytest.param(case, marks=pytest.mark.slow if name in SLOW else ()) for name, case in HERE.items()]


@pytest.mark.parametrize("case", LEFT, ids=lambda case: case.name)
def test_the_case_is_as_it_claims(case):
    samples = 300  # with fewer than 260 a claim of 1 could not be refuted, however telling the event
    assert case.run(samples=None if case.control else samples, **SURE).violated == case.control


@pytest.mark.parametrize(("room", "place"), WHOLE.items())
def test_rooms_go_through_all_their_cases(room, place):
    text = (TESTS / place).read_text()
    assert room in {home(case) for case in list_cases()}
    assert f"from {room} import" in text and "audit_cases()" in text and "parametrize" in text
