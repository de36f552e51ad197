"""What parameters are allowed to be, alone and together."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ksums.checking.card import is_device_name
from ksums.checking.sources import bytes_of
from ksums.planning.effort import EFFORT_NAMES
from ksums.planning.engines import ENGINE_NAMES
from ksums.planning.starts import FLAT_INIT_NAMES, INIT_NAMES
from ksums.rules.annealing import Annealed
from ksums.rules.kinds import PAIRWISE_RULE_NAMES, RULE_NAMES, rule_for


def is_int(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _are_sizes(value: Any, allowed: Callable[[np.ndarray], np.ndarray]) -> bool:
    """One number or several, none of which is NaN; how many there must be is checked with the data."""
    if isinstance(value, (str, bytes, bool)):
        return False
    sizes = np.asarray(value)
    return sizes.dtype.kind in "fiu" and sizes.ndim <= 1 and sizes.size > 0 and bool(allowed(sizes).all())


class _Constraint(NamedTuple):
    allowed: str  # in words
    holds: Any  # value -> bool


def one_of(*options: str) -> _Constraint:
    words = ", ".join(repr(option) for option in options)
    return _Constraint(f"one of {words}", lambda v: isinstance(v, str) and v in options)


def _whole(least: int, or_none: bool = False) -> _Constraint:
    words = f"an integer of at least {least}" + (" or None" if or_none else "")
    return _Constraint(words, lambda v: (or_none and v is None) or (is_int(v) and v >= least))


CONSTRAINTS: Mapping[str, _Constraint] = {
    "n_clusters": _whole(1),
    "objective": one_of("distortion", "pairwise"),
    "metric": one_of("l2", "cosine"),
    "rule": _Constraint(
        f"one of {', '.join(map(repr, RULE_NAMES))}, or a number p >= 0",
        lambda v: (isinstance(v, str) and v in RULE_NAMES) or (_is_real(v) and v >= 0),
    ),
    "init": _Constraint(
        f"one of {', '.join(map(repr, INIT_NAMES))}, an array of labels (n,) or an array of centres (k, d)",
        lambda v: not isinstance(v, str) or v in INIT_NAMES,
    ),
    "n_init": _whole(1),
    "max_iter": _whole(1),
    "tol": _Constraint("a number >= 0", lambda v: _is_real(v) and v >= 0),
    "time_budget": _Constraint("a number of seconds > 0, or None", lambda v: v is None or (_is_real(v) and v > 0)),
    "size_min": _Constraint(
        "a number >= 0, one for each cluster, or None", lambda v: v is None or _are_sizes(v, lambda a: a >= 0)
    ),
    "size_max": _Constraint(
        "a number > 0, one for each cluster, 'balanced', or None",
        lambda v: v is None or (isinstance(v, str) and v == "balanced") or _are_sizes(v, lambda a: a > 0),
    ),
    "engine": one_of("auto", "exact", "reference"),
    "strategy": one_of("largest", "loosest"),
    "refine": _whole(0),
    "half_life": _Constraint("a number of samples > 0, or None", lambda v: v is None or (_is_real(v) and v > 0)),
    "shuffle": _Constraint("True or False", lambda v: isinstance(v, (bool, np.bool_))),
    "batch_size": _whole(1),
    "rate": _Constraint("a number above 0 and below 1", lambda v: _is_real(v) and 0 < v < 1),
    "n_threads": _whole(1, or_none=True),
    "verbose": _Constraint(
        "a bool or an integer of at least 0", lambda v: isinstance(v, bool) or (is_int(v) and v >= 0)
    ),
}


def _is_annealed(rule: Any) -> bool:
    if not isinstance(rule, Annealed):
        return isinstance(rule, str) and rule == "annealed"
    start_holds = rule.start is None or (_is_real(rule.start) and rule.start >= 1)
    return start_holds and (rule.passes is None or (is_int(rule.passes) and rule.passes >= 0))


FLAT_CONSTRAINTS: Mapping[str, _Constraint] = {
    **CONSTRAINTS,
    "rule": _Constraint(
        f"one of {', '.join(map(repr, (*RULE_NAMES, 'annealed')))}, a number p >= 0, or Annealed(start, passes) with "
        "start >= 1 and passes >= 0",
        lambda v: CONSTRAINTS["rule"].holds(v) or _is_annealed(v),
    ),
    "refine": _Constraint(
        "'auto', 'merge-split' or None", lambda v: v is None or (isinstance(v, str) and v in ("auto", "merge-split"))
    ),
    "effort": _Constraint(
        f"one of {', '.join(map(repr, EFFORT_NAMES))}, or a number of seconds > 0",
        lambda v: v in EFFORT_NAMES if isinstance(v, str) else _is_real(v) and v > 0,
    ),
    "tol": _Constraint("a number >= 0, or None", lambda v: v is None or (_is_real(v) and v >= 0)),
    "init": _Constraint(
        f"one of {', '.join(map(repr, FLAT_INIT_NAMES))}, an array of labels (n,) or an array of centres (k, d)",
        lambda v: not isinstance(v, str) or v in FLAT_INIT_NAMES,
    ),
    "engine": one_of(*ENGINE_NAMES),
    "n_neighbors": _whole(1, or_none=True),
    "polish": _Constraint(
        "'pass', 'assign' or None", lambda v: v is None or (isinstance(v, str) and v in ("pass", "assign"))
    ),
    "max_memory": _Constraint(
        "a number of bytes > 0, a size such as '2GB', or None",
        lambda v: v is None or ((isinstance(v, str) or _is_real(v)) and bytes_of(v) > 0),
    ),
    "checkpoint": _Constraint("the name of a file, or None", lambda v: v is None or isinstance(v, (str, Path))),
    "device": _Constraint("None, 'cpu', 'cuda' or 'cuda:N'", is_device_name),
    "missing": one_of("error", "ignore"),
    "scale": _Constraint(
        "'std', 'range' or None", lambda v: v is None or (isinstance(v, str) and v in ("std", "range"))
    ),
    "unknown": one_of("ignore", "error"),
}
"""The constraints of ``KSums`` and ``TableKSums``, where some parameters may be more: they have ``effort``."""


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(signature(kind).parameters)


def parameters_of(estimator: Any) -> dict[str, Any]:
    """``get_params(deep=False)``, which reads the signature of the class each time: that takes as long as a pass over
    some thousand rows."""
    kind: Any = type(estimator)
    return {name: getattr(estimator, name) for name in _names(kind)}


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that have no meaning, alone or together, before any work starts."""
    name = type(estimator).__name__
    parameters = parameters_of(estimator)
    for parameter, constraint in (FLAT_CONSTRAINTS if "effort" in parameters else CONSTRAINTS).items():
        if parameter in parameters and not constraint.holds(parameters[parameter]):
            raise ValueError(f"{name}: {parameter} must be {constraint.allowed}; got {parameters[parameter]!r}.")
    rule = parameters.get("rule", "auto")
    nameless = isinstance(rule, str) and rule in RULE_NAMES and rule not in PAIRWISE_RULE_NAMES
    if parameters.get("objective") == "pairwise" and nameless:
        raise ValueError(
            f"{name}: rule={rule!r} has no meaning for objective='pairwise'; use rule='paper' for I_s as printed, "
            "leave rule='auto', or use objective='distortion'."
        )
    if parameters.get("refine") == "merge-split":
        _check_search(name, parameters)
    if "polish" in parameters:
        _check_lists(name, parameters)
        _check_blocks(name, parameters)


def _check_search(name: str, parameters: Mapping[str, Any]) -> None:
    """Merge–split trials minimise sums of squares and end in exact passes: not every combination has them."""
    rule, annealed = parameters["rule"], parameters["rule"] == "auto" or _is_annealed(parameters["rule"])
    objective = rule_for(parameters["objective"], parameters["metric"], "annealed" if annealed else rule).objective
    if objective != "distortion":
        raise ValueError(
            f"{name}: refine='merge-split' minimises sums of squares; it is not offered for "
            f"objective={parameters['objective']!r} with metric={parameters['metric']!r} and rule={rule!r}. Leave "
            "refine='auto', or raise effort or n_init; for squares of unit rows use rule='hartigan'."
        )
    if not (rule == "hartigan" or annealed):
        raise ValueError(
            f"{name}: refine='merge-split' ends in passes of the exact rule, which rule={rule!r} is not; use "
            "rule='annealed' or 'hartigan', or refine=None."
        )


def _check_blocks(name: str, parameters: Mapping[str, Any]) -> None:
    """Passes with bounds know sums of squares and annealing on samples, and nothing else."""
    if parameters["engine"] != "blocks":
        return
    rule, refine = parameters["rule"], parameters["refine"]
    wrong = [
        f"{parameter}={parameters[parameter]!r}"
        for parameter, allowed in (("objective", "distortion"), ("metric", "l2"))
        if parameters[parameter] != allowed
    ]
    wrong += [] if rule == "auto" or _is_annealed(rule) else [f"rule={rule!r}"]
    wrong += [] if refine == "auto" else [f"refine={refine!r}"]
    wrong += [] if isinstance(parameters["init"], str) else ["an array as init"]
    if wrong:
        raise ValueError(
            f"{name}: engine='blocks' is for objective='distortion', metric='l2', rule='auto' or annealed, "
            f"refine='auto' and a named init; got {', '.join(wrong)}. Use engine='exact' or 'auto'."
        )


def _check_lists(name: str, parameters: Mapping[str, Any]) -> None:
    """What can be combined with lists of nearest clusters, and what cannot."""
    engine, n_neighbors, polish = parameters["engine"], parameters["n_neighbors"], parameters["polish"]
    if engine not in ("auto", "neighbors") and n_neighbors is not None:
        raise ValueError(
            f"{name}: n_neighbors={n_neighbors} is for engine='neighbors'; with engine={engine!r} each sample is "
            "compared with all clusters. Use engine='neighbors', or leave n_neighbors=None."
        )
    if engine not in ("auto", "neighbors") and polish is not None:
        raise ValueError(
            f"{name}: polish={polish!r} is a last check of all clusters, which engine={engine!r} always makes; leave "
            "polish=None."
        )
    if n_neighbors is not None and parameters["refine"] == "merge-split":
        raise ValueError(
            f"{name}: refine='merge-split' ends in passes over all clusters, n_neighbors={n_neighbors} asks for passes "
            "over the nearest; use one of them."
        )
    if engine == "neighbors" and parameters["refine"] == "merge-split":
        raise ValueError(
            f"{name}: refine='merge-split' ends in passes over all clusters, which engine='neighbors' does not make; "
            "use engine='exact', or refine='auto'."
        )
    limited = parameters["size_min"] is not None or parameters["size_max"] is not None
    if polish == "assign" and (parameters["objective"] == "pairwise" or limited):
        raise ValueError(
            f"{name}: polish='assign' gives each sample its nearest centre, whatever the sizes are: it is not offered "
            "for objective='pairwise', size_min and size_max. Use polish='pass'."
        )
