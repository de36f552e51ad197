"""ksums: clustering by moving one sample at a time. The clustering to take instead of k-means."""

from ksums import baselines, metrics
from ksums.annealing import Annealed
from ksums.estimators import BisectingKSums, KSums, SequentialKSums
from ksums.history import PassRecord, history_frame
from ksums.methods import METHODS
from ksums.models import load, save

__version__ = "0.1.0"
__all__ = [
    "KSums",
    "BisectingKSums",
    "SequentialKSums",
    "Annealed",
    "METHODS",
    "PassRecord",
    "baselines",
    "history_frame",
    "load",
    "save",
    "metrics",
]
