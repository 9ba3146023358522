"""Faults of federations: updates, noise shares, secure aggregation, the journal."""

from tests.mutants.fault import Room

plant = Room("federated")
WATCHED = "federated/test_watched.py"
UPDATE = f"{WATCHED}::test_an_update_costs_epsilon_and_holds_nothing_exact"
SHARES = f"{WATCHED}::test_shares_are_sized_for_the_honest_who_are_left"
ATTACKS = "federated/secure/test_attacks.py"
JOURNAL = "nodes/test_journal.py"
ESTIMATOR = "nodes/test_estimator.py::test_the_dearest_node_is_charged_in_every_measure"

plant("update-states-exact-rows", "nodes/site.py",
      "        noised_rows(released),\n", "        int(statistics.counts.sum()),\n",
      "an update tells the exact number of rows", UPDATE)
plant("update-exact", "nodes/site.py",
      "        released.values,\n        certificate,\n",
      "        release(statistics, node_plan(plan.schema, settings, Budget(float('inf')), 'auto'), sampler).values,\n        certificate,\n",
      "an update holds exact integers", UPDATE)
plant("update-not-charged", "nodes/site.py",
      "charge(paying(ledger, account), plan, source, schema=schema)",
      "paying(ledger, account).afford(plan.budget, plan.node)",
      "an update costs nothing in the ledger", UPDATE)
plant("node-plan-add-remove", "nodes/settings.py",
      "if steps is None:\n        return make_plan(schema, budget, mechanism=mechanism, **settings.options)",
      "if steps is None:\n        return make_plan(schema, budget, mechanism=mechanism, **{**settings.options, 'adjacency': Adjacency.ADD_REMOVE})",
      "updates for replaced rows have half of their noise", UPDATE)
plant("node-plan-one-row-per-person", "nodes/settings.py",
      "if steps is None:\n        return make_plan(schema, budget, mechanism=mechanism, **settings.options)",
      "if steps is None:\n        return make_plan(schema, budget, mechanism=mechanism, **{**settings.options, 'contributions': 1})",
      "updates are noised for one row per person", UPDATE)
plant("federation-not-charged", "nodes/estimator.py",
      "parts = tuple(dict.fromkeys(plan.node for plan in self.plans))",
      "parts = ()",
      "a federation costs no rho in an account", ESTIMATOR)
plant("federation-charged-as-its-cheapest-node", "nodes/estimator.py",
      "dearest = max(", "dearest = min(",
      "a federation is charged what its cheapest node spends", ESTIMATOR)
plant("dearest-node-forgotten", "nodes/certificate.py",
      "return max(amount for amount, _ in amounts)", "return min(amount for amount, _ in amounts)",
      "the certificate states the cost of the cheapest node",
      "federated/test_aggregate.py::test_the_certificate_of_the_whole_counts_the_dearest_node")
plant("overlap-as-apart", "nodes/certificate.py",
      "return sum((amount * count for amount, count in amounts), Fraction(0))", "return max(amount for amount, _ in amounts)",
      "people at several nodes are certified as if they were at one",
      "federated/test_aggregate.py::test_people_at_several_nodes_pay_the_sum")
plant("dependent-partition-certified", "nodes/estimator.py",
      "if not self.secure and self._dependent and plan.budget.private:", "if False:",
      "a deal that depends on other rows is certified",
      "federated/test_classifier.py::test_a_partition_that_depends_on_other_rows_is_covered_by_nothing")
plant("shares-for-all-nodes", "federated/shares.py",
      "        return Fraction(1, self.least_honest)\n", "        return Fraction(1, self.nodes)\n",
      "shares of those who leave or collude are counted on", SHARES)
plant("shares-forget-dropouts", "federated/shares.py",
      "least = nodes - colluding - dropouts", "least = nodes - colluding",
      "the noise is short of the shares of those who drop out", SHARES)
plant("shares-forget-colluders", "federated/shares.py",
      "if survivors < self.least_honest + self.colluding:", "if survivors < self.least_honest:",
      "a sum is used whose honest nodes are too few", SHARES)
plant("shares-exact", "federated/shares.py",
      "values = getattr(sampler, self.law)(values, item.charge.spread, part)", "pass",
      "nodes mask integers that carry no noise", SHARES)
plant("shares-noise-halved", "federated/shares.py",
      "values = getattr(sampler, self.law)(values, item.charge.spread, part)",
      "values = getattr(sampler, self.law)(values, item.charge.spread / 2, part)",
      "the sum has half of its noise", SHARES)
plant("secure-fit-of-one-share", "federated/classifier.py",
      "total = shared.noised(statistics, Fraction(nodes, honest), sampler)", "total = shared.noised(statistics, Fraction(1, honest), sampler)",
      "a secure fit carries the noise of one node alone", f"{WATCHED}::test_a_secure_fit_has_the_noise_of_all_nodes")
plant("skellam-as-gaussian", "federated/shares.py",
      "spread=charge.spread * factor, cost=charge.cost / factor", "spread=charge.spread, cost=charge.cost",
      "Skellam noise is sized as if it were Gaussian", f"{WATCHED}::test_skellam_shares_are_wide_enough")
plant("skellam-orders-too-kind", "privacy/skellam.py",
      "total += order * l2 / (2 * mu) + min(((2 * order - 1) * l2 + 6 * l1) / (4 * mu * mu), 3 * l1 / (2 * mu))",
      "total += l2 / (2 * mu)",
      "the divergence of Skellam noise is understated", f"{WATCHED}::test_skellam_shares_are_wide_enough")
plant("threshold-of-half", "federated/threshold.py",
      "return (nodes + colluding) // 2 + 1", "return max(1, (nodes + colluding) // 2)",
      "two different sums over the same inputs can be opened",
      "federated/secure/test_protocol.py::test_the_threshold_leaves_no_room_for_two_survivor_sets")
plant("both-secrets-given", "federated/secure/node.py",
      "        if set(active) & set(dropped):\n", "        if False:\n",
      "a coordinator gets both secrets of a node and opens its input", f"{ATTACKS}::test_both_secrets_of_a_node_are_never_given")
plant("survivors-unsigned", "federated/secure/node.py",
      "        if len(signatures) < self.round.threshold:\n", "        if False:\n",
      "a sum is opened that other nodes were not shown", f"{ATTACKS}")
plant("survivors-signatures-unchecked", "federated/secure/node.py",
      'if name not in active or not self.round.verified(name, "survivors", statement, signature):', "if name not in active:",
      "forged signatures open a sum", f"{ATTACKS}")
plant("too-few-in-the-sum", "federated/secure/node.py",
      '        enough(self.round, active, "are in the sum")\n', "",
      "a sum is opened whose noise is too small", f"{ATTACKS}::test_nodes_end_the_round_before_opening_when_too_few_are_left")
plant("no-self-mask", "federated/secure/node.py",
      "total = vector.view(np.uint64) + self_mask(seed, self.round.digest, self.round.length)",
      "total = vector.view(np.uint64) + self_mask(bytes(32), self.round.digest, self.round.length)",
      "a late input is open once its pairwise masks are known", "federated/secure/test_protocol.py", "federated/secure/test_masks.py")
plant("answers-twice", "federated/secure/node.py",
      "            if request == message:\n                return reply\n            raise RefusedError(",
      "            if request == message:\n                return reply\n            if kind == 'unmask':\n"
      "                return _STEPS[kind](self, message)\n            raise RefusedError(",
      "a node answers two requests to open", f"{ATTACKS}")
plant("keys-unsigned", "federated/secure/statements.py",
      'if not round_.verified(name, "keys", payload, signature):', "if False:",
      "a coordinator puts its own keys in a node's place", ATTACKS)
plant("shares-below-the-threshold", "federated/secure/shamir.py",
      "coefficients = [random_element(entropy) for _ in range(threshold - 1)]",
      "coefficients = [random_element(entropy) for _ in range(max(threshold - 2, 0))]",
      "one node fewer than the threshold opens a secret", "federated/secure/test_masks.py")
plant("journal-charges-after", "nodes/journal.py",
      "        if row is None:\n            self._charge(round_id, asked, cost, pay)\n        made = make()\n",
      "        made = make()\n        if row is None:\n            self._charge(round_id, asked, cost, pay)\n",
      "noise is drawn before it is paid for", f"{JOURNAL}::test_charge_is_on_disk_when_the_noise_is_drawn")
plant("journal-draws-again", "nodes/journal.py",
      "        if row is not None and row[1] is not None:\n            return row[1]\n", "",
      "a round that is asked for twice has fresh noise for one charge",
      f"{JOURNAL}::test_round_asked_for_twice_gets_the_same_bytes_and_one_charge")
plant("journal-overdrawn", "nodes/journal.py",
      "if not fits(self.total, [*(entry.cost for entry in self.entries()), cost]):", "if not fits(self.total, [cost]):",
      "a node spends more than its total", f"{JOURNAL}::test_overspending_is_refused_before_the_noise_is_drawn")
plant("journal-of-two-processes", "nodes/journal.py",
      '        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")\n', "",
      "two processes of a node spend the same total", f"{JOURNAL}::test_two_processes_are_locked_out")
plant("journal-pays-epsilon-with-rho", "nodes/settings.py",
      "return budget.epsilon**2 / 2", "return Fraction(0)",
      "pure rounds are free in a total of rho", f"{JOURNAL}")
plant("account-not-asked", "nodes/journal.py",
      "                _pay(pay)  # first", "                pass  # first",
      "a node's rounds are not charged to the account of its rows",
      f"{JOURNAL}::test_the_account_of_the_rows_pays_first_and_once_for_each_round")
plant("account-forgotten", "nodes/site.py",
      "        if self.account is not None:\n            charge = partial(", "        if False:\n            charge = partial(",
      "nodes with an account do not charge it", "gossip/test_node.py", "federated/flower/test_answers.py")
plant("account-named-later", "nodes/journal.py",
      "            if not self.marked(entry.round_id, self.account):\n", "            if False:\n",
      "an account that is named later never pays for what has left before",
      f"{JOURNAL}::test_an_account_that_is_named_later_pays_for_what_has_left_already")
plant("one-node-that-absorbs-is-enough", "nodes/certificate.py",
      "ABSORB if all(member.total", "ABSORB if any(member.total",
      "a certificate covers every table although a node refuses some",
      "federated/test_aggregate.py::test_the_certificate_covers_the_tables_that_all_nodes_declared")
plant("sums-of-parts-wrap", "sources/held.py",
      "over = (upper >= 1 << 31)", "over = (upper >= 1 << 40)",
      "sums of squares of dealt rows wrap round beyond 64 bits",
      "sources/test_held.py")
plant("keys-change-unasked", "federated/flower/enrolment.py",
      "if roster is None and set(held) != {name} and held != found:", "if False:",
      "a coordinator exchanges the keys that a node adds up with, and could play all other nodes to it",
      "nodes/test_enrolment.py::test_what_a_federations_node_keeps_changes_with_its_owners_word_alone")
plant("federated-step-taken-in-parts", "federated/steps.py",
      "taken = [replace(one, exact=[*one.exact], noisy=[*one.noisy]) for one in streams]", "taken = streams",
      "a step that is cut off and repeated counts its rows twice",
      "federated/test_classifier.py::test_a_step_that_is_cut_off_and_repeated_counts_its_rows_once")
plant("federated-stream-other-settings", "federated/steps.py",
      "elif begun[2] != told:", "elif self.epsilons is None and begun[2] != told:",
      "nodes with budgets of their own go on under another adjacency than was charged",
      "federated/test_classifier.py::test_a_stream_keeps_the_settings_of_its_first_step")
