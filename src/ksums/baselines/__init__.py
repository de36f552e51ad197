"""The methods that the paper compares with, one file each; all are estimators with a record of every pass."""

from ksums.baselines.bisecting_ikm import BisectingIKM
from ksums.baselines.bisecting_kmeans import BisectingKMeans
from ksums.baselines.bisecting_kmeans_plus_plus import BisectingKMeansPlusPlus
from ksums.baselines.bisecting_kmeans_sharp import BisectingKMeansSharp
from ksums.baselines.hartigan import Hartigan
from ksums.baselines.ikm import IKM
from ksums.baselines.kmeans import KMeans
from ksums.baselines.kmeans_plus_plus import KMeansPlusPlus
from ksums.baselines.kmeans_sharp import KMeansSharp
from ksums.baselines.lvq import LVQ
from ksums.baselines.mini_batch import MiniBatch
from ksums.baselines.sequential_kmeans import SequentialKMeans

__all__ = [
    "KMeans",
    "KMeansPlusPlus",
    "MiniBatch",
    "LVQ",
    "Hartigan",
    "KMeansSharp",
    "IKM",
    "SequentialKMeans",
    "BisectingKMeans",
    "BisectingKMeansPlusPlus",
    "BisectingKMeansSharp",
    "BisectingIKM",
]
