"""Faults of gossip: what a node shares, how often it pays, what it counts."""

from tests.mutants.fault import Room

plant = Room("gossip")
WATCHED = "gossip/test_watched.py"
SHARED = f"{WATCHED}::test_what_a_node_shares_is_its_noised_update"
NETWORK = f"{WATCHED}::test_a_network_costs_what_its_node_spends"

plant("unnoised-vector", "gossip/classifier.py",
      "vectors.append(layout.flat(update.values))",
      "vectors.append(layout.flat({k: np.stack([b[k] for b in __import__('discreet.bayes.release', fromlist=['x'])"
      ".exact_bundles(parts.statistics(number), plan)]) for k in update.values}))",
      "nodes gossip their exact integers", NETWORK)
plant("site-adds-remove", "nodes/site.py",
      "            **settings.options,\n", "            **{**settings.options, 'adjacency': 'add-remove'},\n",
      "updates for replaced rows have half of their noise", f"{WATCHED}::test_a_site_keeps_to_its_terms")
plant("site-one-row-per-person", "nodes/site.py",
      "            **settings.options,\n", "            **{**settings.options, 'contributions': 1},\n",
      "updates are noised for one row per person", f"{WATCHED}::test_a_site_keeps_to_its_terms")
plant("site-draws-anew", "gossip/sharing.py",
      "terms.answer(self.journal, round_id, question, plan, self._make)", "self._make()",
      "every start of a node draws fresh noise for no charge", SHARED)
plant("site-pays-another-budget", "nodes/site.py",
      "journal.answer(round_id, question, self.budget, make, pay)",
      "journal.answer(round_id, question, Budget(self.budget.epsilon / 2), make, pay)",
      "the journal is charged half of what the update costs", SHARED)
plant("unsigned-moves", "gossip/keys.py",
      "signed = [(entry.statement, entry.signature), (entry.moving, entry.hand)]",
      "signed = [(entry.statement, entry.signature)]",
      "anybody says where a member is and how far", "gossip/test_node.py::test_statements_are_signed_by_their_node")
plant("revoked-joins-by-another", "gossip/keys.py",
      "if gone and (known is None or self._owner(known.certificate, known.node) != public):", "if gone and False:",
      "a revoked node joins a round through members that have no list yet",
      "gossip/test_keys.py::test_nobody_speaks_with_a_revoked_node")
plant("renewal-outlives-revocation", "gossip/keys.py",
      "revoked(keys.revocations) | keys.every_serial(name)",
      "revoked(keys.revocations) | {max(keys.every_serial(name))}",
      "an earlier certificate of a revoked node still holds",
      "gossip/test_keys.py::test_renewal_is_for_the_same_key_until_that_is_revoked")
plant("farewell-by-version", "gossip/membership.py",
      "return self.phase == LEFT, self.version", "return False, self.version",
      "a farewell is outrun by a high version, and what was on its way never returns",
      "gossip/test_node.py::test_a_farewell_wins_at_any_version_and_spreads")
plant("mass-without-bounds", "gossip/protocol.py",
      "if after.weight > most.weight or not fits:", "if after.weight > most.weight << 200:",
      "one member makes an honest node's share too wide for all others",
      "gossip/test_node.py::test_absurd_mass_is_refused_and_a_refused_message_changes_nothing")
