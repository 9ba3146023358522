"""Faults of the automatic choice: the counts it follows and what is left for the model."""

from tests.mutants.fault import Room

plant = Room("auto")
WATCHED = "auto/test_watched.py"
WHOLE = f"{WATCHED}::test_counts_and_model_cost_epsilon_together"

plant("counts-exact", "auto/classifier.py",
      "counts = bought_counts(source.class_counts(), plan.counts, sampler)\n",
      "counts = bought_counts(source.class_counts(), plan.counts, sampler)\n"
      "        import dataclasses\n"
      "        counts = dataclasses.replace(counts, values=source.class_counts() * 1.0, variance=1.0)\n",
      "kind, bins and calibration follow exact class counts", f"{WATCHED}::test_the_choice_follows_the_noisy_counts")
plant("counts-noise-halved", "estimators/counts.py",
      "noisy = sampler.laplace(exact, charge.spread)", "noisy = sampler.laplace(exact, charge.spread / 2)",
      "class counts have half of their noise", WHOLE)
plant("counts-free", "auto/classifier.py",
      "rest = math.inf if budget.epsilon is None else budget.epsilon - counts.cost",
      "rest = math.inf if budget.epsilon is None else budget.epsilon",
      "class counts are bought with budget that the model spends again", WHOLE)
plant("second-counts-free", "estimators/counts.py",
      "return sum((one.cost for one in self.charges), Fraction(0))",
      "return Fraction(0) if self.charge is None else self.charge.cost",
      "counts that are bought again cost what the first ones did", WHOLE)
plant("second-counts-by-exact-rows", "estimators/counts.py",
      "if plan.further is not None and counts.rough:",
      "if plan.further is not None and is_rough(exact.sum(), counts.variance, len(exact)):",
      "whether counts are bought again follows the exact number of rows",
      f"{WATCHED}::test_whether_counts_are_bought_again_follows_the_first_ones")
plant("second-counts-not-certified", "estimators/counts.py",
      "node = Sequential(plan.what, counts.charges)", "node = Sequential(plan.what, counts.charges[:1])",
      "the certificate leaves out counts that were bought again", WHOLE)
plant("counts-not-charged", "auto/classifier.py",
      "            count_charge(first, self.adjacency, self.contributions),\n", "",
      "the entry in the ledger leaves out the class counts", WHOLE)
plant("squares-of-parts", "auto/classifier.py",
      "rest, self.budget.delta),",
      "rest - self.budget.epsilon * MORE, self.budget.delta),"
      " count_charge(self.budget.epsilon * MORE, self.adjacency, self.contributions),",
      "a second count and the model are squared apart where the model has both parts",
      "auto/test_classifier.py::test_the_entry_costs_what_any_fit_may_in_rho")
plant("not-charged", "estimators/base.py",
      "self._tab = charge(payer, plan, X, self, schema=schema)", "self._tab = payer.afford(plan.budget, plan.node)",
      "neither the class counts nor the model cost anything in the ledger", WHOLE)
plant("counts-add-remove", "auto/classifier.py",
      "return count_charge(self.budget.epsilon * share, self.adjacency, self.contributions)",
      "return count_charge(self.budget.epsilon * share)",
      "class counts are noised for one row that comes or goes, not for replaced or several", WHOLE)
plant("count-charge-sensitivity", "estimators/counts.py",
      "reach = moved_rows(adjacency, contributions)\n    return Charge", "reach = 1\n    return Charge",
      "class counts are noised for one row that comes or goes, not for replaced or several", WHOLE)
plant("choice-by-exact-counts", "auto/classifier.py",
      "            schema, counts, rest, adjacency=plan.adjacency,",
      "            schema, ClassCounts(source.class_counts() * 1.0, counts.variance, counts.charge), rest, "
      "adjacency=plan.adjacency,",
      "the kind of model follows exact class counts", f"{WATCHED}::test_the_choice_follows_the_noisy_counts")
plant("calibration-share-by-exact-rows", "auto/families.py",
      "share = epsilon * calibration_share(counts.rows, float(epsilon / steps), len(schema.classes))",
      "share = epsilon * calibration_share(len(X), float(epsilon / steps), len(schema.classes))",
      "whether and how a model is calibrated follows the exact number of rows",
      f"{WATCHED}::test_the_calibration_follows_the_noisy_counts")
plant("calibration-free", "auto/families.py",
      "    kept = epsilon - share\n", "    kept = epsilon\n",
      "the calibration is bought with budget that the model spends again", WHOLE)
plant("bins-by-exact-rows", "auto/families.py",
      "public = binned(schema, counts.rows, each,", "public = binned(schema, len(X), each,",
      "the number of bins follows the exact number of rows", f"{WATCHED}::test_bins_follow_the_noisy_counts")
plant("bins-by-exact-classes", "auto/families.py",
      "classes=counts.apart)", "classes=ClassCounts(X.class_counts() * 1.0, 0.0, None).apart)",
      "the number of bins follows the exact sizes of classes",
      "auto/test_classifier.py::test_bins_and_calibration_follow_the_epsilon_of_one_row")
plant("network-one-row-per-person", "auto/families.py",
      'estimator = kind.make(**(kind.as_declared if bins == "schema" else {}), **settings)',
      'estimator = kind.make(**(kind.as_declared if bins == "schema" else {}), **(settings | {"contributions": 1}))',
      "tables are noised for one row per person", WHOLE)
plant("bayes-add-remove", "auto/families.py",
      "model = PrivateNB(kept, delta, public, **settings)",
      'model = PrivateNB(kept, delta, public, **(settings | {"adjacency": "add-remove"}))',
      "tables are noised for a row that comes or goes, not for a replaced one", WHOLE)
plant("certificate-forgets-counts", "auto/classifier.py",
      "return fitted.with_certificate(whole.whichever(budget.delta))", "return fitted",
      "the certificate leaves out the class counts", WHOLE)
plant("certificate-understates-counts", "privacy/certificate.py",
      '"epsilon": _added(self.epsilon, other.epsilon),', '"epsilon": other.epsilon,',
      "the certificate states the cost of the model without that of the counts", WHOLE)
SELECTED = f"{WATCHED}::test_how_many_features_are_chosen_follows_the_noisy_counts"
plant("number-of-features-by-exact-rows", "selection/classifier.py",
      "rows = np.array([int(statistics.counts.sum() if counts is None else counts.rows)])",
      "rows = np.array([int(statistics.counts.sum())])",
      "with bought counts, how many features are chosen follows the exact number of rows", SELECTED)
plant("selective-bins-by-exact-rows", "auto/families.py",
      "public = binned(public, counts.rows, half,", "public = binned(public, len(X), half,",
      "the bins that features are chosen by follow the exact number of rows", SELECTED)
plant("selection-spends-the-counts-again", "auto/families.py",
      "schema=public, counts=counts, epsilon=epsilon,", "schema=public, counts=counts, epsilon=epsilon + counts.cost,",
      "a selection is given what the class counts have spent", WHOLE)

plant("the-rest-is-charged-without-delta", "auto/classifier.py",
      "                         rest, self.budget.delta),", "                         rest),",
      "a model that spends delta is charged as pure epsilon", "privacy/test_delta.py")
