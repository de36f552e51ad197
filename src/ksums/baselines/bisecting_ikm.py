"""Bisecting IKM: Algorithm 2 with incremental k-means in each split."""

from __future__ import annotations

from ksums.baselines.base import BisectingBaseline
from ksums.checking import options


class BisectingIKM(BisectingBaseline):
    """Bisecting incremental k-means, for cosine only; each split starts from random labels."""

    rule, start = "ikm", "random-labels"

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="cosine",
        strategy="largest",
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
            strategy=strategy,
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
