"""Faults of the local model: oracles, numbers, clients."""

from tests.mutants.fault import Room

plant = Room("local")
LAW = "local/oracles/test_laws.py::test_no_report_is_more_than_e_to_the_epsilon_times_likelier_under_another_value"
HISTOGRAM = "local/oracles/test_laws.py::test_histogram_noise_is_within_epsilon_for_every_component"
DRAWS = "local/oracles/test_draws.py::test_single_draws_follow_the_law"
BATCHES = "local/oracles/test_draws.py::test_batches_follow_the_law"
NUMBERS = "local/numbers/test_laws.py::test_no_report_tells_more_than_epsilon"
NUMBER_DRAWS = "local/numbers/test_draws.py::test_scalar_and_vector_draws_follow_the_law"
CLIENT = "local/test_client.py"
UNLISTED = "local/test_unlisted_laws.py"

plant("grr-one-value-short", "local/oracles/grr.py",
      "self.other = share_up(exp_bounds(self.epsilon)[0] + self.d - 1)",
      "self.other = share_up(exp_bounds(self.epsilon)[0] + self.d)",
      "the true value is favoured by more than e^epsilon", LAW)
plant("grr-epsilon-doubled", "local/oracles/grr.py",
      "self.other = share_up(exp_bounds(self.epsilon)[0] + self.d - 1)",
      "self.other = share_up(exp_bounds(2 * self.epsilon)[0] + self.d - 1)",
      "direct encoding spends twice its epsilon", LAW)
plant("chances-rounded-down", "local/chances.py",
      "return min(WHOLE, math.ceil(WHOLE / weight))", "return min(WHOLE, math.floor(WHOLE / weight))",
      "chances of untrue answers are rounded away from privacy", LAW)
plant("exponential-from-above", "local/oracles/unary.py",
      "flipped = share_up(exp_bounds(self.epsilon / 2)[0] + 1)", "flipped = share_up(exp_bounds(self.epsilon)[0] + 1)",
      "both bits that differ spend the whole epsilon", LAW)
plant("oue-true-bit-too-sure", "local/oracles/unary.py",
      "return WHOLE // 2, share_up(exp_bounds(self.epsilon)[0] + 1)",
      "return WHOLE // 4 * 3, share_up(exp_bounds(self.epsilon)[0] + 1)",
      "the true bit is no fair coin, and reports tell more than epsilon", LAW)
plant("subset-rounded-up", "local/oracles/subset.py",
      "self.true = math.floor(WHOLE * weight / (weight + self.d - size))",
      "self.true = math.floor(WHOLE * weight / (weight + self.d - size - 1))",
      "the true value is in the subset more often than epsilon allows", LAW)
plant("hashing-one-bucket-short", "local/oracles/hashing.py",
      "self.other = share_up(least + self.buckets - 1)", "self.other = share_up(least + self.buckets)",
      "the true bucket is favoured by more than e^epsilon", LAW)
plant("hash-drawn-from-value", "local/oracles/hashing.py",
      "a = 1 + below(source, self.prime - 1)\n", "a = 1 + (below(source, self.prime - 1) + value) % (self.prime - 1) // 2\n",
      "which hash is drawn depends on the value", DRAWS)
plant("hadamard-rounded-down", "local/oracles/hadamard.py",
      "weight = self.half * exp_bounds(self.epsilon)[0] + self.reports - self.half",
      "weight = self.half * exp_bounds(self.epsilon)[0] + self.reports",
      "the own half block is favoured by more than e^epsilon", LAW)
plant("the-scale-halved", "local/oracles/histogram.py",
      "half = self.epsilon / 2\n", "half = self.epsilon\n",
      "thresholded histogram encoding has half of its noise", LAW)
plant("grr-draw-keeps-the-truth", "local/oracles/grr.py",
      "        if word < self.true:\n", "        if word < self.true + self.other:\n",
      "a client keeps the true value more often than its law says", DRAWS)
plant("unary-draw-true-bits", "local/oracles/unary.py",
      "others = coins(self.other, size * self.d // 64 + 2, rng)", "others = coins(self.other // 2, size * self.d // 64 + 2, rng)",
      "batches flip untrue bits half as often as their law says", BATCHES)
plant("even-draws-are-uneven", "local/entropy.py",
      "limit = WHOLE - WHOLE % size\n", "limit = WHOLE\n",
      "numbers drawn evenly favour the low ones by the rest of a division", "local/test_entropy.py")
plant("one-bit-epsilon-doubled", "local/numbers/onebit.py",
      "self.oracle = self._kind(2 * self.classes, self.epsilon)", "self.oracle = self._kind(2 * self.classes, 2 * self.epsilon)",
      "the sign of a number spends twice its epsilon", NUMBERS)
plant("one-bit-of-one-class", "local/numbers/onebit.py",
      "self.coin = GRR(2, self.epsilon)", "self.coin = GRR(2, 2 * self.epsilon)",
      "a sampled sign spends twice its epsilon", NUMBERS)
plant("piecewise-window-too-likely", "local/numbers/piecewise.py",
      "self.hi = math.floor(self.lo * low)", "self.hi = math.floor(self.lo * low * low)",
      "outputs near the number are favoured by e^(2 epsilon)", NUMBERS)
plant("sampled-class-of-the-row", "local/numbers/sampled.py",
      "        chosen = below(source, self.classes)\n        return chosen, self.draw_value(",
      "        chosen = label if below(source, 4) else below(source, self.classes)\n        return chosen, self.draw_value(",
      "the class that is told openly depends on the row", NUMBER_DRAWS)
plant("hybrid-epsilon-doubled", "local/numbers/hybrid.py",
      "self.piecewise = Piecewise(self.classes, self.half, self.epsilon, self.grid)",
      "self.piecewise = Piecewise(self.classes, self.half, 2 * self.epsilon, self.grid)",
      "one of the two parts of a hybrid spends twice its epsilon", NUMBERS)
plant("reports-not-shared", "local/campaign.py",
      "share = self.epsilon / self.reports", "share = self.epsilon",
      "each of several reports spends the whole epsilon", CLIENT, "local/test_classifier.py::test_several_reports_split_the_budget")
plant("asked-after-the-row", "local/client.py",
      "        asked = [campaign.questions[place] for place in campaign.choose(source)]\n"
      "        person = Person.read(campaign.schema, row, label, source)\n",
      "        person = Person.read(campaign.schema, row, label, source)\n"
      "        asked = [campaign.questions[place] for place in campaign.choose(source)]\n",
      "what is asked is drawn after the row was looked at", f"{CLIENT}::test_what_is_asked_is_drawn_before_the_row_is_read")
plant("second-report-free", "local/client.py",
      "if self._spent + self.campaign.epsilon > self.budget:", "if self._spent > self.budget:",
      "a client sends one report more than its budget pays for",
      f"{CLIENT}::test_a_second_report_is_refused_and_the_first_can_be_sent_again")
plant("spending-not-remembered", "local/client.py",
      "        self._remember(spent, frame, reports)\n", "",
      "a restarted client has forgotten what it spent", f"{CLIENT}::test_memory_outlives_the_process")
plant("unlisted-class-refused", "local/inputs.py",
      "            code = below(source, len(schema.classes))\n", "            raise\n",
      "whether a class is listed is told free of charge by a report that is not made",
      f"{CLIENT}::test_no_content_of_a_row_keeps_a_report_back")
plant("unlisted-cell-beside-all-others", "local/inputs.py",
      "        return below(source, feature.cells), None\n", "        return feature.cells, None\n",
      "an unlisted category is reported as a value that no listed one has", UNLISTED)
plant("unlisted-category-refused", "local/inputs.py",
      "                places.append(_anywhere(feature, source))\n", "                raise\n",
      "whether a category is listed is told free of charge by a report that is not made",
      f"{CLIENT}::test_no_content_of_a_row_keeps_a_report_back")
plant("pin-not-looked-at", "local/client.py",
      "if pin is not None and pin != self.campaign.pin:", "if pin is not None and not self.campaign.pin:",
      "a client that insists on one schema reports about any",
      f"{CLIENT}::test_a_pinned_client_reports_about_one_schema_only")
plant("forgetful-by-default", "local/client.py",
      'memory: str | os.PathLike[str] | None = "auto",', "memory: str | os.PathLike[str] | None = None,",
      "a client forgets what it spent when its process ends",
      f"{CLIENT}::test_clients_remember_unless_told_otherwise")
plant("stores-mix-campaigns", "local/store.py",
      "        if held == fingerprint:\n", "        if held is not None:\n",
      "reports of two designs are shown as those of one epsilon", "local/test_store.py::test_a_store_belongs_to_one_campaign")
plant("clients-race", "local/client.py",
      "with self._turn, self._lock():\n            return", "with self._lock():\n            return",
      "threads spend the same budget at once", f"{CLIENT}::test_threads_share_one_budget")
plant("memories-race", "local/client.py",
      "            self._recall()\n            yield\n", "            yield\n",
      "two processes of one person each spend the whole budget", f"{CLIENT}::test_two_clients_share_one_memory")
plant("epsilon-rounded-up", "local/campaign.py",
      "self.epsilon = Fraction(math.floor(local_epsilon(epsilon) * MILLION), MILLION)",
      "self.epsilon = Fraction(math.ceil(local_epsilon(epsilon) * MILLION), MILLION)",
      "a report spends more than was asked for", f"{CLIENT}::test_epsilon_is_rounded_down_to_what_a_report_can_state")
plant("several-reports-of-a-person", "local/classifier.py",
      "X, campaign.schema, y, contributions=1, unexpected", "X, campaign.schema, y, unexpected",
      "a person with several rows sends several reports at full cost",
      "local/test_classifier.py::test_one_report_per_person_is_enforced_by_the_id_column")
plant("laplace-noise-halved", "local/geometric.py",
      "low, high = exp_bounds(-Fraction(1 << digit) / self.scale)", "low, high = exp_bounds(-2 * Fraction(1 << digit) / self.scale)",
      "noise on numbers and histograms has half of its scale", HISTOGRAM)
plant("not-charged", "local/classifier.py",
      "            charge(payer, spent(reports), X, self, schema=schema)\n",
      "            payer.afford(grant, reports)\n",
      "reports of the people in a table cost nothing in the ledger",
      "privacy/test_paying.py::test_every_way_to_fit_is_charged_all_of_its_budget[LocalNB]")
plant("send-draws-again", "local/client.py",
      "            if not self.last_report:\n                self._report(row, label)",
      "            self._spent = Fraction(0)\n            self._report(row, label)",
      "a device that sends again draws a second report", "local/test_send.py::test_a_restart_sends_what_was_drawn_first_whatever_the_row_says_now")
plant("send-outside-the-lock", "local/client.py",
      "        with self._turn, self._lock():\n            if not self.last_report:\n                self._report(row, label)",
      "        if not self.last_report:\n            self._spent = Fraction(0)\n            self._report(row, label)",
      "two processes of one person draw a report each", "local/test_send.py::test_many_at_once_draw_one_report")
plant("reports-follow-redirections", "local/post.py",
      "opener = urllib.request.build_opener(_Nowhere)", "opener = urllib.request.build_opener()",
      "a report goes where somebody else sends it", "local/test_send.py::test_a_refusal_is_told_and_not_tried_again")
plant("page-without-its-pin", "local/js/page.mjs",
      "client = new LocalClient(campaign, { store, pin });", "client = new LocalClient(campaign, { store });",
      "the page reports about other questions than those it was invited to",
      "local/test_page.py::test_a_page_whose_questions_are_others_sends_nothing")
plant("page-forgets", "local/js/page.mjs",
      "const store = globalThis.localStorage;", "const store = new Map();",
      "a second visit to the page draws a second report",
      "local/test_page.py::test_a_person_answers_by_keyboard_alone_and_once")
plant("picture-of-another-oracle", "local/picture.py",
      "own, other = mechanism.speaks()", "own, other = 1.0 - float(mechanism.q), float(mechanism.q)",
      "the page promises chances that the mechanism in use does not have",
      "local/test_receipt.py::test_the_picture_shows_the_oracle_that_is_used")

SHUFFLE = "local/test_shuffle.py"
LISTED = "exhaustive/test_shuffling.py"
plant("shuffler-keeps-the-order", "local/shuffle.py",
      "        secrets.SystemRandom().shuffle(out)\n", "",
      "reports come out in the order in which people sent them", f"{SHUFFLE}::test_the_order_is_drawn_anew")
plant("shuffler-order-repeats", "local/shuffle.py",
      "secrets.SystemRandom().shuffle(out)", "__import__('random').Random(0).shuffle(out)",
      "the order follows a seed that everybody knows", f"{SHUFFLE}::test_the_order_is_drawn_anew")
plant("shuffler-keeps-ids", "local/shuffle.py",
      'name = hmac.digest(self._key, sent, "sha256")[:ID_BYTES]', "name = sent",
      "a report comes out under the id that its device gave it", f"{SHUFFLE}::test_nothing_of_a_sender_comes_out")
plant("shuffler-counts-twice", "local/shuffle.py",
      "if name in self._seen:", "if False:",
      "a report that is sent again fills a batch, and shows who is in it", f"{SHUFFLE}::test_what_is_sent_again_counts_once")
plant("shuffler-small-batches", "local/shuffle.py",
      "if len(self._waiting) < self.least:", "if len(self._waiting) < self.least - 1:",
      "a batch goes out that is smaller than was promised", f"{SHUFFLE}::test_too_few_stay_where_they_are")
plant("shuffler-takes-anything", "local/shuffle.py",
      "not in self._asked or key.epsilon != self._epsilon:", "not in self._asked:",
      "reports of another epsilon fill a batch", f"{SHUFFLE}::test_others_do_not_fill_a_batch")
plant("shuffler-forgets-what-is-out", "local/shuffle.py",
      "if out is None else set(out.names)", "",
      "after a restart reports that are out fill a batch, and a new one is alone in it",
      f"{SHUFFLE}::test_what_is_out_fills_no_batch_after_a_restart",
      f"{SHUFFLE}::test_a_growing_file_lets_each_report_out_once")
plant("shuffler-lists-nothing", "local/shuffle.py",
      "                self._out.keep(self._waiting)\n", "                pass\n",
      "what goes out is not kept, so that it goes out again after a restart",
      f"{SHUFFLE}::test_what_is_out_fills_no_batch_after_a_restart")
plant("shuffler-lists-without-sync", "local/letout.py",
      "            os.fsync(self._file.fileno())\n", "",
      "a power cut takes the names of reports that are out",
      f"{SHUFFLE}::test_names_are_on_disk_before_a_batch_is_out")
plant("shuffler-list-of-another-key", "local/letout.py",
      "if content[:HEAD] != _head(self.key):", "if False:",
      "names of another key are taken for those of what was let out",
      f"{SHUFFLE}::test_lost_and_foreign_lists_are_refused")
plant("shuffler-list-lost-begins-anew", "local/letout.py",
      "if self.path.exists() and self.path.stat().st_size > HEAD:", "if False:",
      "a new key is drawn beside the list of a lost one, and all that was let out is new",
      f"{SHUFFLE}::test_lost_and_foreign_lists_are_refused")
plant("shufflers-share-a-key", "local/letout.py",
      "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass",
      "two shufflers fill a batch each with the same reports", f"{SHUFFLE}::test_lost_and_foreign_lists_are_refused")
plant("shuffler-serves-without-a-list", "local/shuffle_serve.py",
      "if not shuffler.lasting:", "if False:",
      "a server forgets at its restart what is out",
      f"{SHUFFLE}::test_without_a_list_nothing_is_promised_over_restarts")
plant("shuffler-list-readable", "local/letout.py",
      "write_bytes(self.path, _head(key), private=True)", "write_bytes(self.path, _head(key))",
      "others can read which reports were let out", f"{SHUFFLE}::test_keys_are_kept_for_their_owner")
plant("central-epsilon-rounded-to-nearest", "local/amplified.py",
      "Context(4, ROUND_CEILING)", "Context(4)",
      "a certificate states less than the central epsilon", f"{SHUFFLE}::test_what_is_stated_is_never_below")
plant("larger-batches-than-reports", "cli/local.py",
      "if collector.accepted < shuffled:", "if False:",
      "a certificate tells of batches larger than all reports together", f"{SHUFFLE}::test_the_page_is_followed")
plant("shuffler-key-readable", "local/letout.py",
      "write_bytes(place, key, private=True)", "write_bytes(place, key)",
      "others can read the key that ids are hashed by", f"{SHUFFLE}::test_keys_are_kept_for_their_owner")
plant("colluding-devices-hide", "local/amplified.py",
      "central_epsilon(variation_of(campaign), batch - others, allowed)", "central_epsilon(variation_of(campaign), batch, allowed)",
      "reports of whoever studies them are counted as hiding others", f"{SHUFFLE}::test_colluding_devices_hide_nobody")
plant("several-reports-vary-as-one", "local/amplified.py",
      "    if campaign.reports > 1:\n        return Variation.of(campaign.epsilon)\n", "",
      "a message of several reports is taken for one", f"{SHUFFLE}::test_a_campaign_has_the_mean_variation_of_its_questions")
plant("least-variation-of-questions", "local/amplified.py",
      "Variation.of(campaign.epsilon, whole / len(campaign.questions))", "Variation.of(campaign.epsilon, whole / len(campaign.questions) ** 2)",
      "questions are taken to vary less than they do", f"{SHUFFLE}::test_a_campaign_has_the_mean_variation_of_its_questions")
plant("variation-of-unary-too-small", "local/oracles/unary.py",
      "        return self.p - self.q\n", "        return (self.p - self.q) * 4 / 5\n",
      "unary reports are taken to vary less than they do", f"{LISTED}::test_variations_are_those_of_the_laws")
plant("variation-of-direct-encoding-too-small", "local/oracles/grr.py",
      "        return self.p - self.q\n", "        return (self.p - self.q) * 4 / 5\n",
      "direct encoding is taken to vary less than it does", f"{LISTED}::test_variations_are_those_of_the_laws")
plant("variation-of-subsets-too-small", "local/oracles/subset.py",
      "        return self.p - self.q\n", "        return (self.p - self.q) * 4 / 5\n",
      "subset selection is taken to vary less than it does", f"{LISTED}::test_variations_are_those_of_the_laws")
plant("variation-of-hashing-too-small", "local/oracles/hashing.py",
      "        return self.p - self.q\n", "        return (self.p - self.q) * 4 / 5\n",
      "local hashing is taken to vary less than it does", f"{LISTED}::test_variations_are_those_of_the_laws")
