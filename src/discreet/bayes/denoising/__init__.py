"""Reading: noisy count tables → what each cell says about the class; post-processing only, so it costs no privacy."""

from discreet.bayes.denoising.posterior import posterior
from discreet.bayes.denoising.shrink import shrunk
from discreet.bayes.denoising.tables import NoisyTable, noisy_table

READINGS = ("shrunk", "plain", "bayes")

__all__ = ["READINGS", "NoisyTable", "noisy_table", "posterior", "shrunk"]
