"""Values of a model as JSON and back; arrays are stored apart and leave their names."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ksums.compute.tensors import as_numpy, is_on_card
from ksums.method.fitting.records import PassRecord
from ksums.method.streams.stream import Stream
from ksums.method.trees.tree import BisectingTree
from ksums.planning import plan as plans
from ksums.planning.shape import Shape
from ksums.rules.annealing import Annealed
from ksums.rules.kinds import KINDS, Kind, Rule
from ksums.tables.encoding import Encoding

_TREE = ("splits", "sizes", "within", "objectives")
_SUMS = ("composites", "sizes", "counts", "norm_sums", "sq_composites")  # of a stream's state
_RECORDS: dict[str, Any] = {
    name: record for name, record in {**vars(plans), "Rule": Rule, "Shape": Shape}.items() if is_dataclass(record)
}
"""Frozen records that are stored field by field: those that make up a plan."""


def fact_of(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON; arrays go to ``arrays`` and leave their names."""
    if sparse.issparse(value):
        value = value.toarray()
    if (hasattr(value, "__array__") or is_on_card(value)) and not isinstance(value, np.generic):
        value = as_numpy(value)
        if value.dtype.kind in "OU":
            return {"kind": "words", "words": value.tolist()}
        arrays[name] = value.astype(_stored(value.dtype), copy=False)
        return {"kind": "array", "name": name, "columns": bool(value.ndim == 2 and not value.flags.c_contiguous)}
    if isinstance(value, Annealed):
        return {"kind": "annealed", **asdict(value)}
    if isinstance(value, BisectingTree):
        return {
            "kind": "tree",
            "parts": {part: fact_of(getattr(value, part), f"{name}.{part}", arrays) for part in _TREE},
        }
    if isinstance(value, Stream):
        return _stream_facts(value, name, arrays)
    if is_dataclass(value) and type(value).__name__ in _RECORDS:
        return {"kind": "plan", "record": _record_facts(value)}
    if isinstance(value, Encoding):
        parts = {
            field.name: fact_of(getattr(value, field.name), f"{name}.{field.name}", arrays) for field in fields(value)
        }
        return {"kind": "encoding", "parts": parts}
    if isinstance(value, dict):
        return {"kind": "dict", "items": {key: fact_of(part, f"{name}.{key}", arrays) for key, part in value.items()}}
    if isinstance(value, list | tuple):
        if value and all(isinstance(word, str) for word in value):
            return {"kind": "words", "words": list(value)}
        if all(isinstance(record, PassRecord) for record in value):
            return {"kind": "records", "records": [asdict(record) for record in value]}
        return fact_of(np.asarray(value), name, arrays)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a model with {name} = {value!r} cannot be saved.")


def value_of(fact: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value that ``fact_of`` stored."""
    if not isinstance(fact, dict):
        return fact
    kind = fact["kind"]
    if kind == "array":
        array = arrays[fact["name"]]
        return np.asfortranarray(array) if fact["columns"] else array
    if kind == "words":
        return np.array(fact["words"], object)
    if kind == "encoding":
        return Encoding(**{part: value_of(inner, arrays) for part, inner in fact["parts"].items()})
    if kind == "dict":
        return {key: value_of(part, arrays) for key, part in fact["items"].items()}
    if kind == "annealed":
        return Annealed(**{name: value for name, value in fact.items() if name != "kind"})
    if kind == "tree":
        return BisectingTree(**{part: value_of(inner, arrays) for part, inner in fact["parts"].items()})
    if kind == "records":
        return [PassRecord(**record) for record in fact["records"]]
    if kind == "plan":
        return _record_of(fact["record"])
    if kind == "stream":
        return {part: value_of(inner, arrays) for part, inner in fact["parts"].items()} | {"identity": fact["identity"]}
    raise ValueError(f"a value of the kind {kind!r} is not known to this version; install a newer ksums.")


# ------------------------------------------------------------------------------------------ plans
def _record_facts(value: Any) -> Any:
    if isinstance(value, Kind):
        return {"class": "Kind", "name": value.name}
    if is_dataclass(value):
        parts = {field.name: _record_facts(getattr(value, field.name)) for field in fields(value)}
        return {"class": type(value).__name__, **parts}
    if isinstance(value, tuple):
        return [_record_facts(part) for part in value]
    if isinstance(value, dict):
        return {"class": "dict", "items": [[key, _record_facts(part)] for key, part in value.items()]}
    if isinstance(value, float) and not np.isfinite(value):
        return {"class": "float", "value": str(value)}  # JSON has no infinity
    return value


def _record_of(fact: Any) -> Any:
    if isinstance(fact, list):
        return tuple(_record_of(part) for part in fact)
    if not isinstance(fact, dict):
        return fact
    name = fact["class"]
    if name == "Kind":
        return next(kind for kind in KINDS if kind.name == fact["name"])
    if name == "dict":
        return {key: _record_of(part) for key, part in fact["items"]}
    if name == "float":
        return float(fact["value"])
    record = _RECORDS[name]
    known = {field.name for field in fields(record)}
    return record(**{part: _record_of(value) for part, value in fact.items() if part in known})


# ------------------------------------------------------------------------------------------ streams
def _stream_facts(stream: Stream, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    openers = np.frombuffer(bytes.fromhex("".join(stream.openers)), np.uint8).reshape(len(stream.openers), -1)
    parts = {part: getattr(stream.state, part) for part in _SUMS} | {
        "shift": stream.shift,
        "seen": stream.seen,
        "is_sparse": stream.is_sparse,
        "openers": openers if len(openers) else None,
        "opened": np.array(list(stream.openers.values()), np.int64),
    }
    facts = {part: fact_of(value, f"{name}.{part}", arrays) for part, value in parts.items()}
    return {"kind": "stream", "identity": stream.identity, "parts": facts}


def stream_of(parts: dict[str, Any], rule: Rule, d: int) -> Stream:
    """The stream that was stored."""
    stream = Stream(parts["identity"], rule, d, parts["is_sparse"])
    stream.state = stream.state._replace(**{part: parts[part] for part in _SUMS})
    stream.shift, stream.seen = parts["shift"], parts["seen"]
    keys = [] if parts["openers"] is None else [row.tobytes().hex() for row in parts["openers"]]
    stream.openers = dict(zip(keys, parts["opened"].tolist(), strict=True))
    return stream


def _stored(dtype: np.dtype) -> np.dtype:
    """The type as it comes back: in the byte order of the machine, and no wider than float64."""
    return np.dtype(np.float64) if dtype.kind == "f" and dtype.itemsize > 8 else dtype.newbyteorder("=")
