"""The table of variances in the proof note is the one the code gives."""

from pathlib import Path

from benchmarks.local_numbers import variance_table, variances

NOTE = Path(__file__).parents[3] / "docs" / "proofs" / "local-numbers.md"


def test_the_note_shows_the_table_that_the_code_makes():
    assert variance_table() in NOTE.read_text(encoding="utf-8")


def test_what_the_note_says_about_the_winners():
    def best(classes, epsilon):
        row = variances(classes, epsilon)
        return min(row, key=row.get)

    assert best(1, "0.5") == "one-bit" and best(1, "1") == best(1, "8") == "piecewise"
    assert best(2, "0.1") == best(2, "2.5") == "one-bit" and best(2, "4") == "piecewise" and best(2, "8") == "laplace"
    assert best(10, "0.1") == "laplace"
    for classes in (1, 2, 3, 10):
        for epsilon in ("0.1", "0.5", "1", "2", "4", "8"):
            assert best(classes, epsilon) != "laplace-all"
