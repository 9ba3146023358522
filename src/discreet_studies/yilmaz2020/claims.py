"""The claims of yilmaz2020, and the bar that the library sets itself."""

from __future__ import annotations

from discreet_studies.yilmaz2020 import number_claims, oracle_claims

CLAIMS = (*oracle_claims.CLAIMS, *number_claims.CLAIMS)
