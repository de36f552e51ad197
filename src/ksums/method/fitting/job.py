"""What a fit is handed."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np

from ksums.method.data.rows import Rows
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.listener import Listener
from ksums.method.fitting.resuming import FitCheckpoint
from ksums.method.state.constraints import Constraints
from ksums.planning.plan import Plan, TreePlan

AnyPlan = TypeVar("AnyPlan", bound=Plan | TreePlan)


class Job(NamedTuple, Generic[AnyPlan]):
    """What a fit needs besides random numbers."""

    rows: Rows
    plan: AnyPlan
    listener: Listener
    budget: Budget = Budget()
    given: np.ndarray | None = None  # labels or centres of the user
    constraints: Constraints | None = None
    checkpoint: FitCheckpoint | None = None
