"""k-means (Lloyd): assign all samples to their nearest centres, then replace all centres by the means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ksums.baselines.base import Baseline, assign_to_nearest
from ksums.method.data.centres import centres_of
from ksums.method.engines.protocol import Engine, register_engine


class LloydEngine(Engine):
    """See ``protocol.Engine``: all samples move at once, so their order does not matter."""

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Assign all samples, and update all means; yields the number of samples that changed cluster."""
        self.comparisons = len(order) * len(self.state.sizes)
        centres = centres_of(self.state.composites, self.state.sizes, self.rule.kind.directions)
        yield assign_to_nearest(self.rows, self.state, centres)


register_engine("lloyd", LloydEngine)


class KMeans(Baseline):
    """k-means, starting from k random samples. Under cosine it is spherical k-means, which compares directions.

    It does the same as scikit-learn's ``KMeans(init="random", n_init=1)``, and adds cosine and a record of every pass.
    The first assignment, to the random samples, is the start and does not count as a pass.

    >>> from ksums.baselines import KMeans
    >>> KMeans(2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]]).inertia_
    1.0
    """

    rule, start, engine = "lloyd", "random-points", "lloyd"
