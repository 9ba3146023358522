"""Measures the privacy that is really there: statistically valid lower bounds on epsilon."""

from discreet.audit.bounds import Hits, clopper_pearson_lower, clopper_pearson_upper
from discreet.audit.engine import DEFAULT_SAMPLES, audit
from discreet.audit.events import Event
from discreet.audit.neighbours import contradicted, most_telling, neighbour_pairs
from discreet.audit.onerun import audit_one_run, canary_lower_bound, guess_tail
from discreet.audit.outputs import Sampler, flatten
from discreet.audit.registry import (
    AuditCase,
    Claim,
    Registry,
    case_at_one,
    list_cases,
    register,
    run_all,
    run_case,
    run_controls,
)
from discreet.audit.result import AuditResult, Law, Pair, figure
from discreet.audit.user import load_user_function, load_user_pairs
from discreet.errors import AuditError

__all__ = [
    "DEFAULT_SAMPLES",
    "AuditCase",
    "AuditError",
    "AuditResult",
    "Claim",
    "Event",
    "Hits",
    "Law",
    "Pair",
    "Registry",
    "Sampler",
    "audit",
    "audit_one_run",
    "canary_lower_bound",
    "case_at_one",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "contradicted",
    "figure",
    "flatten",
    "guess_tail",
    "list_cases",
    "load_user_function",
    "load_user_pairs",
    "most_telling",
    "neighbour_pairs",
    "register",
    "run_all",
    "run_case",
    "run_controls",
]
