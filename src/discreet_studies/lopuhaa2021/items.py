"""Everything that lopuhaa2021 describes, and where it is."""

from __future__ import annotations

from discreet_studies.items import Item, Status

PUBLISHED = "code:discreet_studies.published.lopuhaa2021"
NAMES = {"nb": "Naive Bayes", "svm": "SVM", "tree": "decision tree"}

ITEMS = (
    Item("definition", "2.1, equations 1 to 4", "Naive Bayes with counts and normal densities.",
         (f"{PUBLISHED}:fit_naive_bayes", "method:paper-nb"), Status.MENDED,
         "the density of equation 4 has lost its minus sign, which is put back"),
    Item("definition", "2.2, equations 5 and 6", "SVM with the Huber loss, h = 0.05 and Λ = 10^-2.5.",
         (f"{PUBLISHED}:huber", f"{PUBLISHED}:fit_svm")),
    Item("definition", "2.3, equations 7 to 9", "CART on binary attributes by the Gini index, depth ⌈√m⌉.",
         (f"{PUBLISHED}:fit_tree", f"{PUBLISHED}:depth_of")),
    Item("definition", "Definition 3.1, equation 10, problem 1", "ε-differential privacy of what is trained.",
         ("code:discreet:Budget", "code:discreet:Adjacency")),
    Item("theorem", "Theorem 3.1", "Queries that cost ε/m each, m of them to a row.", ("proof:composition.md",)),
    Item("definition", "3.1, equations 12 to 14", "Sensitivities of a mean and of a deviation.",
         (f"{PUBLISHED}:noisy_moments",), Status.MENDED, "they divide by the size of the class, which is private: what "
         "is printed is a local sensitivity, taken for the global one"),
    Item("claim", "3.1", "Drawing noise again until the answer is positive, as Vaidya et al. do, is not private.",
         ("proof:additive-noise.md",), Status.MENDED, "right, because the law of what is kept depends on the exact "
         "count; nothing here draws again, and nothing is measured"),
    Item("definition", "3, equation 11", "Laplace responses L and L⁺, which is 1e-5 at least.",
         (f"{PUBLISHED}:ALPHA",)),
    Item("algorithm", "Algorithm 1", "ε-private Naive Bayes, ε' for each of 1 + categorical + 2·numeric queries.",
         (f"{PUBLISHED}:fit_naive_bayes", "method:paper-nb", "method:bell", "method:nb", "code:discreet:PrivateNB"),
         Status.MENDED, "as printed its noise gives class sizes away (audit); the sound one releases sums and counts, "
         "with bell curves as in the paper and in bins beside"),
    Item("algorithm", "Algorithm 2", "ε-private SVM by objective perturbation.",
         (f"{PUBLISHED}:fit_svm", "method:paper-svm", "method:svm", "method:svm-codes", "code:discreet:PrivateSVC"),
         Status.MENDED, "argmax is read as argmin; several classes are not described: each is told from the rest, "
         "with its share of the budget; the sound one enforces the norm that the theorem needs and "
         "certifies its minimum"),
    Item("algorithm", "Algorithm 3", "ε-private decision tree from noisy counts, ε/(|A|(d + 1)) each.",
         (f"{PUBLISHED}:fit_tree", "method:paper-tree", "method:tree-counts", "code:discreet:PrivateTreeClassifier"),
         Status.MENDED, "cut at the data's own median it is not private (audit); with cuts of the schema the same "
         "budget is sound, and is what the library's split='noisy-counts' spends"),
    Item("theorem", "Theorem 3.2", "Algorithm 1 is ε-differentially private.",
         ("claim:theorem_naive_bayes", "audit:control-lopuhaa2021-naive-bayes")),
    Item("theorem", "Theorem 3.3", "Algorithm 2 is ε-differentially private.",
         ("claim:theorem_svm", "audit:control-lopuhaa2021-svm", "proof:linear.md")),
    Item("theorem", "Theorem 3.4", "Algorithm 3 is ε-differentially private.",
         ("claim:theorem_tree", "audit:control-lopuhaa2021-tree", "proof:trees.md")),
    Item("table", "Table 1", "Six data sets: Adult, Mushroom, Nursery, Congress, SPECT, Skin.",
         ("experiment:sweep", "code:discreet_studies.lopuhaa2021.experiments:DATA"), Status.MENDED,
         "Mushroom is printed with 8,000 rows; the file has 8,124, and all are used"),
    Item("experiment", "4, setup", "Ten values of ε from 1e-11 to 1.",
         ("experiment:sweep", "code:discreet_studies.lopuhaa2021.experiments:PRINTED"), Status.MENDED,
         "3 and 10 are added: the text speaks of ε above 3, which the printed set does not reach"),
    Item("experiment", "4, data", "For SVM whole numbers are dealt at random to categories.",
         (f"{PUBLISHED}:random_codes", "method:paper-svm", "method:svm-codes")),
    Item("experiment", "4, data", "For trees each category is an attribute, numbers are cut at the median.",
         (f"{PUBLISHED}:binary_questions",)),
    Item("experiment", "4, evaluation", "Ten-fold cross-validation, 100 repeats, 10 for trees.",
         ("experiment:sweep", "code:discreet_studies.lopuhaa2021.experiments:repeats")),
    Item("experiment", "4, evaluation", "Parameters tuned to the highest performance on each data set.", (),
         Status.REFUSED, "tuned on the private rows they would void the guarantee, and the paper prints none of them; "
         "all stay at the values it prints or the library's defaults"),
    Item("definition", "Definition 4.1, equations 20 to 22", "The Wilcoxon signed-rank test.",
         ("code:discreet_studies.lopuhaa2021.wilcoxon:signed_ranks", "claim:printed_variance"), Status.MENDED,
         "the variance is N(N+1)(2N+1)/24, not /4: the printed one has a floor of .0030 one-sided"),
    Item("figure", "Figure 1", "The setting: rows, training, a published model.", ("code:discreet:PrivateNB",)),
    *(Item("figure", f"Figure 2{letter}", f"Accuracy against ε on {data}.", (f"figure:figure2-{data}",))
      for letter, data in zip("abcdef", ("adult", "mushroom", "nursery", "votes", "spect", "skin"), strict=True)),
    Item("figure", "Figure 3", "Mean accuracy over all data sets.", ("figure:figure3",)),
    Item("figure", "Figure 4", "Heat map of p-values.",
         ("figure:figure4-sound", "figure:figure4-published", "claim:wilcoxon_test")),
    Item("figure", "Figure 5a", "Distribution of accuracies by ε.",
         ("figure:figure5-accuracy-sound", "figure:figure5-accuracy-published", "claim:spread_of_accuracy")),
    Item("figure", "Figure 5b", "Distribution of accuracy ratios by ε.",
         ("figure:figure5-ratio-sound", "figure:figure5-ratio-published", "claim:little_lost_above_a_quarter",
          "claim:halved_at_tiny")),
    *(Item("table", "Table 2", f"{title}: accuracy without privacy.", (f"claim:table_two_{kind}_plain",))
      for kind, title in NAMES.items()),
    *(Item("table", "Table 2", f"{title}: average accuracy over ε.", (f"claim:table_two_{kind}_private",))
      for kind, title in NAMES.items()),
    *(Item("table", "Table 2", f"{title}: ratio of the two.",
           ("code:discreet_studies.lopuhaa2021.levels:kept", "claim:nb_most_stable"), Status.MENDED,
           "the quotient of the two rows above, which are judged; its mean over the data sets decides the claim on it")
      for title in NAMES.values()),
    Item("claim", "5, RQ1", "SVM is accurate on large data sets and not on small ones.", ("claim:svm_needs_rows",)),
    Item("claim", "5, RQ1", "Naive Bayes and trees depend neither on rows nor on attributes.",
         ("claim:no_matter_of_size", "experiment:rows", "experiment:attributes")),
    Item("claim", "5, RQ2", "SVM is best on average between 0.005 and 3.", ("claim:svm_best_in_the_middle",)),
    Item("claim", "5, RQ2", "For small ε Naive Bayes and trees are slightly better.", ("claim:little_at_tiny",)),
    Item("claim", "5, RQ2", "For ε above 3 trees are best.", ("claim:tree_best_at_large",)),
    Item("claim", "5, RQ2", "Trees rise most.", ("claim:tree_rises_most",)),
    Item("claim", "5, RQ2", "Trees are best on average without privacy, SVM with it.", ("claim:best_on_average",)),
    Item("claim", "5, RQ2", "Naive Bayes is the most stable.", ("claim:nb_most_stable",)),
    Item("claim", "5, RQ3", "Accuracy falls with ε.", ("claim:accuracy_rises",)),
    Item("claim", "5, RQ3", "SVM is poor on three data sets for very small ε.", ("claim:svm_poor_at_tiny",)),
    Item("claim", "5, RQ3", "Trees jump at some ε.", ("claim:trees_jump",)),
    Item("claim", "5, RQ3", "From 0.005 to 0.25 results vary more.", ("claim:middle_varies_more",)),
    Item("claim", "5, RQ3", "On average SVM is only slightly worse than the others at very small ε.",
         ("claim:little_at_tiny",)),
    Item("claim", "5, discussion", "None is best for all.", ("claim:no_single_best",)),
    Item("claim", "5, discussion", "Within a range of ε accuracy does not change.",
         ("claim:little_lost_above_a_quarter",)),
    Item("claim", "5, discussion", "Classifiers that rest on probabilities behave almost alike.",
         ("claim:wilcoxon_test",), Status.MENDED, "Naive Bayes and trees are meant: the words sum figure 4 up, and are "
         "judged with it"),
    Item("claim", "5, discussion", "Kernel SVMs would not change the findings.", (), Status.REFUSED,
         "an expectation, which the paper does not test. With random features the same objective perturbation is "
         "sound for kernels, but their bandwidth is chosen on the private rows in all of the cited work, and a public "
         "one for these six tables is nowhere printed"),
    Item("claim", "5, discussion", "Other Naive Bayes and trees would not change the findings.",
         ("method:nb", "method:forest", "method:lr"), Status.MENDED,
         "bins, a forest and logistic regression stand beside; each verdict says what bins make of it"),
)  # fmt: skip
