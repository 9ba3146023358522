"""Driver of NVFlare: what its privacy filters let through of a tiny update."""

import logging
import sys

sys.path.append(sys.path.pop(0))  # this file is called as the library is

import numpy as np
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy
from nvflare.app_common.filters.svt_privacy import SVTPrivacy
from serve import serve

logging.disable(logging.CRITICAL)


def filtered(kind):
    """The update behind a filter."""

    def make(**setting):
        def release(update):
            dxo = DXO(DataKind.WEIGHT_DIFF, data={"w": np.array(update, dtype=np.float64)})
            return kind(**setting).process_dxo(dxo, Shareable(), FLContext()).data["w"]

        return release

    return make


serve("nvflare", {"svt": filtered(SVTPrivacy), "percentile": filtered(PercentilePrivacy)})
