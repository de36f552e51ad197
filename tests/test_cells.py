"""Tables as numbers and codes with gaps: costs, sums and objectives, against plain NumPy and against one-hot rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksums import metrics
from ksums.method.cells.cells import GAP, PULL, cells_of, centres_from, unpulled
from ksums.method.cells.partition import CellPartition
from ksums.method.cells.reference import reference_pass
from ksums.method.cells.starts import distances, seeded_labels
from ksums.method.cells.sums import centres_of

OBJECTIVES = ("distortion", "pairwise")


def random_table(seed, gaps=True, numbers=True, words=True, weighted=None):
    """Return cells of a small table; every row has a value."""
    rng = np.random.default_rng(seed)
    n, a, b = int(rng.integers(12, 40)), int(rng.integers(1, 4)) * numbers, int(rng.integers(1, 4)) * words
    X, codes = rng.normal(size=(n, a)), rng.integers(0, 3, size=(n, b))
    codes[:3] = np.arange(3)[:, None]  # all categories occur
    if gaps:
        X[rng.random(X.shape) < 0.3] = np.nan
        codes[rng.random(codes.shape) < 0.3] = GAP
        kept = ~(np.isnan(X).all(axis=1) & (codes == GAP).all(axis=1))
        X, codes = X[kept], codes[kept]
    weighted = rng.random() < 0.5 if weighted is None else weighted
    weights = rng.integers(1, 5, len(X)) * 0.5 if weighted else None
    if a:
        X = X - np.nanmean(X, axis=0)
    return cells_of(X, codes, np.full(b, 3), weights, np.full(b, 1.5))


def random_labels(n, k, seed):
    labels = np.arange(n) % k
    np.random.default_rng(seed).shuffle(labels)
    return labels


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("relaxation", [1.0, 3.0])
@pytest.mark.parametrize("seed", range(12))
def test_a_pass_equals_plain_numpy_label_by_label(objective, relaxation, seed):
    cells, k = random_table(seed), 2 + seed % 3
    labels = random_labels(cells.n, k, seed)
    partition = CellPartition(cells, labels, k, objective)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        order = rng.permutation(cells.n)
        expected = labels.copy()
        moves = reference_pass(partition.cells, expected, k, order, relaxation, objective)
        assert partition.visit(order, relaxation) == moves
        np.testing.assert_array_equal(partition.labels, expected)
        labels = expected
    fresh = CellPartition(cells, labels, k, objective)
    for kept, anew in zip(partition.sums, fresh.sums, strict=True):
        np.testing.assert_allclose(kept, anew, atol=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(seed=st.integers(0, 10_000))
def test_every_move_lowers_the_objective_by_what_it_promised(objective, seed):
    cells, k = random_table(seed), 3
    partition = CellPartition(cells, random_labels(cells.n, k, seed), k, objective)
    value = partition.measures().objective
    for row in np.random.default_rng(seed).permutation(cells.n):
        moved = partition.visit(np.array([row]), 1.0)
        after = partition.measures().objective
        assert after < value if moved else after == pytest.approx(value, abs=1e-12)
        value = after
    assert (partition.sums.members > 0).all()


def test_the_objective_of_a_toy_by_hand():
    """Two clusters of a column of numbers with a gap; the mean of the column is 0."""
    X = np.array([[-2.0], [-4.0], [np.nan], [3.0], [3.0]])
    words = np.array([[0], [1], [1], [GAP], [0]])
    cells = cells_of(X, words, np.array([2]))
    found = CellPartition(cells, np.array([0, 0, 0, 1, 1]), 2, "distortion")
    # Plain means: −3 and 3 give 2 + 0; shares (1/3, 2/3) give 3 − 5/3, (1, 0) gives 0.
    assert found.measures().distortion == pytest.approx((2 + 4 / 3) / 5)
    # Centres are −6/2.5 and 6/2.5: the minimum of Σ(x − c)² + ½c² is Q − D²/(N + ½).
    numbers = (20 - 36 / 2.5) + (18 - 36 / 2.5)
    shares = np.array([0.5, 0.5])  # of the four words
    pulled = [np.array([1.0, 2.0]), np.array([1.0, 0.0])]
    counts = [count + PULL * shares for count in pulled]
    codes = sum(
        c.sum() + PULL * shares @ shares - d @ d / (c.sum() + PULL) for c, d in zip(pulled, counts, strict=True)
    )
    assert found.measures().objective == pytest.approx((numbers + codes) / 5)
    # Pairs: (−2 − −4)² and 0; of three words two pairs differ, and each of them counts 2.
    assert found.measures().pairwise == pytest.approx((4 + 4) / 5)


@pytest.mark.parametrize("seed", range(4))
def test_without_gaps_the_measures_are_those_of_one_hot_rows(seed):
    cells = random_table(seed, gaps=False)._replace(column_weights=np.ones(0))
    cells = cells._replace(column_weights=np.ones(cells.codes.shape[1]))
    hot = np.concatenate([cells.numbers, (cells.codes[:, :, None] == np.arange(len(cells.shares))).sum(axis=1)], axis=1)
    labels = random_labels(cells.n, 3, seed)
    weights = cells.weights if len(cells.weights) else None
    for objective in OBJECTIVES:
        found = CellPartition(cells, labels, 3, objective).measures()
        assert found.distortion == pytest.approx(metrics.distortion(hot, labels, sample_weight=weights))
        assert found.pairwise == pytest.approx(metrics.pairwise(hot, labels, sample_weight=weights))
        assert found.objective == getattr(found, objective)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(6))
def test_merging_and_splitting_cost_what_they_promise(objective, seed):
    cells, k = random_table(seed), 4
    labels = random_labels(cells.n, k, seed)
    partition = CellPartition(cells, labels, k, objective)
    value, costs = partition.measures().objective, partition.merge_costs()
    merged = np.where(labels == 3, 1, labels)
    assert CellPartition(cells, merged, 3, objective).measures().objective - value == pytest.approx(costs[1, 3])
    assert np.isinf(np.diag(costs)).all()
    part, gain = partition.halves(2, np.random.default_rng(seed))
    if len(part):
        split = labels.copy()
        split[part] = 4
        assert value - CellPartition(cells, split, 5, objective).measures().objective == pytest.approx(gain)
        trial = partition.exchanged(0, 1, 2, part)
        assert sorted(np.unique(trial.labels)) == [0, 1, 2, 3]
        np.testing.assert_array_equal(partition.labels, labels)


def test_weights_count_like_repeated_rows():
    cells = random_table(5, weighted=False)
    times = np.random.default_rng(0).integers(1, 4, cells.n)
    own, counts = _own_codes(cells), np.diff(cells.offsets)
    weighted = cells_of(cells.numbers, own, counts, times.astype(float), cells.column_weights)
    rows = np.repeat(np.arange(cells.n), times)
    repeated = cells_of(cells.numbers[rows], own[rows], counts, None, cells.column_weights)
    labels = random_labels(cells.n, 3, 1)
    for objective in OBJECTIVES:
        one = CellPartition(weighted, labels, 3, objective)
        other = CellPartition(repeated, labels[rows], 3, objective)
        np.testing.assert_allclose(one.measures()[1:], other.measures()[1:])  # the pull goes by the mean weight
    same_pull = weighted._replace(pulls=repeated.pulls)
    one, other = (CellPartition(*table, 3, "distortion") for table in ((same_pull, labels), (repeated, labels[rows])))
    np.testing.assert_allclose(one.measures(), other.measures())
    np.testing.assert_allclose(one.merge_costs(), other.merge_costs())


def test_only_the_ratios_of_weights_matter():
    cells = random_table(7, weighted=True)
    larger = cells_of(
        cells.numbers, _own_codes(cells), np.diff(cells.offsets), 1e-6 * cells.weights, cells.column_weights
    )
    labels = random_labels(cells.n, 3, 0)
    one, other = (CellPartition(table, labels, 3, "distortion") for table in (cells, larger))
    order = np.arange(cells.n)
    assert one.visit(order, 1.0) == other.visit(order, 1.0)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.measures().objective == pytest.approx(other.measures().objective)


def _own_codes(cells):
    return np.where(cells.codes == GAP, GAP, cells.codes - cells.offsets[:-1])


def test_a_cluster_without_a_value_has_the_mean_of_the_column():
    X = np.array([[1.0, np.nan], [1.2, np.nan], [-1.0, 2.0], [-1.2, -2.0]])
    cells = cells_of(X, np.empty((4, 0), int), np.zeros(0, int))
    centres = centres_of(cells, CellPartition(cells, np.array([0, 0, 1, 1]), 2, "distortion").sums)
    assert centres.numbers[1, 0] == 0
    assert cells.pulls.tolist() == [0.0, PULL]
    assert unpulled(cells).pulls.tolist() == [0.0, 0.0]


def test_distances_are_over_observed_cells():
    X = np.array([[1.0, np.nan], [np.nan, 2.0]])
    cells = cells_of(X, np.array([[0], [GAP]]), np.array([2]), None, np.array([2.0]))
    centres = centres_from(np.array([[0.0], [0.5]]), np.array([[0.25], [0.75]]), cells.offsets)
    np.testing.assert_allclose(distances(cells, centres)[:, 0], [1 + 2 * (0.75**2 + 0.75**2), 1.5**2])


def test_seeds_leave_no_cluster_empty_even_if_all_rows_are_equal():
    cells = cells_of(np.zeros((6, 1)), np.zeros((6, 1), int), np.array([1]))
    labels = seeded_labels(cells, 4, np.random.default_rng(0))
    assert sorted(np.unique(labels)) == [0, 1, 2, 3]


# -------------------------------------------------------------------------------------------- duplicates
def few_values(seed, a, b):
    """Return cells of a table in which most rows occur several times."""
    rng = np.random.default_rng(seed)
    n = 60
    X, codes = rng.choice([0.1, 0.7, 1.3], size=(n, a)), rng.integers(0, 3, size=(n, b))
    codes[:3] = np.arange(3)[:, None]
    if a + b > 1:
        (X if a else codes)[::3, 0] = np.nan if a else GAP
    X = X - np.nanmean(X, axis=0) if a else X
    return cells_of(X, codes, np.full(b, 3), rng.integers(1, 4, n) / 3 if seed % 2 else None, np.full(b, 0.7))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("a", "b"), [(2, 0), (0, 2), (1, 1), (1, 0)])
@given(seed=st.integers(0, 10_000))
def test_passes_over_duplicates_end(objective, a, b, seed):
    """Costs among duplicates are 0 but for rounding, which must not move a row back and forth."""
    cells, k = few_values(seed, a, b), 3 + seed % 6
    partition = CellPartition(cells, random_labels(cells.n, k, seed), k, objective)
    rng = np.random.default_rng(seed)
    value = partition.measures().objective
    for _ in range(60):
        moves = partition.visit(rng.permutation(cells.n), 1.0)
        before, value = value, partition.measures().objective
        assert value <= before + 1e-12
        if not moves:
            break
    assert not moves
    assert min(partition.by_cluster()) >= 0
