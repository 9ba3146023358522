"""Faults of calibrations: the histogram of two classes and the objective of several."""

from tests.mutants.fault import Room

plant = Room("calibration")
WATCHED = "calibration/test_watched.py"
TWO = f"{WATCHED}::test_two_classes_have_a_noisy_histogram_of_scores"
MORE = f"{WATCHED}::test_several_classes_have_a_tilted_objective_and_a_covered_answer"

plant("histogram-exact", "calibration/calibrate.py",
      "noisy = sampler.laplace(histogram(scores, labels), plan.spread).astype(np.float64)",
      "noisy = histogram(scores, labels).astype(np.float64)",
      "slope and bias are fitted to exact counts of scores", TWO)
plant("histogram-noise-halved", "calibration/calibrate.py",
      "noisy = sampler.laplace(histogram(scores, labels), plan.spread)",
      "noisy = sampler.laplace(histogram(scores, labels), plan.spread / 2)",
      "the histogram of scores has half of its noise", TWO)
plant("histogram-add-remove", "calibration/plan.py",
      "spread = moved_rows(adjacency, contributions) / budget.epsilon",
      "spread = contributions / budget.epsilon",
      "a replaced row moves two counts, and the noise is for one", TWO)
plant("histogram-one-row-per-person", "calibration/plan.py",
      "spread = moved_rows(adjacency, contributions) / budget.epsilon",
      "spread = moved_rows(adjacency) / budget.epsilon",
      "people have several rows, and the noise is for one", TWO)
plant("histogram-row-in-two-bins", "calibration/histogram.py",
      "counts += np.bincount(labels[part] * BINS + bins, minlength=2 * BINS)",
      "counts += np.bincount(labels[part] * BINS + bins, minlength=2 * BINS) + "
      "np.bincount((1 - labels[part]) * BINS + bins, minlength=2 * BINS)",
      "a row moves two counts, and the noise is for one", TWO)
plant("not-charged", "calibration/calibrate.py",
      "charge(paying(ledger, account), _paid(model, plan), X, schema=model.schema)",
      "paying(ledger, account).afford(plan.budget, plan.node)",
      "a calibration costs nothing in the ledger", TWO)
plant("certificate-forgets-it", "calibration/calibrate.py",
      'return own.then(made, "the model, then its calibration")', "return own",
      "the certificate states the cost of the model without its calibration", TWO)
plant("other-neighbours-allowed", "calibration/calibrate.py",
      "if own.private and plan.unit != own.unit:", "if False:",
      "a calibration for weaker neighbours stands under the certificate of stronger ones",
      "calibration/test_calibrate.py")
plant("objective-untilted", "calibration/calibrate.py",
      "np.zeros(plan.classes + 1) if drawn is None else drawn.vector)", "np.zeros(plan.classes + 1))",
      "the objective is minimised without its noise", MORE)
plant("objective-rate-doubled", "calibration/calibrate.py",
      "slope_vector(plan.classes, plan.rate, bits_of(sampler))", "slope_vector(plan.classes, 2 * plan.rate, bits_of(sampler))",
      "the noise vector is half as long as it has to be", MORE)
plant("objective-replace-as-add-remove", "calibration/plan.py",
      "rate = noise_rate(classes, ridges, float(epsilons[0]), moved)",
      "rate = noise_rate(classes, ridges, float(epsilons[0]), 1)",
      "a replaced row pulls twice, and the noise vector is for once", MORE)
plant("objective-one-row-per-person", "calibration/plan.py",
      "share = budget.epsilon / contributions", "share = budget.epsilon",
      "people have several rows, and the noise is for one", MORE)
plant("objective-curvature-forgotten", "calibration/plan.py",
      "value = rate * low + rank * math.log1p(trace(low)[0] / rank)", "value = rate * low",
      "the change of the determinant is not paid for", MORE)
plant("objective-finish-not-paid", "calibration/plan.py",
      "epsilons = (share * (1 - FINISH), share * FINISH)", "epsilons = (share, share * FINISH)",
      "the last step is paid for with budget that is spent already", MORE)
plant("answer-not-covered", "calibration/calibrate.py",
      "return found if drawn is None else finish(found, plan, sampler)", "return found",
      "the solver's answer is released with all its digits", MORE)
plant("tolerance-widened", "calibration/calibrate.py",
      "if drawn is None else float(plan.tolerance)", "if drawn is None else 4 * float(plan.tolerance)",
      "answers may lie four times as far apart as the last step covers", MORE)
plant("draw-error-not-spared", "calibration/calibrate.py",
      "spare=0.0 if drawn is None else drawn.error", "spare=0.0",
      "the inexactness of the noise vector is not covered", MORE)
plant("steps-for-one-weight", "calibration/plan.py",
      "covering(limit, Fraction(min(ridges)), classes + 1)", "covering(limit, Fraction(min(ridges)), 1)",
      "the last step covers one number and several move", MORE)
