"""Faults of additive models: counts, noise, the choice of pairs, the shares of two fits."""

from tests.mutants.fault import Room

plant = Room("additive")
TRUTH = "additive/test_classifier.py::test_certificate_tells_the_truth"
CONTRIBUTIONS = "additive/test_classifier.py::test_contributions_divide_the_budget"
LAW = "additive/test_law.py::test_every_neighbour_pair"

plant("rows-of-a-person", "additive/budget.py",
      "return self.budget.epsilon * (1 - SHARE if self.buys_counts else 1) / self.contributions",
      "return self.budget.epsilon * (1 - SHARE if self.buys_counts else 1)",
      "people have several rows, and the noise is for one", CONTRIBUTIONS)
plant("counts-free", "additive/budget.py",
      "return self.budget.epsilon * (1 - SHARE if self.buys_counts else 1) / self.contributions",
      "return self.budget.epsilon / self.contributions",
      "class counts are bought with budget that the model spends again", TRUTH)
plant("counts-add-remove", "additive/budget.py",
      "return count_charge(self.budget.epsilon * SHARE, self.adjacency, self.contributions)",
      "return count_charge(self.budget.epsilon * SHARE, contributions=self.contributions)",
      "class counts for replaced rows have half of their noise", "additive/test_watched.py")
plant("counts-exact", "additive/classifier.py",
      "noisy_counts(rows.counts, plan.count_charge, sampler)\n        fitted",
      "noisy_counts(rows.counts, None, sampler)\n        fitted",
      "knots, penalties and pairs follow exact class counts", "additive/test_watched.py")
plant("pair-shares-of-the-whole", "additive/fit.py",
      "left = None if rest is None else rest * (1 - FIRST - CHOICE)", "left = rest",
      "the second fit spends what the first has spent already", TRUTH)
plant("replace-as-add-remove", "privacy/plan.py",
      "return moved_rows(self.adjacency)\n", "return 1\n",
      "a replaced row pulls twice, and the noise is for once", "additive/test_watched.py")
plant("rate-without-reach", "additive/plan.py",
      "rate = share * goal / (moved * reach(classes)) * (1 - 1e-8)", "rate = 2 * share * goal / (moved * reach(classes)) * (1 - 1e-8)",
      "the residuals of a row cost twice what is paid for them", LAW)
plant("answer-not-covered", "additive/release.py",
      "    return finish(answer, plan, sampler)\n", "    return answer\n",
      "the solver's answer is released with all its digits", "additive/test_watched.py")
plant("objective-untilted", "additive/release.py",
      "tilted = Objective(design, len(plan.blocks.sizes) + 1, plan.chain, centre, tilt.vectors)",
      "tilted = Objective(design, len(plan.blocks.sizes) + 1, plan.chain, centre, 0 * tilt.vectors)",
      "the objective is minimised without its noise", "additive/test_watched.py")
plant("pairs-exact", "additive/pairs.py",
      "spot = choose([scores[j] for j in left], rate, coins=coins)", "spot = choose([scores[j] for j in left], None, coins=coins)",
      "the pairs with the best exact scores are taken", "additive/test_pairs.py::test_choice_asks_for_its_share")
plant("pairs-not-shared", "additive/pairs.py",
      "choice_rate(epsilon / count, 2 * WHOLE * moved)", "choice_rate(epsilon, 2 * WHOLE * moved)",
      "every choice of a pair spends what all have together", "additive/test_pairs.py::test_choice_asks_for_its_share")
plant("pairs-of-half-the-reach", "additive/pairs.py",
      "choice_rate(epsilon / count, 2 * WHOLE * moved)", "choice_rate(epsilon / count, WHOLE * moved)",
      "a row moves a score by twice what the choice is made for", "additive/test_pairs.py::test_choice_asks_for_its_share")

NORMAL = "additive/test_normal.py"
plant("normal-noise-halved", "additive/release.py",
      "drawn = normal_vector(size, deviation, bits)", "drawn = normal_vector(size, deviation / 2, bits)",
      "normal noise of a block has half its deviation",
      f"{NORMAL}::test_rows_lie_where_the_noise_is_and_no_row_reaches_beyond_the_slope")
plant("normal-sum-without-noise", "additive/release.py",
      "total = normal_vector(1, common, bits)", "total = normal_vector(1, 1e-3 * common, bits)",
      "the sum that all blocks share has hardly any noise",
      f"{NORMAL}::test_rows_lie_where_the_noise_is_and_no_row_reaches_beyond_the_slope")
plant("normal-slope-forgets-the-sum", "additive/plan.py",
      "return sqrt_up(common + sum(", "return sqrt_up(sum(",
      "what a row adds to the common sum is not paid for",
      f"{NORMAL}::test_rows_lie_where_the_noise_is_and_no_row_reaches_beyond_the_slope")
plant("normal-replace-as-add-remove", "additive/plan.py",
      "each = epsilon / moved\n", "each = epsilon\n",
      "a replaced row has the normal noise of one that comes or goes", f"{NORMAL}::test_steps_between_neighbours_add_up")
plant("normal-delta-of-every-step", "additive/plan.py",
      "float(step_delta(delta, each, moved * contributions))", "float(delta)",
      "each row of a person spends the delta of all", f"{NORMAL}::test_steps_between_neighbours_add_up")
plant("normal-jacobian-free", "additive/normal.py",
      "inside = 1 + spread * s * (1 - s)\n        return np.log(inside),", "inside = 1 + spread * s * (1 - s)\n        return 0 * s,",
      "the curvature that a row adds is not paid for", f"{NORMAL}::test_the_loss_is_bounded_at_every_residual")
plant("normal-square-halved", "additive/normal.py",
      "square = (0.5 if classes == 2 else 1.0) * slope**2", "square = 0.5 * slope**2",
      "residuals of several classes are longer than those of two", f"{NORMAL}::test_the_loss_is_bounded_at_every_residual")
plant("normal-tail-of-one-class", "additive/normal.py",
      "return np.asarray(np.minimum((classes - 1) * ndtr(-u / math.sqrt(2)), 1.0))", "return np.asarray(ndtr(-u))",
      "differences of normal variables are taken for single ones", f"{NORMAL}::test_the_normal_part_of_several_classes")
plant("normal-unchecked", "additive/plan.py",
      "    check_normal(plan.slope, plan.spread, goal, tail, classes)\n", "",
      "noise is drawn whatever it costs", f"{NORMAL}::test_a_budget_that_is_not_kept_is_refused")
plant("step-delta-undivided", "privacy/calibrate.py",
      "growth = sum(math.exp(j * float(epsilon)) for j in range(steps))", "growth = 1.0",
      "several rows share a delta that each of them spends", f"{NORMAL}::test_steps_between_neighbours_add_up")
plant("levels-checked-after-the-charge", "additive/classifier.py",
      "        check_levels(plan.schema, levels)\n", "",
      "levels that fit no feature are noticed when rows were paid for and read",
      "additive/test_model.py::test_levels_are_part_of_a_shape_and_are_checked_before_anything_is_charged")
NEWTON = "additive/test_newton.py"
STEPPED = f"{NEWTON}::test_neighbours_cost_what_a_step_is_charged"
SHAPED = f"{NEWTON}::test_a_fit_costs_what_its_certificate_says"
plant("newton-one-row-per-person", "additive/newton.py",
      "return Fraction(worst_rate() * square * self.moves**2) / (2 * self.step_rho)",
      "return Fraction(worst_rate() * square * self.moves) / (2 * self.step_rho)",
      "rows that come and go together move a sum farther than its noise is for", STEPPED)
plant("newton-replaced-a-fifth-less", "additive/newton.py",
      "return Fraction(worst_rate() * square * self.moves**2) / (2 * self.step_rho)",
      "return Fraction(worst_rate() * square * self.moves**2 * (25 - 9 * (self.adjacency == 'replace')), 50) / self.step_rho",
      "of a row that is replaced four fifths are paid for", STEPPED)
plant("newton-square-forgotten", "additive/newton.py",
      "return sum(int(np.max(column**2)) for column in self.columns)",
      "return max(int(np.max(column**2)) for column in self.columns)",
      "the noise is for one column of a row, not for all of them", STEPPED,
      f"{NEWTON}::test_columns_are_no_longer_than_what_is_charged")
plant("newton-curvature-too-free", "additive/newton.py",
      "second = variance * square / FREE", "second = variance * square / (16 * FREE)",
      "second derivatives are released with a quarter of their noise", STEPPED)
plant("newton-curvature-drawn-as-if-once", "additive/newton.py",
      "curved[above] = sampler.gaussian(bend[above], second / 2)",
      "curved[above] = sampler.gaussian(bend[above], second / 32)",
      "derivatives of two weights have a quarter of their noise", STEPPED)
plant("newton-exact-gradient", "additive/newton.py",
      "first = sampler.gaussian(gradient, variance).astype(np.float64)",
      "first = gradient.astype(np.float64)",
      "first derivatives are released without noise", STEPPED, SHAPED)
plant("newton-steps-at-full-cost", "additive/newton.py",
      "return self.rho * (1 - SHAPES) / STEPS", "return self.rho * (1 - SHAPES)",
      "every step spends what all have together", SHAPED)
plant("newton-tables-at-full-cost", "additive/newton.py",
      "schema, Budget(rho=rho * SHAPES), mechanism", "schema, Budget(rho=rho), mechanism",
      "tables spend what the steps have too", SHAPED)
plant("newton-residual-rounded-up", "additive/newton.py",
      "pulls = np.stack([np.floor(chance * RATE), -np.floor((1 - chance) * RATE)])",
      "pulls = np.stack([2 * np.floor(chance * RATE), -np.floor((1 - chance) * RATE)]) // 1",
      "a row of the first class pulls by twice a residual", f"{NEWTON}::test_second_derivatives_cost_nothing_up_to_the_golden_ratio")
plant("newton-sums-wrap", "additive/newton.py",
      "bend = saturated_add(bend, ((x * curvature[spot][:, None]).T @ x).astype(np.int64))",
      "bend = bend + ((x * curvature[spot][:, None]).T @ x).astype(np.int64)",
      "sums beyond 64 bits start again at the other end", f"{NEWTON}::test_sums_stay_at_their_end")
plant("newton-parts-too-long", "additive/newton.py", "PART = 1 << 17", "PART = 1 << 21",
      "sums of one part leave the digits of a double, so that a row adds what others leave it",
      f"{NEWTON}::test_sums_of_one_part_are_exact_in_doubles_and_do_not_wrap_beyond")
plant("newton-score-by-its-neighbours", "additive/newton.py",
      "score = np.rint((x @ fine)", "score = np.rint((x @ fine + x.mean() * 2.0**24)",
      "what a row adds depends on the rows beside it", f"{NEWTON}::test_a_row_adds_the_same_wherever_it_stands")
WORTH = f"{NEWTON}::test_noise_is_paid_for_as_normal_where_it_all_but_is_and_as_discrete_elsewhere"
FAR = f"{NEWTON}::test_the_distance_is_that_of_all_integers_that_are_drawn"
plant("newton-distance-unpaid", "additive/newton.py",
      "    if tail < float(delta) / 2:\n", "    if tail < -1e9:\n",
      "noise that is not normal enough for this epsilon is accounted for as normal", WORTH)
plant("newton-distance-of-tables-alone", "additive/newton.py",
      "        draws += [(first, STEPS * size), (second, STEPS * size * (size + 1) // 2)]\n", "",
      "derivatives are taken for exactly normal", FAR)
plant("newton-tables-finer-than-drawn", "additive/newton.py",
      "finer(cells * cells * charge.spread / weight, cells)", "finer(cells * cells * charge.spread / weight, 1)",
      "tables of many cells are taken for nearer to normal noise than their lattice is", FAR)
plant("newton-tables-on-whole-rows", "additive/newton.py",
      "plan.tables, FineSampler(sampler))", "plan.tables, sampler)",
      "noise of tables on whole rows is accounted for as normal", FAR)
