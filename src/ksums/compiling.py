"""Compile ahead of time: in a Dockerfile, a CI image or an installer, so that nobody waits at the first fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ksums.estimators import BisectingKSums, KSums, PairwiseKSums, SequentialKSums, TableKSums
from ksums.method.data.rows import prepare
from ksums.method.starts.patches import patches_of

TYPES = ("float32", "float64")
"""The arithmetic of the compiled code; narrower types are converted to float32."""


class Part(NamedTuple):
    """Something that users do, and a small fit that compiles what it needs."""

    name: str
    fit: Callable[[np.ndarray], Any]


def _fit(k: int, **parameters: Any) -> Callable[[np.ndarray], Any]:
    return lambda X: KSums(k, random_state=0, **parameters).fit(X).predict(X)


PARTS = (
    Part("few clusters", _fit(3)),
    Part("more than 16 clusters", _fit(20)),
    Part("many rows", _fit(3, engine="blocks")),
    Part("many rows in the plane", lambda X: patches_of(prepare(X[:, :2].copy(), "l2"), 10)),
    Part("many clusters", _fit(40, engine="neighbors")),
    Part("equal sizes (pairwise)", _fit(3, objective="pairwise")),
    Part("size limits", _fit(3, size_max="balanced")),
    Part("cosine", _fit(3, metric="cosine")),
    Part("sparse rows", lambda X: KSums(3, random_state=0).fit(sparse.csr_array(X))),
    Part("trees", lambda X: BisectingKSums(3, random_state=0).fit(X)),
    Part("streams", lambda X: SequentialKSums(3, random_state=0).fit(X)),
    Part("tables", lambda X: TableKSums(3, categorical=["x0"], random_state=0).fit(X.round())),
    Part("distances", lambda X: PairwiseKSums(3, random_state=0).fit(X)),
)
"""Everything that default parameters use, and size limits."""


def compile(  # named like what it does; the builtin is not used in this module
    types: Sequence[str] = TYPES, progress: bool = True
) -> float:
    """Compile what default parameters use, and keep the machine code on disk.

    Numba writes it beside the package, or into the folder that the environment variable ``NUMBA_CACHE_DIR`` names. What
    is there already is only loaded. In a Dockerfile: ``RUN python -m ksums compile``.

    Parameters
    ----------
    types : sequence of {"float32", "float64"}
        The types of data to compile for; narrower types are converted to float32.
    progress : bool, default=True
        Whether to show a progress bar.

    Returns
    -------
    float
        Seconds it took.

    Examples
    --------
    >>> import ksums
    >>> seconds = ksums.compile(types=["float64"], progress=False)  # doctest: +SKIP
    """
    unknown = [name for name in types if name not in TYPES]
    if unknown:
        raise ValueError(f"compile: types must be among {', '.join(map(repr, TYPES))}; got {unknown[0]!r}.")
    from tqdm.auto import tqdm

    started, rng = time.perf_counter(), np.random.default_rng(0)
    rows = np.abs(rng.standard_normal((400, 4)))
    tasks = [(name, part) for name in types for part in PARTS]
    with tqdm(total=len(tasks), unit="part", disable=not progress) as bar:
        for name, part in tasks:
            bar.set_description(f"{part.name}, {name}")
            part.fit(rows.astype(name))
            bar.update()
    return time.perf_counter() - started
