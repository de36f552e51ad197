"""``KSums`` for Dask arrays and data frames: the rows stay on the workers, only sums of clusters travel.

Requires Dask: ``pip install 'ksums[dask]'``.
"""

from ksums.dask.estimator import KSums

__all__ = ["KSums"]
