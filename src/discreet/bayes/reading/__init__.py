"""Reading: noisy count tables → what each cell says about the class; post-processing only, so it costs no privacy."""

from discreet.bayes.reading.posterior import posterior
from discreet.bayes.reading.shrink import shrunk
from discreet.bayes.reading.tables import NoisyTable, noisy_table

READINGS = ("shrunk", "plain", "bayes")

__all__ = ["READINGS", "NoisyTable", "noisy_table", "posterior", "shrunk"]
