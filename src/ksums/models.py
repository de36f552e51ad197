"""Models to files and from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from ksums import baselines, saving
from ksums.estimators import BisectingKSums, KSums, SequentialKSums

_CLASSES = {
    model_class.__name__: model_class
    for model_class in (
        KSums,
        BisectingKSums,
        SequentialKSums,
        *(getattr(baselines, name) for name in baselines.__all__),
    )
}


def load(path: str | Path) -> Any:
    """A fitted model that ``save`` has written: it predicts, and goes on learning, as the one that was saved.

    Of a model that was saved with the scaling of its columns, a pipeline of both.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ValueError
        Where the file is damaged, is no model, or was written by a newer version.
    OSError
        Where it cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import ksums
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> model = ksums.KSums(2, random_state=0).fit(X)
    >>> model.save(path)
    >>> bool((ksums.load(path).predict(X) == model.predict(X)).all())
    True
    """
    facts, arrays = saving.read(path)
    if facts["class"] not in _CLASSES:
        raise ValueError(f"{path} holds a model of the class {facts['class']!r}, which this version does not have.")
    model, scaler = saving.restore(_CLASSES[facts["class"]], facts, arrays)
    return model if scaler is None else make_pipeline(scaler, model)


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model, or a pipeline of a StandardScaler and a model, to a file, whole or not at all.

    Parameters
    ----------
    model : fitted model, or Pipeline
        ``model.save(path)`` does the same for a model alone.
    path : str or Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import ksums
    >>> X = np.array([[0.0, 7000.0], [0.1, 5000.0], [1.0, 6000.0], [1.1, 8000.0]])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> pipeline = make_pipeline(StandardScaler(), ksums.KSums(2, random_state=0)).fit(X)
    >>> ksums.save(pipeline, path)
    >>> bool((ksums.load(path).predict(X) == pipeline.predict(X)).all())
    True
    """
    scaler, model = saving.parts_of(model)
    if type(model).__name__ not in _CLASSES:
        raise TypeError(f"a model of ksums can be saved; got {type(model).__name__}.")
    check_is_fitted(model)
    saving.write(path, model, scaler)
