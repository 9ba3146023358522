"""Everything that giaretta2022 describes, and where it is."""

from __future__ import annotations

from discreet_studies.items import Item, Status

PUBLISHED = "code:discreet_studies.published.giaretta2022"
SETS = ("accelerometer", "adult", "votes", "mushroom", "skin", "spect")

ITEMS = (
    Item("algorithm", "Algorithm 1, equations 1 to 11", "Prediction by log counts, means and deviations.",
         ("code:discreet_studies.giaretta2022.linear:as_published",), Status.MENDED,
         "the printed loop adds the quadratic term and omits −log n_y of each categorical feature; equations 9 to 11, "
         "which are right, are used"),
    Item("definition", "Equation 12", "ε-differential privacy.", ("code:discreet:Budget",), Status.MENDED,
         "printed with ε for e^ε"),
    Item("definition", "2.2, equation 13", "The Laplace mechanism with global or local sensitivity.",
         ("claim:local_sensitivity_is_private", "audit:control-giaretta2022-as-published", "proof:additive-noise.md")),
    Item("algorithm", "Algorithm 2, equations 14 to 16", "Local updates n, m, S, Q with noise.",
         (f"{PUBLISHED}:local_updates", "code:discreet.federated:node_update"), Status.MENDED,
         "noise scaled to the largest local value is not private (audit); the sound update has public bounds. The loop "
         "forgets to noise n, which the text does"),
    Item("algorithm", "Algorithm 3, equations 17 to 21", "Central aggregation.",
         (f"{PUBLISHED}:summed", "code:discreet.federated:Aggregate")),
    Item("definition", "Equations 22 to 24", "Online updates with and without the old updates.",
         ("code:discreet.federated.aggregate:Aggregate.add", "code:discreet.federated.aggregate:Aggregate.remove")),
    Item("algorithm", "Algorithm 4, equations 25 to 27", "Gossip aggregation of the last two estimates.",
         ("method:published", "method:paper", "code:discreet.gossip.simulate:Simulation")),
    Item("algorithm", "Algorithm 5", "The gossip protocol at a node.",
         ("method:published", "method:push-sum", "code:discreet.gossip.node:GossipNode"), Status.MENDED,
         "deployed nodes run push-sum, which conserves mass; the printed rule is simulated beside it"),
    Item("figure", "Figure 1", "Settings, federated and gossip.",
         ("code:discreet:FederatedNB", "code:discreet:GossipNB")),
    Item("table", "Table 2", "Six data sets and their splits.",
         ("code:discreet_studies.giaretta2022.federated.trials:bench",), Status.MENDED,
         "the nine to one split is drawn here once, with another generator than the authors'"),
    *(Item("figure", f"Figure 2, {name}", "Accuracy against ε for N = 1, 10, 100, 1000, Vaidya et al. and no privacy.",
           (f"figure:figure2-published-{name}", f"figure:figure2-{name}", "experiment:sweep")) for name in SETS),
    Item("figure", "Figure 3", "Local sensitivities for N = 10 and 100 beside N = 1.",
         ("figure:figure3", "experiment:sensitivity", "claim:sensitivity_falls")),
    *(Item("figure", f"Figure 4, {name}", "Mean and deviation of accuracy by the law of node sizes.",
           (f"figure:figure4-{name}-accuracy", f"figure:figure4-{name}-spread", "experiment:sizes")) for name in SETS),
    Item("definition", "Equation 28", "The relative error of a node.", (f"{PUBLISHED}:Updates.errors",)),
    *(Item("figure", f"Figure 5, {name}", "Nodes by size, ε and error; accuracy by the cut-off.",
           (f"figure:figure5-nodes-errors-{name}", f"figure:figure5-{name}", "experiment:cut-off")) for name in SETS),
    Item("figure", "Figure 6", "Accuracy by iteration.", ("experiment:curve", "claim:thirty_published")),
    Item("figure", "Figure 7", "Parameters by iteration.",
         ("experiment:long", "claim:priors_first", "claim:deviations_stay_off")),
    Item("experiment", "4.1", "1000 trials for each N and ε.", ("experiment:sweep",), Status.MENDED,
         "1000 of the paper's version; fewer of the baselines and of ours, with the cost of all stated"),
    Item("claim", "4.1", "On Skin ε = 1 is enough for every N.", ("claim:skin_at_one",)),
    Item("claim", "4.1", "SPECT is the hardest.", ("claim:spect_is_hardest",)),
    Item("claim", "4.1", "Better than centralised for small ε on Adult and for all on Accelerometer.",
         ("claim:beats_centralised",)),
    Item("claim", "4.1", "Because parting the rows lowers local sensitivity.", ("claim:gains_by_parting",)),
    Item("claim", "4.1", "On categorical data accuracy falls with N.", ("claim:categorical_loses",)),
    Item("claim", "4.1", "Similar accuracy with a slightly higher budget.", ("claim:close_to_centralised",)),
    Item("claim", "1 and 7", "Accuracy comparable to the centralised one.", ("claim:useful_at_a_thousand",)),
    Item("claim", "4.2", "Uneven sizes do equally well.", ("claim:uneven_sizes", "claim:uneven_elsewhere")),
    Item("claim", "4.2", "Errors depend mostly on ε, and on sizes.", ("claim:noise_by_epsilon_and_size",)),
    Item("claim", "4.2", "A cut-off changes the variance, not the typical accuracy.", ("claim:cutoff_spares_typical",)),
    Item("claim", "4.3", "Around 30 iterations suffice for 1000 nodes.", ("claim:thirty_published",)),
    Item("claim", "4.3", "Similar results on all data sets.", ("claim:same_everywhere",)),
    Item("claim", "3.3", "O(log N) steps.", ("claim:logarithmic", "experiment:growth")),
    Item("claim", "4.3", "Priors converge first, deviations after means.", ("claim:priors_first",)),
    Item("claim", "4.3", "Deviations stay off.", ("claim:deviations_stay_off",)),
    Item("future work", "6", "Data that are not dealt out alike.",
         ("experiment:skew", "code:discreet.nodes.partition:assign", "claim:skewed_rows")),
    Item("future work", "6", "Feature selection.",
         ("code:discreet.selection:choose_from_model", "code:discreet.cli.federate:select", "experiment:selection",
          "claim:choosing_first", "proof:federated.md"), Status.MENDED,
         "local rankings would each need a budget; a first round's noised sum ranks features at no further cost"),
    Item("future work", "6", "Byzantine resilience of the federation.",
         ("code:discreet.federated.robust:robust_estimate",)),
    Item("future work", "6", "Byzantine resilience of gossip.", ("experiment:liars", "claim:liars"), Status.MENDED,
         "rules that pull medians of peers are simulated, and one liar in a thousand ruins a sum; deployed nodes "
         "have push-sum with members admitted by key. Where members may lie the federation's trimmed rates "
         "(discreet federate coordinator --weighting trimmed) are the answer outside the simulator"),
)  # fmt: skip
