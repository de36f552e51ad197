"""k-means++: Lloyd's k-means, starting from seeds that are far apart."""

from __future__ import annotations

from ksums.baselines.kmeans import KMeans


class KMeansPlusPlus(KMeans):
    """k-means, starting from greedy k-means++ seeds drawn from all samples, as in scikit-learn."""

    start = "k-means++"
