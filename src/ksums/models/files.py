"""Fitted models as files: arrays in safetensors, everything else as JSON in its header. No pickle: safe to load.

A file holds its schema, the class, the parameters, the measures, the records of the passes, a fingerprint of the data,
and a digest of all of that, so that a damaged file is refused.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ksums.compute.tensors import as_numpy
from ksums.io.atomic import atomic_write
from ksums.io.paths import existing_file
from ksums.models.centres import centres_of, means_of
from ksums.models.facts import fact_of, stream_of, value_of
from ksums.models.registry import class_called
from ksums.models.scaling import parts_of

SCHEMA = 4
"""Version of the format. 2 added the scaling of the columns, 3 the plan, 4 tables."""
_KEPT = (
    *("_n_features_out", "_stream", "_seconds", "_encoding", "_centres", "_shares", "_roles_table"),
    *("_fit_X", "_fit_weights", "_fit_pairs"),
)
"""Attributes that a model needs, though they are not for users."""
_KEY = "ksums"
"""Our entry in the header."""


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model, or a pipeline of a StandardScaler and a model, to a file.

    The file is written completely or not at all.

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
    scaler, model = parts_of(model)
    if hasattr(model, "on_one_machine"):
        model = model.on_one_machine()
    if class_called(type(model).__name__) is not type(model):
        raise TypeError(f"only ksums models can be saved; got {type(model).__name__}.")
    check_is_fitted(model)
    if callable(getattr(model, "metric", None)):
        raise TypeError(f"a {type(model).__name__} with a function as metric cannot be saved; use pickle or joblib.")
    write(path, model, scaler)


def load(path: str | Path) -> Any:
    """Load a fitted model that ``save`` wrote. It predicts, and continues to learn, like the one that was saved.

    A model that was saved with the scaling of its columns is loaded as a pipeline of both.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ValueError
        If the file is damaged, is not a model, or was written by a newer version.
    OSError
        If it cannot be read.

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
    facts, arrays = read(path)
    model_class = class_called(facts["class"])
    if model_class is None:
        raise ValueError(f"{path} holds a model of the class {facts['class']!r}, which this version does not have.")
    model = model_class(**{name: value_of(fact, arrays) for name, fact in facts["parameters"].items()})
    for name, fact in facts["attributes"].items():
        vars(model)[name] = value_of(fact, arrays)
    if isinstance(stream := getattr(model, "_stream", None), dict):
        model._stream = stream_of(stream, model._rule(), model.n_features_in_)
    if "scaler" not in facts:
        return model
    scaler = StandardScaler()
    vars(scaler).update({name: value_of(fact, arrays) for name, fact in facts["scaler"].items()})
    return make_pipeline(scaler, model)


def write(path: str | Path, model: Any, scaler: StandardScaler | None = None) -> None:
    """Write a fitted model, with the scaling of its columns if there is one."""
    from safetensors.numpy import save as pack

    arrays: dict[str, np.ndarray] = {}
    facts = {
        "schema": SCHEMA,
        "version": version("ksums"),
        "class": type(model).__name__,
        "parameters": {
            name: fact_of(value, f"parameters.{name}", arrays) for name, value in _parameters(model).items()
        },
        "attributes": {
            name: fact_of(value, f"attributes.{name}", arrays)
            for name, value in vars(model).items()
            if name not in model.get_params(deep=False) and _is_kept(name)
        },
        "fingerprint": fingerprint(model),
    }
    if scaler is not None:
        facts["scaler"] = {
            name: fact_of(value, f"scaler.{name}", arrays)
            for name, value in vars(scaler).items()
            if name.endswith("_") or name in scaler.get_params()
        }
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(facts)
    content = pack(arrays, {_KEY: text, "digest": _digest(text, arrays)})
    with atomic_write(path) as file:
        file.write(content)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a model's file, checked."""
    from safetensors import SafetensorError, safe_open

    path = existing_file(path, "the file of a model")
    try:
        with safe_open(path, "numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 it is not a dictionary
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged, or not a ksums model: {error}.") from error
    if _KEY not in header:
        raise ValueError(f"{path} is a safetensors file, but not a ksums model.")
    if header.get("digest") != _digest(header[_KEY], arrays):
        raise ValueError(f"{path} is damaged: its content is not what was written. Use another copy of it.")
    facts = json.loads(header[_KEY])
    if facts["schema"] > SCHEMA:
        raise ValueError(
            f"{path} was written by ksums {facts['version']} (schema {facts['schema']}); this version reads up to "
            f"{SCHEMA}. Install a newer ksums."
        )
    return facts, arrays


def fingerprint(model: Any) -> dict[str, Any]:
    """What is known of the data, whatever its clusters are; it comes from their sums, so it is exact up to rounding.

    Number of rows (or sum of weights) and of columns, length of the mean of all rows, and root of the mean squared
    distance to it.
    """
    if not hasattr(model, "composites_") or hasattr(model, "cell_counts_"):  # columns have counts of their own
        return {"weight": float(np.sum(model.sizes_)), "d": int(model.n_features_in_)}
    sizes, composites = as_numpy(model.sizes_).astype(np.float64), np.nan_to_num(as_numpy(model.composites_))
    weight = float(sizes.sum())
    mean = composites.sum(axis=0) / weight
    own, centres = means_of(model)[sizes > 0], centres_of(model)[sizes > 0]
    squares = np.square(own - mean).sum(axis=1) - np.square(own - centres).sum(axis=1)
    between = float(sizes[sizes > 0] @ squares) / weight
    return {
        "weight": weight,
        "d": int(model.n_features_in_),
        "mean_length": float(np.linalg.norm(mean)),
        "spread": float(np.sqrt(model.distortion_ + between)),
    }


def _parameters(model: Any) -> dict[str, Any]:
    """Without those that are not data: callbacks and random generators."""
    parameters = {name: None if name == "callbacks" else value for name, value in model.get_params(deep=False).items()}
    if not isinstance(parameters.get("random_state"), int | np.integer):
        parameters["random_state"] = None
    return parameters


def _is_kept(name: str) -> bool:
    return name.endswith("_") or name in _KEPT


def _digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    digest = blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].data)
    return digest.hexdigest()
