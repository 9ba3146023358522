"""The architecture page: its map and walk are those of the code, and every place that it names is there."""

import re

import pytest

from tests import rooms
from tests.walks import HOPS, LANDMARKS, MASKED, SITES, walks

TEXT = rooms.PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def measured():
    return walks()


def test_the_map_is_drawn_from_the_code():
    assert rooms.rooms_table() in TEXT, "docs/architecture.md is stale: run python -m tests.rooms --write"


def test_every_room_has_its_place_and_says_what_it_holds():
    placed = [room for layer in rooms.layers() for room in layer]
    assert sorted(placed) == rooms.rooms()
    assert all(re.fullmatch(r".{20,}\.", rooms.sentence(room)) for room in placed)


def test_the_fit_to_a_file_is_a_short_walk(measured):
    walk = measured["PrivateNB, CSV file"]
    assert {step for steps in walk.hops.values() for step in steps} == set(LANDMARKS)
    assert len(walk.hops) <= HOPS
    assert rooms.walk_table(measured) in TEXT, "docs/architecture.md is stale: run python -m tests.rooms --write"


def test_a_masked_round_takes_every_step_that_a_fit_takes_once_its_schema_is_known(measured):
    taken = {step for steps in measured[MASKED].hops.values() for step in steps}
    assert taken == set(LANDMARKS) - {"check"}


def test_rows_are_read_once_or_twice_from_a_file(measured):
    assert {name: walk.readings for name, walk in measured.items()} == {
        "PrivateNB, CSV file": 1,
        "PrivateClassifier, CSV file": 2,
        "PrivateClassifier, array": 1,
        MASKED: len(SITES),
    }


def test_every_page_and_file_that_it_names_is_there():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (rooms.PAGE.parent / link).is_file(), link
    for name in re.findall(r"`((?:[a-z]+/)+[a-z_]+\.py)`", TEXT):
        assert (rooms.ROOT / name).is_file() or (rooms.ROOT / "src" / "discreet" / name).is_file(), name
