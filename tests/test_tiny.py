"""The whole method on six points, every number worked out by hand. Read this file first.

Points 0, 2, 4, 10, 12, 14 on a line; two clusters, badly started:

    A = {0, 2, 10}   D = 12, n = 3, centroid 4,  squares 16 + 4 + 36 = 56
    B = {4, 12, 14}  D = 30, n = 3, centroid 10, squares 36 + 4 + 16 = 56      E_m = 112/6, E_s = (3·56 + 3·56)/6

The first to be visited is 10, the next is 4; then nobody wants to move any more:

    A = {0, 2, 4}    D = 6,  centroid 2,  squares 8
    B = {10, 12, 14} D = 36, centroid 12, squares 8                             E_m = 16/6, E_s = (3·8 + 3·8)/6
"""

import numpy as np
import pytest
from helpers import engine_for, run_passes

from ksums import KSums, metrics
from ksums import state as states
from ksums.drivers import driver_for, join_costs, stay_cost
from ksums.rows import prepare

X = np.array([[0.0], [2.0], [4.0], [10.0], [12.0], [14.0]])
START = np.array([0, 0, 1, 0, 1, 1])
ORDER = np.array([3, 2, 0, 1, 4, 5])
END = [0, 0, 0, 1, 1, 1]

# stay and join cost of the point 10 (in A, to B), then of the point 4 (in B with 10, to A)
COSTS = {
    ("distortion", "online"): [(36, 0), (36, 9)],  # |x − C|²
    ("distortion", "hartigan"): [(54, 0), (48, 6)],  # 3/2·36, 3/4·0; 4/3·36, 2/3·9
    ("distortion", "paper"): [(36, 0), (36, 4)],  # 36, 9/16·0; 36, 4/9·9
    ("distortion", "released"): [(81, 0), (64, 4)],  # 9/4·36; 16/9·36
    ("pairwise", "auto"): [(164, 56), (200, 20)],  # 100 + 64, 36 + 4 + 16; 36 + 64 + 100, 16 + 4
}


def test_state_at_the_start():
    rows = prepare(X, "l2")
    state = states.build(rows, START, 2)
    assert rows.shift.tolist() == [7]  # rows are read as x − 7
    assert state.composites.ravel().tolist() == [12 - 21, 30 - 21]
    assert state.sizes.tolist() == [3, 3]
    assert state.norm_sums.tolist() == [49 + 25 + 9, 9 + 25 + 49]
    assert states.distortion(state) == pytest.approx(112 / 6)
    assert states.pairwise(state) == pytest.approx(336 / 6)


@pytest.mark.parametrize(("objective", "rule"), COSTS)
def test_costs_by_hand(objective, rule):
    driver = driver_for(objective, "l2", rule)
    state = states.build(prepare(X, "l2"), START, 2)
    for point, src, dst, (stay, join) in zip((10, 4), (0, 1), (1, 0), COSTS[objective, rule], strict=True):
        x = np.array([point - 7.0])
        assert stay_cost(driver, x, 1.0, state, src) == pytest.approx(stay)
        assert join_costs(driver, x, 1.0, state)[dst] == pytest.approx(join)
        states.reallocate(state, int(np.flatnonzero(point == X)[0]), x, 1.0, src, dst)
    assert state.labels.tolist() == END


@pytest.mark.parametrize("engine", ["reference", "rows", "columns", "panels"])
@pytest.mark.parametrize(("objective", "rule"), COSTS)
def test_one_pass(objective, rule, engine):
    made = engine_for(
        X, START, 2, objective=objective, rule=rule, reference=engine == "reference",
        kernel=None if engine == "reference" else engine,
    )  # fmt: skip
    labels, moves = run_passes(made, [ORDER, ORDER])
    assert moves == [2, 0]
    assert labels[0].tolist() == END
    assert made.state.composites.ravel().tolist() == [6 - 21, 36 - 21]
    assert states.distortion(made.state) == pytest.approx(16 / 6)
    assert states.pairwise(made.state) == pytest.approx(48 / 6)


def test_cosine_by_hand():
    """Directions 0° and 90° in A, 90° in B: the 90° of A compares cos 45° in A with cos 0° in B."""
    directions = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.5]])
    driver = driver_for("distortion", "cosine", "paper")
    state = states.build(prepare(directions, "cosine"), [0, 0, 1], 2)
    assert state.composites.tolist() == [[1, 1], [0, 1]]
    x = np.array([0.0, 1.0])
    assert stay_cost(driver, x, 1.0, state, 0) == pytest.approx(-np.sqrt(0.5))
    assert join_costs(driver, x, 1.0, state)[1] == pytest.approx(-1.0)


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("engine", ["reference", "exact"])
def test_the_estimator(objective, engine):
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


def test_the_measures():
    assert metrics.distortion(X, START) == pytest.approx(112 / 6)
    assert metrics.pairwise(X, START) == pytest.approx(336 / 6)
    # clusters {a, a, b} and {b, c, c}: 3/6·(entropy of 2:1)·2, in units of log 3
    share = -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)) / np.log(3)
    assert metrics.entropy(list("aabbcc"), [0, 0, 0, 1, 1, 1]) == pytest.approx(share)
