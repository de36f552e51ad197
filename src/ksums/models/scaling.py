"""Models behind a scaling of the columns: a pipeline of a StandardScaler and a model."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ksums.compute.arrays import Matrix


def parts_of(model: Any) -> tuple[StandardScaler | None, Any]:
    """The scaling of the columns, if there is one, and the model behind it."""
    if not isinstance(model, Pipeline):
        return None, model
    steps = [step for _, step in model.steps]
    if len(steps) != 2 or type(steps[0]) is not StandardScaler:
        raise TypeError(
            "expected a model, or a pipeline of a StandardScaler and a model; got a pipeline of "
            f"{', '.join(type(step).__name__ for step in steps)}. Save others with joblib or skops."
        )
    return steps[0], steps[1]


def scaled_rows(scaler: StandardScaler | None, X: Matrix) -> Matrix:
    """Rows as the model behind the scaling saw them."""
    if scaler is None:
        return X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # plain arrays have none
        return scaler.transform(X)
