"""Constraints as a user gives them become checked arrays here; those that cannot be met are refused with the proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ksums.checking.data import LARGEST
from ksums.checking.sizes import check_sizes
from ksums.compute.arrays import Matrix, arithmetic_of
from ksums.compute.colouring import STEPS, Graph, UncolourableError, colour, part_of, room_for

_NAMED = 6
"""Rows that a message names, at most."""


class Links(NamedTuple):
    """What ``fit`` was given about rows."""

    must_link: Any = None
    cannot_link: Any = None
    fixed_labels: Any = None

    @property
    def given(self) -> list[str]:
        """The names of those that were given."""
        return [name for name, value in self._asdict().items() if value is not None]


class CheckedConstraints(NamedTuple):
    """Constraints on *units*: single rows, or rows that must share a cluster and move as one."""

    low: np.ndarray | None = None  # (k,)
    high: np.ndarray | None = None  # (k,)
    units: np.ndarray | None = None  # (n,)  the unit of each row; None: each row is one
    fixed: np.ndarray | None = None  # (units,)  int32  the cluster in which it stays; −1: it may move
    conflicts: Graph | None = None  # joins units that must not share a cluster
    centres: np.ndarray | None = None  # (m, d)

    def __bool__(self) -> bool:
        return any(value is not None for value in self)


def check_constraints(
    estimator: Any, X: Matrix, weights: np.ndarray | None, active_rows: Callable[[], np.ndarray], links: Links
) -> CheckedConstraints:
    """All constraints of a fit; ``active_rows`` gives the rows that count, a long array that most fits do not need."""
    n, k, name = X.shape[0], int(estimator.n_clusters), type(estimator).__name__
    centres = check_fixed_centres(estimator, X, k)
    units = _units(name, links.must_link, n)
    labels = _fixed_labels(name, links.fixed_labels, n, k)
    pairs = _pairs(name, "cannot_link", links.cannot_link, n)
    linked = units is not None or labels is not None or pairs is not None
    if linked:
        _check_active(name, n, active_rows(), links, labels, pairs, units)
    low = high = None
    if any(getattr(estimator, limit, None) is not None for limit in ("size_min", "size_max")):
        low, high = check_sizes(estimator, _sizes(weights, n)[active_rows()], weights is not None)
    constrained = centres is not None or labels is not None or pairs is not None
    if constrained and getattr(estimator, "polish", None) == "assign":
        raise ValueError(
            f"{name}: polish='assign' gives each sample its nearest centre, whatever constraints there are; use "
            "polish='pass'."
        )
    if centres is not None and low is not None and (weights is not None or units is not None):
        raise ValueError(
            f"{name}: fixed_centers with size_min or size_max is not offered for weighted or linked rows; leave one of "
            "these out."
        )
    if not linked:  # most fits: nothing need be counted row by row
        return CheckedConstraints(low, high, centres=centres)
    active = active_rows()
    unit_of = np.arange(n) if units is None else units
    count = int(unit_of.max()) + 1
    loads = np.bincount(unit_of, _sizes(weights, n), minlength=count)
    fixed = None if labels is None else _fixed_units(name, labels, unit_of, count)
    conflicts = None if pairs is None else _conflicts(name, pairs, unit_of, count, fixed)
    if units is not None and estimator.metric == "cosine" and getattr(estimator, "rule", None) == "paper":
        raise ValueError(
            f"{name}: must_link is not offered for rule='paper' with metric='cosine', which compares single "
            "directions; leave rule='auto'."
        )
    if high is not None and units is not None:
        _check_units_fit(name, unit_of, loads, high)
    found = len(np.unique(unit_of[active]))
    if found < k:
        raise ValueError(
            f"{name}: must_link joins the {len(active)} rows into {found} groups, fewer than n_clusters={k}; ask for "
            "fewer clusters or fewer links."
        )
    if fixed is not None:
        _check_fixed(name, fixed, loads, low, high, k, found)
    if conflicts is not None:
        room = None if low is None or high is None else (loads, low, high)
        _check_colours(name, conflicts, fixed, k, unit_of, room)
    return CheckedConstraints(low, high, units, fixed, conflicts, centres)


def _sizes(weights: np.ndarray | None, n: int) -> np.ndarray:
    return np.ones(n) if weights is None else weights


# ---------------------------------------------------------------------------------------- links
def _pairs(name: str, argument: str, value: Any, n: int) -> np.ndarray | None:
    """Pairs of rows (p, 2)."""
    if value is None:
        return None
    pairs = np.asarray(value)
    if pairs.size == 0:
        return None
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: {argument} must hold pairs of row numbers, an integer array of shape (p, 2); got shape "
            f"{pairs.shape} of {pairs.dtype}."
        )
    outside = (pairs < 0) | (pairs >= n)
    if outside.any():
        at = int(np.flatnonzero(outside.any(axis=1))[0])
        raise ValueError(
            f"{name}: {argument} names rows that do not exist: pair {at} is {pairs[at].tolist()}, and X has the rows "
            f"0 … {n - 1}."
        )
    return pairs.astype(np.int64)


def _units(name: str, must_link: Any, n: int) -> np.ndarray | None:
    """The unit of each row: numbers 0, 1, … in the order of their first rows."""
    if must_link is None:
        return None
    try:
        given = must_link if hasattr(must_link, "dtype") else np.asarray(must_link)
        if given.dtype.kind not in "iuf" and np.ndim(must_link) == 1:  # texts stay texts, missing values missing
            given = np.asarray(must_link, dtype=object)
        given = np.asarray(given)
    except ValueError:
        raise ValueError(
            f"{name}: must_link must be pairs of rows, shape (p, 2), or one group for each of the {n} rows."
        ) from None
    if given.ndim == 1 and given.size:
        if len(given) != n:
            raise ValueError(
                f"{name}: must_link must be pairs of rows or one group for each of the {n} rows; got {len(given)} "
                "groups."
            )
        parts = _groups(given)
    else:
        pairs = _pairs(name, "must_link", must_link, n)
        if pairs is None:
            return None
        joined = sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
        parts = connected_components(joined, directed=False)[1]
    _, first, inverse = np.unique(parts, return_index=True, return_inverse=True)
    if len(first) == n:
        return None
    number = np.empty(len(first), np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(len(first))
    return number[inverse]


def _groups(given: np.ndarray) -> np.ndarray:
    """Group numbers; rows of no group (−1, None, NaN or an empty string) get one of their own."""
    groups = len(given) + np.arange(len(given))
    named = np.array([not _is_nothing(value) for value in given.tolist()])
    groups[named] = np.unique(given[named].astype(str), return_inverse=True)[1]
    return groups


def _is_nothing(value: Any) -> bool:
    """Whether a group is none: None, NaN, the missing value of pandas, a negative number, or a blank text."""
    if isinstance(value, str):
        return not value.strip()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (int, float)) and not value >= 0


def _conflicts(name: str, pairs: np.ndarray, unit_of: np.ndarray, count: int, fixed: np.ndarray | None) -> Graph:
    """The graph that joins units which must not meet."""
    ends = unit_of[pairs]
    same = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(same):
        i, j = pairs[same[0]].tolist()
        if i == j:
            raise ValueError(f"{name}: cannot_link holds row {i} with itself (pair {same[0]}); remove that pair.")
        raise ValueError(
            f"{name}: rows {i} and {j} must share a cluster by must_link and must not by cannot_link (pair {same[0]}); "
            "remove one of the two."
        )
    if fixed is not None:
        clash = np.flatnonzero((fixed[ends[:, 0]] >= 0) & (fixed[ends[:, 0]] == fixed[ends[:, 1]]))
        if len(clash):
            i, j = pairs[clash[0]].tolist()
            raise ValueError(
                f"{name}: fixed_labels puts rows {i} and {j} into cluster {fixed[ends[clash[0], 0]]}, and cannot_link "
                f"keeps them apart (pair {clash[0]}); remove one of the two."
            )
    both = np.concatenate([ends, ends[:, ::-1]])
    joined = sparse.coo_array((np.ones(len(both), np.int8), both.T), shape=(count, count)).tocsr()
    return Graph(joined.indptr.astype(np.int64), joined.indices.astype(np.int64))


def _check_colours(
    name: str,
    conflicts: Graph,
    fixed: np.ndarray | None,
    k: int,
    unit_of: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
) -> None:
    """Refuse rows that no k clusters can keep apart."""
    linked = np.flatnonzero(np.diff(conflicts.starts))
    held = np.full(len(linked), -1) if fixed is None else fixed[linked].astype(np.int64)
    room = None if sizes is None else room_for(*sizes, linked, fixed)
    try:
        colour(part_of(conflicts, linked), np.zeros((len(linked), k)), held, room)
    except UncolourableError as error:
        rows = np.array([int(np.flatnonzero(unit_of == linked[at])[0]) for at in error.vertices[: max(k + 1, _NAMED)]])
        named = _named(rows, len(error.vertices), max(k + 1, _NAMED))
        if error.reason == "clique":
            text = f"the {len(rows)} rows {named} must all be in different clusters, but n_clusters={k}"
        elif error.reason == "exhausted":
            within = "" if sizes is None else " within size_min and size_max"
            text = f"no {k} clusters can keep the linked rows apart{within}; the links of rows {named} show it"
        else:
            text = (
                f"no way was found to keep the linked rows apart in {k} clusters, within {STEPS:,} steps of a search; "
                f"the difficult rows are {named}"
            )
        raise ValueError(f"{name}: cannot_link cannot be met: {text}. Use more clusters, or fewer links.") from None


def _check_units_fit(name: str, unit_of: np.ndarray, loads: np.ndarray, high: np.ndarray) -> None:
    largest = int(loads.argmax())
    if loads[largest] > high.max():
        rows = np.flatnonzero(unit_of == largest)
        raise ValueError(
            f"{name}: must_link joins rows {_named(rows, len(rows))} into a group of size {loads[largest]:g}, and no "
            f"cluster may be larger than size_max={high.max():g}; raise size_max, or remove links."
        )


# ---------------------------------------------------------------------------------------- fixed rows and centres
def _fixed_labels(name: str, fixed_labels: Any, n: int, k: int) -> np.ndarray | None:
    if fixed_labels is None:
        return None
    labels = np.asarray(fixed_labels)
    if labels.shape != (n,):
        raise ValueError(
            f"{name}: fixed_labels must hold one number for each of the {n} rows, the cluster in which it stays or -1; "
            f"got shape {labels.shape}."
        )
    whole = labels.dtype.kind in "iu" or (labels.dtype.kind == "f" and bool((labels == np.round(labels)).all()))
    if not whole or labels.min() < -1 or labels.max() >= k:
        wrong = labels[(labels < -1) | (labels >= k)] if whole or labels.dtype.kind != "f" else labels[labels % 1 != 0]
        raise ValueError(
            f"{name}: fixed_labels must hold clusters 0 … {k - 1}, or -1 for rows that may move; got "
            f"{wrong[0] if len(wrong) else labels.dtype}."
        )
    return None if (labels < 0).all() else labels.astype(np.int32)


def _fixed_units(name: str, labels: np.ndarray, unit_of: np.ndarray, count: int) -> np.ndarray:
    """The cluster in which each unit stays."""
    fixed = np.full(count, -1, np.int32)
    rows = np.flatnonzero(labels >= 0)
    fixed[unit_of[rows]] = labels[rows]
    wrong = rows[fixed[unit_of[rows]] != labels[rows]]
    if len(wrong):
        i = int(wrong[0])
        j = int(rows[(unit_of[rows] == unit_of[i]) & (labels[rows] != labels[i])][0])
        raise ValueError(
            f"{name}: rows {min(i, j)} and {max(i, j)} must share a cluster by must_link, and fixed_labels puts them "
            f"into {labels[min(i, j)]} and {labels[max(i, j)]}; remove one of the two."
        )
    return fixed


def _check_fixed(
    name: str,
    fixed: np.ndarray,
    loads: np.ndarray,
    low: np.ndarray | None,
    high: np.ndarray | None,
    k: int,
    count: int,
) -> None:
    held = np.flatnonzero(fixed >= 0)
    sizes, counts = np.bincount(fixed[held], loads[held], minlength=k), np.bincount(fixed[held], minlength=k)
    unnamed, free = int((counts == 0).sum()), count - len(held)
    if free < unnamed:
        raise ValueError(
            f"{name}: fixed_labels leaves {free} rows or groups free, but {unnamed} of the n_clusters={k} clusters "
            "have none yet; fix fewer rows, or ask for fewer clusters."
        )
    if high is not None and (sizes > high).any():
        r = int(np.flatnonzero(sizes > high)[0])
        raise ValueError(
            f"{name}: fixed_labels puts {sizes[r]:g} into cluster {r}, more than size_max={high[r]:g}; raise size_max "
            "or fix fewer rows."
        )
    if low is not None and high is not None:
        least, total = np.maximum(low, sizes).sum(), loads.sum()
        if least > total:
            raise ValueError(
                f"{name}: with fixed_labels the clusters need {least:g} in all to reach size_min, and there are "
                f"{total:g}; lower size_min or fix fewer rows."
            )


def check_fixed_centres(estimator: Any, X: Matrix, k: int) -> np.ndarray | None:
    """Centres that do not move (m, d), in float64."""
    given, name, d = getattr(estimator, "fixed_centers", None), type(estimator).__name__, X.shape[1]
    if given is None:
        return None
    centres = np.asarray(given.toarray() if sparse.issparse(given) else given)
    if centres.ndim != 2 or centres.shape[1] != d or centres.dtype.kind not in "fiu" or not len(centres):
        raise ValueError(
            f"{name}: fixed_centers must be an array of numbers of shape (m, {d}), one row for each given centre; got "
            f"{centres.dtype} of shape {centres.shape}."
        )
    if len(centres) > k:
        raise ValueError(f"{name}: fixed_centers holds {len(centres)} centres, more than n_clusters={k}.")
    centres = centres.astype(np.float64)
    allowed = LARGEST[arithmetic_of(X)]
    if not np.isfinite(centres).all() or float(np.abs(centres).max()) > allowed:
        raise ValueError(f"{name}: fixed_centers must be finite and at most {allowed:g}.")
    if estimator.objective == "pairwise":
        raise ValueError(
            f"{name}: objective='pairwise' knows no centres, so fixed_centers has no meaning for it; use "
            "objective='distortion'."
        )
    if estimator.metric == "cosine" and not np.abs(centres).max(axis=1).all():
        raise ValueError(f"{name}: a row of zeros in fixed_centers has no direction; use metric='l2' or remove it.")
    return centres


def _check_active(
    name: str,
    n: int,
    active: np.ndarray,
    links: Links,
    labels: np.ndarray | None,
    pairs: np.ndarray | None,
    units: np.ndarray | None,
) -> None:
    """Rows that do not count cannot be linked or fixed."""
    if len(active) == n:
        return
    idle = np.ones(n, bool)
    idle[active] = False
    named = np.zeros(n, bool)
    if labels is not None:
        named |= labels >= 0
    if pairs is not None:
        named[pairs.ravel()] = True
    if units is not None:
        named |= np.bincount(units)[units] > 1
    wrong = np.flatnonzero(named & idle)
    if len(wrong):
        raise ValueError(
            f"{name}: row {wrong[0]} has weight 0 (or, under metric='cosine', is all zeros) and belongs to no cluster, "
            f"so it cannot be in {', '.join(links.given)}; remove it from there."
        )


def _named(rows: np.ndarray, count: int, most: int = _NAMED) -> str:
    return ", ".join(map(str, rows[:most].tolist())) + (", …" if count > most else "")


def refuse_constraints(estimator: Any, given: dict[str, Any]) -> None:
    """Refuse arguments of ``fit`` that only ``KSums`` knows, and those that nobody does."""
    if not given:
        return
    name, known = type(estimator).__name__, [argument for argument in given if argument in Links._fields]
    if known:
        raise TypeError(
            f"{name}.fit does not know {', '.join(known)}: rows are linked and fixed by KSums, where all clusters are "
            "there from the start. Use KSums with the same n_clusters."
        )
    raise TypeError(f"{name}.fit got unexpected arguments: {', '.join(given)}.")


def refuse_links(estimator: Any, links: Links, where: str) -> None:
    """Refuse arguments about rows where rows have no numbers, or no engine knows them."""
    if links.given:
        raise ValueError(
            f"{type(estimator).__name__}: {', '.join(links.given)} is not offered for {where}; pass X as one array on "
            "the CPU."
        )
