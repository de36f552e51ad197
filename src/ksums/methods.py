"""All methods of the paper, by the names it prints, and our default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ksums import baselines
from ksums.estimators import BisectingKSums, KSums, SequentialKSums


@dataclass(frozen=True)
class Method:
    """Makes unfitted estimators of one method."""

    name: str
    estimator: type
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the estimator that define the method."""
    metrics: tuple[str, ...] = ("l2", "cosine")
    """Metrics that the method is defined for; the first one is the default."""

    def __call__(self, n_clusters: int, metric: str | None = None, random_state: Any = None, **more: Any) -> Any:
        """Returns an unfitted estimator; ``more`` are further parameters of it."""
        metric = self.metrics[0] if metric is None else metric
        if metric in ("l2", "cosine") and metric not in self.metrics:
            raise ValueError(f"{self.name} is not defined for metric={metric!r}; only for {self.metrics[0]!r}.")
        return self.estimator(n_clusters, metric=metric, random_state=random_state, **{**self.parameters, **more})


_PAPER_IM = {"rule": "paper", "init": "random-labels"}
"""k-sums with the objective I_m, exactly as the paper prints it."""

_PAPER_IS = {"objective": "pairwise", "rule": "paper", "init": "random-labels"}
"""k-sums with the objective I_s, exactly as the paper prints it."""

_COSINE_ONLY = ("cosine",)
"""IKM is defined for directions only."""


class _Methods(dict[str, Method]):
    """A dictionary that names the known methods when one is not found."""

    def __missing__(self, name: str) -> Method:
        raise KeyError(f"there is no method {name!r}; the methods are {', '.join(self)}")


METHODS: Mapping[str, Method] = MappingProxyType(
    _Methods(
        (method.name, method)
        for method in (
            Method("k-means", baselines.KMeans),
            Method("k-means++", baselines.KMeansPlusPlus),
            Method("Mini-Batch", baselines.MiniBatch),
            Method("LVQ", baselines.LVQ),
            Method("Hartigan", baselines.Hartigan),
            Method("k-means#", baselines.KMeansSharp),
            Method("IKM", baselines.IKM, metrics=_COSINE_ONLY),
            Method("Sequential k-means", baselines.SequentialKMeans, {"shuffle": True}),
            Method("bisecting k-means", baselines.BisectingKMeans),
            Method("bisecting k-means++", baselines.BisectingKMeansPlusPlus),
            Method("bisecting k-means#", baselines.BisectingKMeansSharp),
            Method("bisecting IKM", baselines.BisectingIKM, metrics=_COSINE_ONLY),
            Method("k-sums-Im", KSums, _PAPER_IM),
            Method("k-sums-Is", KSums, _PAPER_IS),
            Method("bisecting k-sums-Im", BisectingKSums, {**_PAPER_IM, "strategy": "largest"}),
            Method("bisecting k-sums-Is", BisectingKSums, {**_PAPER_IS, "strategy": "largest"}),
            Method("Sequential k-sums-Im", SequentialKSums, {"shuffle": True}),
            Method("Sequential k-sums-Is", SequentialKSums, {"objective": "pairwise", "shuffle": True}),
            Method("k-sums-Im (released)", KSums, {"rule": "released", "init": "random-labels"}),
            Method("ksums", KSums),
        )
    )
)
"""``METHODS[name](n_clusters, metric="l2", random_state=None, **more)`` returns an unfitted estimator.

Names and starts are those of the paper; a start is random labels, or random samples as seeds. Sequential methods, which
see each sample once, read the samples in random order. IKM and bisecting IKM are defined for cosine only
(``METHODS[name].metrics``), which is then their default. ``"k-sums-Im (released)"`` is I_m as in the authors' published
code; ``"ksums"`` is our default.

>>> from ksums import METHODS
>>> METHODS["k-sums-Is"](10, metric="cosine", random_state=0)
KSums(init='random-labels', metric='cosine', n_clusters=10,
      objective='pairwise', random_state=0, rule='paper')
>>> [name for name, method in METHODS.items() if "l2" not in method.metrics]
['IKM', 'bisecting IKM']
"""
