"""Faults in how partners join: who is let in, whom a partner believes, and what it has agreed to."""

from tests.mutants.fault import Room

plant = Room("nodes")
JOINING = "nodes/test_enrolment.py"
plant("invite-for-several-keys", "nodes/desk.py",
      'if held["key"] not in (None, digest):', "if False:",
      "whoever reads an invite later joins in a member's place",
      f"{JOINING}::test_once_for_one_key_and_again_for_the_same")
plant("secret-of-another-name", "nodes/desk.py",
      "if not hmac.compare_digest(known, _hashed(secret)) or held is None or kind != terms.kind:",
      "if held is None or kind != terms.kind:",
      "anybody joins under any member's name", f"{JOINING}::test_what_is_not_the_invites_is_refused")
plant("invite-without-end", "nodes/desk.py",
      'if held["key"] is None and self.clock() > held["until"]:', "if False:",
      "an invite that was forgotten in a mail works for ever", f"{JOINING}::test_an_invite_ends_and_a_new_one_ends_the_old")
plant("revoked-joins-again", "nodes/desk.py",
      'if held["revoked"]:', "if False:",
      "a revoked member comes back with the key it lost",
      f"{JOINING}::test_a_revoked_member_needs_another_invite_and_another_key")
plant("other-terms-pass", "nodes/desk.py",
      "if agreed != terms.hash:", "if False:",
      "members take part who agreed to other terms", f"{JOINING}::test_other_terms_end_what_was_agreed")
plant("request-unbound", "nodes/keys.py",
      "good = asked.is_signature_valid and named == name and hmac.compare_digest(bound, binding.encode())",
      "good = asked.is_signature_valid and named == name",
      "a request that was made for another invite or authority is taken",
      f"{JOINING}::test_a_request_is_bound_to_its_invite_and_its_key")
plant("any-organiser", "nodes/joining.py",
      "if status != 200 or authority_digest(held) != self.invite.authority:", "if status != 200:",
      "a partner gives its secret to whoever answers at the address", f"{JOINING}::test_over_the_wire")
plant("terms-unseen", "nodes/joining.py",
      "if status != 200 or found.hash != self.invite.terms:", "if status != 200:",
      "a partner joins under terms that it was never sent", f"{JOINING}::test_over_the_wire")
plant("schema-unseen", "nodes/joining.py",
      "if found.hash != terms.schema:", "if False:",
      "a partner counts by another schema than the terms name", f"{JOINING}::test_over_the_wire")
plant("sentences-of-other-values", "nodes/terms.py",
      "if made.text != text:", "if False:",
      "the sentences that people sign are not what the nodes run",
      "nodes/test_terms.py::test_sentences_and_values_cannot_part")
plant("rounds-unpaid", "nodes/terms.py",
      'return float(Fraction(str(self.epsilon)) * self.rounds)', "return self.epsilon",
      "the terms state the cost of one round for all",
      "nodes/test_terms.py::test_who_what_at_which_cost_how_often_and_who_drops_out")
plant("revoked-key-invited-anew", "nodes/desk.py",
      'if any(digest in one["gone"] for one in records.values()):', "if False:",
      "a key that was lost gets in by the next invite",
      f"{JOINING}::test_a_revoked_member_needs_another_invite_and_another_key")
plant("more-than-the-pinned", "nodes/keys.py",
      "if held.public_bytes(serialization.Encoding.PEM).split() != pem.split():", "if False:",
      "what stands beside the pinned certificate is taken along",
      f"{JOINING}::test_a_pinned_answer_is_one_certificate_and_nothing_else")
plant("value-poses-as-sentence", "nodes/terms.py",
      "if not all(isinstance(one, str) and one.isprintable() for one in said):", "if False:",
      "a title or a column ends the sentences that people see, or adds some",
      "nodes/test_terms.py::test_no_value_passes_for_a_sentence")
plant("dropped-key-forgotten", "nodes/desk.py",
      'if held["gone"]:', "if False:",
      "a revoked key gets in again once its member was out of the terms",
      f"{JOINING}::test_a_key_that_was_taken_back_stays_so_when_its_member_is_dropped_and_comes_back")
STREAM = "federated/flower/test_stream.py"
plant("node-stream-older-copy", "nodes/running.py",
      "if self.journal.marked(self.charge, _taken(stream.step + 1)):", "if False:",
      "a node goes on from a backup, and draws the noise of a step twice",
      f"{STREAM}::test_a_lost_or_older_file_ends_the_stream")
plant("node-stream-unmarked", "nodes/running.py",
      "                self.journal.mark(self.charge, _taken(stream.step))\n", "",
      "the ledger does not know how far a stream has gone, so older copies go on",
      f"{STREAM}::test_a_lost_or_older_file_ends_the_stream")
plant("node-stream-unmarked-after-a-crash", "nodes/running.py",
      "        if stream.step:  # a crash after the file was written may have come before this\n", "        if False:\n",
      "the file of an earlier step goes on if the ledger missed the step after it in a crash",
      f"{STREAM}::test_an_older_file_is_noticed_after_a_crash_before_its_step_was_noted")
plant("node-stream-unpaid", "nodes/running.py",
      "        pay(self.charge)\n", "",
      "nobody pays for a stream of a node", f"{STREAM}::test_steps_cost_once_and_answer_the_same_through_restarts")
plant("node-stream-of-another-ledger", "nodes/running.py",
      "if stream.step and not self.journal.paid(self.charge):", "if False:",
      "a stream that another ledger has paid for goes on here", f"{STREAM}::test_a_file_that_another_ledger_paid_for_is_not_taken")
plant("node-stream-not-kept", "nodes/running.py",
      '                stream.save(self.path, {"name": self.name})\n', "",
      "noise that has left is forgotten, and drawn again after a restart",
      f"{STREAM}::test_steps_cost_once_and_answer_the_same_through_restarts")
plant("node-stream-for-one-release", "nodes/settings.py",
      "    if steps is None:\n        return make_plan", "    if True:\n        return make_plan",
      "each step of a stream has the noise of one release", "exhaustive/test_running.py::test_every_draw_of_a_federation")
plant("node-stream-any-length", "federated/flower/answers.py",
      "if (None if request.stream is None else request.stream[0]) != self.terms.stream:", "if False:",
      "a coordinator asks for other steps than a node has agreed to",
      f"{STREAM}::test_what_is_no_step_of_this_stream_is_refused")
plant("node-stream-same-rows-in-every-step", "federated/flower/answers.py",
      "            check_stepped(self.data)\n", "",
      "the same rows are counted in every step", f"{STREAM}::test_what_is_no_step_of_this_stream_is_refused")
plant("node-stream-of-a-pattern", "nodes/running.py",
      'if glob.has_magic(STEP.sub("", data)):', "if False:",
      "a pattern names one file in several steps, and its rows are counted in each",
      f"{STREAM}::test_what_is_no_step_of_this_stream_is_refused")
plant("node-stream-of-links", "nodes/running.py",
      "if os.path.exists(other) and os.path.samefile(other, own):", "if False:",
      "a link to an earlier step counts its rows again",
      f"{STREAM}::test_the_rows_of_a_step_under_another_name_are_refused")
plant("coordinator-told-too-little-noise", "nodes/members.py",
      "return [(plan, count * times_of(plan, stream)) for plan, stream, count in plans]",
      "return [(plan, count) for plan, stream, count in plans]",
      "the model of a stream takes its sums for less noisy than they are",
      f"{STREAM}::test_a_node_that_misses_a_step_stays_in_with_the_steps_before")
