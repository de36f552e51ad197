"""Fitted models as files: arrays in safetensors, all else as JSON in its header. No pickle, so a file can be trusted.

A file says its schema, the class, the parameters, the measures, the records of the passes, a fingerprint of the data,
and a digest of all that, so that a damaged file is refused.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ksums.annealing import Annealed
from ksums.history import PassRecord
from ksums.io import whole_or_not_at_all
from ksums.io.existing import existing
from ksums.sequential import Stream
from ksums.tree import BisectingTree
from ksums.typing import Matrix

SCHEMA = 2
_PLAIN = 1  # schema of a model without scaling, which older versions read as well
_KEY = "ksums"  # of our part of the header
_TREE = ("splits", "sizes", "within", "objectives")
_SUMS = ("composites", "sizes", "counts", "norm_sums", "sq_composites")  # of a stream's state


def write(path: str | Path, model: Any, scaler: StandardScaler | None = None) -> None:
    """Write a fitted model, with the scaling of its columns if there is one, whole or not at all."""
    from safetensors.numpy import save

    arrays: dict[str, np.ndarray] = {}
    facts = {
        "schema": _PLAIN if scaler is None else SCHEMA,
        "version": version("ksums"),
        "class": type(model).__name__,
        "parameters": {name: _fact(value, f"parameters.{name}", arrays) for name, value in _parameters(model).items()},
        "attributes": {
            name: _fact(value, f"attributes.{name}", arrays)
            for name, value in vars(model).items()
            if name not in model.get_params(deep=False) and _is_kept(name)
        },
        "fingerprint": fingerprint(model),
    }
    if scaler is not None:
        facts["scaler"] = {
            name: _fact(value, f"scaler.{name}", arrays)
            for name, value in vars(scaler).items()
            if name.endswith("_") or name in scaler.get_params()
        }
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(facts)
    content = save(arrays, {_KEY: text, "digest": _digest(text, arrays)})
    with whole_or_not_at_all(path) as file:
        file.write(content)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a model's file, checked."""
    from safetensors import SafetensorError, safe_open

    path = existing(path, "the file of a model")
    try:
        with safe_open(path, "numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 it is no dictionary
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged, or no model of ksums: {error}.") from error
    if _KEY not in header:
        raise ValueError(f"{path} is no model of ksums, though a file of safetensors.")
    if header.get("digest") != _digest(header[_KEY], arrays):
        raise ValueError(f"{path} is damaged: its content is not what was written. Take another copy of it.")
    facts = json.loads(header[_KEY])
    if facts["schema"] > SCHEMA:
        raise ValueError(
            f"{path} was written by ksums {facts['version']} (schema {facts['schema']}); this version reads up to "
            f"{SCHEMA}. Install a newer ksums."
        )
    return facts, arrays


def restore(
    model_class: type, facts: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[Any, StandardScaler | None]:
    """The model that was written, and the scaling of its columns."""
    model = model_class(**{name: _value(fact, arrays) for name, fact in facts["parameters"].items()})
    for name, fact in facts["attributes"].items():
        vars(model)[name] = _value(fact, arrays)
    if isinstance(getattr(model, "_stream", None), dict):
        model._stream = _stream(model)
    if "scaler" not in facts:
        return model, None
    scaler = StandardScaler()
    vars(scaler).update({name: _value(fact, arrays) for name, fact in facts["scaler"].items()})
    return model, scaler


def parts_of(model: Any) -> tuple[StandardScaler | None, Any]:
    """The scaling of the columns, if there is one, and the model behind it."""
    if not isinstance(model, Pipeline):
        return None, model
    steps = [step for _, step in model.steps]
    if len(steps) != 2 or type(steps[0]) is not StandardScaler:
        raise TypeError(
            "a model, or a pipeline of a StandardScaler and a model, is needed; got a pipeline of "
            f"{', '.join(type(step).__name__ for step in steps)}. Save others with joblib or skops."
        )
    return steps[0], steps[1]


def as_seen(scaler: StandardScaler | None, X: Matrix) -> Matrix:
    """Rows as the model behind the scaling has seen them."""
    if scaler is None:
        return X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # plain arrays have none
        return scaler.transform(X)


def fingerprint(model: Any) -> dict[str, Any]:
    """What is known of the data, whatever its clusters are: from their sums and E_m, so up to rounding only.

    Number of rows (or sum of weights) and of columns, length of the mean of all rows, and root of the mean squared
    distance to it.
    """
    sizes, composites = np.asarray(model.sizes_, np.float64), np.nan_to_num(np.asarray(model.composites_))
    weight = float(sizes.sum())
    mean = composites.sum(axis=0) / weight
    own = composites[sizes > 0] / sizes[sizes > 0, None]
    between = float(sizes[sizes > 0] @ np.square(own - mean).sum(axis=1)) / weight
    return {
        "weight": weight,
        "d": int(model.n_features_in_),
        "mean_length": float(np.linalg.norm(mean)),
        "spread": float(np.sqrt(model.distortion_ + between)),
    }


# ------------------------------------------------------------------------------------------ values
def _parameters(model: Any) -> dict[str, Any]:
    """Without those that are no data: functions that are called back, and generators of random numbers."""
    parameters = {name: None if name == "callbacks" else value for name, value in model.get_params(deep=False).items()}
    if not isinstance(parameters.get("random_state"), int | np.integer):
        parameters["random_state"] = None
    return parameters


def _is_kept(name: str) -> bool:
    return name.endswith("_") or name in ("_n_features_out", "_stream", "_seconds")


def _fact(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON; arrays go to ``arrays`` and leave their names."""
    if sparse.issparse(value):
        value = value.toarray()
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        value = np.asarray(value)
        if value.dtype == object:
            return {"kind": "words", "words": value.tolist()}
        arrays[name] = value.astype(_stored(value.dtype), copy=False)
        return {"kind": "array", "name": name, "columns": bool(value.ndim == 2 and not value.flags.c_contiguous)}
    if isinstance(value, Annealed):
        return {"kind": "annealed", **asdict(value)}
    if isinstance(value, BisectingTree):
        return {
            "kind": "tree",
            "parts": {part: _fact(getattr(value, part), f"{name}.{part}", arrays) for part in _TREE},
        }
    if isinstance(value, Stream):
        return _stream_facts(value, name, arrays)
    if isinstance(value, list | tuple):
        if all(isinstance(record, PassRecord) for record in value):
            return {"kind": "records", "records": [asdict(record) for record in value]}
        return _fact(np.asarray(value), name, arrays)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a model with {name} = {value!r} cannot be saved.")


def _value(fact: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(fact, dict):
        return fact
    kind = fact["kind"]
    if kind == "array":
        array = arrays[fact["name"]]
        return np.asfortranarray(array) if fact["columns"] else array
    if kind == "words":
        return np.array(fact["words"], object)
    if kind == "annealed":
        return Annealed(**{name: value for name, value in fact.items() if name != "kind"})
    if kind == "tree":
        return BisectingTree(**{part: _value(inner, arrays) for part, inner in fact["parts"].items()})
    if kind == "records":
        return [PassRecord(**record) for record in fact["records"]]
    return {part: _value(inner, arrays) for part, inner in fact["parts"].items()} | {"identity": fact["identity"]}


def _stream_facts(stream: Stream, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    openers = np.frombuffer(bytes.fromhex("".join(stream.openers)), np.uint8).reshape(len(stream.openers), -1)
    parts = {part: getattr(stream.state, part) for part in _SUMS} | {
        "shift": stream.shift,
        "seen": stream.seen,
        "is_sparse": stream.is_sparse,
        "openers": openers if len(openers) else None,
        "opened": np.array(list(stream.openers.values()), np.int64),
    }
    facts = {part: _fact(value, f"{name}.{part}", arrays) for part, value in parts.items()}
    return {"kind": "stream", "identity": stream.identity, "parts": facts}


def _stream(model: Any) -> Stream:
    parts = vars(model)["_stream"]
    stream = Stream(parts["identity"], model._driver(), model.n_features_in_, parts["is_sparse"])
    stream.state = stream.state._replace(**{part: parts[part] for part in _SUMS})
    stream.shift, stream.seen = parts["shift"], parts["seen"]
    keys = [] if parts["openers"] is None else [row.tobytes().hex() for row in parts["openers"]]
    stream.openers = dict(zip(keys, parts["opened"].tolist(), strict=True))
    return stream


def _stored(dtype: np.dtype) -> np.dtype:
    """The type as it comes back: in the byte order of the machine, and no wider than float64."""
    return np.dtype(np.float64) if dtype.kind == "f" and dtype.itemsize > 8 else dtype.newbyteorder("=")


def _digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    digest = blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].data)
    return digest.hexdigest()
