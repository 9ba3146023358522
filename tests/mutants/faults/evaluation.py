"""Faults of private figures: the tables behind them, their noise, and the sides of a hold-out."""

from tests.mutants.fault import Room

plant = Room("evaluation")
SCALES = "evaluation/test_release.py::test_the_sampler_gets_exact_tables_at_the_scale_of_the_adjacency"
ALONE = "evaluation/test_release.py::test_figures_come_from_the_noisy_tables_alone"
FIRST = "evaluation/test_release.py::test_the_charge_comes_first"
CHARGED = "evaluation/test_holdout.py::test_one_charge_of_epsilon_before_a_row_is_read"
KEPT = "sources/test_keptcodes.py::test_both_sides_have_every_row_once_and_people_stay_together"
SIDES = "evaluation/test_holdout.py::test_a_row_is_on_one_side_and_not_by_where_it_stands"

plant("tables-exact", "evaluation/release.py",
      "noisy = sampler.laplace(table, charge.spread)", "noisy = table",
      "figures come from exact counts", SCALES)
plant("noise-halved", "evaluation/release.py",
      "noisy = sampler.laplace(table, charge.spread)", "noisy = sampler.laplace(table, charge.spread / 2)",
      "counts by class and score have half of their noise", SCALES)
plant("replace-as-add-remove", "evaluation/plan.py",
      "reach = moved_rows(adjacency, contributions)", "reach = contributions",
      "a replaced row moves two counts, and the noise is for one", SCALES)
plant("one-row-per-person", "evaluation/plan.py",
      "reach = moved_rows(adjacency, contributions)", "reach = moved_rows(adjacency)",
      "people have several rows, and the noise is for one", SCALES)
plant("every-class-has-all", "evaluation/plan.py",
      "each = whole * (1 - CONFUSION_SHARE) / classes", "each = whole * (1 - CONFUSION_SHARE)",
      "the table of each class spends what all have together", SCALES)
plant("confusion-has-all", "evaluation/plan.py",
      'charge("rows by true and predicted class", whole * CONFUSION_SHARE),',
      'charge("rows by true and predicted class", whole),',
      "the confusion table spends everything, and the others once more", SCALES)
plant("row-in-two-cells", "evaluation/release.py",
      "{str(j): np.bincount(one, minlength=a * b) for", "{str(j): 2 * np.bincount(one, minlength=a * b) for",
      "a row moves a count by two, and the noise is for one", SCALES)
plant("interval-without-noise", "evaluation/release.py",
      "return NoisyTable(noisy.astype(np.float64), laplace_variance(float(charge.spread)))",
      "return NoisyTable(noisy.astype(np.float64), 0.0)",
      "figures are told as if their counts had no noise",
      "evaluation/test_release.py::test_intervals_are_as_wide_as_the_noise_that_was_drawn")
plant("not-charged", "evaluation/evaluate.py",
      "charge(paying(ledger, account), plan, data, schema=model.schema)",
      "paying(ledger, account).afford(plan.budget, plan.node)",
      "an evaluation costs nothing in the ledger", FIRST)
plant("holdout-not-charged", "evaluation/holdout.py",
      "        charge(payer, plan, X, self, schema=schema)\n", "",
      "a fit that measures itself costs nothing in the ledger", CHARGED)
plant("holdout-delta-not-charged", "evaluation/holdout.py",
      "return asked if planned.delta else asked.pure", "return asked.pure",
      "a hold-out is granted no delta, whatever its fit spends",
      "evaluation/test_holdout.py::test_a_delta_is_charged_where_the_fit_alone_is_charged_with_it")
plant("measured-on-training-rows", "evaluation/holdout.py",
      "model, looked, sampler, *test, confidence=", "model, looked, sampler, *train, confidence=",
      "the rows that were trained on are measured too, at full cost each", SIDES)
plant("people-of-codes-on-both-sides", "sources/part.py",
      "keys = _keys(rows.people())", "keys = [bytes([row % 256]) for row in range(rows.size)]",
      "rows of one person on a cluster are dealt to both sides, and the cost is that of one", KEPT)
plant("ids-slip-to-other-rows", "sources/source.py",
      "keys if found.places is None else [keys[place] for place in found.places.tolist()]", "keys[: found.size]",
      "where rows are left out the next ones are taken for those of other people",
      "sources/test_keptcodes.py::test_ids_stay_with_their_rows_where_rows_are_left_out")
plant("digests-of-rows", "sources/asks.py",
      "first, *rest = blake2b(written_key(key), digest_size=16, key=self.salt).digest()",
      "first, *rest = np.random.bytes(16)",
      "rows of one person on a cluster count as those of several", KEPT)
plant("people-on-both-sides", "evaluation/holdout.py",
      "coins = (RowCoins if schema.id is None else KeyCoins)(plan.share, sampler)",
      "coins = RowCoins(plan.share, sampler)",
      "rows of one person are dealt to both sides, and the cost is that of one",
      "evaluation/test_holdout.py::test_rows_of_one_person_stay_together")
plant("several-rows-without-id", "evaluation/holdout.py",
      "if rows > 1 and (schema is None or schema.id is None):", "if False:",
      "rows of people that nobody can tell apart are dealt to both sides",
      "evaluation/test_holdout.py::test_rows_of_one_person_are_not_dealt_to_both_sides")
plant("holdout-certified-as-the-fit-alone", "evaluation/holdout.py",
      "whole = own.beside(figures, SIDES, dealt)", "whole = own",
      "the certificate leaves out the figures and the coins that they rest on", CHARGED)
SETS = "evaluation/test_sets.py::test_the_tables_get_the_noise_of_their_parts"
COVER = "privacy/test_coverage.py"
plant("sets-have-all-once-more", "evaluation/plan.py",
      "whole, own = budget.epsilon * (1 - sets), budget.epsilon * sets",
      "whole, own = budget.epsilon, budget.epsilon * sets",
      "figures spend everything, and prediction sets once more", SETS)
plant("sets-bins-have-all", "evaluation/plan.py",
      "own * (1 - SETS_ROWS)),", "own),",
      "the bins of prediction sets spend what their number of rows has too", SETS)
plant("sets-row-in-two-bins", "evaluation/release.py",
      "sets = [np.zeros(len(truth), np.int64), reached[reached < len(plan.edges)]]",
      "sets = [np.zeros(len(truth), np.int64), np.repeat(reached[reached < len(plan.edges)], 2)]",
      "a row moves a bin of prediction sets by two, and the noise is for one", SETS)
plant("sets-noise-told-as-less", "evaluation/release.py",
      "spread=second, rows_spread=first", "spread=first, rows_spread=second",
      "prediction sets are told another noise than was drawn, and their coverage is not proved", SETS)
plant("sets-without-margin", "privacy/coverage.py",
      "least = float(missed) * whole - margin(float(Fraction(self.spread)))", "least = float(missed) * whole",
      "prediction sets leave the noise out of their coverage", COVER)
plant("sets-new-row-not-counted", "privacy/coverage.py",
      "        below = 1\n", "        below = 0\n",
      "prediction sets are those of one row more than there is", COVER)
plant("sets-of-no-rows", "privacy/coverage.py",
      "if least < 0 or whole < fewest(float(Fraction(self.rows_spread))):", "if least < 0:",
      "prediction sets rest on noise alone where there are hardly any rows", COVER)
