"""Faults of looks at numbers: fine and pooled tables, and what is read off them."""

from tests.mutants.fault import Room

plant = Room("resolution")
WATCHED = "resolution/test_watched.py"
LOOK = f"{WATCHED}::test_a_look_costs_its_share_and_nothing_else_is_seen"
WHOLE = f"{WATCHED}::test_counts_look_and_model_cost_epsilon_together"

plant("pooled-exact", "resolution/pooled.py",
      "noisy = exact if plan.charge is None else sampler.laplace(exact, plan.charge.spread)", "noisy = exact",
      "bin edges follow exact relative positions", LOOK)
plant("pooled-noise-halved", "resolution/pooled.py",
      "sampler.laplace(exact, plan.charge.spread)", "sampler.laplace(exact, plan.charge.spread / 2)",
      "the pooled table has half of its noise", LOOK)
plant("pooled-for-one-number", "resolution/pooled.py",
      "moved = Fraction(plan.moves * len(free_numbers(schema)))", "moved = Fraction(plan.moves)",
      "a row is counted once for every number, and the noise is for one", LOOK)
plant("pooled-add-remove", "resolution/pooled.py",
      "moved = Fraction(plan.moves * len(free_numbers(schema)))",
      "moved = Fraction(plan.contributions * len(free_numbers(schema)))",
      "a replaced row leaves cells and enters others, and the noise is for one that comes or goes", LOOK)
plant("pooled-one-row-per-person", "resolution/pooled.py",
      "moved = Fraction(plan.moves * len(free_numbers(schema)))",
      "moved = Fraction(plan.moves // plan.contributions * len(free_numbers(schema)))",
      "people have several rows, and the noise is for one", LOOK)
plant("pooled-free", "auto/shapes.py",
      "budget, left = fine.shared(epsilon, pooled.SHARE)",
      "budget, left = fine.shared(epsilon, pooled.SHARE)[0], epsilon",
      "the pooled table is bought with budget that the model spends again", WHOLE)
plant("chosen-features-look-for-free", "auto/families.py",
      "public, epsilon = look.schema, look.epsilon", "public = look.schema",
      "the pooled table is bought with budget that a choice of features and its tables spend again", WHOLE)
plant("chosen-features-forget-the-look", "auto/families.py",
      "return look.covering(\n        fit_estimator(", "return (\n        fit_estimator(",
      "the certificate of chosen features leaves out the look at the numbers", WHOLE)
plant("fine-free", "resolution/fine.py",
      "return Budget(epsilon * share), epsilon * (1 - share)", "return Budget(epsilon * share), epsilon",
      "fine tables are bought with budget that the model spends again", WHOLE)
plant("fine-read-off-exact-tables", "resolution/fine.py",
      "changed, found = read_fine(released, schema, counts, left, gaps)",
      "exact = {('table', name): table for name, table in fine_statistics(source, plan).tables.items()}\n"
      "    changed, found = read_fine(Release(plan, exact), schema, counts, left, gaps)",
      "knots and levels follow exact fine tables", f"{WATCHED}::test_knots_follow_the_noisy_tables")
plant("fine-add-remove", "auto/shapes.py",
      "plan = fine.fine_plan(schema, budget, **people)",
      "plan = fine.fine_plan(schema, budget, **people | {'adjacency': Adjacency.ADD_REMOVE})",
      "fine tables are noised for a row that comes or goes, not for a replaced one", LOOK)
plant("fine-one-row-per-person", "auto/shapes.py",
      "plan = fine.fine_plan(schema, budget, **people)",
      "plan = fine.fine_plan(schema, budget, **people | {'contributions': 1})",
      "people have several rows, and the noise of fine tables is for one", LOOK)
plant("certificate-forgets-the-look", "auto/shapes.py",
      "return model.with_certificate(self.certificate.then(model.certificate, TOGETHER))", "return model",
      "the certificate leaves out the look at the numbers", WHOLE)
STATED = "resolution/test_stated.py"
plant("edges-of-a-study-pass-for-public", "resolution/fine.py",
      "inferred=changed.inferred or (study and changed != schema), provenance", "provenance",
      "edges that were read off the data without noise are taken for public", STATED)
plant("looks-have-one-name", "resolution/fine.py",
      'kind="these tables are", named=True)', 'kind="these tables are")',
      "a later certificate takes one purchase of fine tables for another, and adds up one of them", STATED)
