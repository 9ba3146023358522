"""Faults of mechanisms: exact noise, coins, choices, deals, stopping, smooth bounds, heavy tails."""

from tests.mutants.fault import Room

plant = Room("mechanisms")
NOISE = "statistical/test_noise.py"
CHOOSE = "mechanisms/test_choose.py"
GEOMETRIC = "mechanisms/test_geometric.py"
STOP = "mechanisms/test_stopping.py"
SUBSETS = "mechanisms/test_subsets.py"
SMOOTH = "mechanisms/test_smooth.py"
HEAVY = "mechanisms/test_heavy.py"
COUNTED = "mechanisms/test_counted.py"
HIDES = "bayes/test_watched.py::test_the_noise_of_trimmed_statistics_hides_a_row"

plant("laplace-scale-halved", "mechanisms/noise.py",
      'return _through(_opendp("laplace", float_up(scale)), values)', 'return _through(_opendp("laplace", float_up(scale / 2)), values)',
      "exact Laplace noise has half of its scale", "mechanisms/test_geometric.py::test_short_vectors_get_noise_of_opendp_at_no_smaller_scale")
plant("gaussian-scale-halved", "mechanisms/noise.py",
      'return _through(_opendp("gaussian", sqrt_up(variance)), values)', 'return _through(_opendp("gaussian", sqrt_up(variance) / 2), values)',
      "exact Gaussian noise has half of its scale", f"{NOISE}::test_gaussian")
plant("scales-rounded-down", "privacy/calibrate.py",
      "return result if Fraction(result) >= value else math.nextafter(result, math.inf)", "return result",
      "the scale handed to the sampler lies below the exact one",
      "privacy/test_calibrate.py::test_scales_are_never_below_the_exact_fraction")
plant("releases-follow-a-seed", "mechanisms/noise.py",
      "    if seed is None:\n        return ExactSampler()\n", "    if seed is None:\n        return SimulationSampler(0)\n",
      "releases draw predictable noise", "bayes/test_classifier.py::test_certificate_states_what_was_done",
      f"{NOISE}::test_exact_noise_is_fresh_and_a_seed_repeats", "selection/test_kbest.py")
plant("simulation-for-release", "mechanisms/noise.py",
      '    name = "numpy: pseudo-random simulation"\n    simulation = True\n',
      '    name = "numpy: pseudo-random simulation"\n    simulation = False\n',
      "certificates call seeded noise fit for release", "bayes/test_classifier.py")
plant("knorm-rate-doubled", "mechanisms/noise.py",
      "noise = KNorm([len(block) for block in values]).draw(rate, coins)",
      "noise = KNorm([len(block) for block in values]).draw(2 * rate, coins)",
      "K-norm noise has half of its size", "mechanisms/test_watched_noise.py")
plant("tables-return-exact-first-block", "mechanisms/noise.py",
      "return [saturated_add(block, extra) for block, extra in zip(values, noise, strict=True)]",
      "return [values[0], *(saturated_add(block, extra) for block, extra in zip(values[1:], noise[1:], strict=True))]",
      "the first table of a bundle is released as it is", "mechanisms/test_watched_noise.py")
plant("long-vectors-rate-doubled", "mechanisms/geometric.py",
      "drawn = geometrics(1 / scale, 2 * count, coins)", "drawn = geometrics(2 / scale, 2 * count, coins)",
      "Laplace noise of long vectors has half of its size", GEOMETRIC)
plant("long-vectors-exact", "mechanisms/noise.py",
      "return saturated_add(values, laplaces(scale, values.size, Coins()).reshape(values.shape))", "return values",
      "long vectors are released as they are", GEOMETRIC)
plant("laplace-one-sided", "mechanisms/geometric.py",
      "return np.asarray(drawn[:count] - drawn[count:])", "return np.asarray(drawn[:count])",
      "Laplace noise of long vectors never falls below zero", GEOMETRIC)
plant("digit-odds-as-chance", "mechanisms/geometric.py",
      "ends(power / (1 + power) if exponent < BEYOND else power)", "ends(power)",
      "digits of geometric numbers are set too often", GEOMETRIC)
plant("digit-undecided", "mechanisms/geometric.py",
      "            given[i, j] = _decided(rate, int(i), int(words[i, j]), coins)", "            given[i, j] = False",
      "chances of digits are rounded down to 16 bits", GEOMETRIC)
plant("digits-beyond-left-out", "mechanisms/geometric.py",
      "            block[j] += times << digits", "            block[j] += 0",
      "large noise does not occur at all", GEOMETRIC)
SUMS = "mechanisms/test_knorm.py::test_places_under_the_steps_give_each_sum_its_weight"
plant("sum-of-the-steps", "mechanisms/knorm.py",
      "if height < self.weight(total, radius) and (total or not negative):", "if total or not negative:",
      "the common sum of wide K-norm noise follows steps above its law", SUMS)
plant("sum-zero-twice", "mechanisms/knorm.py",
      "if height < self.weight(total, radius) and (total or not negative):", "if height < self.weight(total, radius):",
      "wide K-norm noise has the common sum zero twice as often", SUMS)
plant("sum-one-sign", "mechanisms/knorm.py",
      "return -total if negative else total", "return total",
      "the common sum of wide K-norm noise is never negative", SUMS)
plant("choice-rate-doubled", "mechanisms/choose.py",
      "return epsilon / (sensitivity if monotone else 2 * sensitivity)", "return epsilon / sensitivity",
      "choices by scores that move apart cost twice what they say", CHOOSE)
plant("choice-sensitivity-dropped", "mechanisms/choose.py",
      "return epsilon / (sensitivity if monotone else 2 * sensitivity)", "return epsilon / (1 if monotone else 2)",
      "choices by scores of a larger sensitivity cost more than they say", CHOOSE)
plant("permute-and-flip-rate", "mechanisms/choose.py",
      "        if coins.exp_minus(part * (best - scores[order[last]]), whole):\n            return order[last]",
      "        if coins.exp_minus(2 * part * (best - scores[order[last]]), whole):\n            return order[last]",
      "permute-and-flip is drawn at twice its rate", CHOOSE)
plant("permute-without-permuting", "mechanisms/choose.py",
      "        spot = coins.below(last + 1)\n        order[spot]", "        spot = last\n        order[spot]",
      "permute-and-flip favours by place, beyond its law", CHOOSE)
plant("exponential-rate", "mechanisms/choose.py",
      "        if coins.exp_minus(part * (best - scores[spot]), whole):", "        if coins.exp_minus(2 * part * (best - scores[spot]), whole):",
      "the exponential mechanism is drawn at twice its rate", CHOOSE)
plant("permute-and-flip-as-bounded-range", "mechanisms/choose.py",
      'return epsilon**2 / (8 if law == "exponential" else 2)', "return epsilon**2 / 8",
      "permute-and-flip is accounted as if its range were bounded", CHOOSE)
plant("deal-by-index", "mechanisms/deal.py",
      "    return np.asarray(_draws(size, sampler) % hands)", "    return np.arange(size) % hands",
      "rows are dealt by their place", "mechanisms/test_deal.py")
plant("hold-out-a-fixed-number", "mechanisms/deal.py",
      "    held = _draws(size, sampler) < int(share * FINE)",
      "    held = np.argsort(np.argsort(_draws(size, sampler))) < round(share * size)",
      "a row more pushes another one from training to validation", "mechanisms/test_deal.py")
plant("stopping-cost-of-one-run", "mechanisms/stopping.py",
      "return (2 + eta) * epsilon", "return (1 + eta) * epsilon",
      "the best of a random number of runs is sold below its cost", STOP)
plant("stopping-fixed-number", "mechanisms/stopping.py",
      "    count = draw_runs(eta, gamma, coins=coins)\n", "    draw_runs(eta, gamma, coins=coins)\n    count = int(1 / gamma)\n",
      "the best of a fixed number of runs costs each of them", "tuning/test_watched.py::test_every_run_deals_anew_and_none_is_exact")
plant("stopping-proposals-all-taken", "mechanisms/stopping.py",
      "alive = coins.odds(*((count + eta) / (count + 1)).as_integer_ratio())", "alive = True",
      "the number of runs has another law than the one that is paid for", STOP)
plant("sparse-fence-reused", "mechanisms/subsets.py",
      "bar = int(sampler.laplace(np.array([threshold]), fence)[0])", "bar = threshold",
      "the threshold of the sparse vector technique has no noise", f"{SUBSETS}::test_the_sparse_vector_law")
plant("sparse-scores-exact", "mechanisms/subsets.py",
      "passed = sampler.laplace(scores[order], query) >= bar", "passed = scores[order] >= bar",
      "scores pass the threshold without noise", f"{SUBSETS}::test_the_sparse_vector_law")
plant("flipped-at-twice-the-rate", "mechanisms/subsets.py",
      "heads = np.flatnonzero(odds.exponential(scores[left].max() - scores[left], rate))",
      "heads = np.flatnonzero(odds.exponential(scores[left].max() - scores[left], 2 * rate))",
      "several choices by permute-and-flip are drawn at twice their rate", SUBSETS)
plant("mask-at-twice-the-rate", "mechanisms/subsets.py",
      "heads = odds.logistic(gaps, rate, shift)", "heads = odds.logistic(gaps, 2 * rate, shift)",
      "masks are drawn at twice their rate", SUBSETS)
plant("joint-without-counts", "mechanisms/joint.py",
      "count = math.prod(reach - i for i, reach in enumerate(allowed))", "count = 1",
      "the joint mechanism has another law than the one that is paid for", SUBSETS)
plant("coins-half-as-often", "mechanisms/coins.py",
      "        while part > whole:\n            if not self._alternating(1, 1, 1):\n                return False\n            part -= whole\n",
      "        while part > whole:\n            part -= whole\n",
      "coins of small odds come up far too often", "exhaustive/test_share_noise.py::test_exponential_odds")
plant("forked-coins-repeat", "mechanisms/coins.py",
      "if self._at + size > len(self._pool) or self._forks != _forks:", "if self._at + size > len(self._pool):",
      "a forked process draws the bits of its parent once more", "mechanisms/test_shares.py::test_a_forked_process_draws_other_bits")
plant("mean-bound-halved", "mechanisms/smooth.py",
      "weight = max(1.0 / kept, math.exp(-rate * (kept - 2)) / 2.0)", "weight = 0.5 * max(1.0 / kept, math.exp(-rate * (kept - 2)) / 2.0)",
      "the smooth bound of a mean is half of the true one", f"{SMOOTH}::test_every_neighbour_pair_is_covered_and_smooth")
plant("mean-bound-without-jump", "mechanisms/smooth.py",
      "min(cap, max(jump, _widest(_ends(sample, rate, 1), rate, 1) * weight))", "min(cap, _widest(_ends(sample, rate, 1), rate, 1) * weight)",
      "the bound forgets that a window may run empty", f"{SMOOTH}::test_every_neighbour_pair_is_covered_and_smooth")
plant("variance-bound-of-many-rows", "mechanisms/smooth.py",
      "sizes = {2, min(3, kept), kept}", "sizes = {kept}",
      "the bound of a variance is not smooth", f"{SMOOTH}::test_every_neighbour_pair_is_covered_and_smooth")
plant("bound-rounded-down", "mechanisms/smooth.py",
      "return max(FLOOR, Fraction(value) * (1 + ROUNDING / 2))", "return max(FLOOR, Fraction(value) * (1 - ROUNDING / 2))",
      "the smooth bound may lie below the exact one", f"{SMOOTH}::test_returned_bound_is_never_below_the_exact_one")
plant("rounding-not-charged", "mechanisms/smooth.py",
      "return Fraction(beta) + ROUNDING", "return Fraction(beta)",
      "the rounding of a bound makes it less smooth than is paid for", f"{HEAVY}::test_the_plan_charges_for_the_rounding_of_the_bound")
plant("student-forgets-the-scale", "mechanisms/heavy.py",
      "low = min(intervals.ends(still * still)[0], intervals.ends(stretched)[0])", "low = intervals.ends(still * still)[0]",
      "heavy-tailed noise is for a shift, not for a shift and another scale", f"{HEAVY}::test_student_supremum_is_epsilon_and_no_less")
plant("student-fewer-degrees", "mechanisms/heavy.py",
      "half = intervals.enclose(ctx, eps / (d + 1))", "half = intervals.enclose(ctx, eps / d)",
      "heavy-tailed noise is too small for its degrees of freedom", f"{HEAVY}::test_student_supremum_is_epsilon_and_no_less")
plant("log-normal-forgets-smoothness", "mechanisms/heavy.py",
      "left = eps - rate / self.sigma\n", "left = eps\n",
      "Laplace-log-normal noise is not paid for a changing bound", f"{HEAVY}::test_the_divisor_of_the_log_normal_law_is_the_theorems")
plant("uniform-log-normal-forgets-smoothness", "mechanisms/heavy_normal.py",
      "left = eps - rate / self.sigma\n", "left = eps\n",
      "uniform-log-normal noise is not paid for a changing bound", f"{HEAVY}::test_the_divisors_of_the_other_concentrated_laws_are_the_theorems")
plant("uniform-log-normal-of-half-the-slope", "mechanisms/heavy_normal.py",
      "return intervals.float_below(left / steepest_uniform(self.sigma))", "return intervals.float_below(2 * left / steepest_uniform(self.sigma))",
      "uniform-log-normal noise is half of what a shift needs", f"{HEAVY}::test_the_divisors_of_the_other_concentrated_laws_are_the_theorems")
plant("uniform-log-normal-a-fifth-less", "mechanisms/heavy_normal.py",
      "return intervals.float_below(left / steepest_uniform(self.sigma))", "return intervals.float_below(Fraction(5, 4) * left / steepest_uniform(self.sigma))",
      "uniform-log-normal noise is a fifth less than a shift needs", f"{HEAVY}::test_a_fifth_less_noise_breaks_what_a_shift_may_cost")
plant("arsinh-normal-a-fifth-less", "mechanisms/heavy_normal.py",
      "return intervals.float_below(left / self.steepest)", "return intervals.float_below(Fraction(5, 4) * left / self.steepest)",
      "arsinh-normal noise is a fifth less than a shift needs", f"{HEAVY}::test_a_fifth_less_noise_breaks_what_a_shift_may_cost")
plant("arsinh-normal-forgets-smoothness", "mechanisms/heavy_normal.py",
      "left = eps - self.growth * rate\n", "left = eps\n",
      "arsinh-normal noise is not paid for a changing bound", f"{HEAVY}::test_the_divisors_of_the_other_concentrated_laws_are_the_theorems")
plant("arsinh-normal-of-a-flatter-slope", "mechanisms/heavy_normal.py",
      "return WIDEST / self.sigma + self.sigma / 2", "return WIDEST / self.sigma",
      "arsinh-normal noise is less than a shift needs", f"{HEAVY}::test_slopes_and_growths_are_what_the_laws_have_and_little_more")
plant("counted-mean-of-half-the-range", "mechanisms/counted.py",
      "return Fraction(2 * half_range, rows + 1)", "return Fraction(half_range, rows + 1)",
      "a mean by the class count has half of its noise", f"{COUNTED}::test_one_row_moves_the_statistic_by_its_sensitivity_and_no_more")
plant("counted-deviation-forgets-fewer-rows", "mechanisms/counted.py",
      "square = max(squares) * (2 * half_range * _GRID) ** 2", "square = squares[1] * (2 * half_range * _GRID) ** 2",
      "a deviation by the class count is safe only if no fewer rows are there", f"{COUNTED}::test_one_row_moves_the_statistic_by_its_sensitivity_and_no_more")
plant("counted-mean-by-the-true-count", "mechanisms/counted.py",
      "return sample.mean() * sample.count / max(sample.count, rows)", "return sample.mean()",
      "a mean is divided by the true count of rows however few there are", f"{COUNTED}::test_one_row_moves_the_statistic_by_its_sensitivity_and_no_more")
plant("counted-deviation-by-the-true-count", "mechanisms/counted.py",
      "spread = sample.variance() * sample.count / max(sample.count, rows) * _GRID**2", "spread = sample.variance() * _GRID**2",
      "a deviation is divided by the true count of rows however few there are", f"{COUNTED}::test_one_row_moves_the_statistic_by_its_sensitivity_and_no_more")
plant("counted-by-more-rows-than-released", "bayes/smooth.py",
      "return Tuned(PureLaplace(), 0, 0.0, 0.0, 0.0, max(round(rows), 1))", "return Tuned(PureLaplace(), 0, 0.0, 0.0, 0.0, int(1 << 40))",
      "noise is scaled to a number of rows that nobody released", "bayes/test_vaidya.py")
plant("smooth-mean-of-half-the-scale", "mechanisms/smooth_plan.py",
      "return sample.mean(), smooth_mean_bound(sample, plan.beta) / plan.divisor",
      "return sample.mean(), smooth_mean_bound(sample, plan.beta) / (2 * plan.divisor)",
      "trimmed means have half of their noise", HIDES)
plant("smooth-variance-of-half-the-scale", "mechanisms/smooth_plan.py",
      "return sample.variance(), smooth_variance_bound(sample, plan.beta) / plan.divisor",
      "return sample.variance(), smooth_variance_bound(sample, plan.beta) / (2 * plan.divisor)",
      "trimmed variances have half of their noise", HIDES)
plant("smooth-plan-of-no-smoothness", "mechanisms/smooth_plan.py",
      "divisor = tuned.scale_divisor(epsilon, charged)", "divisor = tuned.scale_divisor(2 * epsilon, charged)",
      "heavy-tailed noise is drawn for twice the epsilon that is charged", HIDES)
plant("laplace-shares-thinned", "mechanisms/shares.py",
      "for _ in range(coins.poisson(2 * size * groups * part)):", "for _ in range(coins.poisson(size * groups * part)):",
      "shares add up to less noise than is claimed", "mechanisms/test_shares.py")
plant("skellam-shares-halved", "mechanisms/shares.py",
      "up, down = (centred_poisson(variance * part / 2, values.size, self.coins) for _ in range(2))",
      "up, down = (centred_poisson(variance * part / 4, values.size, self.coins) for _ in range(2))",
      "Skellam shares add up to half of the variance that is claimed", "mechanisms/test_shares.py")

RUNNING = "exhaustive/test_running.py"
plant("root-reach-of-the-last-column", "mechanisms/running.py",
      "return sum(one * one for one in self.coefficients)", "return self.coefficients[0] ** 2",
      "noise of running sums is for a row of the last step", RUNNING)
plant("tree-one-level", "mechanisms/running.py",
      "    @property\n    def reach(self) -> int:\n        return self.levels\n", "    @property\n    def reach(self) -> int:\n        return 1\n",
      "noise of running sums is for a row in one block, and it is in one of every level", RUNNING)
plant("running-sums-unheld", "mechanisms/running.py",
      "np.clip(total, -(2**63), 2**63 - 1) if wide else total, dtype", "total & (2**63 - 1) if wide else total, dtype",
      "a wide sum wraps, and a row moves it from one end to the other", f"{RUNNING}::test_wide_sums_are_held_and_exact_below")

NORMAL = "mechanisms/test_normal.py"
plant("distance-of-one-draw", "mechanisms/normal.py",
      "found += count * float_up(1 / (23 * variance))", "found += float_up(1 / (23 * variance))",
      "many draws are as far from normal noise as one", f"{NORMAL}::test_distances_add_up_and_small_variances_have_none")
plant("fine-lattice-with-less-noise", "mechanisms/normal.py",
      "self.inner.gaussian(held, finer(variance, cells))", "self.inner.gaussian(held, finer(variance, cells) / 2)",
      "integers grow more than their noise", f"{NORMAL}::test_the_finer_lattice_keeps_the_noise_and_what_neighbours_are_apart")
plant("distance-paid-by-one-side", "mechanisms/normal.py",
      "- (1 + math.exp(min(float(epsilon), 700.0))) * distance", "- distance",
      "the distance of one neighbour's noise is forgotten", f"{NORMAL}::test_two_releases_have_the_profile_of_one_normal_variable")
plant("normal-rho-of-twice-the-delta", "privacy/calibrate.py",
      "normal_delta(math.sqrt(2 * rho), target) <= delta * (1 - _SAFETY), 0.0, high, 100)",
      "normal_delta(math.sqrt(2 * rho), target) <= 2 * delta, 0.0, high, 100)",
      "normal noise spends twice the delta", f"{NORMAL}::test_rho_of_normal_noise_spends_delta")
