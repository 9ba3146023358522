"""The figures to reach: AUC for two classes, accuracy for more, by data set and ε."""

from __future__ import annotations

EPSILONS = (0.1, 0.5, 1.0, 4.0)

# Per data set: the figure aimed at, at pure ε, DP-EBM at δ = 1e-6, and the best classifier of diffprivlib.
_FIGURES: dict[str, tuple[str, str, str]] = {
    "adult": (".890 .906 .911 .921", ".856 .880 .886 .891", ".647 .760 .795 .871"),
    "mushroom": (".978 .995 .999 1.0", ".957 .986 .986 .991", ".940 .949 .951 .989"),
    "kr_vs_kp": (".850 .960 .979 .991", ".621 .876 .930 .967", ".719 .762 .776 .897"),
    "skin": (".999 1.0 1.0 1.0", ".965 .966 .966 .966", ".981 .982 .982 .982"),
    "votes": (".944 .973 .975 .991", ".588 .931 .917 .980", ".891 .951 .960 .970"),
    "pima": (".636 .783 .818 .842", ".515 .621 .702 .813", ".661 .671 .704 .771"),
    "spect": (".616 .728 .782 .833", ".500 .484 .614 .784", ".583 .489 .592 .659"),
    "census_kdd": (".906 .938 .943 .950", ".892 .910 .908 .902", "- - - -"),
    "xwindows": (".750 .800 .820 .870", "- - - -", "- - - -"),
    "nursery": (".891 .914 .933 .945", "- - - -", ".639 .706 .773 .791"),
    "car": (".749 .819 .845 .922", "- - - -", ".645 .713 .708 .806"),
    "connect4": (".715 .741 .749 .783", "- - - -", ".657 .657 .657 .723"),
}
_WITH_DELTA = {"census_kdd": ".920 .941 .945 .950", "kr_vs_kp": ".850 .972 .985 .992"}  # of ours at δ = 1e-6
COLUMNS = ("goal", "dp-ebm", "diffprivlib")


def bars() -> dict[tuple[str, float], dict[str, float]]:
    """By data set and ε: the figures aimed at (without and with a δ) and those of two peers, where there is one."""
    result: dict[tuple[str, float], dict[str, float]] = {}
    for name, columns in _FIGURES.items():
        for title, figures in zip(COLUMNS, columns, strict=True):
            for epsilon, figure in zip(EPSILONS, figures.split(), strict=True):
                if figure != "-":
                    result.setdefault((name, epsilon), {})[title] = float(figure)
    for name, figures in _WITH_DELTA.items():
        for epsilon, figure in zip(EPSILONS, figures.split(), strict=True):
            result[name, epsilon]["goal-delta"] = float(figure)
    return result
