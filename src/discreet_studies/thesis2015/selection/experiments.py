"""The experiments of thesis2015's selection part: which methods, on which data, at which ε and number of features."""

from __future__ import annotations

from discreet_studies.tasks import Option, Task
from discreet_studies.thesis2015.selection.data import PROXY, REAL, SYNTHETIC

EPSILON = 0.1
DECISIVE = ("xwindows", EPSILON)  # where the thesis' main claim is settled: more trials
FAST_GRID = (1, 2, 5, 10, 30, 60)
FULL_GRID = (1, 2, 3, 5, 7, 10, 20, 30, 60)
TOP_GRID = (1, 2, 3, 5, 7, 8, 10, 20, 50, 100, 300, 600)  # figure 3.7
FAST_BLOCKS, FULL_BLOCKS = (4, 1), (30, 1)  # blocks and trials in each: 30 runs, where the thesis has 10
BASELINES = ("all", "all-ours")
# Sound: the thesis' masks by counts and by mutual information, masks by the sharper reach, and this library's choice.
SOUND = ("count-mask", "mi-mask", "count-sharp", "hits-flip", "hits-joint")
# Without T masks by counts cost Tε/2 on binary features and two classes: unsound from LEAST_UNSOUND features on.
LEAST_UNSOUND = 3
UNSOUND = ("count-no-t", "mi-no-t", "oracle")
RANKERS = ("count-mask", "mi-mask", "count-sharp", "hits-flip", "count-no-t", "tables", "scores-mi", "random")
# Section 3.3.4: thresholds in rows (log 2/ε is marked -1), and quantiles of the noise in per cent.
FIXED_THRESHOLDS = (0, 1, -1, 10, 100)
QUANTILES = (65, 70, 80, 90, 95, 99)
EPSILONS = (0.01, 0.1, 1.0, 10.0)
PARTED = ("together", "partition", "thesis-together", "thesis-partition", "plain-together", "plain-partition")
PARTED_DATA = {PROXY: EPSILON, "mushroom": EPSILON, **dict.fromkeys(SYNTHETIC, EPSILON), "sparse-60000": 0.01}
HALVES = ("newsgroup", "mushroom", "xwindows")
TITLES = {
    "plain": "Naive Bayes without privacy",
    "all": "all features, thesis' estimator",
    "all-ours": "all features, this library's estimator",
    "count-mask": "masks by counts, ε/(2TΔ)",
    "mi-mask": "masks by mutual information, ε/(2TΔ)",
    "count-sharp": "masks by counts, ε/(TΔ) (binary features)",
    "hits-flip": "permute-and-flip by hits",
    "hits-joint": "joint mechanism by hits",
    "count-no-t": "masks by counts, T left out (unsound from T = 3 on)",
    "mi-no-t": "masks by mutual information, T left out",
    "oracle": "best mutual information, chosen without privacy",
    "auto": "SelectiveNB, k by itself",
}


def tasks(fast: bool) -> list[Task]:
    """Every block of trials."""
    blocks, trials = FAST_BLOCKS if fast else FULL_BLOCKS
    grid = FAST_GRID if fast else FULL_GRID
    found: list[Task] = []

    def add(
        experiment: str, data: str, method: str, epsilon: float = EPSILON, cost: float = 1.0, times: int = trials,
        **options: int,
    ) -> None:  # fmt: skip
        if (data, epsilon) == DECISIVE and method in {"count-mask", "count-no-t"} and experiment == "selection":
            times *= 2
        given: tuple[Option, ...] = (*options.items(), ("trials", times))
        found.extend(Task(experiment, data, method, epsilon, repeat=b, options=given, cost=cost) for b in range(blocks))

    for name in REAL:
        found += [Task(what, name, "none", float("inf")) for what in ("table", "features")]
        found.append(Task("selection", name, "plain", float("inf"), options=(("trials", 1),)))
        levels = [EPSILON, *{"adult": (0.4,), "newsgroup": (0.01, 1.0), "xwindows": (1.0,)}.get(name, ())]
        for epsilon in levels:
            for method in (*BASELINES, "auto"):
                add("selection", name, method, epsilon, cost=3.0)
            for method in (*SOUND, *UNSOUND):
                for k in grid:
                    add("selection", name, method, epsilon, k=k)
    for name in ("xwindows", "mushroom", "newsgroup"):
        for rows in FIXED_THRESHOLDS:
            add("threshold", name, "all", cost=3.0, rows=rows)
        for level in QUANTILES:
            add("threshold", name, "all", cost=3.0, level=level)
    for name in ("xwindows", "mushroom"):
        for epsilon in EPSILONS:
            add("epsilon", name, "all", epsilon, cost=3.0)
        for k in TOP_GRID:
            if k <= (600 if name == "xwindows" else 100):
                add("top", name, "oracle", k=k, times=1)
                found.append(Task("top", name, "plain", float("inf"), options=(("k", k), ("trials", 1))))
    for name, epsilon in PARTED_DATA.items():
        for method in PARTED:
            for k in (5, 20, 60):
                if not fast or not name.startswith(("sparse-", "dense-")):
                    add("partition", name, method, epsilon, k=k, cost=2.0, times=1 if fast or "000" in name else 2)
    for name in ("xwindows", "mushroom"):
        for method in RANKERS:
            add("ranking", name, method, 0.05, k=10)
    for name in HALVES:
        add("halves", name, "budget", 0.5, times=5)
        add("halves", name, "rows", 1.0, times=5)
    for name in ("newsgroup", "mushroom"):
        for method in ("count-mask", "count-mask-rows"):
            add("steps", name, method, k=10, times=5)
    found.append(Task("audit", "none", "count-no-t", 1.0, cost=20.0))
    found.append(Task("audit", "none", "iterative", 1.0, cost=20.0))
    return found
