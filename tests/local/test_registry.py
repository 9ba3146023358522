"""Mechanisms declare themselves: by lying in the package, by an entry point, or by being registered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from discreet.errors import DiscreetError, SchemaError
from discreet.local import registry
from discreet.local.campaign import Campaign, mechanism_of
from discreet.local.numbers import NUMBERS
from discreet.local.oracles import GRR, ORACLES, OUE, choose_oracle, make_oracle
from discreet.local.registry import Kinds
from tests.local.people import SCHEMA


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Kinds:
    list(ORACLES), list(NUMBERS)
    monkeypatch.setattr(ORACLES, "_kinds", dict(ORACLES._kinds))
    return ORACLES


class Better(OUE):
    """Better than any other, if one believes it."""

    name, code = "better", 200

    def variance(self, m: int, frequency: float = 0.0) -> float:
        return 0.0


def test_what_is_registered_is_chosen_named_and_found_by_its_code(scratch: Kinds) -> None:
    before = choose_oracle(5, 1)
    assert scratch.register(Better) is Better
    assert isinstance(choose_oracle(5, 1).oracle, Better) and not isinstance(before.oracle, Better)
    assert isinstance(make_oracle("better", 5, 1), Better) and list(scratch)[-1] == "better"
    campaign = Campaign(SCHEMA, 1, oracle="better")
    assert isinstance(mechanism_of(SCHEMA, 0, 200, 0, campaign.epsilon), Better)
    with pytest.raises(DiscreetError, match="no parameter"):
        mechanism_of(SCHEMA, 0, 200, 5, campaign.epsilon)
    scratch.register(Better)  # the same one once more: a module that was loaded again


@pytest.mark.parametrize(
    ("name", "code"), [("grr", 200), ("new", 1), ("new", 16), ("laplace", 200), ("new", 0), ("new", 256), ("new", True)]
)
def test_names_and_codes_are_unique_among_all_mechanisms(scratch: Kinds, name: str, code: int) -> None:
    kind = type("Other", (GRR,), {"name": name, "code": code})
    with pytest.raises(SchemaError, match=r"free|from 1 to 255"):
        scratch.register(kind)
    assert "new" not in scratch


def test_plug_ins_are_found_by_their_entry_points(scratch: Kinds, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(value="other.module", load=lambda: scratch.register(Better))
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == "discreet.local" else [])
    monkeypatch.setattr(scratch, "_walked", False)
    assert "better" in scratch

    def broken() -> None:
        raise ImportError("no module")

    monkeypatch.setattr(scratch, "_walked", False)
    entry.load = broken
    for _ in range(2):
        with pytest.raises(DiscreetError, match=r"other\.module cannot be loaded"):
            list(scratch)
