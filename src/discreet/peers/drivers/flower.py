"""Driver of Flower: the functions that its differential privacy mods call, on a tiny update."""

import numpy as np
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.supercore import differential_privacy as dp
from serve import serve


def clipped(update, clipping_norm):
    """A client's parameters after the mods' clipping, around a global model of zeros."""
    parameters = [np.array(update, dtype=np.float64)]
    dp.compute_clip_model_update(parameters, [np.zeros(len(update))], clipping_norm)
    return ndarrays_to_parameters(parameters)


def local(clipping_norm, sensitivity, epsilon, delta):
    """What LocalDpMod sends."""

    def release(update):
        noisy = dp.add_localdp_gaussian_noise_to_params(clipped(update, clipping_norm), sensitivity, epsilon, delta)
        return parameters_to_ndarrays(noisy)[0]

    return release


def central(clipping_norm, noise_multiplier):
    """What the server has after fixed clipping of one client's update."""

    def release(update):
        noisy = dp.add_gaussian_noise_to_params(clipped(update, clipping_norm), noise_multiplier, clipping_norm, 1)
        return parameters_to_ndarrays(noisy)[0]

    return release


serve("flwr", {"local": local, "central": central})
