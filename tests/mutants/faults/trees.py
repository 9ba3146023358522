"""Faults of trees and forests: questions, deals, leaves."""

from tests.mutants.fault import Room

plant = Room("trees")
WATCHED = "trees/test_watched.py"
TREE = f"{WATCHED}::test_questions_and_leaves_of_a_tree"
NOISY = f"{WATCHED}::test_noisy_counts_of_every_question"
FOREST = f"{WATCHED}::test_trees_and_leaves_of_a_forest"

plant("dealt-by-index", "trees/grow.py",
      "root = nodes.roots[deal(len(rows), trees, sampler)]", "root = nodes.roots[np.arange(len(rows)) % trees]",
      "a row more moves every other row to another tree", FOREST)
plant("dealt-by-content", "trees/grow.py",
      "root = nodes.roots[deal(len(rows), trees, sampler)]",
      "order = np.argsort(rows.codes.sum(axis=1), kind='stable')\n"
      "    root = nodes.roots[deal(len(rows), trees, sampler)[np.argsort(order)]]",
      "which tree a row is dealt to depends on all other rows", FOREST)
plant("size-exact", "trees/grow.py",
      "            size = sampler.laplace(size, 1 / plan.row_count)\n", "            pass\n",
      "the number of trees is that of the exact rows", FOREST)
plant("size-noise-halved", "trees/grow.py",
      "size = sampler.laplace(size, 1 / plan.row_count)", "size = sampler.laplace(size, 1 / (2 * plan.row_count))",
      "the number of rows has half of its noise", FOREST)
plant("size-free", "trees/plan.py",
      "            row_leaf -= row_count\n", "",
      "the number of rows is bought with budget that the leaves spend again", FOREST)
plant("size-not-charged", "trees/plan.py",
      "    if before:\n        node = Sequential", "    if False:\n        node = Sequential",
      "the number of rows is left out of ledger and certificate", FOREST)
plant("forest-steps-dropped", "trees/plan.py",
      "        row_leaf = epsilon / steps\n", "        row_leaf = epsilon\n",
      "leaves are noised for one row that comes or goes, not for replaced or several", FOREST)
plant("forest-label-exact", "trees/grow.py",
      "counts[spot, choose(tally[spot], plan.row_leaf, coins=coins)] = 1", "counts[spot, int(tally[spot].argmax())] = 1",
      "each leaf tells its most frequent class without noise", FOREST)
plant("forest-label-rate-doubled", "trees/grow.py",
      "counts[spot, choose(tally[spot], plan.row_leaf, coins=coins)] = 1",
      "counts[spot, choose(tally[spot], 2 * plan.row_leaf, coins=coins)] = 1",
      "the choice of a leaf's class costs twice what it says", FOREST)
plant("leaves-exact", "trees/grow.py",
      "tally[leaf] if plan.scale is None else sampler.laplace(tally[leaf], plan.scale)", "tally[leaf]",
      "leaf counts are released as they are", TREE)
plant("leaves-noise-halved", "trees/grow.py",
      "sampler.laplace(tally[leaf], plan.scale)", "sampler.laplace(tally[leaf], plan.scale / 2)",
      "leaf counts have half of their noise", TREE)
plant("tree-steps-dropped", "trees/plan.py",
      "        row_leaf = epsilon * share / steps\n", "        row_leaf = epsilon * share\n",
      "leaves are noised for one row that comes or goes, not for replaced or several", TREE)
plant("questions-steps-dropped", "trees/plan.py",
      "row_split = epsilon * (1 - share) / deep / steps", "row_split = epsilon * (1 - share) / deep",
      "questions are chosen for one row that comes or goes, not for replaced or several", TREE)
plant("questions-levels-not-shared", "trees/plan.py",
      "row_split = epsilon * (1 - share) / deep / steps", "row_split = epsilon * (1 - share) / steps",
      "every level spends what all levels have together", TREE)
plant("questions-monotone", "trees/plan.py",
      "return None if self.row_split is None else choice_rate(self.row_split, STEPS)",
      "return None if self.row_split is None else choice_rate(self.row_split, STEPS, monotone=True)",
      "a row moves scores up and down, and the choice is for scores that move together", TREE)
plant("questions-reach-of-one-part", "trees/plan.py",
      "return None if self.row_split is None else choice_rate(self.row_split, STEPS)",
      "return None if self.row_split is None else choice_rate(self.row_split, STEPS // 2)",
      "a row moves a score by twice what the choice is made for", TREE)
plant("questions-exact", "trees/grow.py",
      "choose(gini_scores(yes, no), plan.choice, law=law, coins=coins)",
      "choose(gini_scores(yes, no), None, law=law, coins=coins)",
      "each node asks the question with the best exact score", TREE)
DELTA = f"{WATCHED}::test_questions_under_delta_cost_what_their_losses_allow"
plant("levels-concentrated-twice", "trees/plan.py",
      "return ranged_epsilon(epsilon, delta, levels)", "return ranged_epsilon(epsilon, delta, -(-levels // 2))",
      "levels under a delta have what half as many would", DELTA)
plant("levels-concentrated-as-one", "trees/plan.py",
      "return ranged_epsilon(epsilon, delta, levels)", "return ranged_epsilon(epsilon, delta, 1)",
      "every level spends what all have together", DELTA)
plant("permute-and-flip-as-bounded-range", "trees/plan.py",
      "row_split, split = joint, CHOICES[1]", "row_split, split = joint, CHOICES[0]",
      "permute-and-flip has no bounded range, and is paid for as if it had", DELTA)
plant("levels-under-delta-steps-dropped", "trees/plan.py",
      "joint = _together(epsilon * (1 - share), budget.delta, deep) / steps if",
      "joint = _together(epsilon * (1 - share), budget.delta, deep) if",
      "questions under a delta are chosen for one row that comes or goes, not for replaced or several", DELTA)
plant("levels-under-delta-have-the-leaves-too", "trees/plan.py",
      "_together(epsilon * (1 - share), budget.delta, deep)", "_together(epsilon, budget.delta, deep)",
      "questions spend the epsilon that leaves spend again", DELTA)
plant("noisy-counts-for-one-question", "trees/grow.py",
      "sampler.laplace(np.stack([yes, no]), plan.questions / plan.row_split)",
      "sampler.laplace(np.stack([yes, no]), 1 / plan.row_split)",
      "counts of every question have the noise of a single one", NOISY)
plant("noisy-counts-exact", "trees/grow.py",
      "noisy = sampler.laplace(np.stack([yes, no]), plan.questions / plan.row_split)",
      "noisy = np.stack([yes, no])",
      "questions are found by exact counts", NOISY)
plant("not-charged", "estimators/base.py",
      "self._tab = charge(payer, plan, X, self, schema=schema)", "self._tab = payer.afford(plan.budget, plan.node)",
      "a tree costs nothing in the ledger", TREE)
plant("gini-of-squares-of-all", "trees/grow.py",
      "total = total + STEPS * squares // np.maximum(size, 1)", "total = total + STEPS * squares",
      "a row moves a score by as much as there are rows",
      "exhaustive/test_trees.py::test_gini_scores_move_by_at_most_one_row_and_nearly_do")
