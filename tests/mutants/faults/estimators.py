"""Faults of the road that every fit walks: check, charge, read, release, certify; and of counts that a caller brings."""

from tests.mutants.fault import Room

plant = Room("estimators")
UNREAD = "sources/test_shape.py::test_no_row_is_looked_at"
GIVEN = "dependence/test_tan.py::test_given_counts_are_not_bought_again"
REFUSED = "dependence/test_watched.py::test_a_private_fit_refuses_exact_counts"
INSIDE = "privacy/test_certificates.py::test_bounds_bought_inside_a_fit_are_in_its_cost"

plant("charged-after-reading", "estimators/base.py",
      "        self._tab = charge(payer, plan, X, self, schema=schema)\n"
      "        self._keep(self._release(self._source(X, y, plan, sampler, progress), plan, sampler, *bought))\n",
      "        self._keep(self._release(self._source(X, y, plan, sampler, progress), plan, sampler, *bought))\n"
      "        self._tab = charge(payer, plan, X, self, schema=schema)\n",
      "rows are read and refused before anybody has paid for them", UNREAD)
plant("rows-per-person-not-passed-on", "estimators/base.py",
      "X, plan.schema, y, contributions=plan.contributions, unexpected=plan.unexpected, draw=bytes_of(sampler),",
      "X, plan.schema, y, contributions=None, unexpected=plan.unexpected, draw=bytes_of(sampler),",
      "nobody looks whether people have more rows than the noise is for",
      "sources/test_sources.py::test_private_nb_enforces_contributions")
plant("bought-counts-not-checked", "estimators/base.py",
      "        checked_counts(counts, plan, simulation=self.random_state is not None)\n", "        pass\n",
      "a private fit takes any class counts from its caller", REFUSED)
plant("counts-of-another-unit", "estimators/counts.py",
      "if (made.adjacency, made.contributions) != (plan.adjacency, plan.contributions):", "if False:",
      "class counts bought for weaker neighbours size a model of stronger ones", GIVEN)
plant("counts-without-certificate", "estimators/counts.py",
      "    if made is None or made.epsilon is None or Fraction(made.epsilon) != counts.cost:\n", "    if made is None:\n        return\n    if made.epsilon is None:\n",
      "nobody can tell whom the counts protect that a model follows from", GIVEN)
plant("counts-elsewhere-not-said", "estimators/counts.py",
      "return [] if self.certificate is None else [(WHAT, self.certificate)]", "return []",
      "a certificate does not say that its class counts were paid for elsewhere", GIVEN)
plant("certificate-forgets-bounds", "estimators/purchase.py",
      "fitted.certificate_ = settlement.certificate.then(fitted.certificate_, node.what)",
      "fitted.certificate_ = fitted.certificate_",
      "the certificate of a fit leaves out the bounds that it bought", INSIDE)
plant("bounds-one-row-per-person", "estimators/purchase.py",
      'contributions=settings.get("contributions", 1),', "contributions=1,",
      "bounds that a fit buys are noised for one row per person",
      "bounds/test_watched.py::test_a_fit_that_buys_bounds_first_costs_what_it_says")
plant("simulated-counts-accepted", "estimators/counts.py",
      "if made.simulation and not simulation:", "if False:",
      "a model for release follows from counts whose noise can be repeated",
      "privacy/test_certificates.py::test_a_fit_for_release_does_not_follow_from_simulated_counts_or_from_another_cost")
plant("bounds-and-fit-without-delta", "estimators/purchase.py",
      "return self.whole if self.tail or self.rest.plan().budget.delta else self.whole.pure", "return self.whole.pure",
      "bounds and a fit with Gaussian noise are charged without its delta",
      "evaluation/test_holdout.py::test_a_delta_that_neither_bounds_nor_counts_spend_is_not_charged")
