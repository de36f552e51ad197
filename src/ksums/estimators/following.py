"""Results as the kind of array that X is, where scikit-learn's ``array_api_dispatch`` asks for that.

Arrays on a CUDA device are followed anyway (``on_card.py``); this is about tensors in memory of the host, which are
read as NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ksums.compute.tensors import follower


def following(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose array follows X."""

    @wraps(method)
    def run(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        found, follow = method(self, X, *args, **kwargs), follower(X)
        return follow(found) if follow is not None and isinstance(found, np.ndarray) else found

    return run


def follow_fitted(model: Any, X: Any) -> None:
    """Fitted attributes that are arrays follow X."""
    follow = follower(X)
    if follow is None:
        return
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    vars(model).update({name: follow(a) for name, a in fitted.items() if isinstance(a, np.ndarray)})
