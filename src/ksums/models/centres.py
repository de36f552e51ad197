"""The centres of a fitted model, in float64: from the sums of its clusters, or as they were given."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksums.compute.tensors import as_numpy
from ksums.method.data.norms import unit_vectors


def means_of(model: Any) -> np.ndarray:
    """(k, d) Mean of each cluster; NaN for empty ones. Cells that are missing do not count."""
    sizes, composites = as_numpy(model.sizes_).astype(np.float64)[:, None], as_numpy(model.composites_)
    sizes = np.broadcast_to(getattr(model, "cell_counts_", sizes), composites.shape)
    return np.divide(composites, sizes, out=np.full(composites.shape, np.nan), where=sizes > 0)


def centres_of(model: Any) -> np.ndarray:
    """(k, d) Centres that the model compares rows with: the means, except where ``fixed_centers`` gave others.

    ``distortion_`` is the mean squared distance to them. Under cosine, given centres have unit length.
    """
    centres = means_of(model)
    if (m := given_centres(model)) > 0:
        given = as_numpy(model.cluster_centers_)[:m].astype(np.float64)
        centres[:m] = unit_vectors(given) if model.metric == "cosine" else given
    return centres


def given_centres(model: Any) -> int:
    """How many centres the model was given as ``fixed_centers``."""
    given = getattr(model, "fixed_centers", None)
    return 0 if given is None else int(np.shape(given)[0])
