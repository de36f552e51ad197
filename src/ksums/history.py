"""What a pass leaves behind."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PassRecord:
    """One pass over all samples, or a part of the merge–split search.

    Measures come from the running sums, in float64, of the rows that pull.

    Rows of weight 0, and rows of zeros under cosine, pull no cluster and are left out.
    """

    index: int
    """1 for the first record."""
    objective: float
    """What the fit is to bring down: one of the two measures below, or, where directions are compared (``"cosine"``
    with the rules ``"annealed"`` and ``"paper"``; some baselines), the mean cosine distance to the own centroid."""
    distortion: float
    """E_m after the pass."""
    pairwise: float
    """E_s after the pass."""
    moves: int
    """Samples that changed their cluster."""
    smallest: float
    """Size of the smallest cluster."""
    largest: float
    """Size of the largest cluster."""
    seconds: float
    """Wall-clock time from the start of the run, seeding included, to the end of the pass."""
    comparisons: int = 0
    """How often a sample was compared with a cluster (and, where there are lists of nearest clusters, a cluster with
    another one to make them)."""
    stage: str = "pass"
    """``"annealing"``: a pass with relaxation above 1. ``"pass"``: any other. ``"merge-split"``: trials of the search
    for a better optimum, of which there are no more than ten records. ``"polish"``: the last look at all clusters."""
    relaxation: float = 1.0
    """p of a pass of annealing."""
    trials: int = 0
    """Merge–split trials made: one cluster dissolved, another one split."""
    kept: int = 0
    """Those of them that were not undone."""
    gain: float = 0.0
    """What the objective has fallen by in these trials."""


def passes_of(records: list[PassRecord]) -> int:
    """How many of the records are of passes."""
    return sum(record.stage != "merge-split" for record in records)


def history_frame(model: Any) -> pd.DataFrame:
    """The passes of a fitted model as a pandas DataFrame, one row each, indexed by pass.

    >>> import numpy as np
    >>> from ksums import KSums, history_frame
    >>> model = KSums(2, random_state=0).fit(np.array([[0.0], [1.0], [10.0], [11.0]]))
    >>> list(history_frame(model).columns)
    ['objective', 'distortion', 'pairwise', 'moves', 'smallest', 'largest', 'seconds',
     'comparisons', 'stage', 'relaxation', 'trials', 'kept', 'gain']
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("history_frame needs pandas, which is not installed: pip install 'ksums[frames]'.") from error
    model = model[-1] if isinstance(model, Pipeline) else model
    check_is_fitted(model)
    names = [field.name for field in fields(PassRecord)]
    return pd.DataFrame([asdict(record) for record in model.history_], columns=names).set_index("index")
