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
