"""Faults of private feature selection: scores, rates, class weights, the number of features."""

from tests.mutants.fault import Room

plant = Room("selection")
WATCHED = "selection/test_watched.py"
DRAWS = f"{WATCHED}::test_draws_of_features"
NOISE = f"{WATCHED}::test_noise_on_scores_and_on_tables"
SPARSE = f"{WATCHED}::test_the_sparse_vector_technique"
MODEL = f"{WATCHED}::test_a_model_on_chosen_features"
PAID = "privacy/test_paying.py::test_statistics_are_paid_for_too"

plant("rate-not-shared", "selection/plan.py",
      "else epsilon / (k * score.reach)", "else epsilon / score.reach",
      "each of k choices spends what all have together", DRAWS)
plant("joint-rate-doubled", "selection/plan.py",
      'return epsilon / (2 * score.reach) if selector == "joint"', 'return epsilon / score.reach if selector == "joint"',
      "the joint mechanism costs twice what it says", DRAWS)
plant("hits-under-replace", "selection/scores.py",
      "return Score(name, moved, (2 if swap else 1) * moved)", "return Score(name, moved, moved)",
      "a replaced row moves hits apart, and the choice is for hits that move together", DRAWS)
plant("hits-one-row-per-person", "selection/scores.py",
      'moved = (UNITS if name == "balanced" else 1) * contributions', 'moved = UNITS if name == "balanced" else 1',
      "people have several rows, and scores are chosen by as if they had one", DRAWS)
plant("balanced-in-rows", "selection/scores.py",
      'moved = (UNITS if name == "balanced" else 1) * contributions', "moved = contributions",
      "a weighted score moves by 64 units, and the choice is for one", DRAWS)
plant("count-under-replace", "selection/scores.py",
      "moved = (2 if swap else 1) * contributions", "moved = contributions",
      "a replaced row moves a spread by two, and the choice is for one", DRAWS)
plant("count-always-monotone", "selection/scores.py",
      "return Score(name, moved, moved if binary else 2 * moved)", "return Score(name, moved, moved)",
      "spreads of several values fall and rise at once, and the choice is for those that move together",
      "exhaustive/test_selection.py")
plant("information-bound-halved", "selection/scores.py",
      "moved = (math.ceil(bits * BIT) + 2) * contributions", "moved = (math.ceil(bits * BIT) + 2) // 2 * contributions",
      "a row moves the information by more than the choice is made for",
      f"{WATCHED}::test_a_row_apart_from_all_others_moves_information_by_nearly_its_bound")
plant("scores-exact", "selection/select.py",
      "return DRAWS[plan.selector](scores, k, plan.rate, odds=odds)",
      "return np.argsort(-scores, kind='stable')[:k]",
      "the features with the best exact scores are taken", DRAWS)
plant("rate-doubled", "selection/select.py",
      "return DRAWS[plan.selector](scores, k, plan.rate, odds=odds)",
      "return DRAWS[plan.selector](scores, k, 2 * plan.rate, odds=odds)",
      "the choice costs twice what it says", DRAWS)
plant("weights-of-exact-counts", "selection/select.py",
      "weights = class_weights(counts)", "weights = class_weights(statistics.counts)",
      "scores are weighted by exact class counts", f"{WATCHED}::test_class_weights_follow_the_noisy_counts")
plant("counts-noise-halved", "selection/select.py",
      "Fraction(moved) / (plan.budget.epsilon * plan.counted))", "Fraction(moved) / (2 * plan.budget.epsilon * plan.counted))",
      "class counts have half of their noise", DRAWS)
plant("counts-steps-dropped", "selection/select.py",
      "moved = plan.moves", "moved = 1",
      "class counts are noised for one row that comes or goes, not for replaced or several", DRAWS)
plant("counts-free", "selection/plan.py",
      "return self.budget.epsilon * (1 - self.counted)", "return self.budget.epsilon",
      "class counts are bought with budget that the choice spends again", DRAWS)
plant("tables-for-one-feature", "selection/plan.py",
      'reach, norm = moved * len(schema.features), "L1"', 'reach, norm = moved, "L1"',
      "a row moves a count of every table, and the noise is for one", NOISE)
plant("tables-exact", "selection/select.py",
      "noisy = [sampler.laplace(statistics.tables[name], scale) for name in names]",
      "noisy = [statistics.tables[name] for name in names]",
      "features are ranked by exact tables", NOISE)
plant("scores-for-one-feature", "selection/plan.py",
      'reach, norm = score.sensitivity * len(schema.features), "L1"', 'reach, norm = score.sensitivity, "L1"',
      "a row moves every score, and the noise is for one", NOISE)
plant("ranked-by-exact-scores", "selection/select.py",
      "return draw_ranked(sampler.laplace(scores, scale), k, odds=odds)", "return draw_ranked(scores, k, odds=odds)",
      "features are ranked by exact scores", NOISE)
plant("sparse-query-for-one", "selection/plan.py",
      "Fraction(k * score.reach) / (epsilon - first)", "Fraction(score.reach) / (epsilon - first)",
      "k scores pass a noisy threshold, and the noise is for one", SPARSE)
plant("sparse-budget-spent-twice", "selection/plan.py",
      "Fraction(k * score.reach) / (epsilon - first)", "Fraction(k * score.reach) / epsilon",
      "the threshold is bought with budget that the scores spend again", SPARSE)
plant("number-of-rows-exact", "selection/classifier.py",
      "                rows = sampler.laplace(rows, charge.spread)\n", "",
      "how many features are chosen follows the exact number of rows", MODEL)
plant("number-of-rows-free", "selection/classifier.py",
      "rest = budget.epsilon - counted\n", "rest = budget.epsilon\n",
      "the number of rows is bought with budget that is spent again", MODEL)
plant("training-has-all", "selection/classifier.py",
      "Budget(parts[2] + (parts[1] if everything else 0), tail)",
      "Budget(parts[2] + parts[1], tail)",
      "the training spends what the choice has spent already", MODEL)
plant("choice-not-charged", "selection/classifier.py",
      "            nodes.append(plan.node)\n", "",
      "the certificate leaves out the choice of features", MODEL)
plant("not-charged", "selection/kbest.py",
      "charge(payer, plan, X, self, schema=plan.schema)",
      "payer.afford(plan.budget, plan.node)",
      "a selection costs nothing in the ledger", DRAWS)
plant("tables-for-one-row", "selection/plan.py",
      "moved = moved_rows(adjacency, contributions)", "moved = 1",
      "tables are noised for one row that comes or goes, not for replaced or several", NOISE)
plant("statistics-not-charged", "selection/kbest.py",
      "paying(ledger, account, statistics, self).charge(plan.node, plan.budget, plan.unit, self, schema=plan.schema)",
      "paying(ledger, account, statistics, self).afford(plan.budget, plan.node)",
      "a selection from exact statistics costs nothing in the ledger", PAID)
plant("model-of-statistics-not-charged", "selection/classifier.py",
      "paying(ledger, account, statistics, self).charge(plan.node, plan.budget, plan.unit, self, schema=plan.schema)",
      "paying(ledger, account, statistics, self).afford(plan.budget, plan.node)",
      "a model of exact statistics costs nothing in the ledger", PAID)

PEELED = "exhaustive/test_selection.py"
plant("permute-and-flip-at-an-eighth", "selection/plan.py",
      'else ("gumbel", budget)', "else (selector, budget)",
      "permute-and-flip, which has no bounded range, is charged as the exponential mechanism",
      f"{PEELED}::test_many_draws_come_from_the_exponential_mechanism_where_it_errs_less")
plant("masks-at-an-eighth", "selection/plan.py",
      "if selector not in CONCENTRATED or not", 'if selector == "noisy-scores" or not',
      "a mask is charged as so many draws of the exponential mechanism",
      f"{PEELED}::test_few_draws_and_other_selectors_stay_at_pure_epsilon")
plant("every-draw-has-all-rho", "selection/plan.py",
      "found = ranged_epsilon(left, budget.delta, k)", "found = ranged_epsilon(left, budget.delta, 1 + k // 2)",
      "each of k draws spends what half as many would",
      f"{PEELED}::test_with_a_delta_the_rho_of_all_draws_is_that_of_the_budget")
plant("rate-without-the-reach", "selection/plan.py",
      "return self.each / self.score.reach", "return self.each",
      "scores of which a row moves several units are drawn as if it moved one",
      f"{PEELED}::test_with_a_delta_the_rho_of_all_draws_is_that_of_the_budget")
plant("counts-of-classes-forgotten", "selection/plan.py",
      'left = budget.epsilon * (1 - (COUNTED if score.name == "balanced" else 0))', "left = budget.epsilon",
      "the draws spend what bought the class counts",
      f"{PEELED}::test_with_a_delta_the_rho_of_all_draws_is_that_of_the_budget")
RELEASED = "selection/test_released.py"
plant("first-round-forgotten", "selection/released.py",
      "stated = (*reduced.provenance, paid.provenance(WHAT))", "stated = reduced.provenance",
      "the certificate of a second round does not say what choosing its features cost",
      f"{RELEASED}::test_two_rounds_of_a_federation")
plant("choice-from-exact-tables-called-public", "selection/released.py",
      "schema = reduced.having(inferred=True)", "schema = reduced",
      "features chosen from exact tables look as if nobody had read them off the rows",
      f"{RELEASED}::test_a_choice_from_exact_counts_says_that_it_was_read_off")
plant("choice-from-seeded-tables-called-private", "selection/released.py",
      "inferred=reduced.inferred or paid.simulation)", "inferred=reduced.inferred)",
      "features chosen from a simulation count as privately chosen",
      f"{RELEASED}::test_a_choice_from_exact_counts_says_that_it_was_read_off")

SELECTIVE = "selection/test_selective_delta.py"
BOTH = f"{SELECTIVE}::test_choice_and_tables_cost_epsilon_and_delta_together"
plant("choice-has-all-of-delta", "selection/classifier.py",
      "plan = self._selection_plan(schema, k, parts, tail)", "plan = self._selection_plan(schema, k, parts, 2 * tail)",
      "the choice spends the delta that the tables spend again", BOTH)
plant("tables-have-all-of-delta", "selection/classifier.py",
      "trained = self._training_plan(kept, parts, everything, tail)",
      "trained = self._training_plan(kept, parts, everything, 2 * tail)",
      "the tables spend the delta that the choice spends again", BOTH)
plant("half-of-delta-charged", "selection/classifier.py",
      'later = SmoothCharge(LATER, what, "epsilon", rest, 2 * tail, decided)',
      'later = SmoothCharge(LATER, what, "epsilon", rest, tail, decided)',
      "choice and tables are charged with the delta of one of them", BOTH)
