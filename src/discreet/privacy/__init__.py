"""Privacy: budgets, adjacency, ledgers, accounts and certificates; the only room that knows what things cost."""

from discreet.privacy.account import Account
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.ledger import Charge, Ledger, Parallel, Response, Sequential, SmoothCharge

__all__ = [
    "Account",
    "Adjacency",
    "Budget",
    "Certificate",
    "Charge",
    "Ledger",
    "Parallel",
    "Response",
    "Sequential",
    "SmoothCharge",
]
