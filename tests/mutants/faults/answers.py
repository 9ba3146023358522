"""Faults of private answers: the count, the deal, the votes, the choices."""

from tests.mutants.fault import Room

plant = Room("answers")
WATCHED = "answers/test_watched.py"
VOTE = f"{WATCHED}::test_a_row_moves_one_vote_of_each_answer"
DELTA = f"{WATCHED}::test_answers_under_delta_cost_what_their_losses_allow"
ONCE = f"{WATCHED}::test_only_so_many_answers_and_each_row_once"

plant("dealt-by-index", "answers/predictor.py",
      "where = deal(len(labels), self.parts_, sampler)", "where = np.arange(len(labels)) % self.parts_",
      "a row more moves every other row to another part", VOTE)
plant("dealt-by-rank", "answers/predictor.py",
      "where = deal(len(labels), self.parts_, sampler)",
      "where = np.argsort(np.argsort(deal(len(labels), 1 << 40, sampler))) * self.parts_ // len(labels)",
      "parts of equal size: a row more moves others across their ends", VOTE)
plant("parts-by-exact-rows", "answers/predictor.py",
      "            rows = sampler.laplace(rows, plan.count.spread)\n", "            pass\n",
      "the number of parts follows the exact number of rows", VOTE)
plant("rows-noise-halved", "answers/predictor.py",
      "rows = sampler.laplace(rows, plan.count.spread)", "rows = sampler.laplace(rows, plan.count.spread / 2)",
      "the number of rows has half of its noise", VOTE)
plant("rows-one-per-person", "answers/plan.py",
      'str(contributions), contributions / spent, "epsilon", spent', 'str(contributions), 1 / spent, "epsilon", spent',
      "the number of rows is noised for one row per person", VOTE)
plant("rows-free", "answers/plan.py",
      "left = budget.epsilon - spent", "left = budget.epsilon",
      "the number of rows is bought with budget that answers spend again", VOTE)
plant("answers-exact", "answers/predictor.py",
      "choose(votes, self.plan.rate, law=self.plan.law, coins=self._coins)",
      "choose(votes, None, law=self.plan.law, coins=self._coins)",
      "the class with most votes is told", VOTE)
plant("answers-monotone", "answers/plan.py",
      "return None if self.each is None else choice_rate(self.each, self.contributions)",
      "return None if self.each is None else choice_rate(self.each, self.contributions, monotone=True)",
      "a vote leaves one class and comes to another, and the choice is for votes that move together", VOTE)
plant("answers-one-row-per-person", "answers/plan.py",
      "return None if self.each is None else choice_rate(self.each, self.contributions)",
      "return None if self.each is None else choice_rate(self.each)",
      "people have several votes, and the choice is for one", VOTE)
plant("answers-have-all", "answers/plan.py",
      "each, law, rho, accounting = left / queries,", "each, law, rho, accounting = left,",
      "each answer spends what all have together", VOTE)
plant("answers-concentrated-twice", "answers/plan.py",
      "ranged_epsilon(left, budget.delta, queries)", "ranged_epsilon(left, budget.delta, -(-queries // 2))",
      "answers under a delta have what half as many of them would cost", DELTA)
plant("answers-under-delta-have-the-rows-again", "answers/plan.py",
      "ranged_epsilon(left, budget.delta, queries)", "ranged_epsilon(budget.epsilon, budget.delta, queries)",
      "answers under a delta spend the epsilon of the number of rows once more",
      f"{WATCHED}::test_the_count_is_bought_before_the_losses_are_composed")
plant("permute-and-flip-as-bounded-range", "answers/plan.py",
      'each, law, accounting = ranged, "exponential",', 'each, law, accounting = ranged, "permute-and-flip",',
      "permute-and-flip has no bounded range, and is paid for as if it had", DELTA)
plant("rho-of-one-answer", "answers/plan.py",
      "rho = concentrated_cost(each, law) * queries", "rho = concentrated_cost(each, law)",
      "the certificate states the rho of one answer for all of them", DELTA)
plant("answers-without-end", "answers/predictor.py",
      "if len(fresh) > self.remaining and self.plan.budget.private:", "if False:",
      "more labels are answered than were paid for", "answers/test_predictor.py::test_too_many_rows_are_refused_as_a_whole")
plant("answers-not-remembered", "answers/predictor.py",
      "fresh = {key: i for i, key in enumerate(keys) if key not in self._known}",
      "fresh = {key: i for i, key in enumerate(keys)}",
      "a row that was asked about before is drawn again and not charged", ONCE)
plant("spending-understated", "answers/predictor.py",
      "given = len(self._known)\n", "given = len(self._known) // 2\n",
      "the ledger of what was spent so far counts half of the answers", ONCE)
plant("parts-share-a-prior", "answers/votes.py",
      "self.prior = np.log(counts + 1.0).astype(np.float32)",
      "self.prior = np.log(np.tile(counts.sum(axis=0), (parts, 1)) + 1.0).astype(np.float32)",
      "a row moves the votes of all parts", "answers/test_law.py")
plant("parts-share-a-table", "answers/votes.py",
      "even = table + 1.0 / feature.cells", "even = table.sum(axis=0, keepdims=True) + table + 1.0 / feature.cells",
      "a row moves the votes of all parts", "answers/test_law.py")
plant("voters-share-a-stream", "answers/votes.py",
      "            with contextlib.suppress(Exception), own_streams(seed):\n                result",
      "            with contextlib.suppress(Exception):\n                result",
      "a row of one part changes what voters of others draw when they are asked",
      f"{WATCHED}::test_voters_that_draw_when_asked_share_nothing")
plant("fits-share-a-stream", "answers/votes.py",
      "with contextlib.suppress(Exception), own_streams(seed):\n                    self.models",
      "with contextlib.suppress(Exception):\n                    self.models",
      "a row of one part changes what voters of others draw when they are fitted",
      f"{WATCHED}::test_voters_that_draw_when_asked_share_nothing")
plant("not-charged", "estimators/base.py",
      "self._tab = charge(payer, plan, X, self, schema=schema)", "self._tab = payer.afford(plan.budget, plan.node)",
      "answers cost nothing in the ledger", VOTE)
plant("forked-answers", "answers/predictor.py",
      "if os.getpid() != self._process:", "if False:",
      "a forked process spends the same answers once more",
      "answers/test_predictor.py::test_a_forked_process_gets_no_answers")
