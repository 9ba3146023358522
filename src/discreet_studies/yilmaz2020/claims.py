"""The claims of yilmaz2020, and the bar that the library sets itself."""

from __future__ import annotations

from discreet_studies.claims import Claim
from discreet_studies.yilmaz2020.number_claims import (
    approach_one_is_worst,
    best_dimensions,
    buckets_beat_curves,
    buckets_win_most_at_small,
    numbers_are_private,
    one_discriminant_dimension,
    projections_help_curves,
)
from discreet_studies.yilmaz2020.oracle_claims import (
    beats_the_paper,
    connect4_level,
    de_best_at_small,
    more_rows_help,
    mushroom_level,
    near_plain,
    quarter_is_best,
    she_is_worst,
    sue_like_oue,
    threshold_as_printed,
    unary_on_large_domains,
)

PAPER = "yilmaz2020"
CLAIMS = (
    Claim(PAPER, "For ε > 2 the accuracy is very close to that without privacy.", near_plain),
    Claim(PAPER, "On Connect-4 all oracles but SHE exceed 65 % even for very small ε.", connect4_level),
    Claim(PAPER, "On Mushroom all oracles but SHE reach nearly 90 % at ε = 0.5.", mushroom_level),
    Claim(PAPER, "SHE is the least accurate oracle on every data set.", she_is_worst),
    Claim(PAPER, "DE is the most accurate oracle for small ε on Car and Chess.", de_best_at_small),
    Claim(PAPER, "SUE and OUE are about equally accurate.", sue_like_oue),
    Claim(PAPER, "SUE and OUE are more accurate than DE where the input domain is large.", unary_on_large_domains),
    Claim(PAPER, "With more training rows the accuracy is better at small ε.", more_rows_help),
    Claim(PAPER, "Of the thresholds of THE 0.25 is the best.", quarter_is_best),
    Claim(PAPER, "Discretisation is more accurate than Gaussian Naive Bayes.", buckets_beat_curves),
    Claim(PAPER, "The lead of discretisation is largest at small ε.", buckets_win_most_at_small),
    Claim(PAPER, "PCA is best at 1 dimension on Australian and 6 on Diabetes, DCA at 1 on both.", best_dimensions),
    Claim(PAPER, "DCA to one dimension is the best projection, and better than none.", one_discriminant_dimension),
    Claim(PAPER, "Of the three approaches to several numbers the first is the worst.", approach_one_is_worst),
    Claim(PAPER, "PCA or DCA always improves Gaussian Naive Bayes.", projections_help_curves),
    Claim(PAPER, "THE's estimator, as printed, is unbiased.", threshold_as_printed),
    Claim(PAPER, "Projected numbers are reported with ε-local privacy.", numbers_are_private),
    Claim("discreet", "At equal ε the best oracle of the library beats the best one as published.", beats_the_paper),
)
