"""What differs between versions of Dask."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np


def memory_of_workers(client: Any) -> list[float]:
    """Bytes that each worker may use; infinite if it has no limit.

    Newer versions tell of a few workers only unless they are asked for all.
    """
    asked = {"n_workers": -1} if "n_workers" in inspect.signature(client.scheduler_info).parameters else {}
    workers = client.scheduler_info(**asked)["workers"].values()
    return [float(worker["memory_limit"] or np.inf) for worker in workers]
