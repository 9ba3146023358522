"""The audit of looks at numbers: honest noise holds, noise for one number where a row is counted for three does not."""

import pytest

from discreet.audit.registry import Registry

# A sound case is called unsound in one of 10^8 runs at most. The control spends 3 where 1 is claimed: the event that
# tells most has chances e³ apart, which 6,000 samples miss far less often than once in a million runs.
SURE = {"confidence": 1 - 1e-8, "seed": 3, "processes": 1}


@pytest.fixture(scope="module")
def cases():
    registry = Registry()
    registry.discover(["discreet.resolution.audits"])
    return registry


@pytest.mark.parametrize("name", ["pooled-table-add-remove", "pooled-table-replace"])
def test_a_pooled_table_holds(cases, name):
    assert cases.case(name).run(**SURE).lower_bound <= 1.0


def test_fine_tables_hold(cases):
    assert cases.case("fine-tables").run(**SURE, samples=200).lower_bound <= 1.0


def test_noise_for_one_number_is_found_out(cases):
    assert cases.case("control-pooled-table-one-number").run(**SURE).violated
