"""The scikit-learn face: parameters, docstrings, fit, predict and transform. No mathematics and no thresholds."""

from ksums.estimators.bisecting import BisectingKSums
from ksums.estimators.flat import KSums
from ksums.estimators.pairwise import PairwiseKSums
from ksums.estimators.sequential import SequentialKSums
from ksums.estimators.table import TableKSums

__all__ = ["KSums", "BisectingKSums", "SequentialKSums", "PairwiseKSums", "TableKSums"]
