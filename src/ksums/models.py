"""Models from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    return saving.restore(_CLASSES[facts["class"]], facts, arrays)
