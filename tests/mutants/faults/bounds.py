"""Faults of the settlement: the two histograms behind private bounds and edges."""

from tests.mutants.fault import Room

plant = Room("bounds")
WATCHED = "bounds/test_watched.py"
PAIR = f"{WATCHED}::test_a_neighbour_costs_epsilon_and_changes_nothing_else"

plant("first-look-exact", "bounds/release.py",
      "octaves = noisy(by_octave(exact), plan.octaves, sampler)", "octaves = by_octave(exact)",
      "bounds follow the exact number of rows in each octave", PAIR)
plant("second-look-exact", "bounds/release.py",
      "counts = noisy(cells.counts(exact), plan.parts, sampler)", "counts = cells.counts(exact)",
      "bin edges follow exact counts", PAIR)
plant("parts-allotted-by-exact-rows", "bounds/release.py",
      "cells = allot(octaves, grid,", "cells = allot(by_octave(exact), grid,",
      "how finely octaves are cut follows exact counts", f"{WATCHED}::test_how_octaves_are_cut_is_read_off_the_noisy_rows")
plant("octaves-found-in-exact-rows", "bounds/release.py",
      "first, last = found_cells(octaves, over)", "first, last = found_cells(by_octave(exact), by_octave(exact) > 0)",
      "the outermost octaves are those of the exact rows", PAIR)
plant("noise-halved", "bounds/release.py",
      "(sampler.gaussian if charge.measure == \"rho\" else sampler.laplace)(counts, charge.spread)",
      "(sampler.gaussian if charge.measure == \"rho\" else sampler.laplace)(counts, charge.spread / 2)",
      "both histograms have half of their noise", PAIR)
plant("second-look-noise-of-a-quarter", "bounds/release.py",
      "counts = noisy(cells.counts(exact), plan.parts, sampler)",
      "counts = noisy(cells.counts(exact), plan.parts, sampler) if plan.parts is None else "
      "sampler.laplace(cells.counts(exact), plan.parts.spread / 4)",
      "the second histogram has a quarter of its noise", PAIR)
plant("each-number-has-all", "bounds/plan.py",
      "moved = Fraction(plan.moves * len(names))", "moved = Fraction(plan.moves)",
      "a row moves a count of every number, and the noise is for one", PAIR)
plant("replace-as-add-remove", "bounds/plan.py",
      "moved = Fraction(plan.moves * len(names))", "moved = Fraction(plan.contributions * len(names))",
      "a replaced row moves two counts, and the noise is for one", PAIR)
plant("one-row-per-person", "bounds/plan.py",
      "moved = Fraction(plan.moves * len(names))",
      "moved = Fraction(plan.moves // plan.contributions * len(names))",
      "people have several rows, and the noise is for one", PAIR)
plant("second-look-free", "bounds/plan.py",
      'octaves = charge(OCTAVES, plan.bounds, epsilon - second)',
      'octaves = charge(OCTAVES, plan.bounds, epsilon)',
      "the first look spends everything, and the second half as much again", PAIR)
plant("not-charged", "bounds/release.py",
      "charge(paying(ledger, account), plan, data, schema=schema, labelled=False)",
      "paying(ledger, account).afford(plan.budget, plan.node)",
      "a settlement costs nothing in the ledger", f"{WATCHED}::test_the_whole_cost_is_charged")
plant("charged-for-one-look", "bounds/plan.py",
      "for charge in (self.octaves, self.parts) if charge is not None)", "for charge in (self.octaves,))",
      "the second look is left out of ledger and certificate",
      f"{WATCHED}::test_the_two_looks_have_half_of_the_budget_each")
plant("fit-after-bounds-has-all", "estimators/purchase.py",
      "amounts = whole.epsilon * part, whole.epsilon * (1 - part)", "amounts = whole.epsilon * part, whole.epsilon",
      "a fit that bought bounds spends the whole budget once more",
      f"{WATCHED}::test_a_fit_that_buys_bounds_first_costs_what_it_says")
plant("bounds-before-a-fit-not-charged", "estimators/purchase.py",
      "(self.plan.node, left))", "(left,))",
      "bounds that a fit buys cost nothing in the ledger", "bounds/test_settle.py::test_a_fit_pays_for_its_bounds")
plant("fit-with-bounds-charged-without-them", "estimators/purchase.py",
      "Paid(self.plan.schema, self.granted, *people, node", "Paid(self.plan.schema, rest.budget, *people, left",
      "a fit that buys bounds first is charged for the fit alone",
      f"{WATCHED}::test_a_fit_that_buys_bounds_first_costs_what_it_says")
plant("bounds-of-a-fit-add-remove", "estimators/purchase.py",
      'edges=edges, adjacency=Adjacency.of(settings["adjacency"]),', "edges=edges, adjacency=Adjacency.ADD_REMOVE,",
      "bounds of a fit for replaced rows have half of the noise they need",
      f"{WATCHED}::test_a_fit_that_buys_bounds_first_costs_what_it_says")

RHO = "bounds/test_gaussian.py"
WATCHED_RHO = f"{RHO}::test_a_neighbour_costs_the_rho_and_changes_nothing_else"

plant("gaussian-noise-of-half-the-variance", "bounds/plan.py",
      "moved / (2 * spent), \"rho\", spent", "moved / (4 * spent), \"rho\", spent",
      "both histograms have half of the variance that their rho needs", RHO)
plant("gaussian-each-number-has-all", "bounds/plan.py",
      "Fraction(plan.contributions**2 * sides * len(names))", "Fraction(plan.contributions**2 * sides)",
      "a row moves a count of every number, and Gaussian noise is for one", RHO)
plant("gaussian-replace-as-add-remove", "bounds/plan.py",
      "sides = plan.moves // plan.contributions", "sides = 1",
      "a replaced row moves two counts, and Gaussian noise is for one",
      f"{RHO}::test_no_neighbour_costs_more_than_its_rho")
plant("gaussian-rows-of-a-person-apart", "bounds/plan.py",
      "Fraction(plan.contributions**2 * sides", "Fraction(plan.contributions * sides",
      "several rows of a person are taken to lie in different cells", f"{RHO}::test_two_rows_of_one_person", WATCHED_RHO)
plant("gaussian-second-look-free", "bounds/plan.py",
      "octaves = charge(OCTAVES, plan.bounds, rho * (1 - share))", "octaves = charge(OCTAVES, plan.bounds, rho)",
      "the first look spends all of the rho, and the second half as much again", RHO)
plant("several-rows-by-losses-of-one", "bounds/plan.py",
      "    if plan.contributions == 1:\n", "    if plan.contributions >= 1:\n",
      "exact losses of one row are taken for those of several", WATCHED_RHO)
plant("gaussian-bounds-spend-no-delta", "bounds/plan.py",
      "return replace(plan, budget=budget, octaves=octaves, parts=parts, rho=rho",
      "return replace(plan, octaves=octaves, parts=parts, rho=rho",
      "ledger and certificate of Gaussian noise say that no delta was spent", WATCHED_RHO)
