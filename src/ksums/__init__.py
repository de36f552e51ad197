"""ksums: clustering by moving one sample at a time. Use it instead of k-means."""

from ksums import baselines, metrics
from ksums.compiling import compile
from ksums.estimators import BisectingKSums, KSums, PairwiseKSums, SequentialKSums, TableKSums
from ksums.estimators.history import history_frame
from ksums.estimators.interruption import FitInterrupted
from ksums.method.fitting.records import PassRecord
from ksums.methods import METHODS
from ksums.models.files import load, save
from ksums.planning.plan import Plan
from ksums.rules.annealing import Annealed

__version__ = "0.2.0"
__all__ = [
    "KSums",
    "BisectingKSums",
    "SequentialKSums",
    "PairwiseKSums",
    "TableKSums",
    "Annealed",
    "METHODS",
    "PassRecord",
    "Plan",
    "FitInterrupted",
    "baselines",
    "compile",
    "history_frame",
    "load",
    "save",
    "metrics",
]
