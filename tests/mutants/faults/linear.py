"""Faults of linear models: objective and output perturbation, the functional mechanism, the last step."""

from tests.mutants.fault import Room

plant = Room("linear")
NOISE = "linear/test_release.py::test_noise_vector_and_final_noise"
FORM = "linear/test_release.py::test_noise_of_the_functional_mechanism"
LAW = "linear/test_law.py"

plant("budget-not-shared-by-problems", "linear/plan.py",
      "share = None if budget.epsilon is None else budget.epsilon / (problems * contributions)",
      "share = None if budget.epsilon is None else budget.epsilon / contributions",
      "each of several one-against-rest problems spends the whole budget", NOISE)
plant("one-row-per-person", "linear/plan.py",
      "share = None if budget.epsilon is None else budget.epsilon / (problems * contributions)",
      "share = None if budget.epsilon is None else budget.epsilon / problems",
      "people have several rows, and the noise is for one", NOISE)
plant("finish-not-paid", "linear/plan.py",
      "        epsilons = (share * (1 - FINISH), share * FINISH)\n", "        epsilons = (share, share * FINISH)\n",
      "the last step is paid for with budget that is spent already", NOISE)
plant("replace-as-add-remove", "linear/plan.py",
      "    moved = moved_rows(adjacency)\n    if share is not None", "    moved = 1\n    if share is not None",
      "a replaced row pulls twice, and the noise is for once", NOISE)
plant("output-reach-halved", "linear/plan.py",
      "return Fraction(moved) / ridge", "return Fraction(moved) / (2 * ridge)",
      "a row moves the minimum by twice what the noise is for", NOISE)
plant("curvature-forgotten", "linear/plan.py",
      "return loss.worst(rate * reach, ridge) + (moved - 1) * rate * reach * loss.steepest",
      "return rate * reach * loss.steepest * moved",
      "the change of the determinant is not paid for", LAW)
plant("second-pull-forgotten", "linear/plan.py",
      "return loss.worst(rate * reach, ridge) + (moved - 1) * rate * reach * loss.steepest",
      "return loss.worst(rate * reach, ridge)",
      "a replaced row pulls twice, and once is paid for", LAW)
plant("steps-for-one-weight", "linear/plan.py",
      "apart, width = 2 * tolerance / ridge, sqrt_up(Fraction(columns))", "apart, width = 2 * tolerance / ridge, 1.0",
      "the last step covers one weight, and several move", NOISE)
plant("answer-not-covered", "linear/release.py",
      "    return finish(answer, plan, sampler)\n", "    return answer\n",
      "the solver's answer is released with all its digits", NOISE)
plant("last-noise-halved", "linear/release.py",
      "noisy = sampler.laplace(points, Fraction(plan.steps) / plan.epsilons[1])",
      "noisy = sampler.laplace(points, Fraction(plan.steps) / (2 * plan.epsilons[1]))",
      "the last step has half of its noise", NOISE)
plant("vector-halved", "linear/release.py",
      "noise_vector(plan.law, design.columns, float_up(1 / plan.rate), bits_of(sampler))",
      "noise_vector(plan.law, design.columns, float_up(1 / plan.rate) / 2, bits_of(sampler))",
      "the noise vector is half as long as it has to be", NOISE)
plant("objective-untilted", "linear/release.py",
      "tilted = Objective(design, signs, plan.loss, ridge, drawn.vector)",
      "tilted = Objective(design, signs, plan.loss, ridge, 0 * drawn.vector)",
      "the objective is minimised without its noise", NOISE)
plant("output-exact", "linear/release.py",
      "settled(exact, tolerance, spare, plan.unexpected) + drawn.vector",
      "settled(exact, tolerance, spare, plan.unexpected)",
      "the exact minimum is released", NOISE)
plant("functional-linear-reach", "linear/plan.py",
      "return self.moved * self.encoding.slots * (UNIT if self.encoding.valued else 1)",
      "return self.moved * (UNIT if self.encoding.valued else 1)",
      "a row moves a coefficient of every feature, and the noise is for one",
      "linear/test_functional.py::test_sensitivity_by_enumeration")
plant("functional-square-reach", "linear/plan.py",
      "return self.moved * (m * (m + 1) // 2) * (UNIT**2 if self.encoding.valued else 1)",
      "return self.moved * m * (UNIT**2 if self.encoding.valued else 1)",
      "a row moves the products of all pairs of features, and the noise is for the squares",
      "linear/test_functional.py::test_sensitivity_by_enumeration")
plant("functional-products-exact", "linear/release.py",
      "        square[pairs] = sampler.laplace(square[pairs], Fraction(plan.square_reach) / plan.epsilons[1])\n", "",
      "products of columns are released as they are", FORM)
plant("functional-linear-noise-halved", "linear/release.py",
      "linear = sampler.laplace(linear, Fraction(plan.linear_reach) / plan.epsilons[0])",
      "linear = sampler.laplace(linear, Fraction(plan.linear_reach) / (2 * plan.epsilons[0]))",
      "linear coefficients have half of their noise", FORM)
plant("functional-replace-as-add-remove", "privacy/plan.py",
      "return moved_rows(self.adjacency)\n", "return 1\n",
      "a replaced row moves the coefficients twice, and the noise is for once", FORM)
plant("rounding-within-the-corner-overlooked", "linear/losses.py",
      "np.abs(1 - t) <= self.h + 2 * off", "np.abs(1 - t) <= self.h / 2",
      "the certificate leaves out what rounding does to slopes within the rounded corner",
      "linear/test_solve.py::test_a_slope_that_is_not_counted_as_bent_is_the_exact_one")

FEW = "linear/test_few.py"
plant("sums-of-few-rows-plain", "linear/few.py",
      "for part in thirds(rates):", "for part in (rates,):",
      "the gradient's certificate rests on sums that rounding may have moved",
      f"{FEW}::test_sums_are_off_by_their_last_rounding_alone")
plant("rest-of-few-rows-forgotten", "linear/few.py",
      "    rest += (old - (out - other)) + (more - other)\n", "",
      "what rounding takes from a sum is not in its certificate",
      f"{FEW}::test_sums_are_off_by_their_last_rounding_alone")
plant("scores-of-few-rows-plain", "additive/few.py",
      "out[:, k] = total + rest", "out[:, k] = total",
      "scores are off by more than their certificate allows",
      f"{FEW}::test_scores_are_the_same_to_the_last_bit")
plant("beginning-without-certificate", "linear/solve.py",
      "            if bound <= tolerance:\n                return Minimum(begun, bound)",
      "            return Minimum(begun, bound)",
      "where many rows are begun at a guess, the guess is released as it is",
      "additive/test_solve.py::test_a_beginning_is_released_only_with_its_certificate")
plant("beginning-without-its-spare", "linear/solve.py",
      "bound = objective.certified(begun) + spare\n", "bound = objective.certified(begun)\n",
      "how far the noise is from an exact draw is left out of the certificate",
      "additive/test_solve.py::test_a_beginning_is_released_only_with_its_certificate")
