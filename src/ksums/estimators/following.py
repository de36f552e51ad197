"""Results as the kind of array that X is, where scikit-learn's ``array_api_dispatch`` asks for that.

Arrays on a CUDA device are followed anyway (``on_card.py``); this is about tensors in memory of the host, which are read
as NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ksums.compute.tensors import follower


def following(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose arrays follow X: those that it returns or, if it returns the model, the fitted attributes."""

    @wraps(method)
    def run(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        found, follow = method(self, X, *args, **kwargs), follower(X)
        if follow is None:
            return found
        if found is not self:
            return follow(found) if isinstance(found, np.ndarray) else found
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        vars(self).update({name: follow(a) for name, a in fitted.items() if isinstance(a, np.ndarray)})
        return self

    return run
