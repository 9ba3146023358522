"""The list of planted faults fits the source as it stands, and a run tells what survives from what does not."""

import ast
import re
from pathlib import Path

import pytest

from tests.mutants.__main__ import chosen, room_table
from tests.mutants.fault import ROOT, Fault, StaleError, every_fault
from tests.pages import blocks

FAULTS = every_fault()


def test_every_fault_still_fits_the_source():
    stale = []
    for fault in FAULTS:
        source = (ROOT / fault.path).read_text()
        try:
            planted = fault.planted(source)
            if fault.path.endswith(".py"):  # the JavaScript is read where its tests run
                ast.parse(planted, fault.path)
        except (StaleError, SyntaxError) as error:
            stale.append(str(error))
    assert not stale


def test_every_fault_says_what_it_means_and_who_should_notice():
    assert len({fault.id for fault in FAULTS}) == len(FAULTS) >= 150
    for fault in FAULTS:
        assert re.fullmatch(r"[a-z]+/[a-z0-9-]+", fault.id), fault.id
        assert fault.means and not fault.means.endswith("."), fault.id
        assert fault.tests, fault.id
        for test in fault.tests:
            path, *names = test.split("::")
            source = (ROOT / "tests" / path).read_text()
            for name in names:
                assert re.search(rf"(def|class) {re.escape(name.split('[')[0])}\b", source), (fault.id, test)


def test_a_fault_that_does_not_fit_is_called_stale():
    fault = Fault("none", "room", "a.py", "x = 1", "x = 2", "nothing", ())
    assert fault.planted("x = 1\n") == "x = 2\n"
    for source in ("y = 1\n", "x = 1\nx = 1\n"):
        with pytest.raises(StaleError, match="stale"):
            fault.planted(source)


def test_patterns_choose_by_id():
    every = [Fault(name, room, "a.py", "a", "b", "c", ()) for room in ("one", "two") for name in ("noise", "deal")]
    assert [f.id for f in chosen(every, ["one/*"])] == ["one/noise", "one/deal"]
    assert [f.id for f in chosen(every, ["noise"])] == ["one/noise", "two/noise"]
    assert chosen(every, None) == every


def test_the_list_has_a_module_per_room():
    rooms = {fault.room for fault in FAULTS}
    assert rooms == {path.stem for path in (Path(__file__).parent / "faults").glob("[a-z]*.py")}


def test_the_page_shows_the_list_as_it_is():
    """`python -m tests.mutants --table` prints what belongs there."""
    assert room_table(FAULTS) in (ROOT / "docs" / "mutants.md").read_text()


def test_the_example_on_the_page_is_a_fault_of_the_list():
    planted = []
    (example,) = blocks("mutants.md")
    exec(compile(example, "mutants.md", "exec"), {"plant": lambda *given: planted.append(given)})
    ((name, file, old, new, means, *tests),) = planted
    (fault,) = (one for one in FAULTS if one.id == f"trees/{name}")
    assert (fault.file, fault.old, fault.new, fault.means, fault.tests) == (file, old, new, means, tuple(tests))
