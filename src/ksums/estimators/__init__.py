"""The scikit-learn face: parameters, docstrings, fit, predict and transform. No mathematics."""

from ksums.estimators.flat import KSums

__all__ = ["KSums"]
