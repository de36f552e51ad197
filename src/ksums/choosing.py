"""How many clusters? Three views for a range of k, and a suggestion that says why.

- *objective*: falls with every cluster more; what is looked for is where it stops falling fast.
- *silhouette*, on a sample: how much nearer rows are to their own cluster than to the next one, 1 at best.
- *stability*: two models, each fitted to a random part of the rows, label the rows that both have seen. How alike, in
  all (adjusted Rand index, 1 at best; 0 is chance), and in the *weakest* cluster: of the pairs of rows in it, how many
  are together in the other model, too. Clusters that are there are found again in a part of the data; where one is cut
  in two at will, that cluster is not.

Suggested is the largest k whose weakest cluster keeps four fifths of its pairs: the prediction strength of Tibshirani
and Walther (2005), for models of parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.metrics.cluster import contingency_matrix

from ksums.estimators import KSums
from ksums.interruption import whole_fits
from ksums.typing import Matrix
from ksums.validation import as_matrix

_PART = 0.7  # of the rows that each of two models sees
_FOUND_AGAIN = 0.8  # of the pairs in the weakest cluster
_SAMPLE = 2_000  # rows for the silhouette, whose work grows with the square
_MOST_ROWS = 20_000  # for the stability


@dataclass(frozen=True)
class Score:
    """What is known of one k."""

    k: int
    objective: float
    silhouette: float
    stability: float
    """Adjusted Rand index of the labels of two models, mean over several pairs of them."""
    weakest: float
    """Share of the pairs of rows in the weakest cluster that stay together, mean over the same."""


@dataclass(frozen=True)
class Choice:
    """The scores, the k that is suggested, and why."""

    scores: list[Score]
    k: int
    reason: str


def choose_k(
    X: Matrix,
    ks: Iterable[int],
    *,
    metric: str = "l2",
    objective: str = "distortion",
    pairs: int = 5,
    random_state: int = 0,
    n_threads: int | None = None,
    tell: Callable[[Score], None] = lambda score: None,
) -> Choice:
    """Fit a range of k and suggest one.

    Parameters
    ----------
    X : array-like or CSR array of shape (n, d)
    ks : iterable of int
        Numbers of clusters, 2 at least.
    metric, objective, n_threads
        As in :class:`ksums.KSums`.
    pairs : int, default=5
        Pairs of models for the stability.
    random_state : int, default=0
    tell : function of a Score
        Called as soon as a k is done.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ksums.choosing import choose_k
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=1)
    >>> choose_k(X, range(2, 8)).k
    4
    """
    wanted = sorted({int(k) for k in ks})
    X = as_matrix("choose_k", X)
    n = X.shape[0]
    if most_clusters(n) < 2:
        raise ValueError(f"X has {n} rows; to choose between numbers of clusters, 5 are needed at least.")
    if not wanted or wanted[0] < 2 or wanted[-1] > most_clusters(n):
        got = f"{wanted[0]} to {wanted[-1]}" if wanted else "none"
        raise ValueError(f"ks must be numbers of clusters from 2 to {most_clusters(n)} for {n} rows; got {got}.")
    rng = np.random.default_rng(random_state)
    rows = np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))
    scores = []
    known: set[str] = set()
    for k in wanted:
        with whole_fits() as told:
            untrained = KSums(k, metric=metric, objective=objective, effort="low", n_threads=n_threads)
            model = clone(untrained).set_params(random_state=random_state).fit(X)
        with whole_fits():  # what is to be said of parts of the data has been said of all
            seeds = [np.random.default_rng([random_state, k, i]) for i in range(pairs)]
            found = [_agreement(untrained, X, rng) for rng in seeds]
        for words in (str(warning.message) for warning in told):
            if words not in known:
                known.add(words)
                warnings.warn(words, ConvergenceWarning, stacklevel=2)
        own = model.labels_[rows]
        seen = len(np.unique(own))
        silhouette = (
            float(silhouette_score(X[rows], own, metric="cosine" if metric == "cosine" else "euclidean"))
            if 1 < seen < len(rows)
            else float("nan")
        )
        stability, weakest = np.mean(found, axis=0).tolist()
        scores.append(Score(k, float(model.objective_), silhouette, stability, weakest))
        tell(scores[-1])
    return Choice(scores, *_suggestion(scores))


def most_clusters(n: int) -> int:
    """The largest number of clusters that can be looked at with n rows: the models of their parts need a row more."""
    return int(_PART * min(n, _MOST_ROWS)) - 1


def _agreement(untrained: KSums, X: Matrix, rng: np.random.Generator) -> tuple[float, float]:
    """How alike two models, each of a part of the rows, label the rows that both have seen."""
    n = X.shape[0]
    rows = rng.choice(n, min(n, _MOST_ROWS), replace=False)
    size = max(untrained.n_clusters + 1, int(_PART * len(rows)))
    parts = [np.sort(rng.choice(rows, size, replace=False)) for _ in range(2)]
    models = [clone(untrained).set_params(random_state=int(rng.integers(2**31))).fit(X[part]) for part in parts]
    common = np.intersect1d(parts[0], parts[1])
    labels = [model.labels_[np.searchsorted(part, common)] for model, part in zip(models, parts, strict=True)]
    table = contingency_matrix(*labels).astype(np.float64)
    return float(adjusted_rand_score(*labels)), min(_weakest(table), _weakest(table.T))


def _weakest(table: np.ndarray) -> float:
    """Of the pairs of rows in a cluster of one model, those together in the other one: the least share of all."""
    sizes = table.sum(axis=1)
    pairs = (table * (table - 1)).sum(axis=1)[sizes > 1] / (sizes * (sizes - 1))[sizes > 1]
    return float(pairs.min(initial=1.0))


def _suggestion(scores: list[Score]) -> tuple[int, str]:
    clearest = max(scores, key=lambda score: (np.nan_to_num(score.silhouette, nan=-1.0), -score.k))
    again = [score for score in scores if score.weakest >= _FOUND_AGAIN]
    if not again:
        best = max(scores, key=lambda score: score.weakest)
        return clearest.k, (
            f"k = {clearest.k} has the highest silhouette, {clearest.silhouette:.3f}; but no number of clusters is "
            f"found again reliably in parts of the data, so that it may have no clear clusters: of the pairs of rows "
            f"in the weakest cluster {best.weakest:.0%} stay together at best (k = {best.k}), {_FOUND_AGAIN:.0%} are "
            "asked for."
        )
    chosen = again[-1]
    words = [
        f"k = {chosen.k} is the largest number of clusters that are all found again in parts of the data: of the pairs "
        f"of rows in the weakest one {chosen.weakest:.0%} stay together ({_FOUND_AGAIN:.0%} are asked for)"
    ]
    if len(again) > 1:
        words.append("also found again: " + ", ".join(str(score.k) for score in again[:-1]))
    if clearest.silhouette > chosen.silhouette:
        words.append(
            f"k = {clearest.k} has the highest silhouette, {clearest.silhouette:.3f} (k = {chosen.k}: "
            f"{chosen.silhouette:.3f})"
        )
    if chosen is scores[-1] and len(scores) > 1:
        words.append("it is the largest that was looked at, so that there may be more")
    return chosen.k, "; ".join(words) + "."
