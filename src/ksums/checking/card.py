"""What a fit on a graphics card does not offer is refused here, with the way out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ksums.checking.data import LARGEST
from ksums.checking.sources import bytes_of
from ksums.compute.tensors import is_on_card, load_torch
from ksums.planning.gpu import LEAST_SEARCHED, MANY_CLUSTERS
from ksums.planning.plan import CardPlan
from ksums.planning.room import chunk_for, least_room
from ksums.planning.shape import Shape
from ksums.rules.kinds import PAIRS

_OFFERED: dict[str, tuple[Any, ...]] = {
    "refine": ("auto", "merge-split", None),
    "engine": ("auto",),
    "n_neighbors": (None,),
    "polish": (None,),
    "size_min": (None,),
    "size_max": (None,),
    "fixed_centers": (None,),
    "checkpoint": (None,),
}
"""Parameters that have one value on a card, or two."""
_INIT_NAMES = ("auto", "random-points")


class Room(NamedTuple):
    """Where rows are during a fit on a card."""

    copied: bool  # to the card; otherwise they are read where they are, which may be the memory of the host
    chunk: int  # rows that are in low precision at a time; 0: all


def is_device_name(value: Any) -> bool:
    """Whether the parameter ``device`` may be this."""
    if value is None:
        return True
    return isinstance(value, str) and (value in ("cpu", "cuda") or (value[:5] == "cuda:" and value[5:].isdigit()))


def check_offered(estimator: Any) -> None:
    """Refuse parameters that a card does not know."""
    for name, offered in _OFFERED.items():
        given = getattr(estimator, name)
        if not any(given is value or _is_equal(given, value) for value in offered):
            _refuse(estimator, f"{name}={given!r}", f"leave {name}={offered[0]!r}")
    init, rule = estimator.init, estimator.rule
    if isinstance(init, str) and init not in _INIT_NAMES:
        _refuse(estimator, f"init={init!r}", "use init='random-points' or an array of centres")
    if isinstance(rule, float | int) or (isinstance(rule, str) and rule not in ("auto", "annealed")):
        _refuse(estimator, f"rule={rule!r}", "leave rule='auto', or use Annealed(start, passes)")


def check_host_array(estimator: Any, X: Any) -> None:
    """Refuse arrays that cannot go to a card."""
    if sparse.issparse(X):
        _refuse(estimator, "sparse X", "pass X.toarray() if that fits into memory")


def check_card(estimator: Any, device: str) -> Any:
    """The device as torch knows it; refuses one that is not there."""
    torch = load_torch()
    name, count = type(estimator).__name__, torch.cuda.device_count() if torch.cuda.is_available() else 0
    wanted = torch.device(device)
    if (wanted.index or 0) >= count:
        raise ValueError(
            f"{name}: device={device!r}, but torch {torch.__version__} sees "
            f"{'no CUDA device' if not count else f'{count} CUDA devices'}; leave device=None to fit on the CPU."
        )
    return torch.device("cuda", torch.cuda.current_device() if wanted.index is None else wanted.index)


def check_room(estimator: Any, X: Any, device: Any, resident: bool) -> Room:
    """Where rows are during a fit; refuses data that is too large for the card. ``resident``: X is there already."""
    n, d = X.shape
    shape, size = Shape(n, d, int(estimator.n_clusters)), 0 if resident else X.numel() * X.element_size()
    most = np.inf if estimator.max_memory is None else bytes_of(estimator.max_memory)
    cuda = load_torch().cuda
    free = min(most, cuda.mem_get_info(device)[0])
    if chunk_for(shape, free - size):  # perhaps with what torch keeps for reuse; to ask for that takes longer
        free = min(most, free + cuda.memory_reserved(device) - cuda.memory_allocated(device))
    chunk = chunk_for(shape, free - size)
    if chunk == 0 and not resident:
        return Room(copied=True, chunk=0)
    if not resident:
        chunk = chunk_for(shape, free)
    if chunk < 0:
        raised = "" if estimator.max_memory is None else f"raise max_memory={estimator.max_memory!r}, "
        raise MemoryError(
            f"{type(estimator).__name__}: a fit of {shape.n:,} × {shape.d:,} rows with n_clusters={shape.k} takes at "
            f"least {least_room(shape) / 1e9:.2g} GB on {device} beside the rows, and may use {free / 1e9:.2g} GB; "
            f"{raised}fit a sample of the rows there, or pass a list of arrays or file names with device=None: then "
            "rows are read in parts."
        )
    return Room(copied=False, chunk=chunk)


def check_tensor(estimator: Any, X: Any) -> None:
    """``X`` is a tensor: dense, of two dimensions, of a type that kernels read."""
    torch, name = load_torch(), type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(f"{name}: X must have two dimensions, rows and columns; got shape {tuple(X.shape)}.")
    if X.shape[1] == 0:
        raise ValueError(f"{name}: X has no columns; a minimum of 1 is required.")
    if X.layout != torch.strided:
        _refuse(estimator, f"X with layout {X.layout}", "pass X.to_dense()")
    if not X.dtype.is_floating_point and X.dtype not in (torch.uint8, torch.int8, torch.int16):
        raise TypeError(
            f"{name}: X on a CUDA device must be float16, bfloat16, float32, float64, uint8, int8 or int16; got "
            f"{X.dtype}."
        )


def check_batch(X: Any, k: Any, metric: Any, effort: Any) -> None:
    """Refuse what ``ksums.torch.batched`` cannot cluster."""
    if not is_on_card(X) or not hasattr(X, "layout"):
        raise TypeError(
            f"batched: X must be a torch tensor on a CUDA device; got a {type(X).__name__} on "
            f"{getattr(X, 'device', 'the CPU')}. Fit KSums to each problem instead."
        )
    if X.layout != load_torch().strided:
        raise TypeError(f"batched: X must be dense; got layout {X.layout}. Pass X.to_dense().")
    if X.ndim != 3 or not all(X.shape):
        raise ValueError(
            f"batched: X must have shape (problems, rows, columns), all above 0; got {tuple(X.shape)}. "
            "A single problem is X[None]."
        )
    if not X.dtype.is_floating_point:
        raise TypeError(f"batched: X must be float16, bfloat16, float32 or float64; got {X.dtype}. Pass X.float().")
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or not 1 <= k <= X.shape[1]:
        raise ValueError(
            f"batched: n_clusters must be a whole number from 1 to {X.shape[1]}, the rows of a problem; got {k!r}."
        )
    for name, value, allowed in (("metric", metric, ("l2", "cosine")), ("effort", effort, ("low", "default", "high"))):
        if value not in allowed:
            raise ValueError(f"batched: {name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


def check_values_of_batch(X: Any) -> None:
    """Refuse a tensor of problems with numbers that are not finite, or too large to square."""
    torch = load_torch()
    allowed = LARGEST[np.dtype(np.float64 if X.dtype == torch.float64 else np.float32)]
    least, most = (value.item() for value in torch.aminmax(X))  # NaN if there is one
    if -allowed <= least and most <= allowed:
        return
    bad = (~torch.isfinite(X)).nonzero()
    if len(bad):
        problem, row, column = bad[0].tolist()
        raise ValueError(
            f"batched: X contains NaN or infinity, first in problem {problem}, row {row}, column {column}; drop such "
            "rows or fill them in."
        )
    raise ValueError(
        f"batched: X holds values up to {max(-least, most):.3g}; {X.dtype} is accepted up to {allowed:g}: divide X by "
        "a constant."
    )


def check_search(estimator: Any, plan: CardPlan) -> None:
    """Refuse a merge–split search that was asked for where there is none."""
    if estimator.refine != "merge-split" or plan.search is not None:
        return
    if plan.rule.kind is PAIRS:
        reason, way_out = f"with objective={estimator.objective!r}", "leave refine='auto'"
    elif not LEAST_SEARCHED <= plan.k < MANY_CLUSTERS:
        reason, way_out = f"with n_clusters={plan.k}", "leave refine='auto'"
    else:
        reason, way_out = f"with max_iter={plan.max_iter}", "raise max_iter"
    _refuse(estimator, f"refine='merge-split' {reason}", way_out)


def check_light_rows(estimator: Any, weights: np.ndarray | None, least: float) -> None:
    """Refuse weights below this share of their mean; sums of whole numbers would lose them."""
    if weights is None:
        return
    positive = weights[weights > 0]
    if positive.min() < least * positive.mean():
        raise ValueError(
            f"{type(estimator).__name__}: on a graphics card sample weights other than 0 must be at least {least:.1g} "
            f"of their mean, {positive.mean():.3g}; got {positive.min():.3g}. Give such rows weight 0, or fit on the "
            "CPU (device='cpu')."
        )


def check_centres(estimator: Any, centres: np.ndarray, k: int, d: int) -> np.ndarray:
    """Centres that the user gave, in float64."""
    name = type(estimator).__name__
    if centres.shape != (k, d) or centres.dtype.kind not in "fiu":
        raise ValueError(
            f"{name}: on a graphics card init must be 'auto', 'random-points' or an array of centres of shape "
            f"({k}, {d}); got {centres.dtype} of shape {centres.shape}."
        )
    if not np.isfinite(centres).all():
        raise ValueError(f"{name}: init as centres must be finite; it holds NaN or infinity.")
    return centres.astype(np.float64)


def check_values(estimator: Any, X: Any, largest: float, *, all_active: bool) -> None:
    """Finite, and small enough to square; ``largest`` is the largest entry of active rows around their mean."""
    torch, name = load_torch(), type(estimator).__name__
    allowed = LARGEST[np.dtype(np.float64 if X.dtype == torch.float64 else np.float32)]
    if largest <= allowed and (all_active or bool(torch.isfinite(X).all())):
        return
    bad = (~torch.isfinite(X)).nonzero()
    if len(bad):
        raise ValueError(
            f"Input X contains NaN or infinity, first in row {int(bad[0, 0])}, column {int(bad[0, 1])}, which {name} "
            "does not accept; drop such rows or fill them in."
        )
    raise ValueError(
        f"{name}: X holds values up to {largest:.3g} around their mean; {X.dtype} is accepted up to {allowed:g}: "
        "divide X by a constant."
    )


def _is_equal(given: Any, offered: Any) -> bool:
    """Whether a parameter is this word; arrays are none."""
    return isinstance(given, str) and given == offered


def _refuse(estimator: Any, what: str, way_out: str) -> None:
    raise ValueError(
        f"{type(estimator).__name__}: {what} is not offered on a graphics card; {way_out}, or fit on the CPU "
        "(device='cpu')."
    )
