"""Faults of the court of claims: what it says of another library. It releases nothing, so none is of a release."""

from tests.mutants.fault import Room

plant = Room("peers")
COURT = "peers/test_court.py"
HEARD = f"{COURT}::test_a_claim_that_holds_is_consistent_and_one_that_does_not_leaks"

plant("court-hears-one-side", "peers/court.py",
      "self._case.request(int(data), min(_CHUNK, size - len(rows)))", "self._case.request(0, min(_CHUNK, size - len(rows)))",
      "both sides of a pair are the same data, so that every claim holds", HEARD)
plant("court-knows-no-leak", "peers/court.py",
      'verdict = ("leaks" if result.violated else "consistent") if case.stated',
      'verdict = "consistent" if case.stated',
      "a claim that does not hold is called consistent", HEARD)
plant("court-blames-the-unstated", "peers/court.py",
      '"above the comparison" if result.violated else "consistent")', '"leaks" if result.violated else "consistent")',
      "a bound above a comparison that nobody claims is called a leak",
      f"{COURT}::test_without_a_stated_epsilon_nothing_is_called_a_leak")
