"""SmoothSettings: how noise may follow the data, in one object that scikit-learn can reach into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec

from sklearn.base import BaseEstimator

from discreet.errors import BudgetError, SettingError

Given = ParamSpec("Given")


class SmoothSettings(BaseEstimator):
    """How noise on the moments of a bell curve may follow the data: a setting of `PrivateNB`.

    Parameters
    ----------
    sensitivity : {"smooth", "auto", "global"}
        Noise by a smooth bound that follows the data (trimmed means and variances), by that or by what the public
        bounds allow, whichever promises the smaller error for a feature, or by the public bounds alone.
    estimator : {None, "moments", "trimmed", "bun-steinke", "vaidya"}
        Plain sums (global), trimmed mean and variance (smooth), or Bun and Steinke's trimmed means of x and x²;
        these two imply smooth sensitivity. "vaidya" releases means and deviations with Laplace noise by the public
        bounds and the released class counts, as Vaidya et al. (2013) do: a baseline.
    noise : None or one of "student-t", "cauchy", "laplace-log-normal", "uniform-log-normal", "arsinh-normal", \
            "laplace", "gaussian"
        The law under a smooth bound. "student-t", the default, has one to three degrees of freedom, as the released
        counts suggest; the three with "normal" in their names (Bun and Steinke's) are concentrated and need a delta or
        a rho, "laplace" and "gaussian" need a delta.
    trim : "auto", int or fraction
        Rows cut from each end of every class: a public number, a share of the released class count, or what
        promises the least error at the released count.
    spread : None, "buy" or dict
        Public standard deviations by feature name, which only tune the release; "buy" estimates those that are not
        declared from a coarse noisy histogram. With sensitivity="auto" it is the default.
    """

    def __init__(
        self, sensitivity: str = "smooth", estimator: str | None = None, noise: str | None = None, trim: Any = "auto",
        spread: Any = None,
    ) -> None:  # fmt: skip
        self.sensitivity, self.estimator, self.noise = sensitivity, estimator, noise
        self.trim, self.spread = trim, spread


def asked_smooth(given: Any) -> dict[str, Any]:
    """The settings of a smooth bound as a plan takes them; none if it was not asked for."""
    if given is not None and not isinstance(given, SmoothSettings):
        raise BudgetError(f"smooth must be SmoothSettings(...) or None, not {given!r}")
    return {} if given is None else given.get_params(deep=False)


def refuse_moved(given: Mapping[str, Any]) -> None:
    """Refuse the settings of a smooth bound where version 0.1 had them: beside it."""
    for name in set(given) & set(SmoothSettings().get_params()):
        spelled = f"smooth=SmoothSettings({name}={given[name]!r})"
        raise SettingError(f"{name} is a setting of the smooth bound now: write PrivateNB({spelled})")


def refusing_moved(init: Callable[Given, None]) -> Callable[Given, None]:
    """A constructor that refuses those, while its signature lists only the settings there are."""

    @wraps(init)
    def checked(*given: Given.args, **named: Given.kwargs) -> None:
        refuse_moved(named)
        init(*given, **named)

    return checked
