"""Faults of budgets and conversions."""

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
      "    return fraction_down(low * (1 - _SAFETY))\n\n\n@functools.cache\ndef counting_rho",
      "    return fraction_down(1.01 * high)\n\n\n@functools.cache\ndef counting_rho",
      "a rho is spent whose conversion exceeds delta", CALIBRATE)
plant("counting-sigma-too-large", "privacy/calibrate.py",
      "sigma = math.sqrt(cells / (2 * float(share) * rho)) * (1 - _SAFETY)", "sigma = math.sqrt(cells / (float(share) * rho))",
      "privacy losses are counted for more noise than is drawn", "exhaustive/test_release.py::test_gaussian_hockey_stick_never_exceeds_delta")
plant("counting-cells-forgotten", "privacy/calibrate.py",
      "grouped[sigma] = grouped.get(sigma, 0) + cells", "grouped[sigma] = grouped.get(sigma, 0) + 1",
      "privacy losses of the second cell that a changed row moves are left out",
      "exhaustive/test_release.py::test_gaussian_hockey_stick_never_exceeds_delta")
plant("skellam-delta-too-kind", "privacy/skellam.py",
      "logarithm = (order - 1) * (divergence - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)",
      "logarithm = (order - 1) * (divergence / 2 - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)",
      "delta of Skellam noise is understated", "privacy/test_skellam.py")
plant("no-privacy-called-private", "privacy/budget.py",
      "return self.epsilon is not None or self.rho is not None", "return True",
      "a release without noise is certified as private", "privacy/test_budget.py", "bayes/test_counts.py")
