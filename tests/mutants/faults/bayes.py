"""Faults of Naive Bayes: sensitivities, shares, noise and trimmed statistics."""

from tests.mutants.fault import Room

plant = Room("bayes")
WATCHED = "bayes/test_watched.py"
TABLES = f"{WATCHED}::test_tables_cost_epsilon"
SUMS = f"{WATCHED}::test_sums_and_squares_cost_epsilon"
RHO = f"{WATCHED}::test_gaussian_noise_costs_rho"
LISTED = f"{WATCHED}::test_every_charge_of_the_certificate_was_drawn"
TRIMMED = f"{WATCHED}::test_what_comes_before_trimmed_statistics_is_noisy"

plant("table-l1-under-replace", "bayes/items.py",
      "return Sensitivity(Fraction(moved * contributions), Fraction(moved * contributions**2))",
      "return Sensitivity(Fraction(contributions), Fraction(moved * contributions**2))",
      "a changed row moves two cells, and Laplace noise is for one", TABLES)
plant("table-l2-under-replace", "bayes/items.py",
      "return Sensitivity(Fraction(moved * contributions), Fraction(moved * contributions**2))",
      "return Sensitivity(Fraction(moved * contributions), Fraction(contributions**2))",
      "a changed row moves two cells, and Gaussian noise is for one", "exhaustive/test_release.py")
plant("table-one-row-per-person", "bayes/items.py",
      "return Sensitivity(Fraction(moved * contributions), Fraction(moved * contributions**2))",
      "return Sensitivity(Fraction(moved), Fraction(moved))",
      "people have several rows, and tables are noised for one", TABLES)
plant("sum-under-replace", "bayes/items.py",
      "reach = Fraction(half * moved_rows(adjacency, contributions))", "reach = Fraction(half * contributions)",
      "a changed row moves a sum from one bound to the other, and the noise is for half of that",
      "exhaustive/test_release.py::test_laplace_log_ratio_never_exceeds_epsilon")
plant("sum-of-half-the-reach", "bayes/items.py",
      "reach = Fraction(half * moved_rows(adjacency, contributions))",
      "reach = Fraction(half * moved_rows(adjacency, contributions), 2)",
      "a row at a bound moves a sum by twice what the noise is for", SUMS)
plant("sum-one-row-per-person", "bayes/items.py",
      "reach = Fraction(half * moved_rows(adjacency, contributions))", "reach = Fraction(half * moved_rows(adjacency))",
      "people have several rows, and sums are noised for one", SUMS)
plant("square-under-replace", "bayes/items.py",
      "reach = Fraction(half**2, 2) * moved_rows(adjacency, contributions)",
      "reach = Fraction(half**2, 2) * contributions",
      "a changed row moves a sum of squares by twice what the noise is for",
      "exhaustive/test_release.py::test_laplace_log_ratio_never_exceeds_epsilon")
plant("square-one-row-per-person", "bayes/items.py",
      "reach = Fraction(half**2, 2) * moved_rows(adjacency, contributions)",
      "reach = Fraction(half**2, 2) * moved_rows(adjacency)",
      "people have several rows, and sums of squares are noised for one", SUMS)
plant("squares-not-recentred", "bayes/release.py",
      "return squares - rows * (half * half // 2)", "return squares",
      "sums of squares move by twice what the noise is for", SUMS)
plant("tables-exact", "bayes/release.py",
      "            result[item.key] = sampler.laplace(values, charge.spread)\n", "            result[item.key] = values\n",
      "statistics are released as they are", TABLES)
plant("noise-halved", "bayes/release.py",
      "result[item.key] = sampler.laplace(values, charge.spread)", "result[item.key] = sampler.laplace(values, charge.spread / 2)",
      "statistics have half of their noise", TABLES)
plant("gaussian-variance-as-scale", "bayes/release.py",
      "result[item.key] = sampler.gaussian(values, charge.spread)", "result[item.key] = sampler.gaussian(values, charge.spread / 2)",
      "Gaussian noise has half of its variance", RHO)
plant("knorm-rate-doubled", "bayes/release.py",
      "noisy = list(sampler.tables(exact, 1 / charge.spread))",
      "noisy = list(sampler.tables(exact, 2 / charge.spread))",
      "tables that are drawn together have half of their noise", TABLES)
plant("knorm-exact", "bayes/release.py",
      "noisy = list(sampler.tables(exact, 1 / charge.spread))",
      "noisy = list(exact)",
      "tables that should be drawn together are released as they are", TABLES)
plant("knorm-spread-of-one-table", "bayes/bundling.py",
      "move = inside[0].sensitivity(plan.adjacency, plan.contributions).l1",
      "move = inside[0].sensitivity(plan.adjacency, 1).l1",
      "people have several rows, and bundles are noised for one", TABLES)
plant("knorm-add-remove", "bayes/bundling.py",
      "move = inside[0].sensitivity(plan.adjacency, plan.contributions).l1",
      "move = inside[0].sensitivity(type(plan.adjacency)('add-remove'), plan.contributions).l1",
      "a changed row moves every table of a bundle twice, and the noise is for once", TABLES)
plant("gaussian-rho-doubled", "bayes/plan.py",
      "rho = zcdp_rho(budget.epsilon, budget.delta)\n    accounting", "rho = 2 * zcdp_rho(budget.epsilon, budget.delta)\n    accounting",
      "Gaussian noise is drawn for twice the rho that epsilon and delta allow", RHO)
plant("counting-for-sums", "bayes/plan.py",
      "if contributions == 1 and all(item.kind in COUNTS for item in items):", "if contributions == 1:",
      "sums are accounted as if they were counts", "exhaustive/test_release.py", RHO)
plant("shares-not-of-one", "bayes/plan.py",
      "    whole = sum(weights)\n    return [weight / whole for weight in weights]",
      "    whole = sum(weights) / 2\n    return [weight / whole for weight in weights]",
      "statistics together spend twice the budget", TABLES)
plant("trims-by-exact-rows", "bayes/smooth.py",
      "rows, _ = rows_present(counts, feature, totals)", "rows = statistics.counts.astype(float)",
      "trims, laws and smoothness follow exact class counts", TRIMMED)
plant("trimmed-steps-dropped", "bayes/smooth.py",
      "return Fraction(1) if item.charge is None else smooth.step(item.charge.cost)",
      "return Fraction(1) if item.charge is None else item.charge.cost",
      "trimmed statistics are noised for one row that comes or goes, not for replaced or several", TRIMMED)
plant("trimmed-exact", "bayes/smooth.py",
      "result.append(release_smooth(sample, plan))",
      "result.append(round((sample.variance() if plan.statistic == 'variance' else sample.mean()) * plan.fineness))",
      "trimmed means and variances are released as they are", TRIMMED)
plant("bundles-charged-once-for-all", "bayes/bundling.py",
      "spent = sum((item.share for item in inside), Fraction(0)) * plan.budget.epsilon",
      "spent = plan.budget.epsilon",
      "every bundle spends the whole budget", f"{WATCHED}::test_several_bundles_share_the_budget")
plant("trimmed-add-remove", "bayes/plan.py",
      "smooth = replace(smooth, steps=moved_rows(adjacency, contributions))", "smooth = replace(smooth, steps=contributions)",
      "trimmed statistics for replaced rows have half of their noise", TRIMMED)
plant("batches-not-charged", "bayes/classifier.py",
      "            self._tab = charge(payer, plan, X, self, schema=schema)\n",
      "            self._tab = payer.afford(plan.budget, plan.node)\n",
      "batches of people cost nothing in the ledger",
      "privacy/test_paying.py::test_batches_share_one_entry_as_long_as_it_is_there")
RESIDUAL = f"{WATCHED}::test_tables_in_a_residual_basis_cost_rho"
plant("residual-total-is-free", "mechanisms/residual.py",
      "one = self.common + sum(", "one = sum(",
      "class totals get noise, and their part of the cost is not counted", RESIDUAL)
plant("residual-one-row-per-person", "mechanisms/residual.py",
      "return one * contributions**2", "return one * contributions",
      "people have several rows, and the square of what they move is counted once for each", RESIDUAL)
plant("residual-same-label-forgotten", "mechanisms/residual.py",
      "one = max(2 * one, 2 * same)", "one = 2 * one",
      "a row that keeps its label moves two cells of each table, and the noise is for a new label",
      "exhaustive/test_residual.py::test_neighbours_cost_rho_and_never_more")
plant("residual-label-forgotten", "mechanisms/residual.py",
      "one = max(2 * one, 2 * same)", "one = max(one, 2 * same)",
      "a new label moves two classes, and the noise is for one",
      "exhaustive/test_residual.py::test_neighbours_cost_rho_and_never_more")
plant("residual-variance-of-a-cell", "mechanisms/residual.py",
      "gaussian(_held(table, size), size * size * spread / weight)", "gaussian(_held(table, size), size * spread / weight)",
      "tables that are multiplied by their size get noise for less", RESIDUAL)
plant("residual-exact-total", "mechanisms/residual.py",
      "found.append((beside + rows) / size)", "found.append((beside + table.sum(axis=-1, keepdims=True)) / size)",
      "noisy tables are put together with the exact class total", RESIDUAL)
plant("residual-cells-that-move-by-one", "mechanisms/residual.py",
      "row += [(variance, size - 1, times), (variance, 1, times * (size - 1))]",
      "row += [(variance, size - 1, times)]",
      "exact losses leave out the cells that a row moves by one",
      "exhaustive/test_residual.py::test_exact_losses_are_those_of_the_laws")
plant("residual-loss-of-a-small-move", "privacy/calibrate.py",
      "sigma, sensitivity=by, value", "sigma, sensitivity=1, value",
      "exact losses take every integer to move by one",
      "exhaustive/test_residual.py::test_exact_losses_are_those_of_the_laws")
LARGE = "exhaustive/test_residual.py::test_replaced_rows_are_accounted_as_replaced_where_epsilon_is_large"
plant("counting-one-cell-under-replace", "bayes/plan.py",
      "moved = moved_rows(adjacency)\n            tight", "moved = 1\n            tight",
      "count tables for replaced rows are accounted as if one cell moved", LARGE)
plant("residual-losses-of-a-row-more", "bayes/plan.py",
      "residual_of(items).moves(adjacency)", "residual_of(items).moves(Adjacency.ADD_REMOVE)",
      "tables in a residual basis for replaced rows are accounted as if a row came or went", LARGE)
plant("residual-sums-wrap", "mechanisms/residual.py",
      "if wide else found, dtype=np.int64)", "if False else found.astype(np.uint64) if wide else found).astype(np.int64)",
      "integers beyond 64 bits start again at the other end, so that one row moves them by all there is",
      "exhaustive/test_residual.py::test_integers_beyond_64_bits_stay_at_their_end")

STREAM = "bayes/test_stream.py"
RUNNING = "exhaustive/test_running.py"
FIRST = f"{STREAM}::test_a_row_of_the_first_step_costs_the_whole_budget"
plant("stream-levels-share-nothing", "bayes/streamed.py",
      "make(Budget(budget.epsilon / tree.reach), mechanism=mechanism)", "make(Budget(budget.epsilon), mechanism=mechanism)",
      "a row is in a block of every level, and each level has the whole budget", FIRST)
plant("stream-root-for-one-release", "bayes/streamed.py",
      "spread=charge.spread * reach)", "spread=charge.spread)",
      "a row is in all later sums of a root, and noise is for one release", FIRST)
plant("stream-exact-losses-of-one-release", "bayes/streamed.py",
      "plan = _allowed(make(Budget(rho=rho), mechanism=mechanism))", "plan = _allowed(make(budget, mechanism=mechanism))",
      "the noise of a root is sized for losses of integers that move by one",
      f"{STREAM}::test_rho_is_that_of_the_tight_conversion")
plant("stream-never-over", "bayes/stream.py",
      "if self.step >= self.plan.stream.steps:", "if self.step > self.plan.stream.steps:",
      "a stream takes one step more than was paid for", f"{STREAM}::test_one_charge_a_certificate_and_an_end")
plant("stream-copies-go-on", "bayes/steps.py",
      'if began is None and hasattr(self, "release_"):', "if False:",
      "a copy of a stream begins again at no charge that anybody sees", f"{STREAM}::test_a_copy_predicts_and_cannot_go_on")
plant("stream-travels-in-copies", "bayes/stream.py",
      "class Stream(OneLife):", "class Stream:",
      "a pickled estimator takes exact counts along, and both go on with one stream",
      f"{STREAM}::test_a_copy_predicts_and_cannot_go_on")
plant("stream-lost-begins-anew", "bayes/steps.py",
      'if hasattr(self, "release_"):\n                raise BudgetError(LOST.format(self.state))', "if False:\n                pass",
      "a stream whose file is lost begins again", f"{STREAM}::test_lost_and_damaged_files")
plant("stream-kept-after-release", "bayes/steps.py",
      "            stream.add(source.statistics(plan.detail, empty=True), sampler, trusts)\n            self._kept(stream)\n        self._stepped(stream)\n",
      "            stream.add(source.statistics(plan.detail, empty=True), sampler, trusts)\n            self._stepped(stream)\n            self._kept(stream)\n",
      "a model is out before its noise is on disk, and a restart draws that noise again",
      f"{STREAM}::test_what_was_drawn_is_on_disk_before_it_is_released",
      f"{STREAM}::test_a_step_that_fails_to_be_kept_releases_nothing")
plant("stream-not-locked", "bayes/stream.py",
      "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass",
      "two processes draw noise for one step", f"{STREAM}::test_two_processes_do_not_take_one_step")
plant("stream-readable-by-all", "bayes/stream.py",
      "+ content, private=True)", "+ content)",
      "exact counts lie in a file that others can read", f"{STREAM}::test_a_stream_goes_on_in_another_process")
plant("stream-other-settings", "bayes/stream.py",
      'if head["plan"] != fingerprint(plan):', "if False:",
      "a stream goes on under another budget than was charged", f"{STREAM}::test_other_settings_do_not_go_on_with_a_file")
plant("stream-charged-for-free", "bayes/steps.py",
      "self._charged = charge(payer, plan, X, self, schema=schema)", "pass",
      "nobody pays for a stream", f"{STREAM}::test_one_charge_a_certificate_and_an_end")
plant("stream-pays-to-none-later", "privacy/payer.py",
      "if not isinstance(payer, Unpaid | Refusing) and payer != self._payer:", "if False:",
      "a later step names an account that is charged nothing", f"{STREAM}::test_a_later_step_names_no_other_payer")
plant("stream-file-forgets-trust", "bayes/stream.py",
      'tuple(head.get("trusts", ()))', "()",
      "a certificate no longer says that counts of an earlier step are taken on trust",
      f"{STREAM}::test_what_is_taken_on_trust_stays_said")
plant("stream-trusts-the-last-step", "bayes/stream.py",
      "dict.fromkeys((*self.trusts, *trusts))", "dict.fromkeys(trusts)",
      "a step of rows wipes out that an earlier one was of counts", f"{STREAM}::test_what_is_taken_on_trust_stays_said")
plant("stream-names-one-sampler", "bayes/stream.py",
      "*samplers_of(self.plan, sampler)", "sampler.name",
      "a certificate keeps silent about who drew the noise of a K-norm bundle",
      f"{STREAM}::test_every_sampler_is_named")
plant("stream-checked-by-batch", "bayes/release.py",
      "checked=not isinstance(node, Parallel) and plan.stream is None", "checked=not isinstance(node, Parallel)",
      "a certificate says that ids were checked over all steps, which nobody does",
      f"{STREAM}::test_the_certificate_assumes_what_steps_cannot_check")
