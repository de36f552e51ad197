"""IKM (incremental k-means): a sample moves if that raises Σ|D_r|."""

from __future__ import annotations

from ksums.baselines.base import Baseline
from ksums.checking import options


class IKM(Baseline):
    """Incremental k-means for cosine, starting from random labels: it maximises Σ|D_r| over rows of unit length.

    This is CLUTO's criterion I2, the sum of the cosines between samples and their centroids. The objective in
    ``history_`` is the mean cosine distance, 1 − Σ|D_r| / n.
    """

    rule, start = "ikm", "random-labels"

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="cosine",
        n_init=1,
        max_iter=100,
        tol=1e-5,
        n_threads=None,
        random_state=None,
        callbacks=None,
        verbose=0,
    ):
        super().__init__(
            n_clusters,
            metric=metric,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            n_threads=n_threads,
            random_state=random_state,
            callbacks=callbacks,
            verbose=verbose,
        )

    def _check(self, X, weights) -> str:
        options.check_cosine_only(self)
        return self.start
