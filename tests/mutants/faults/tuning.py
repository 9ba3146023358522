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
      "index = choose(scores, rate, law=", "index = choose(scores, None, law=",
      "the best candidate is taken without noise", MORE)
plant("monotone-under-replace", "tuning/search.py",
      "rate = choice_rate(self.plan.choice, monotone=self.plan.adjacency is Adjacency.ADD_REMOVE)",
      "rate = choice_rate(self.plan.choice, monotone=True)",
      "a changed row moves scores apart, and the choice is for scores that move together", CHANGED)
plant("choice-rate-doubled", "tuning/search.py",
      "rate = choice_rate(self.plan.choice,", "rate = choice_rate(2 * self.plan.choice,",
      "the choice costs twice what it says", MORE)
plant("fits-have-the-whole-look", "tuning/plan.py",
      "each = look / count", "each = look",
      "every candidate spends what all of them have together", MORE)
plant("validation-rows-trained-on", "tuning/search.py",
      "fitted.append(self._fit(index, self.plan.fits[index], train))",
      "fitted.append(self._fit(index, self.plan.fits[index], np.arange(self.rows.size)))",
      "a row is trained on and scored on, at full cost each", MORE)
plant("training-rows-scored-on", "tuning/search.py",
      "        truth = self.rows.truth(held)\n",
      "        held = np.arange(self.rows.size)\n        truth = self.rows.truth(held)\n",
      "a row is trained on and scored on, at full cost each", MORE)
plant("refit-at-the-whole-budget", "tuning/search.py",
      "return index, self._fit(index, self.plan.refits[index], np.arange(self.rows.size))",
      "return index, self._fit(index, type(self.plan.refits[index])(self.plan.budget.epsilon), "
      "np.arange(self.rows.size))",
      "the second fit spends everything once more", MORE)
plant("run-score-exact", "tuning/search.py",
      "score = self.sampler.laplace(score, 1 / self.plan.choice)", "pass",
      "runs are compared by exact counts of correct answers", RUN)
plant("run-score-noise-halved", "tuning/search.py",
      "score = self.sampler.laplace(score, 1 / self.plan.choice)",
      "score = self.sampler.laplace(score, 1 / (2 * self.plan.choice))",
      "the score of a run has half of its noise", RUN)
plant("run-trains-on-all", "tuning/search.py",
      "fitted = self._fit(index, self.plan.fits[index], train)\n            score",
      "fitted = self._fit(index, self.plan.fits[index], np.arange(self.rows.size))\n            score",
      "the rows that score a run were trained on", RUN)
plant("run-has-the-whole-budget", "tuning/plan.py",
      "each = budget.epsilon / (2 + made.eta)", "each = budget.epsilon",
      "each run spends what the whole search has", RUN)
plant("stopping-costs-two-runs", "tuning/plan.py",
      "each = budget.epsilon / (2 + made.eta)", "each = budget.epsilon / 2",
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
plant("a-search-gives-each-fit-the-whole-delta", "tuning/plan.py",
      "tails = delta * (1 - kept) / count, delta * kept", "tails = delta, delta",
      "every fit of a search spends the delta of the whole search", "privacy/test_delta.py")

RHO = "tuning/test_by_rho.py"
HOLDOUT = f"{RHO}::test_a_hold_out_spends_its_rho_whichever_way_a_row_is_dealt"
STOPPED = f"{RHO}::test_a_run_spends_its_rho_whichever_way_a_row_is_dealt"
EXACT = f"{RHO}::test_a_wide_search_is_paid_in_rho_and_adds_up_exactly"
REPEATED = "mechanisms/test_repeated.py"

plant("each-fit-has-the-rho-of-all", "tuning/plan.py",
      "each = look / len(candidates)", "each = look",
      "every candidate spends the rho that all of them have together", HOLDOUT, EXACT)
plant("last-fit-has-the-whole-rho", "tuning/plan.py",
      "terms.better(candidates, plan.refits, again,", "terms.better(candidates, plan.refits, rho,",
      "the second fit spends the whole rho once more", HOLDOUT)
plant("choice-by-rho-doubled", "tuning/plan.py",
      "rate = root_down(8 * look)", "rate = root_down(16 * look)",
      "the choice costs twice the rho of the fits beside it", HOLDOUT, EXACT)
plant("permute-and-flip-at-an-eighth", "tuning/search.py",
      "law=CHOICES[self.plan.rho is not None]", "law=CHOICES[0]",
      "permute-and-flip is charged as a choice of bounded range", HOLDOUT)
plant("run-score-by-rho-exact", "tuning/search.py",
      "score = self.sampler.gaussian(score, 1 / (2 * self.plan.rho))", "pass",
      "runs are compared by exact counts of correct answers where rho pays", STOPPED)
plant("run-score-by-rho-at-half-its-variance", "tuning/search.py",
      "1 / (2 * self.plan.rho)", "1 / (4 * self.plan.rho)",
      "the score of a run has half of the variance that its rho needs", STOPPED)
plant("grant-above-its-rho", "tuning/grants.py",
      "            if spent <= rho:\n", "            if spent <= 2 * rho:\n",
      "a fit gets an epsilon and a delta that are worth more rho than it may spend", STOPPED, HOLDOUT)
plant("fits-may-spend-more-rho", "tuning/candidates.py",
      "_rho_of(certificate, spent) <= rho", "_rho_of(certificate, spent) <= 2 * rho",
      "a fit that spends more rho than it was given is released",
      f"{RHO}::test_a_fit_that_spends_more_rho_than_its_part_is_refused")
plant("pure-fits-free-in-rho", "tuning/candidates.py",
      "else spent**2 / 2", "else spent**2 / 8",
      "a pure fit is taken for a choice of bounded range",
      f"{RHO}::test_a_fit_that_spends_more_rho_than_its_part_is_refused")
plant("best-of-many-at-the-rho-of-one", "tuning/plan.py",
      "rho = repeated_rho(budget.epsilon, budget.delta, plan.eta, plan.gamma)",
      "rho = zcdp_rho(budget.epsilon, budget.delta)",
      "the best of many runs costs what one does", EXACT, STOPPED)
plant("number-of-runs-forgotten-in-delta", "privacy/repeated.py",
      "mean_runs(eta, gamma) * zcdp_delta(rho, epsilon - shift - _SAFETY)",
      "zcdp_delta(rho, epsilon - shift - _SAFETY)",
      "delta is that of one run, shifted", REPEATED)
plant("better-runs-forgotten-in-epsilon", "privacy/repeated.py",
      "zcdp_delta(rho, epsilon - shift - _SAFETY)", "zcdp_delta(rho, epsilon)",
      "that a better run may come costs nothing", REPEATED)
plant("shift-without-eta", "privacy/repeated.py",
      "return (1 + eta) * math.log(", "return math.log(",
      "the law of the number of runs is taken for the logarithmic one", REPEATED)
plant("shift-of-one-end-of-a-cell", "privacy/repeated.py",
      "grown = np.exp(np.minimum(epsilons, 700.0)) * chances + tails",
      "grown = np.exp(np.minimum(epsilons, 700.0)) * chances",
      "a better output is taken to grow by a factor alone", REPEATED)
plant("a-run-has-a-quarter-more-rho", "privacy/repeated.py",
      "return fraction_down(halved(holds, low, 2 * low, 40)[0] * (1 - _SAFETY))",
      "return fraction_down(halved(holds, low, 2 * low, 40)[0] * 1.25)",
      "each run of random stopping has a quarter more rho than the best of them may cost",
      f"{REPEATED}::test_a_run_with_a_fifth_less_noise_is_found_out")
