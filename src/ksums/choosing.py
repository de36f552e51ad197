"""How many clusters? Three views for a range of k, and a suggestion that says why.

- *objective*: falls with every cluster more; what is looked for is where it stops falling fast.
- *silhouette*, on a sample: how much nearer rows are to their own cluster than to the next one, 1 at best.
- *stability*: two models, each fitted to a random part of the rows, label the rows of both alike (adjusted Rand index,
  1 at best; 0 is chance). A number of clusters that the data has is found again in a part of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, silhouette_score

from ksums.estimators import KSums
from ksums.interruption import whole_fits
from ksums.typing import Matrix
from ksums.validation import as_matrix

_PART = 0.7  # of the rows that each of two models sees
_NEARLY = 0.95  # of the best stability: as stable
_SAMPLE = 2_000  # rows for the silhouette, whose work grows with the square
_MOST_ROWS = 20_000  # for the stability


@dataclass(frozen=True)
class Score:
    """What is known of one k."""

    k: int
    objective: float
    silhouette: float
    stability: float
    """Mean over several pairs of models."""
    least_stability: float


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
    pairs: int = 3,
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
    pairs : int, default=3
        Pairs of models for the stability.
    random_state : int, default=0
    tell : function of a Score
        Called as soon as a k is done.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ksums.choosing import choose_k
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=0)
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
    for k in wanted:
        with whole_fits() as told:
            untrained = KSums(k, metric=metric, objective=objective, effort="low", n_threads=n_threads)
            model = clone(untrained).set_params(random_state=random_state).fit(X)
            seeds = [np.random.default_rng([random_state, k, i]) for i in range(pairs)]
            found = [_agreement(untrained, X, rng) for rng in seeds]
        for words in dict.fromkeys(str(warning.message) for warning in told):
            warnings.warn(f"k = {k}: {words}", ConvergenceWarning, stacklevel=2)
        own = model.labels_[rows]
        seen = len(np.unique(own))
        silhouette = (
            float(silhouette_score(X[rows], own, metric="cosine" if metric == "cosine" else "euclidean"))
            if 1 < seen < len(rows)
            else float("nan")
        )
        scores.append(Score(k, float(model.objective_), silhouette, float(np.mean(found)), float(np.min(found))))
        tell(scores[-1])
    return Choice(scores, *_suggestion(scores))


def most_clusters(n: int) -> int:
    """The largest number of clusters that can be looked at with n rows: the models of their parts need a row more."""
    return int(_PART * n) - 1


def _agreement(untrained: KSums, X: Matrix, rng: np.random.Generator) -> float:
    """How alike two models, each of a part of the rows, label the rows that both have seen."""
    n = X.shape[0]
    rows = rng.choice(n, min(n, _MOST_ROWS), replace=False)
    size = max(untrained.n_clusters + 1, int(_PART * len(rows)))
    parts = [np.sort(rng.choice(rows, size, replace=False)) for _ in range(2)]
    models = [clone(untrained).set_params(random_state=int(rng.integers(2**31))).fit(X[part]) for part in parts]
    common = np.intersect1d(parts[0], parts[1])
    labels = [model.labels_[np.searchsorted(part, common)] for model, part in zip(models, parts, strict=True)]
    return float(adjusted_rand_score(*labels))


def _suggestion(scores: list[Score]) -> tuple[int, str]:
    best = max(score.stability for score in scores)
    stable = [score for score in scores if score.stability >= best - (1 - _NEARLY) * abs(best)]
    chosen = max(stable, key=lambda score: (np.nan_to_num(score.silhouette, nan=-1.0), -score.k))
    highest = max(scores, key=lambda score: np.nan_to_num(score.silhouette, nan=-1.0))
    others = ", ".join(str(score.k) for score in stable if score.k != chosen.k)
    words = [
        f"k = {chosen.k}: models of different parts of the data agree to {chosen.stability:.2f} "
        f"(the best of all is {best:.2f})",
        f"of the {len(stable)} numbers that are about as stable it has the highest silhouette, {chosen.silhouette:.3f}"
        if len(stable) > 1
        else f"no other number is about as stable; its silhouette is {chosen.silhouette:.3f}",
    ]
    if others:
        words.append(f"also stable: {others}")
    if highest.silhouette > chosen.silhouette:
        words.append(
            f"k = {highest.k} has a higher silhouette ({highest.silhouette:.3f}) but is less stable "
            f"({highest.stability:.2f})"
        )
    if best < 0.5:
        words.append("no number of clusters is found again reliably: the data may have no clear clusters")
    return chosen.k, "; ".join(words) + "."
