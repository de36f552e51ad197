"""How many clusters? Scores for a range of k, and a suggestion with its reason.

- *objective*: it falls with every additional cluster; look for the k after which it falls slowly.
- *silhouette*, on a sample of rows: how much closer rows are to their own cluster than to the next one; 1 is best.
- *stability*: two models, each fitted to a random part of the rows, label the rows that both have seen. Their agreement
  is the adjusted Rand index: 1 is best, 0 is chance. Their agreement in the *weakest* cluster is the share of its pairs
  of rows that are together in the other model, too. Real clusters are found again in a part of the data; a cluster that
  is cut in two arbitrarily is not.

The suggestion is the largest k whose weakest cluster keeps at least 80% of its pairs. This is the prediction strength
of Tibshirani and Walther (2005), for models of parts of the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, silhouette_samples
from sklearn.metrics.cluster import contingency_matrix

from ksums.checking.data import as_matrix, check_weights
from ksums.compute.arrays import Matrix
from ksums.estimators import KSums
from ksums.estimators.interruption import complete_fits

_PART = 0.7
"""Share of the rows that each of two models sees: the parts differ, and still have about half of the rows in common."""

_REQUIRED = 0.8
"""Share of the pairs in the weakest cluster that must stay together: the lower limit in Tibshirani and Walther."""

_SILHOUETTE_ROWS = 2_000
"""Most rows for the silhouette, because its time grows with their square."""

_STABILITY_ROWS = 20_000
"""Most rows for the stability, because it takes ten fits for each k."""


@dataclass(frozen=True)
class Score:
    """The scores of one k."""

    k: int
    objective: float
    silhouette: float
    """Mean silhouette of a sample of rows; NaN if it is not defined."""
    stability: float
    """Adjusted Rand index of two models of parts of the data, averaged over several such pairs of models."""
    weakest: float
    """Share of the pairs of rows in the weakest cluster that stay together, averaged in the same way."""


@dataclass(frozen=True)
class Choice:
    """The scores of all k, the suggested k, and the reason."""

    scores: list[Score]
    k: int
    reason: str


def choose_k(
    X: Matrix,
    ks: Iterable[int],
    *,
    sample_weight: np.ndarray | None = None,
    metric: str = "l2",
    objective: str = "distortion",
    pairs: int = 5,
    random_state: int = 0,
    n_threads: int | None = None,
    on_score: Callable[[Score], None] = lambda score: None,
) -> Choice:
    """Fit a range of k and suggest one.

    Parameters
    ----------
    X : array-like or CSR array of shape (n, d)
    ks : iterable of int
        Numbers of clusters to try, each at least 2.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, in the fits and in the mean silhouette.
    metric, objective, n_threads
        As in :class:`ksums.KSums`.
    pairs : int, default=5
        Number of pairs of models for the stability.
    random_state : int, default=0
    on_score : function of a Score
        Called with the score of each k as soon as it is known.

    Returns
    -------
    Choice

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ksums.choosing import choose_k
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=1)
    >>> choose_k(X, range(2, 8)).k
    4
    """
    candidates = sorted({int(k) for k in ks})
    X = as_matrix("choose_k", X)
    n = X.shape[0]
    weights = check_weights(KSums(), sample_weight, n)
    if max_clusters(n) < 2:
        raise ValueError(f"X has {n} rows; choosing a number of clusters requires at least 5.")
    if not candidates or candidates[0] < 2 or candidates[-1] > max_clusters(n):
        got = f"{candidates[0]} to {candidates[-1]}" if candidates else "none"
        raise ValueError(f"ks must be numbers of clusters from 2 to {max_clusters(n)} for {n} rows; got {got}.")
    rng = np.random.default_rng(random_state)
    sample = np.sort(rng.choice(n, min(n, _SILHOUETTE_ROWS), replace=False))
    scores = []
    shown: set[str] = set()
    for k in candidates:
        with complete_fits() as warned:
            unfitted = KSums(k, metric=metric, objective=objective, effort="low", n_threads=n_threads)
            model = clone(unfitted).set_params(random_state=random_state).fit(X, sample_weight=weights)
        with complete_fits():  # warnings about parts of the data would repeat those about all of it
            rngs = [np.random.default_rng([random_state, k, i]) for i in range(pairs)]
            agreements = [_agreement(unfitted, X, weights, rng) for rng in rngs]
        for message in (str(warning.message) for warning in warned):
            if message not in shown:
                shown.add(message)
                warnings.warn(message, ConvergenceWarning, stacklevel=2)
        stability, weakest = np.mean(agreements, axis=0).tolist()
        own = None if weights is None else weights[sample]
        silhouette = _silhouette(X[sample], model.labels_[sample], own, metric)
        scores.append(Score(k, float(model.objective_), silhouette, stability, weakest))
        on_score(scores[-1])
    return Choice(scores, *_suggestion(scores))


def max_clusters(n: int) -> int:
    """The largest number of clusters that n rows allow: a model of a part of them needs one row more than clusters."""
    return int(_PART * min(n, _STABILITY_ROWS)) - 1


def _silhouette(rows: Matrix, labels: np.ndarray, weights: np.ndarray | None, metric: str) -> float:
    """Mean silhouette; NaN with a single cluster, or with a cluster for every row."""
    if not 1 < len(np.unique(labels)) < len(labels):
        return float("nan")
    found = silhouette_samples(rows, labels, metric="cosine" if metric == "cosine" else "euclidean")
    return float(np.average(found, weights=weights))


def _agreement(unfitted: KSums, X: Matrix, weights: np.ndarray | None, rng: np.random.Generator) -> tuple[float, float]:
    """Agreement of two models, each of a part of the rows, on the rows that both have seen: overall, and weakest."""
    n = X.shape[0]
    rows = rng.choice(n, min(n, _STABILITY_ROWS), replace=False)
    size = max(unfitted.n_clusters + 1, int(_PART * len(rows)))
    parts = [np.sort(rng.choice(rows, size, replace=False)) for _ in range(2)]
    models = [
        clone(unfitted)
        .set_params(random_state=int(rng.integers(2**31)))
        .fit(X[part], sample_weight=None if weights is None else weights[part])
        for part in parts
    ]
    common = np.intersect1d(parts[0], parts[1])
    labels = [model.labels_[np.searchsorted(part, common)] for model, part in zip(models, parts, strict=True)]
    counts = contingency_matrix(*labels).astype(np.float64)
    return float(adjusted_rand_score(*labels)), min(_weakest_share(counts), _weakest_share(counts.T))


def _weakest_share(counts: np.ndarray) -> float:
    """For each cluster, the share of its pairs of rows that are together in the other model; the lowest of these.

    ``counts[r, v]`` is the number of rows that are in cluster r of one model and in cluster v of the other.
    """
    sizes = counts.sum(axis=1)
    shares = (counts * (counts - 1)).sum(axis=1)[sizes > 1] / (sizes * (sizes - 1))[sizes > 1]
    return float(shares.min(initial=1.0))


def _suggestion(scores: list[Score]) -> tuple[int, str]:
    """The suggested k, and the reason."""
    clearest = max(scores, key=lambda score: (np.nan_to_num(score.silhouette, nan=-1.0), -score.k))
    stable = [score for score in scores if score.weakest >= _REQUIRED]
    if not stable:
        best = max(scores, key=lambda score: score.weakest)
        return clearest.k, (
            f"k = {clearest.k} has the highest silhouette, {clearest.silhouette:.3f}; but no number of clusters is "
            "found again reliably in parts of the data, so the data may have no clear clusters: in the weakest cluster "
            f"at most {best.weakest:.0%} of the pairs of rows stay together (k = {best.k}), and {_REQUIRED:.0%} are "
            "required."
        )
    chosen = stable[-1]
    reasons = [
        f"k = {chosen.k} is the largest number of clusters that are all found again in parts of the data: in the "
        f"weakest one {chosen.weakest:.0%} of the pairs of rows stay together ({_REQUIRED:.0%} are required)"
    ]
    if len(stable) > 1:
        reasons.append("also found again: " + ", ".join(str(score.k) for score in stable[:-1]))
    if clearest.silhouette > chosen.silhouette:
        reasons.append(
            f"k = {clearest.k} has the highest silhouette, {clearest.silhouette:.3f} (k = {chosen.k}: "
            f"{chosen.silhouette:.3f})"
        )
    if chosen is scores[-1] and len(scores) > 1:
        reasons.append("it is the largest k that was tried, so there may be more clusters")
    return chosen.k, "; ".join(reasons) + "."
