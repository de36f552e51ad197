"""IKM (incremental k-means): a sample moves when Σ|D_r| rises by it."""

from __future__ import annotations

from ksums import validation
from ksums.baselines._base import Baseline


class IKM(Baseline):
    """Incremental k-means from random labels, for cosine only: it maximises Σ|D_r| over rows of unit length.

    That is CLUTO's criterion I2: the sum of the cosines of the samples to their centroids. In ``history_`` the
    objective is the mean cosine distance, 1 − Σ|D_r| / n.
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
        validation.check_cosine_only(self)
        return self.start
