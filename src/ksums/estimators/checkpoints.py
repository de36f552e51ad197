"""The parameter ``checkpoint``: which fit a file belongs to, and the seeds of a resumed fit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix, blocks
from ksums.method.fitting.checkpoint import CheckpointFile, read_about
from ksums.method.state.constraints import Constraints

_SAME_LABELS = ("n_threads", "verbose", "callbacks", "max_memory", "checkpoint", "random_state", "init")
"""Parameters that may change when a fit is resumed; ``init`` is part of the data's digest."""
_BLOCK = 1 << 14
"""Rows that are read at a time."""


def seeds_and_checkpoint(estimator: Any, count: int, facts: dict[str, Any]) -> tuple[list[int], CheckpointFile | None]:
    """The seeds of the runs, and the file; ``facts`` tell the data from other data.

    Without a ``random_state`` the seeds are those of the file, if there is one.
    """
    seeds = estimator._seeds(count)
    if getattr(estimator, "checkpoint", None) is None:
        return seeds, None
    path = Path(estimator.checkpoint)
    if estimator.random_state is None and path.exists():
        seeds = read_about(path)["identity"].get("seeds", seeds)
    parameters = estimator.get_params(deep=False)
    own = {name: repr(value) for name, value in parameters.items() if name not in _SAME_LABELS}
    return seeds, CheckpointFile(path, {**own, "version": version("ksums"), "seeds": seeds, **facts})


def facts_of_rows(
    X: Matrix, weights: np.ndarray | None, init: Any, constraints: Constraints | None, units: np.ndarray | None
) -> dict[str, Any]:
    """What tells these rows, and the constraints on them, from others."""
    arrays: list[Any] = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    arrays += [np.zeros(0) if weights is None else weights, init if isinstance(init, np.ndarray) else np.zeros(0)]
    if constraints is not None:
        parts = [part for given in constraints for part in (given if isinstance(given, tuple) else [given])]
        arrays += [part for part in parts if part is not None]
    arrays += [] if units is None else [units]
    start = init if isinstance(init, str) else "an array"
    return {"shape": list(X.shape), "dtype": X.dtype.name, "init": start, "data": digest_of(arrays)}


def digest_of(arrays: Iterable[np.ndarray]) -> str:
    """A digest of the values of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        for part in blocks(len(array), _BLOCK):
            digest.update(np.ascontiguousarray(array[part]).data)
    return digest.hexdigest()
