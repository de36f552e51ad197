"""k-means++: Lloyd's k-means from seeds that lie far apart."""

from __future__ import annotations

from ksums.baselines.kmeans import KMeans


class KMeansPlusPlus(KMeans):
    """k-means from greedy k-means++ seeds, drawn from all samples as in scikit-learn."""

    start = "k-means++"
