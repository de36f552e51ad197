"""The records of a fitted model as a table."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ksums.method.fitting.records import PassRecord

if TYPE_CHECKING:
    import pandas as pd


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
        raise ImportError("history_frame requires pandas: pip install 'ksums[frames]'.") from error
    model = model[-1] if isinstance(model, Pipeline) else model
    check_is_fitted(model)
    names = [field.name for field in fields(PassRecord)]
    return pd.DataFrame([asdict(record) for record in model.history_], columns=names).set_index("index")
