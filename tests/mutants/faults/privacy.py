"""Faults of budgets, conversions, plans, certificates, and of who pays."""

from tests.mutants.fault import Room

plant = Room("privacy")
CALIBRATE = "privacy/test_calibrate.py"

plant("roots-rounded-down", "privacy/calibrate.py",
      "    while Fraction(result) ** 2 < value:\n        result = math.nextafter(result, math.inf)\n", "",
      "the scale of Gaussian noise lies below the exact one", f"{CALIBRATE}::test_scales_are_never_below_the_exact_fraction")
plant("rates-rounded-up", "privacy/calibrate.py",
      "return Fraction(math.floor(Fraction(value) * 2**64), 2**64)", "return Fraction(math.ceil(Fraction(value) * 2**64), 2**64)",
      "rates and rho lie above what was paid for", f"{CALIBRATE}::test_what_is_rounded_down_is_never_above")
plant("conversion-too-kind", "privacy/calibrate.py",
      "return (order - 1) * (order * rho - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)",
      "return (order - 1) * (order * rho / 2 - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)",
      "delta of a concentrated mechanism is understated", CALIBRATE)
plant("rho-from-above", "privacy/calibrate.py",
      "    return fraction_down(low * (1 - _SAFETY))\n\n\n@functools.cache\ndef normal_rho",
      "    return fraction_down(low * 1.01)\n\n\n@functools.cache\ndef normal_rho",
      "a rho is spent whose conversion exceeds delta", CALIBRATE)
plant("counting-sigma-too-large", "privacy/calibrate.py",
      "kind = math.sqrt(float(variance) / rho) * (1 - _SAFETY), by", "kind = math.sqrt(2 * float(variance) / rho), by",
      "privacy losses are counted for more noise than is drawn", "exhaustive/test_residual.py::test_exact_losses_are_those_of_the_laws")
plant("counting-cells-forgotten", "privacy/calibrate.py",
      "grouped[kind] = grouped.get(kind, 0) + times", "grouped[kind] = grouped.get(kind, 0) + 1",
      "privacy losses of the second cell that a changed row moves are left out",
      "exhaustive/test_residual.py::test_exact_losses_are_those_of_the_laws")
plant("skellam-delta-too-kind", "privacy/skellam.py",
      "logarithm = (order - 1) * (divergence - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)",
      "logarithm = (order - 1) * (divergence / 2 - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)",
      "delta of Skellam noise is understated", "privacy/test_skellam.py")
plant("no-privacy-called-private", "privacy/budget.py",
      "return self.epsilon is not None or self.rho is not None", "return True",
      "a release without noise is certified as private", "privacy/test_budget.py", "estimators/test_counts.py")

# ---- plans

PAIR = "bounds/test_watched.py::test_a_neighbour_costs_epsilon_and_changes_nothing_else"

plant("replace-as-add-remove", "privacy/plan.py",
      "return contributions * (1 if adjacency is Adjacency.ADD_REMOVE else 2)", "return contributions",
      "a replaced row leaves one place and enters another, and all noise is for one", PAIR)
plant("one-row-per-person", "privacy/plan.py",
      "return contributions * (1 if adjacency is Adjacency.ADD_REMOVE else 2)",
      "return 1 if adjacency is Adjacency.ADD_REMOVE else 2",
      "people have several rows, and all noise is for one", PAIR)
plant("moves-of-one-row", "privacy/plan.py",
      "return moved_rows(self.adjacency, self.contributions)", "return moved_rows(self.adjacency)",
      "people have several rows, and plans count one", PAIR)

# ---- certificates

CERTIFICATES = "privacy/test_certificates.py"
ADDED = f"{CERTIFICATES}::test_every_amount_of_two_releases_adds_up_and_on_other_rows_the_dearer_counts"
ELSEWHERE = f"{CERTIFICATES}::test_what_was_bought_elsewhere_is_said_until_it_is_added_up"
CLAUSES = f"{CERTIFICATES}::test_the_clauses_themselves"
BOTH = f"{CERTIFICATES}::test_what_either_does_not_cover_both_together_do_not"
CLAIM = f"{CERTIFICATES}::test_a_claim_below_what_the_ledger_spends_is_refused"

plant("then-takes-the-dearer", "privacy/certificate.py",
      "return None if one is None or two is None else str(Fraction(one) + Fraction(two))",
      "return None if one is None or two is None else str(max(Fraction(one), Fraction(two)))",
      "two releases on the same rows are certified at the cost of one", ADDED)
plant("then-forgets-delta", "privacy/certificate.py",
      '"delta": str(Fraction(self.delta) + Fraction(other.delta)),', '"delta": other.delta,',
      "the delta of an earlier release is left out", ADDED)
plant("then-forgets-rho", "privacy/certificate.py",
      '"rho": _rhos(self, other, lambda one, two: one + two),', '"rho": _rhos(self, other, lambda one, two: two),',
      "the rho of an earlier release is left out", ADDED)
plant("pure-has-no-rho", "privacy/certificate.py",
      "else Fraction(each.epsilon) ** 2 / 2 if each.epsilon is not None", "else Fraction(0) if each.epsilon is not None",
      "pure epsilon is added to a rho as nothing", "estimators/test_counts.py::test_a_stated_rho_grows_with_the_counts")
plant("private-if-either-is", "privacy/certificate.py",
      'private, tables = self.private and other.private, {', 'private, tables = self.private or other.private, {',
      "a release without noise is private once another one is", ADDED)
plant("beside-takes-the-cheaper", "privacy/certificate.py",
      "dearer = max(Fraction(self.epsilon or 0), Fraction(other.epsilon or 0))",
      "dearer = min(Fraction(self.epsilon or 0), Fraction(other.epsilon or 0))",
      "releases on different rows are certified at the cost of the cheaper", ADDED)
plant("beside-delta-of-the-second", "privacy/certificate.py",
      '"delta": str(max(Fraction(self.delta), Fraction(other.delta))),', '"delta": other.delta,',
      "the larger delta of releases on different rows is left out", ADDED)
plant("beside-without-its-assumption", "privacy/certificate.py",
      "return whole.assuming(assumption)", "return whole",
      "a certificate does not say that nobody may be on both sides", BOTH)
plant("elsewhere-dropped", "privacy/certificate.py",
      '"elsewhere": [one.model_dump(mode="json") for key, one in both.items() if key not in included],', '"elsewhere": [],',
      "a composition forgets what a schema cost that it does not pay for", ELSEWHERE)
plant("elsewhere-unsaid", "privacy/certificate.py",
      '"assumptions": [text for text in stated if text not in paid],',
      '"assumptions": [text for text in stated if "elsewhere" not in text],',
      "a composition does not say what was paid for elsewhere", ELSEWHERE)
plant("units-not-compared", "privacy/certificate.py",
      "if self.unit != other.unit:", "if False:",
      "costs for weaker neighbours are added to those for stronger ones",
      f"{CERTIFICATES}::test_compositions_refuse_costs_for_different_people")
plant("simulation-forgotten", "privacy/certificate.py",
      '"simulation": self.simulation or other.simulation,', '"simulation": other.simulation,',
      "a composition with noise that can be repeated is certified for release", BOTH)
plant("tables-of-the-first", "privacy/certificate.py",
      'TOTAL if tables == {TOTAL} else REFUSED if REFUSED in tables else ""', 'self.tables',
      "refusals of the later release are said to be covered",
      f"{CERTIFICATES}::test_a_composition_covers_the_tables_that_both_cover")
plant("claims-below-the-ledger", "privacy/certificate.py",
      "if pure > (0 if self.epsilon is None else Fraction(self.epsilon)):", "if False:",
      "a certificate may claim less epsilon than its ledger spends", CLAIM)
plant("claims-below-the-rho", "privacy/certificate.py",
      "        if concentrated and (self.rho is None or concentrated > Fraction(self.rho)):\n",
      "        if concentrated and self.rho is not None:\n            return self\n"
      "        if concentrated and (self.rho is None or concentrated > Fraction(self.rho)):\n",
      "a certificate may claim less rho than its ledger spends", CLAIM)
plant("provenance-not-stated", "privacy/certifier.py",
      "bought = [*public.provenance, *(made.provenance(what) for what, made in elsewhere)] if private else []",
      "bought = [*(made.provenance(what) for what, made in elsewhere)] if private else []",
      "a fit does not say what the bounds of its schema cost",
      f"{CERTIFICATES}::test_a_schema_says_what_its_bounds_cost_and_every_later_certificate_says_so_too")
plant("contributions-not-assumed", "privacy/certifier.py",
      "if where is not None and not (checked and read and public.id is not None):", "if False:",
      "a certificate does not say that it counts on few rows per person", CLAUSES)
plant("contributions-checked-without-id", "privacy/certifier.py",
      "if where is not None and not (checked and read and public.id is not None):", "if where is not None and not checked:",
      "a certificate does not say that rows per person were not checked", CLAUSES)
plant("simulation-not-said", "privacy/certifier.py",
      "simulation=private and simulation,", "simulation=False,",
      "noise that can be repeated is certified as if it could not", BOTH)
plant("study-covered", "privacy/certifier.py",
      "usable = private and not simulation", "usable = private",
      "a release with noise that can be repeated is said to be covered", CLAUSES)
plant("inferred-not-said", "privacy/certifier.py",
      "    if public.inferred:\n", "    if False:\n",
      "a certificate does not say that its schema was read off the data", CLAUSES)
plant("parallel-assumption-not-said", "privacy/certifier.py",
      "stated = [*_assumed(spent)]", "stated = []",
      "a certificate does not say why costs are not added up", CLAUSES)

# ---- who pays

ACCOUNT, PAYING, COMPOSITION = "privacy/test_account.py", "privacy/test_paying.py", "privacy/test_composition.py"
TENTHS = "privacy/test_ledger.py::test_tenths_add_up_to_one_and_not_a_tenth_more"
CHANGED = f"{ACCOUNT}::test_removed_reordered_and_doubled_entries_show"

plant("overspent-by-the-last", "privacy/composition.py",
      "if not self.admits(new):", "if not self.admits(now):",
      "the last charge may cost whatever it likes", TENTHS)
plant("filter-takes-the-lesser", "privacy/composition.py",
      'return self.budget.delta / 2 if self.rule == "either" else self.budget.delta', "return self.budget.delta",
      "the lesser of two accountings, chosen afterwards, has the whole delta each",
      f"{COMPOSITION}::test_neither_filter_borrows_the_delta_of_the_other")
plant("rho-outside-more-delta-than-there-is", "privacy/composition.py",
      'if totals.rho is not None or self.rule != "either" or totals.delta > self.tail:',
      'if totals.rho is not None or self.rule != "either":',
      "releases with a delta of their own spend any delta, as long as their rho fits",
      f"{COMPOSITION}::test_a_delta_that_is_spent_leaves_what_is_left_of_the_rho_and_no_more")
plant("rho-of-zcdp-rule-outside-a-delta", "privacy/composition.py",
      'if totals.rho is not None or self.rule != "either" or totals.delta > self.tail:',
      "if totals.rho is not None or totals.delta > self.tail:",
      "composition by rho, whose delta is spent on the conversion, admits releases with a delta of their own",
      f"{COMPOSITION}::test_an_automatic_fit_with_a_delta_leaves_its_account_a_rho")
plant("no-rho-for-a-release-with-delta", "privacy/composition.py",
      "self.rho if self.rho is not None or self.epsilon is None else self.epsilon**2 / 2", "self.rho or ZERO",
      "releases with a delta of their own add nothing to the rho that is spent",
      f"{COMPOSITION}::test_a_delta_that_is_spent_leaves_what_is_left_of_the_rho_and_no_more")
plant("granted-less-than-it-costs", "privacy/composition.py",
      "    if dear:\n", "    if False:\n",
      "a release is charged at less than it costs", f"{COMPOSITION}::test_a_charge_cannot_say_less_than_it_costs")
plant("exact-fits-charged-as-nothing", "privacy/composition.py",
      "        if not grant.private:\n            raise", "        if not grant.private:\n            return now\n            raise",
      "a fit without noise is entered on a finite budget as nothing", f"{ACCOUNT}::test_no_privacy_and_no_limit_are_refused")
plant("pure-as-bounded-range", "privacy/nodes.py",
      'return node.cost if node.measure == "rho" else node.cost**2 / 2',
      'return node.cost if node.measure == "rho" else node.cost**2 / 8',
      "pure epsilon enters zCDP at a quarter of its cost",
      "privacy/test_ledger.py::test_zcdp_ledger_reads_pure_charges_as_half_their_square")
plant("ledger-forgets", "privacy/ledger.py",
      "self._totals, self._unit = totals, held", "self._unit = held",
      "charges do not add up", TENTHS)
plant("ledger-not-locked", "privacy/ledger.py",
      "with self._lock:  # what was checked is what is entered", "with threading.Lock():",
      "threads pass the same check and overspend together", "privacy/test_races.py::test_threads_do_not_overspend_a_ledger")
plant("ledger-in-a-fork", "privacy/ledger.py",
      "if os.getpid() != self._process:", "if False:",
      "a forked process spends the same budget once more", "privacy/test_races.py::test_a_ledger_stays_in_its_process")
plant("ledger-copied", "privacy/ledger.py",
      "    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse\n", "",
      "charges to a copy of a ledger are lost", "privacy/test_ledger.py::test_it_cannot_be_copied")
plant("checked-outside-the-transaction", "privacy/account.py",
      "        with self._chain(write=True) as chain:\n            state = self._read(chain)\n"
      "            self._check_people(state, schema)\n            check_unit(state.unit, unit, self.noun)\n"
      "            entered = self._resumed(state, node, grant, unit, schema)\n            if entered is not None:\n"
      '                chain.append(self._note("resumed", [entered], state))\n            else:\n'
      "                state.composition.check(state.totals, node, grant, self.noun)\n",
      "        before = self.state()\n        with self._chain(write=True) as chain:\n            state = self._read(chain)\n"
      "            self._check_people(state, schema)\n            check_unit(state.unit, unit, self.noun)\n"
      "            entered = self._resumed(state, node, grant, unit, schema)\n            if entered is not None:\n"
      '                chain.append(self._note("resumed", [entered], state))\n            else:\n'
      "                state.composition.check(before.totals, node, grant, self.noun)\n",
      "processes pass the same check and overspend together",
      "privacy/test_races.py::test_threads_forks_and_processes_do_not_overspend_an_account")
plant("charge-resumed-twice", "privacy/account.py",
      "            unused.difference_update(charges)\n", "            pass\n",
      "one charge pays for as many releases as are asked for", f"{ACCOUNT}::test_a_charge_that_was_given_up_is_resumed_once")
plant("charge-resumed-for-anything", "privacy/account.py",
      "            if same and entry.hash == wanted", "            if entry.hash == wanted",
      "a charge that was given up pays for a dearer release", f"{ACCOUNT}::test_only_the_same_plan_resumes_a_charge")
plant("given-up-charge-pays-for-batches", "privacy/account.py",
      "any(state.receipt(entry.hash) == tab.receipt for", "any(entry.hash == tab.receipt[0] for",
      "a batch is paid for by a charge that somebody else has resumed",
      f"{ACCOUNT}::test_a_charge_that_was_given_up_pays_for_no_later_batch")
plant("several-steps-given-up", "privacy/payer.py",
      "error.charge = made[0] if len(made) == 1 else None", "error.charge = made[-1] if made else None",
      "a step that may follow from noise of an earlier one is released twice for one charge",
      f"{ACCOUNT}::test_steps_of_which_one_may_follow_from_another_are_not_given_up")
plant("steps-within-a-step-forgotten", "privacy/payer.py",
      "for made in _ATTEMPTS.get():", "for made in _ATTEMPTS.get()[-1:]:",
      "a charge is given up although a step within it was charged, too",
      f"{ACCOUNT}::test_steps_of_which_one_may_follow_from_another_are_not_given_up")
plant("step-dearer-than-paid", "privacy/payer.py",
      "held is not None and (cost is None or cost > held)", "False",
      "a fit after bought bounds costs more than was charged", f"{ACCOUNT}::test_a_step_costs_no_more_than_was_paid_for_it")
plant("fit-in-steps-charged-in-part", "estimators/purchase.py",
      "charge(payer, whole, X, self.owner, schema=self.plan.schema)", "charge(payer, self.plan, X, self.owner, schema=self.plan.schema)",
      "a fit that buys bounds first is charged for them alone",
      f"{ACCOUNT}::test_a_fit_in_steps_is_charged_once_however_late_its_connection_is_lost")
plant("used-charge-resumed", "privacy/account.py",
      "for one in state.unused if len(charge)", "for one in state.hashes if len(charge)",
      "a charge for which something was released pays for another release",
      f"{ACCOUNT}::test_a_charge_that_was_used_is_not_resumed")
plant("account-people-not-checked", "privacy/account.py",
      "            self._check_people(state, schema)\n", "",
      "an account that counts people pays for rows of which nobody knows whose they are",
      f"{ACCOUNT}::test_people_are_told_apart_by_the_id_that_the_account_names")
plant("account-pays-for-inference", "privacy/account.py",
      '        raise BudgetError(\n            "a fit that is charged to an account needs a declared schema',
      '        return\n        raise BudgetError(\n            "a fit that is charged to an account needs a declared schema',
      "a schema is read off rows for which no budget pays",
      f"{PAYING}::test_no_account_pays_for_a_schema_that_is_read_off_the_rows")
plant("account-amounts-not-verified", "privacy/account.py",
      "            if found != entry.totals:\n", "            if False:\n",
      "an entry may state another rho than its charges have", f"{ACCOUNT}::test_amounts_that_contradict_the_recorded_charge_show")
plant("account-head-not-verified", "privacy/account.py",
      "if head is not None and head not in {", "if False and head not in {",
      "entries that were rewritten since a head was noted do not show",
      f"{ACCOUNT}::test_an_anchor_shows_what_a_chain_alone_cannot")
plant("account-starts-anew", "privacy/account.py",
      "        for entry in self.entries:\n            if entry.hash not in left_out:\n",
      "        for entry in self.entries[-1:]:\n            if entry.hash not in left_out:\n",
      "only the last charge of an account counts", f"{ACCOUNT}::test_it_remembers_exactly_and_refuses_what_is_not_left")
plant("chain-not-verified", "privacy/chain.py",
      'if (number, record.get("number"), record.get("previous"), told) != (place, place, last, found):', "if False:",
      "entries of an account can be changed unseen", f"{ACCOUNT}::test_every_single_byte_of_every_entry_shows")
plant("chain-links-not-verified", "privacy/chain.py",
      'record.get("previous"), told) != (place, place, last, found):',
      'last, told) != (place, place, last, found):',
      "an entry of an account can be rewritten unseen, together with its hash",
      f"{ACCOUNT}::test_an_entry_that_is_rewritten_with_its_hash_does_not_fit_the_next")
plant("chain-end-not-verified", "privacy/chain.py",
      '.fetchall() != [(len(links), last)]:', ".fetchall() == []:",
      "the last entries of an account can be taken away unseen", CHANGED)
plant("chain-not-written", "privacy/chain.py",
      'db.execute("COMMIT")\n            finally:\n                db.close()  # an open',
      'db.execute("ROLLBACK")\n            finally:\n                db.close()  # an open',
      "charges of an account are forgotten", f"{ACCOUNT}::test_equal_charges_are_entered_each")
plant("account-readable", "privacy/chain.py",
      "            os.close(handle)\n            _fill(temporary, header)\n",
      "            os.fchmod(handle, 0o644)\n            os.close(handle)\n            _fill(temporary, header)\n",
      "everybody on the machine can read who released what", f"{ACCOUNT}::test_it_is_private_from_the_first_moment")
plant("units-of-charges-not-compared", "privacy/payer.py",
      "if unit is not None and held is not None and unit != held:", "if False:",
      "costs for weaker neighbours are charged like those for stronger ones",
      f"{ACCOUNT}::test_whom_costs_are_counted_for_is_fixed")
plant("block-does-not-pay", "privacy/payer.py",
      "found = given or _settled(active(), owner)", "found = given",
      "fits inside the block of an account are free", f"{PAYING}::test_blocks_nest_and_reach_every_thread")
plant("anybody-pays", "privacy/payer.py",
      "return inner[-1] if all(one == inner[-1] for one in inner) else AMBIGUOUS", "return inner[-1]",
      "a fit is charged to the account of other people",
      f"{PAYING}::test_a_thread_without_a_block_works_for_the_only_one_and_is_refused_for_several")
plant("payer-left-behind", "privacy/payer.py",
      "return state if found is None else {**state, CARRIED: found.carried()}", "return state",
      "fits in other processes are free", f"{PAYING}::test_pickles_and_clones_of_a_block_bring_the_account_along")
plant("tab-covers-anything", "privacy/payer.py",
      "return mine and self._payer == payer and self._node == node and payer.holds(self)", "return mine",
      "batches go on after their charge has gone", f"{PAYING}::test_batches_share_one_entry_as_long_as_it_is_there")
plant("equal-purchases-are-one", "privacy/certifier.py",
      'release=secrets.token_hex(16) if named and usable else "",', 'release="",',
      "of two purchases at one price a composition counts one",
      "privacy/test_certificates.py::test_two_purchases_at_the_same_price_are_two")

plant("an-unspent-delta-is-not-told", "privacy/certifier.py",
      "return how + spare if budget.unspent and not budget.delta else how", "return how",
      "a certificate does not say that the delta stays whole", "privacy/test_delta.py")
plant("pure-keeps-the-delta", "privacy/budget.py",
      'object.__setattr__(found, "unspent", self.delta or self.unspent)',
      'object.__setattr__(found, "unspent", self.delta)',
      "a delta that was allowed is forgotten by the second plan that leaves it", "privacy/test_delta.py")
plant("a-branch-hides-the-delta-of-the-others", "privacy/certificate.py",
      "raised = self.model_copy(update={\"delta\": str(max(Fraction(self.delta), delta))})", "raised = self",
      "the certificate of an output says that the procedure has no delta, which it would have spent on other noise",
      "privacy/test_delta.py")
plant("nodes-look-before-they-can-pay-delta", "nodes/estimator.py",
      "    _spends_delta = True\n", "",
      "rows are looked at for a schema though nobody can pay for the delta", "privacy/test_delta.py")

SHUFFLING = "privacy/test_shuffling.py"
CLONES = f"{SHUFFLING}::test_any_mechanism_has_the_numerical_bound_of_clones"
plant("clones-twice-as-many", "privacy/shuffling.py",
      "    r, s = alpha,", "    r, s = 1.5 * alpha,",
      "more of the others are taken to look alike than do", CLONES)
plant("shuffled-one-sided", "privacy/shuffling.py",
      "up, down, both = 1 - t / p, t - 1 / p, t - 1", "up, down, both = 1 - t / p, t, t - 1",
      "reports of the other side hide more than they do", CLONES)
plant("shuffled-blocks-at-their-most", "privacy/shuffling.py",
      "bar = down * counts + both * start  #", "bar = down * counts + both * (stop - 1)  #",
      "blocks are taken where they hide most", f"{SHUFFLING}::test_blocks_of_many_people_cost_little")
plant("shuffled-ratio-lost", "privacy/shuffling.py",
      "return min(1.0, p / n * total * (1 + _SAFETY)", "return min(1.0, total / n * (1 + _SAFETY)",
      "the chance that a report stands out is taken for smaller", CLONES)
plant("shuffled-epsilon-from-below", "privacy/shuffling.py",
      "    return high\n", "    return low\n",
      "the stated epsilon is one at which delta is exceeded", f"{SHUFFLING}::test_the_bar")

RANGED = "privacy/test_ranged.py"
COVERED = f"{RANGED}::test_it_covers_the_worst_laws_and_hardly_more"
BETWEEN = f"{RANGED}::test_ends_between_the_points_of_a_grid_are_covered"
plant("ranged-one-choice-short", "privacy/ranged.py",
      "for _ in range(times):", "for _ in range(times - 1):",
      "the losses of all choices but one are composed", BETWEEN)
plant("ranged-a-fifth-narrower", "privacy/ranged.py",
      "    step = each / cells\n", "    each = each * 4 / 5\n    step = each / cells\n",
      "the losses of a choice are taken to lie in four fifths of their interval", COVERED)
plant("ranged-even-chances", "privacy/ranged.py",
      "chance = np.exp(places) * np.expm1(each - places) / whole", "chance = 1 - places / each",
      "two losses are weighted as if they were those of no law", BETWEEN)
plant("ranged-ends-on-the-grid", "privacy/ranged.py",
      "np.maximum(before, here) + turned[j - 1] * apart + opened[j - 1] * np.maximum(gap - apart, 0.0)",
      "np.maximum(before, here)",
      "losses between the points of the grid are forgotten", BETWEEN)
plant("ranged-nothing-below", "privacy/ranged.py",
      "np.full(cells, value[0])", "np.zeros(cells)",
      "what lies below the grid adds nothing to delta", f"{RANGED}::test_a_grid_that_is_cut_short_still_covers")
plant("ranged-lowest-above", "privacy/ranged.py",
      "np.ones(cells)", "np.full(cells, value[-1])",
      "losses beyond the grid count as its last value", f"{RANGED}::test_a_grid_that_ends_below_the_largest_loss_still_covers")
plant("ranged-by-the-middle", "privacy/ranged.py",
      "np.maximum(best, bound, out=best)", "best += bound / cells",
      "the mean of all laws stands for the worst", COVERED)
plant("ranged-alike-in-rho", "privacy/ranged.py",
      "root_down(8 * zcdp_rho(epsilon, delta) / times)", "root_down(12 * zcdp_rho(epsilon, delta) / times)",
      "many choices have half more than the rho they may have",
      f"{RANGED}::test_it_is_never_below_what_is_proved_otherwise")
