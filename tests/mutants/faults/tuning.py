"""Faults of private searches: deals, fits, scores, choices, stopping."""

from tests.mutants.fault import Room

plant = Room("tuning")
WATCHED = "tuning/test_watched.py"
MORE = f"{WATCHED}::test_a_row_more_is_trained_on_or_scored_on"
CHANGED = f"{WATCHED}::test_a_changed_row_moves_scores_apart"
RUN = f"{WATCHED}::test_a_run_costs_its_part_whichever_way_the_row_is_dealt"

plant("dealt-by-index", "tuning/search.py",
      "return hold_out(self.rows.size, self.share, self.sampler)",
      "spots = np.arange(self.rows.size)\n        return spots[spots % 4 != 0], spots[spots % 4 == 0]",
      "a row more shifts every other row between training and validation", MORE)
plant("choice-exact", "tuning/search.py",
      "index = choose(scores, rate, coins=coins_of(self.sampler))",
      "index = choose(scores, None, coins=coins_of(self.sampler))",
      "the best candidate is taken without noise", MORE)
plant("monotone-under-replace", "tuning/search.py",
      "rate = choice_rate(self.plan.choice, monotone=self.plan.adjacency is Adjacency.ADD_REMOVE)",
      "rate = choice_rate(self.plan.choice, monotone=True)",
      "a changed row moves scores apart, and the choice is for scores that move together", CHANGED)
plant("choice-rate-doubled", "tuning/search.py",
      "rate = choice_rate(self.plan.choice,", "rate = choice_rate(2 * self.plan.choice,",
      "the choice costs twice what it says", MORE)
plant("fits-have-the-whole-look", "tuning/search.py",
      "each = look / count", "each = look",
      "every candidate spends what all of them have together", MORE)
plant("validation-rows-trained-on", "tuning/search.py",
      "fitted.append(self._fit(index, self.plan.fit, train, self.plan.tails[0]))",
      "fitted.append(self._fit(index, self.plan.fit, np.arange(self.rows.size)))",
      "a row is trained on and scored on, at full cost each", MORE)
plant("training-rows-scored-on", "tuning/search.py",
      "        truth = self.rows.truth(held)\n",
      "        held = np.arange(self.rows.size)\n        truth = self.rows.truth(held)\n",
      "a row is trained on and scored on, at full cost each", MORE)
plant("refit-at-the-whole-budget", "tuning/search.py",
      "return index, self._fit(index, self.plan.refit, np.arange(self.rows.size), self.plan.tails[1])",
      "return index, self._fit(index, self.plan.budget.epsilon, np.arange(self.rows.size), self.plan.tails[1])",
      "the second fit spends everything once more", MORE)
plant("run-score-exact", "tuning/search.py",
      "score = self.sampler.laplace(score, 1 / self.plan.choice)", "pass",
      "runs are compared by exact counts of correct answers", RUN)
plant("run-score-noise-halved", "tuning/search.py",
      "score = self.sampler.laplace(score, 1 / self.plan.choice)",
      "score = self.sampler.laplace(score, 1 / (2 * self.plan.choice))",
      "the score of a run has half of its noise", RUN)
plant("run-trains-on-all", "tuning/search.py",
      "fitted = self._fit(index, self.plan.fit, train)\n            score",
      "fitted = self._fit(index, self.plan.fit, np.arange(self.rows.size))\n            score",
      "the rows that score a run were trained on", RUN)
plant("run-has-the-whole-budget", "tuning/search.py",
      "each = None if epsilon is None else epsilon / (2 + eta)", "each = epsilon",
      "each run spends what the whole search has", RUN)
plant("stopping-costs-two-runs", "tuning/search.py",
      "each = None if epsilon is None else epsilon / (2 + eta)", "each = None if epsilon is None else epsilon / 2",
      "the law of the number of runs is not paid for", f"{RUN}[0-1]", f"{RUN}[{(1 << 50) - 1}-1]")
plant("not-charged", "tuning/search.py",
      "charge(payer, plan, X, self, schema=known)", "payer.afford(plan.budget, plan.node)",
      "a search costs nothing in the ledger", MORE)
plant("model-claims-its-fit-alone", "tuning/search.py",
      "self.model_ = fitted.model_.with_certificate(self.certificate_)", "self.model_ = fitted.model_",
      "the released model's certificate forgets what the search cost", MORE)
plant("candidates-may-spend-more", "tuning/candidates.py",
      "spent is not None and spent <= epsilon", "spent is not None",
      "a candidate that spends more than it was given is released", "tuning/test_search.py")

plant("a-search-ignores-the-delta-of-its-fits", "tuning/candidates.py",
      "kept = kept and Fraction(certificate.delta) <= delta", "kept = kept and Fraction(certificate.delta) < 1",
      "a fit of a search may spend any delta", "privacy/test_delta.py")
plant("a-search-gives-each-fit-the-whole-delta", "tuning/search.py",
      "tails = budget.delta * (1 - kept) / count, budget.delta * kept", "tails = budget.delta, budget.delta",
      "every fit of a search spends the delta of the whole search", "privacy/test_delta.py")
