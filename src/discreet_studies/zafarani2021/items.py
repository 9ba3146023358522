"""Everything that zafarani2021 describes, and where it is."""

from __future__ import annotations

from discreet_studies.items import Item

ITEMS = (
    Item(
        "claim",
        "text",
        "Smooth sensitivity is more accurate than global sensitivity at the same ε.",
        ("claim:smooth_beats_global",),
    ),
    Item("claim", "text", "The gain is largest on data about people.", ("claim:most_on_human_data",)),
    Item(
        "claim", "text", "(ε, δ) with δ = 1/n or 1/n² is more accurate than pure ε.", ("claim:approximate_beats_pure",)
    ),
    Item(
        "claim", "text", "On Mushroom, which is all categorical, all methods are the same.", ("claim:same_on_mushroom",)
    ),
    Item("claim", "text", "A numeric:categorical weight of 2:1 is an appropriate default.", ("claim:two_to_one",)),
    Item("claim", "text", "The best weight depends on the data.", ("claim:weight_depends_on_data",)),
    Item(
        "claim",
        "text",
        "Releasing the variance directly beats E[x²] - E[x]² by Bun and Steinke's mean.",
        ("claim:direct_variance",),
    ),
    Item("claim", "text", "Smooth sensitivity makes the cost of training grow as n².", ("claim:quadratic_cost",)),
    Item(
        "claim",
        "text",
        "The run-time gap between smooth and global sensitivity shrinks as n grows.",
        ("claim:shrinking_gap",),
    ),
    Item("claim", "text", "Algorithm 1 is ε-differentially private.", ("claim:algorithm_is_private",)),
    Item("claim", "text", "Smooth sensitivity gains on the 1940 census of four states.", ("claim:census_1940",)),
)
