"""The cases: whose function, in which setting, on which neighbouring inputs, against which claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import AuditError


@dataclass(frozen=True)
class PeerCase:
    """One claim of one library; where it states no epsilon, `stated` is false and `basis` says what is compared."""

    name: str
    family: str
    function: str
    setting: dict[str, Any]
    left: Any
    right: Any
    neighbours: str
    epsilon: float
    delta: float = 0.0
    samples: int = 8_000
    basis: str = "the epsilon that was passed"
    stated: bool = True

    def request(self, side: int, size: int = 1) -> dict[str, Any]:
        """What the driver is asked for `size` outputs on the left (0) or right (1) input."""
        data = self.right if side else self.left
        return {"function": self.function, "setting": self.setting, "data": data, "size": size}


_FOUR = [[0.0], [1.0], [0.0], [1.0], [1.0]]
_HIGH = [[1000.0], [1001.0], [1000.0], [1001.0], [1001.0]]
_LABELS, _CHANGED = [0, 0, 1, 1, 0], [0, 0, 1, 1, 1]
_TABLE, _TABLE_LESS = {"a": [0, 0, 1, 1, 0, 1], "b": [0, 0, 1, 1, 0, 1]}, {"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 0]}
_GENERATIVE = {"epsilon": 1.0, "delta": 0.01, "domain": {"a": 2, "b": 2}, "iterations": 5}
_BLOCKS = [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]
_MULTIPLIER = "the library states no epsilon: compared with that of one Gaussian mechanism of this noise multiplier"
_REPORT = "two values of one person"


def _label(X: list[list[float]]) -> tuple[Any, Any]:
    return {"X": X, "y": _LABELS}, {"X": X, "y": _CHANGED}


def _oracle(name: str, function: str, note: str = "the epsilon that was passed") -> PeerCase:
    setting = {"epsilon": 1.0, "k": 10}
    return PeerCase(
        f"multi-freq-ldpy/{name}", "ldpy", function, setting, 0, 1, _REPORT, 1.0, samples=60_000, basis=note
    )


CASES: tuple[PeerCase, ...] = (
    PeerCase("diffprivlib/gaussian-nb", "diffprivlib", "gaussian_nb", {"epsilon": 1.0, "bounds": [0, 1]},
             *_label(_FOUR), "the label of one row changed", 1.0),
    PeerCase("diffprivlib/gaussian-nb-far-bounds", "diffprivlib", "gaussian_nb",
             {"epsilon": 1.0, "bounds": [1000, 1001]}, *_label(_HIGH), "the label of one row changed", 1.0),
    PeerCase("diffprivlib/gaussian-nb-default-bounds", "diffprivlib", "gaussian_nb", {"epsilon": 1.0},
             {"X": _FOUR, "y": _LABELS}, {"X": [*_FOUR[:4], [9.0]], "y": _LABELS}, "the value of one row changed", 1.0,
             samples=1_000, basis="the epsilon that was passed; without bounds the library warns that more may leak"),
    PeerCase("diffprivlib/logistic-regression", "diffprivlib", "logistic_regression",
             {"epsilon": 1.0, "data_norm": 1.0}, *_label(_FOUR), "the label of one row changed", 1.0, samples=1_000),
    PeerCase("diffprivlib/random-forest", "diffprivlib", "forest",
             {"epsilon": 1.0, "trees": 5, "depth": 1, "points": [[0.5]]},
             {"X": [[0.5]] * 10, "y": _BLOCKS}, {"X": [[0.5]] * 9, "y": _BLOCKS[1:]}, "the first row removed", 1.0,
             samples=1_000, basis="the epsilon that was passed, read for a removed row"),
    PeerCase("diffprivlib/random-forest-label", "diffprivlib", "forest",
             {"epsilon": 1.0, "trees": 1, "depth": 1, "points": [[0.5]]},
             {"X": [[0.5]] * 3, "y": [0, 1, 1]}, {"X": [[0.5]] * 3, "y": [0, 1, 0]}, "the label of one row changed",
             1.0, samples=1_000, stated=False,
             basis="the epsilon that was passed, read for a replaced label; for added or removed rows it allows 2"),
    PeerCase("diffprivlib/standard-scaler", "diffprivlib", "scaler", {"epsilon": 1.0, "bounds": [0, 1]},
             {"X": [[0.0], [0.0], [0.0]]}, {"X": [[0.0], [0.0], [1.0]]}, "the value of one row changed", 1.0),
    PeerCase("interpret/dp-ebm", "interpret", "ebm", {"epsilon": 1.0, "delta": 0.01, "bounds": [0, 1], "rounds": 20},
             *_label(_FOUR), "the label of one row changed", 1.0, 0.01, samples=2_000),
    PeerCase("dpmm/aim", "dpmm", "aim", _GENERATIVE, _TABLE, _TABLE_LESS, "the last row removed", 1.0, 0.01,
             samples=400, basis="the epsilon and delta that were passed"),
    PeerCase("dpmm/mst", "dpmm", "mst", _GENERATIVE | {"selection_iterations": 5}, _TABLE, _TABLE_LESS,
             "the last row removed", 1.0, 0.01, samples=400,
             basis="the epsilon and delta that were passed; the driver cuts the 2,500 iterations of its selection, "
                   "which work on noisy counts alone, to what the setting says"),
    PeerCase("flower/local-dp-mod", "flower", "local",
             {"clipping_norm": 1.0, "sensitivity": 2.0, "epsilon": 1.0, "delta": 0.01}, [5.0, 0.0], [-5.0, 0.0],
             "another update of the same client", 1.0, 0.01,
             basis="the epsilon and delta that were passed, with sensitivity = 2 x clipping_norm"),
    PeerCase("flower/local-dp-mod-small-sensitivity", "flower", "local",
             {"clipping_norm": 1.0, "sensitivity": 0.5, "epsilon": 1.0, "delta": 0.01}, [5.0, 0.0], [-5.0, 0.0],
             "another update of the same client", 1.0, 0.01,
             stated=False,
             basis="the epsilon and delta that were passed, with a sensitivity of a quarter of what clipping allows: "
                   "the mod takes it as given"),
    PeerCase("flower/fixed-clipping", "flower", "central", {"clipping_norm": 1.0, "noise_multiplier": 1.0},
             [5.0, 0.0], [0.0, 0.0001], "one client's update, and nearly none", 2.0, 0.021, stated=False,
             basis=_MULTIPLIER),
    PeerCase("nvflare/svt", "nvflare", "svt",
             {"fraction": 0.1, "epsilon": 0.5, "noise_var": 0.5, "gamma": 1.0, "tau": 0.5},
             [1.0] + [0.0] * 9, [0.0] + [1.0] * 9, "another update of the same client", 1.0,
             basis="the total of the filter's own accountant: epsilon + n_upload x noise_var"),
    PeerCase("nvflare/percentile", "nvflare", "percentile", {"percentile": 10, "gamma": 1.0},
             [0.5, 0.25, 0.125], [0.5, 0.25, 0.25], "another update of the same client", 1.0, samples=2_000,
             stated=False, basis="the filter states no epsilon and draws no noise: compared with 1"),
    PeerCase("opacus/dp-sgd", "opacus", "sgd",
             {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "steps": 1, "batch": 4},
             {"X": [[0.0], [0.0], [0.0], [9.0]], "y": [1.0, 0.0, 1.0, 1.0]},
             {"X": [[0.0], [0.0], [0.0], [9.0]], "y": [1.0, 0.0, 1.0, 0.0]}, "the label of one row changed", 4.0, 0.085,
             samples=4_000, stated=False,
             basis=_MULTIPLIER + " and twice its sensitivity (a row is replaced), one batch of all rows"),
    _oracle("grr", "grr"),
    _oracle("oue", "oue"),
    _oracle("sue", "sue"),
    _oracle("olh", "olh"),
    _oracle("subset-selection", "subset", "the epsilon that was passed; reports in the order the client returns"),
    _oracle("subset-selection-sorted", "subset-sorted", "the epsilon that was passed; reports sorted"),
)  # fmt: skip


def chosen(names: Sequence[str]) -> list[PeerCase]:
    """Cases by their names or their libraries'; all of them if none is named."""
    known = {case.name: [case] for case in CASES}
    for case in CASES:
        known.setdefault(case.name.split("/")[0], []).append(case)
    for name in names:
        if name not in known:
            raise AuditError(f"No case of another library is called {name!r}; choose of: {', '.join(sorted(known))}.")
    picked = [case for name in names for case in known[name]] if names else list(CASES)
    return [case for case in CASES if case in picked]
