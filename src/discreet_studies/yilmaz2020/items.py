"""Everything that yilmaz2020 describes, and where it is."""

from __future__ import annotations

from discreet_studies.items import Item

ITEMS = (
    Item("claim", "text", "For ε > 2 the accuracy is very close to that without privacy.", ("claim:near_plain",)),
    Item(
        "claim",
        "text",
        "On Connect-4 all oracles but SHE exceed 65 % even for very small ε.",
        ("claim:connect4_level",),
    ),
    Item("claim", "text", "On Mushroom all oracles but SHE reach nearly 90 % at ε = 0.5.", ("claim:mushroom_level",)),
    Item("claim", "text", "SHE is the least accurate oracle on every data set.", ("claim:she_is_worst",)),
    Item("claim", "text", "DE is the most accurate oracle for small ε on Car and Chess.", ("claim:de_best_at_small",)),
    Item("claim", "text", "SUE and OUE are about equally accurate.", ("claim:sue_like_oue",)),
    Item(
        "claim",
        "text",
        "SUE and OUE are more accurate than DE where the input domain is large.",
        ("claim:unary_on_large_domains",),
    ),
    Item("claim", "text", "Discretisation is more accurate than Gaussian Naive Bayes.", ("claim:buckets_beat_curves",)),
    Item(
        "claim",
        "text",
        "DCA to one dimension is the best projection, and better than none.",
        ("claim:one_discriminant_dimension",),
    ),
    Item(
        "claim",
        "text",
        "Of the three approaches to several numbers the first is the worst.",
        ("claim:approach_one_is_worst",),
    ),
    Item("claim", "text", "PCA or DCA always improves Gaussian Naive Bayes.", ("claim:projections_help_curves",)),
    Item("claim", "text", "THE's estimator, as printed, is unbiased.", ("claim:threshold_as_printed",)),
    Item("claim", "text", "Projected numbers are reported with ε-local privacy.", ("claim:numbers_are_private",)),
)
