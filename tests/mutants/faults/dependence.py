"""Faults of the tree-augmented model and the joint table."""

from tests.mutants.fault import Room

plant = Room("dependence")
WATCHED = "dependence/test_watched.py"
TREE = f"{WATCHED}::test_counts_choices_and_tables_of_a_tree"
JOINT = f"{WATCHED}::test_counts_marginals_and_cells_of_a_joint_table"
BINS = f"{WATCHED}::test_bins_follow_the_noisy_number_of_rows"
ROUNDS = f"{WATCHED}::test_rounds_follow_the_noisy_number_of_rows"
SCORES = f"{WATCHED}::test_scores_are_set_against_the_noisy_counts"
LISTED = f"{WATCHED}::test_the_certificate_lists_every_draw"

plant("counts-exact", "dependence/base.py",
      "noisy_counts(held.counts, plan.count, sampler)",
      "noisy_counts(held.counts, None, sampler)",
      "bins, rounds and penalties follow exact class counts", TREE)
plant("counts-free", "dependence/plan.py",
      "left = epsilon - (Fraction(0) if count is None else count.cost)", "left = epsilon",
      "the class counts are bought with budget that is spent again", TREE)
plant("counts-add-remove", "dependence/plan.py",
      "count_charge(epsilon * SHARE, adjacency, contributions)",
      "count_charge(epsilon * SHARE, Adjacency.ADD_REMOVE, contributions)",
      "class counts for replaced rows have half of their noise", TREE)
plant("counts-one-row-per-person", "dependence/plan.py",
      "count_charge(epsilon * SHARE, adjacency, contributions)",
      "count_charge(epsilon * SHARE, adjacency)",
      "class counts are noised for one row per person", TREE)
plant("exact-counts-accepted", "estimators/counts.py",
      "    if not plan.budget.private:\n        return\n", "    if not plan.budget.private or counts.charge is None:\n        return\n",
      "a private fit takes exact class counts from its caller",
      f"{WATCHED}::test_a_private_fit_refuses_exact_counts")
plant("tree-rounds-dropped", "dependence/tan.py",
      "each = noise.each(rounds)", "each = noise.each(1)",
      "every choice of a pair spends what all of them have together", TREE)
plant("tree-steps-dropped", "dependence/tan.py",
      "choice_rate(each / plan.moves, REACH * STEPS)", "choice_rate(each, REACH * STEPS)",
      "choices are made for one row that comes or goes, not for replaced or several", TREE)
plant("tree-score-reach-halved", "dependence/pairs.py",
      "REACH = 4", "REACH = 2",
      "a row moves a score by twice what the choice is made for", TREE)
plant("tree-choice-monotone", "dependence/tan.py",
      "choice_rate(each / plan.moves, REACH * STEPS)", "choice_rate(each / plan.moves, REACH * STEPS, monotone=True)",
      "a row moves scores up and down, and the choice is for scores that move together", TREE)
plant("tree-choice-exact", "dependence/tan.py",
      "taken = grow_tree(pairs, scores, rounds, rate,", "taken = grow_tree(pairs, scores, rounds, None,",
      "the pairs with the best exact scores are taken", TREE)
plant("tree-tables-exact", "dependence/tan.py",
      "drawn = sampler.tables([tables[k][group].ravel() for k in bundle], 1 / spread)",
      "drawn = [tables[k][group].ravel() for k in bundle]",
      "tables of pairs are released as they are", TREE)
plant("tree-tables-noise-halved", "dependence/tan.py",
      "drawn = sampler.tables([tables[k][group].ravel() for k in bundle], 1 / spread)",
      "drawn = sampler.tables([tables[k][group].ravel() for k in bundle], 2 / spread)",
      "tables of pairs have half of their noise", TREE)
plant("tree-tables-steps-dropped", "dependence/tan.py",
      "spread, alone = plan.moves / spent, len(bundle) == 1", "spread, alone = 1 / spent, len(bundle) == 1",
      "tables are noised for one row that comes or goes, not for replaced or several", TREE)
plant("tree-bundles-not-shared", "dependence/tan.py",
      "return [(bundle, epsilon * weight / sum(weights)) for", "return [(bundle, epsilon + 0 * weight) for",
      "every bundle of tables spends what all have together",
      f"{WATCHED}::test_several_bundles_share_what_tables_have")
plant("tree-bins-by-exact-rows", "dependence/tan.py",
      "schema = tan_schema(plan.schema, counts.rows, epsilon)",
      "schema = tan_schema(plan.schema, len(held), epsilon)",
      "the number of bins follows the exact number of rows", BINS)
plant("tree-rounds-by-exact-rows", "dependence/tan.py",
      "rounds = tree_rounds(schema, pairs, counts.rows, noise)", "rounds = tree_rounds(schema, pairs, len(held), noise)",
      "the number of pairs follows the exact number of rows", ROUNDS)
plant("tree-penalties-by-exact-counts", "dependence/tan.py",
      "zip(exact, penalties(schema, pairs, counts, noise), strict=True)",
      "zip(exact, penalties(schema, pairs, "
      "ClassCounts(held.counts * 1.0, counts.variance, counts.charge), noise), strict=True)",
      "scores move by more than their reach, because penalties move too", SCORES)
plant("tree-choices-not-charged", "dependence/tan.py",
      '            charges.append(Charge(law, PAIRS, "score", moved, 1 / rate, "rho" if by_rho else "epsilon", spent))\n', "",
      "the certificate leaves out the choices of pairs", LISTED)
plant("joint-cells-exact", "dependence/joint.py",
      "noisy = (sampler.gaussian if gaussian else sampler.laplace)(exact, charge.spread)", "noisy = exact",
      "the joint table is released as it is", JOINT)
plant("joint-cells-noise-halved", "dependence/joint.py",
      "(exact, charge.spread)\n    return JointRelease", "(exact, charge.spread / 2)\n    return JointRelease",
      "the joint table has half of its noise", JOINT)
plant("joint-cells-steps-dropped", "dependence/joint.py",
      '"laplace", adjacency, contributions)', '"laplace", Adjacency.ADD_REMOVE, 1)',
      "the joint table is noised for one row that comes or goes, not for replaced or several", JOINT)
plant("joint-marginals-one-row-per-person", "dependence/joint.py",
      "first = marginal_plan(schema, budget, plan.adjacency, plan.contributions)",
      "first = marginal_plan(schema, budget, plan.adjacency, 1)",
      "the marginal tables are noised for one row per person", JOINT)
plant("joint-marginals-at-the-whole-budget", "dependence/joint.py",
      "else plan.part(MARGINALS)\n", "else plan.budget\n",
      "the marginal tables spend the whole budget", JOINT)
plant("joint-bins-by-exact-rows", "dependence/joint.py",
      "joint_cells(schema, counts.rows, cell_epsilon(plan))", "joint_cells(schema, len(held), cell_epsilon(plan))",
      "the grid follows the exact number of rows", BINS)

RHO = "dependence/test_gaussian.py"
GAUSSIAN = f"{RHO}::test_counts_choices_and_tables_of_a_tree_in_rho"
LAW = f"{RHO}::test_no_neighbour_costs_more_than_its_rho"

plant("gaussian-tables-at-half-their-variance", "dependence/tan.py",
      "str(reach), reach / (2 * rho), \"rho\", rho)", "str(reach), reach / (4 * rho), \"rho\", rho)",
      "tables of pairs have half of the variance that their rho needs", GAUSSIAN, LAW)
plant("gaussian-tables-add-remove", "dependence/tan.py",
      "basis.reach(plan.adjacency, plan.contributions)", "basis.reach(Adjacency.ADD_REMOVE, plan.contributions)",
      "Gaussian tables for replaced rows have half of the variance they need", GAUSSIAN, LAW)
plant("gaussian-tables-one-row-per-person", "dependence/tan.py",
      "basis.reach(plan.adjacency, plan.contributions)", "basis.reach(plan.adjacency)",
      "Gaussian tables are noised for one row per person", GAUSSIAN)
plant("gaussian-tables-have-all", "dependence/tan.py",
      "rho = noise.tables if rounds else noise.tables + noise.choice", "rho = noise.tables + noise.choice",
      "tables spend the rho of the choices once more", GAUSSIAN)
plant("gaussian-choices-each-have-all", "dependence/loudness.py",
      "root_down(8 * self.choice / rounds)", "root_down(8 * self.choice)",
      "every choice of a pair spends the rho that all of them have together", GAUSSIAN)
plant("permute-and-flip-at-an-eighth", "dependence/tan.py",
      "noise, law = gaussian, CHOICES[1]", "noise = gaussian",
      "permute-and-flip is charged as a choice of bounded range", GAUSSIAN)
plant("count-forgotten-in-epsilon", "dependence/plan.py",
      "rho = zcdp_rho(sum(self.epsilons.values(), Fraction(0)), self.budget.delta)",
      "rho = zcdp_rho(self.budget.epsilon, self.budget.delta)",
      "choices and tables have the rho of a budget of which the counts were bought", GAUSSIAN)
plant("way-by-exact-rows", "dependence/tan.py",
      "gaussian.better(noise, tree_rounds(schema, pairs, counts.rows, noise))",
      "gaussian.better(noise, tree_rounds(schema, pairs, len(held), noise))",
      "which noise is added follows the exact number of rows", f"{RHO}::test_the_way_follows_the_noisy_number_of_rows")
plant("delta-not-charged", "dependence/plan.py",
      'SmoothCharge("paid in advance", what, "epsilon", spent, self.budget.delta)',
      'SmoothCharge("paid in advance", what, "epsilon", spent)',
      "the ledger entry of a plan lacks the delta that may be spent",
      f"{RHO}::test_narrow_schemas_stay_pure_by_what_is_public")

CELLS = "dependence/test_joint_gaussian.py"
TABLE = f"{CELLS}::test_counts_marginals_and_cells_of_a_joint_table_in_rho"
EVERY = f"{CELLS}::test_every_neighbour_stays_within_rho_and_one_attains_it"

plant("gaussian-cells-exact", "dependence/joint.py",
      "(sampler.gaussian if gaussian else sampler.laplace)", "((lambda cells, _: cells) if gaussian else sampler.laplace)",
      "with a delta the joint table is released as it is", TABLE)
plant("gaussian-cells-with-a-laplace-scale", "dependence/joint.py",
      "(sampler.gaussian if gaussian else sampler.laplace)", "sampler.laplace",
      "a variance is taken for the scale of another law", TABLE)
plant("gaussian-cells-at-four-fifths", "dependence/joint.py",
      "(exact, charge.spread)\n    return JointRelease", "(exact, charge.spread * 4 / 5)\n    return JointRelease",
      "the joint table has four fifths of its variance", TABLE, EVERY)
plant("gaussian-cells-add-remove", "dependence/joint.py",
      '"gaussian", adjacency, contributions)', '"gaussian", Adjacency.ADD_REMOVE, contributions)',
      "the Gaussian joint table for replaced rows has half of its variance", TABLE, EVERY)
plant("gaussian-cells-one-row-per-person", "dependence/joint.py",
      '"gaussian", adjacency, contributions)', '"gaussian", adjacency, 1)',
      "the Gaussian joint table is noised for one row per person", TABLE, EVERY)
plant("gaussian-cells-have-all", "dependence/joint.py",
      "rho = zcdp_rho(budget.epsilon, budget.delta) * share", "rho = zcdp_rho(budget.epsilon, budget.delta)",
      "the joint table spends the rho of the marginals once more", TABLE, EVERY)
plant("gaussian-marginals-have-all", "dependence/joint.py",
      "Budget(rho=plan.rhos[MARGINALS])", "Budget(rho=sum(plan.rhos.values()))",
      "the marginals spend the rho of the joint table once more", TABLE, EVERY)
plant("joint-delta-forgotten", "dependence/joint.py",
      "if plan.budget.delta and not (plan.epsilons and is_gaussian(joint_noise(plan))):",
      "if plan.budget.delta and plan.epsilons and is_gaussian(joint_noise(plan)):",
      "a delta is kept where nothing is spent of it, and not charged where it is",
      f"{CELLS}::test_the_quieter_noise_is_taken_by_what_is_public")
