"""The whole method on six points, every number worked out by hand. Read this file first.

Points 0, 2, 4, 10, 12, 14 on a line; two clusters with a bad start:

    A = {0, 2, 10}   D = 12, n = 3, centroid 4,  squares 16 + 4 + 36 = 56
    B = {4, 12, 14}  D = 30, n = 3, centroid 10, squares 36 + 4 + 16 = 56      E_m = 112/6, E_s = (3·56 + 3·56)/6

The pass visits 10 first, then 4, and both move; after that, no sample moves:

    A = {0, 2, 4}    D = 6,  centroid 2,  squares 8
    B = {10, 12, 14} D = 36, centroid 12, squares 8                             E_m = 16/6, E_s = (3·8 + 3·8)/6
"""

import numpy as np
import pytest
from helpers import engine_for, join_costs, run_passes, stay_cost

from ksums import KSums, metrics
from ksums.method.data.rows import prepare
from ksums.method.state.state import build_state, reallocate
from ksums.rules.kinds import rule_for
from ksums.rules.objectives import objective_value

X = np.array([[0.0], [2.0], [4.0], [10.0], [12.0], [14.0]])
"""These are the six points."""
START = np.array([0, 0, 1, 0, 1, 1])
"""These are the labels at the start: 0 is cluster A, 1 is cluster B."""
ORDER = np.array([3, 2, 0, 1, 4, 5])
"""A pass visits the points in this order."""
END = [0, 0, 0, 1, 1, 1]
"""These are the labels after one pass."""

COSTS = {
    ("distortion", "online"): [(36, 0), (36, 9)],  # |x − C|²
    ("distortion", "hartigan"): [(54, 0), (48, 6)],  # 3/2·36, 3/4·0; 4/3·36, 2/3·9
    ("distortion", "paper"): [(36, 0), (36, 4)],  # 36, 9/16·0; 36, 4/9·9
    ("distortion", "released"): [(81, 0), (64, 4)],  # 9/4·36; 16/9·36
    ("pairwise", "auto"): [(164, 56), (200, 20)],  # 100 + 64, 36 + 4 + 16; 36 + 64 + 100, 16 + 4
}
"""Each rule has a stay and a join cost for point 10 (from A to B), then for point 4 (from B, now with 10, to A)."""


def test_the_state_at_the_start():
    rows = prepare(X, "l2")
    state = build_state(rows, START, 2)
    assert rows.shift.tolist() == [7]  # Rows are read as x − 7.
    assert state.composites.ravel().tolist() == [12 - 21, 30 - 21]
    assert state.sizes.tolist() == [3, 3]
    assert state.norm_sums.tolist() == [49 + 25 + 9, 9 + 25 + 49]
    assert objective_value("distortion", state) == pytest.approx(112 / 6)
    assert objective_value("pairwise", state) == pytest.approx(336 / 6)


@pytest.mark.parametrize(("objective", "rule"), COSTS)
def test_costs_by_hand(objective, rule):
    costs, rule = COSTS[objective, rule], rule_for(objective, "l2", rule)
    state = build_state(prepare(X, "l2"), START, 2)
    for point, src, dst, (stay, join) in zip((10, 4), (0, 1), (1, 0), costs, strict=True):
        x = np.array([point - 7.0])
        assert stay_cost(rule, x, 1.0, state, src) == pytest.approx(stay)
        assert join_costs(rule, x, 1.0, state)[dst] == pytest.approx(join)
        reallocate(state, int(np.flatnonzero(point == X)[0]), x, 1.0, src, dst)
    assert state.labels.tolist() == END


@pytest.mark.parametrize("kernel", ["reference", "rows", "columns", "panels"])
@pytest.mark.parametrize(("objective", "rule"), COSTS)
def test_one_pass_by_hand(objective, rule, kernel):
    engine = engine_for(
        X, START, 2, objective=objective, rule=rule, reference=kernel == "reference",
        kernel=None if kernel == "reference" else kernel,
    )  # fmt: skip
    labels, moves = run_passes(engine, [ORDER, ORDER])
    assert moves == [2, 0]
    assert labels[0].tolist() == END
    assert engine.state.composites.ravel().tolist() == [6 - 21, 36 - 21]
    assert objective_value("distortion", engine.state) == pytest.approx(16 / 6)
    assert objective_value("pairwise", engine.state) == pytest.approx(48 / 6)


def test_cosine_by_hand():
    """A holds directions 0° and 90°, B holds 90°: the 90° of A compares cos 45° in A with cos 0° in B."""
    directions = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.5]])
    rule = rule_for("distortion", "cosine", "paper")
    state = build_state(prepare(directions, "cosine"), [0, 0, 1], 2)
    assert state.composites.tolist() == [[1, 1], [0, 1]]
    x = np.array([0.0, 1.0])
    assert stay_cost(rule, x, 1.0, state, 0) == pytest.approx(-np.sqrt(0.5))
    assert join_costs(rule, x, 1.0, state)[1] == pytest.approx(-1.0)


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("engine", ["reference", "exact"])
def test_the_estimator_by_hand(objective, engine):
    rule = "hartigan" if objective == "distortion" else "paper"
    model = KSums(2, objective=objective, rule=rule, engine=engine, init=START, random_state=0).fit(X)
    assert model.labels_.tolist() == END
    assert model.sizes_.tolist() == [3, 3]
    assert model.composites_.ravel().tolist() == [6, 36]
    assert model.cluster_centers_.ravel().tolist() == [2, 12]
    assert model.inertia_ == pytest.approx(16)
    assert model.distortion_ == pytest.approx(16 / 6)
    assert model.pairwise_ == pytest.approx(48 / 6)
    assert model.converged_
    assert [record.index for record in model.history_] == list(range(1, model.n_iter_ + 1))
    assert model.history_[-1].objective == pytest.approx(16 / 6 if objective == "distortion" else 8)
    assert model.predict([[6.9], [7.1]]).tolist() == [0, 1]
    assert model.transform([[3.0]]).tolist() == [[1, 9]]
    assert model.score([[3.0], [13.0]]) == -2


def test_the_measures_by_hand():
    assert metrics.distortion(X, START) == pytest.approx(112 / 6)
    assert metrics.pairwise(X, START) == pytest.approx(336 / 6)
    # The clusters are {a, a, b} and {b, c, c}: 3/6·(entropy of 2:1)·2, in units of log 3.
    share = -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)) / np.log(3)
    assert metrics.entropy(list("aabbcc"), [0, 0, 0, 1, 1, 1]) == pytest.approx(share)
