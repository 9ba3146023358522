"""Driver of multi-freq-ldpy: one device's report about one value."""

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
from serve import serve


def oracle(client, read, **fixed):
    """A report as numbers."""

    def make(epsilon, k):
        return lambda value: read(client(value, k, epsilon, **fixed), k)

    return make


def hashed(report, k):
    """What the collector computes of a hashed report: which values it supports."""
    import xxhash

    value, seed = report
    g = 4  # round(e) + 1, as the client has it at epsilon 1
    return [xxhash.xxh32(str(v), seed=seed).intdigest() % g == value for v in range(k)]


serve(
    "multi-freq-ldpy",
    {
        "grr": oracle(GRR_Client, lambda report, k: [report]),
        "oue": oracle(UE_Client, lambda report, k: report, optimal=True),
        "sue": oracle(UE_Client, lambda report, k: report, optimal=False),
        "olh": oracle(LH_Client, hashed, optimal=True),
        "subset": oracle(SS_Client, lambda report, k: report),
        "subset-sorted": oracle(SS_Client, lambda report, k: sorted(report)),
    },
)
