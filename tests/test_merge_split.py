"""Merge–split search: its sums are right, it respects limits, and it finds what single moves cannot."""

import time
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from ksums import Annealed, KSums
from ksums.method.data.rows import prepare
from ksums.method.search.merge_split import MergeSplit
from ksums.method.state.state import build_state
from ksums.planning.effort import EFFORT_NAMES, rounds_for
from ksums.planning.shape import Shape
from ksums.rules.objectives import objective_value


def make_search(X, labels, k, weights=None, seed=0):
    rows = prepare(X, "l2", weights)
    return MergeSplit(rows, build_state(rows, labels, k), np.random.default_rng(seed)), rows


def search_records(model):
    return [record for record in model.history_ if record.stage == "merge-split"]


@pytest.fixture
def grid(rng):
    """25 round clusters of 40 rows on a grid."""
    centres = np.stack(np.meshgrid(np.arange(5), np.arange(5)), -1).reshape(-1, 2) * 10.0
    return (centres[:, None] + rng.standard_normal((25, 40, 2))).reshape(-1, 2)


# -------------------------------------------------------------------------------------------- its sums
@pytest.mark.parametrize("heat", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("d", "dtype"), [(2, np.float64), (3, np.float32), (20, np.float64), (40, np.float32)])
def test_its_sums_match_its_labels(d, dtype, weighted, heat, rng):
    X = rng.standard_normal((400, d)).astype(dtype)
    weights = rng.uniform(0.5, 2, 400) if weighted else None
    search, rows = make_search(X, rng.integers(0, 30, 400), 30, weights)
    for part in range(1, 4):
        search.run(part * 40_000, 120_000, heat, np.inf)
        local = search.local
        fresh = build_state(rows, np.take(local.labels, np.argsort(search.ids)), 31)
        tolerance = 1e-9 if dtype == np.float64 else 1e-4
        occupied = fresh.counts > 0
        assert occupied.sum() == 30
        assert (fresh.counts == local.counts).all()
        np.testing.assert_allclose(local.composites, fresh.composites, atol=tolerance * 400)
        np.testing.assert_allclose(local.sizes, fresh.sizes, rtol=1e-9, atol=1e-9)
        means = fresh.composites[occupied] / fresh.sizes[occupied, None]
        np.testing.assert_allclose(local.centroids[occupied], means, atol=tolerance)
        within = fresh.norm_sums[occupied] - fresh.sq_composites[occupied] / fresh.sizes[occupied]
        assert search.values[0] == pytest.approx(within.sum(), rel=tolerance)
        assert search.values[1] <= search.values[0] * (1 + 1e-12)
        best = build_state(rows, search.labels(), 30)
        assert objective_value("distortion", best) * best.sizes.sum() == pytest.approx(search.values[1], rel=tolerance)
        check_lists(local)


def check_lists(local):
    """Check that each row is once in the list of its cluster, and that lists are linked in both directions."""
    seen = np.full(len(local.labels), -1)
    for r, first in enumerate(local.first):
        i, before = first, -1
        while i >= 0:
            assert seen[i] == -1
            assert local.preceding[i] == before
            seen[i], before, i = r, i, local.following[i]
    np.testing.assert_array_equal(seen, local.labels)


def test_a_rejected_trial_leaves_no_trace(grid, rng):
    best = np.repeat(np.arange(25), 40)
    search, _ = make_search(grid, best, 25)
    search.search = search.search._replace(optimism=np.inf)  # Every trial starts, however hopeless.
    before = search.local.composites.copy()
    trials, kept = search.run(2_000_000, 2_000_000, 0.0, np.inf)
    assert trials > 25
    assert kept == 0
    np.testing.assert_array_equal(search.labels(), best)
    np.testing.assert_allclose(search.local.composites, before, atol=1e-9)


def test_a_call_with_a_tiny_budget_ends(grid):
    search, _ = make_search(grid, np.arange(1000) % 25, 25)
    search.run(0.5, 1e6, 0.0, np.inf)
    assert search.work.compared[0] >= 0.5


def test_a_search_ends_if_nothing_can_be_split():
    X = np.arange(400.0)[:, None]
    search, _ = make_search(X, np.arange(400) % 399, 399)
    trials, _ = search.run(1e6, 1e6, 0.0, np.inf)
    assert search.work.compared[0] < 1.1e6
    assert trials < 1e4


# -------------------------------------------------------------------------------------------- what it finds
def test_the_search_moves_a_centre_across_the_plane(grid):
    """Two true clusters share a centre and another one has two; no single move helps, but one trial does."""
    best = np.repeat(np.arange(25), 40)
    wrong = best.copy()
    wrong[wrong == 24] = 23
    wrong[:20] = 24
    optimum = KSums(25, init=best, rule="hartigan", random_state=0).fit(grid).inertia_
    stuck = KSums(25, init=wrong, rule="hartigan", random_state=0).fit(grid)
    assert stuck.inertia_ > 1.2 * optimum
    found = KSums(25, init=wrong, rule="hartigan", refine="merge-split", random_state=0).fit(grid)
    assert found.inertia_ == pytest.approx(optimum, rel=1e-3)
    assert sum(record.gain for record in search_records(found)) > 0
    assert sum(record.kept for record in search_records(found)) >= 1


@pytest.mark.parametrize("init", ["auto", "random-labels", "random-points"])
def test_the_true_clusters_are_found_from_any_start(init, grid):
    optimum = KSums(25, init=np.repeat(np.arange(25), 40), rule="hartigan", random_state=0).fit(grid).inertia_
    for seed in range(10):
        assert KSums(25, init=init, random_state=seed).fit(grid).inertia_ <= optimum * (1 + 1e-9)


def test_more_effort_is_better_on_average(rng):
    X = rng.standard_normal((1000, 2))
    means = [
        np.mean([KSums(40, effort=effort, random_state=seed).fit(X).inertia_ for seed in range(4)])
        for effort in ("low", "default", "high")
    ]
    assert means[0] > means[1] > means[2]


# -------------------------------------------------------------------------------------------- what it respects
def test_weighted_sizes_stay_within_the_limits(rng):
    weights, grid = rng.uniform(0.5, 2, 1000), rng.standard_normal((1000, 2))
    mean = weights.sum() / 25
    options = {"size_min": mean * 0.7, "size_max": mean * 1.5, "refine": "merge-split"}
    model = KSums(25, random_state=0, **options).fit(grid, sample_weight=weights)
    assert options["size_min"] - 1e-9 <= model.sizes_.min() <= model.sizes_.max() <= options["size_max"] + 1e-9
    assert sum(record.kept for record in search_records(model)) > 0


def test_rows_without_weight_are_left_out(grid):
    weights = np.where(np.arange(1000) % 5 == 0, 0.0, 1.0)
    search, _ = make_search(grid, np.arange(1000) // 40, 25, weights)
    assert len(search.ids) == 800
    assert (weights[search.ids] > 0).all()
    some = KSums(25, random_state=0).fit(grid, sample_weight=weights)
    alone = KSums(25, random_state=0).fit(grid[weights > 0])
    assert some.inertia_ == pytest.approx(alone.inertia_)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 8])
def test_tiny_data_can_be_searched(k, rng):
    X = rng.standard_normal((8, 2))
    model = KSums(k, refine="merge-split", random_state=0).fit(X)
    assert set(model.labels_) == set(range(k))


def test_copies_of_a_few_rows():
    X = np.repeat(np.arange(6.0)[:, None], 20, axis=0)
    model = KSums(6, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_far_from_the_origin_are_as_good(dtype, grid):
    near, far = (KSums(25, random_state=0).fit((grid + shift).astype(dtype)).inertia_ for shift in (0.0, 1e4))
    assert far == pytest.approx(near, rel=1e-3)


@pytest.mark.parametrize("effort", ["low", "default"])
def test_results_repeat_for_any_number_of_threads(effort, rng):
    X = rng.standard_normal((3000, 20)).astype(np.float32)
    fits = [KSums(150, effort=effort, n_threads=t, random_state=3).fit(X) for t in (1, 2, 1)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].labels_, other.labels_)
        trials = [[(record.trials, record.kept) for record in search_records(model)] for model in (fits[0], other)]
        assert trials[0] == trials[1]


# -------------------------------------------------------------------------------------------- effort, records, stops
def test_higher_levels_of_effort_do_more_work():
    shape = Shape(10_000, 10, 50)
    low, default, high = (rounds_for(level, Annealed(), True, 300, shape) for level in EFFORT_NAMES)
    assert low[0].annealing < default[0].annealing <= high[0].annealing
    assert low[0].comparisons < default[0].comparisons < high[0].comparisons < np.inf
    assert rounds_for(3.0, Annealed(), True, 300, shape)[0].comparisons == np.inf
    many = Shape(60_000, 100, 600)
    assert [len(rounds_for("default", Annealed(), search, 300, many)) for search in (True, False)] == [3, 1]


def test_effort_in_seconds_takes_about_that_long(grid):
    KSums(25, effort=0.05, random_state=0).fit(grid)  # This compiles the kernels.
    started = time.perf_counter()
    model = KSums(25, effort=0.6, random_state=0).fit(grid)
    assert 0.2 < time.perf_counter() - started < 5  # It stops, but not at once.
    assert len(search_records(model)) == 10
    assert model.history_[-1].moves == 0


def test_a_time_budget_shortens_the_search(rng):
    X = rng.standard_normal((4000, 2))  # The search alone takes many times as long as the budget on any machine.
    short, long = (KSums(100, effort="high", time_budget=s, random_state=0).fit(X) for s in (0.05, None))
    trials = [sum(record.trials for record in search_records(model)) for model in (short, long)]
    assert trials[0] < trials[1] / 2
    assert short.history_[-1].seconds < long.history_[-1].seconds


def test_gains_are_decreases_of_the_objective(rng):
    model = KSums(30, random_state=0).fit(rng.standard_normal((800, 2)))
    records = model.history_
    assert 0 < len(search_records(model)) <= 10
    for before, now in pairwise(records):
        if now.stage == "merge-split":
            assert now.trials >= now.kept >= 0
            assert now.gain == pytest.approx(before.objective - now.objective, abs=1e-12)
            assert now.gain >= -1e-12
        else:
            assert (now.trials, now.kept, now.gain) == (0, 0, 0)


def test_a_callback_can_stop_the_search(rng):
    X = rng.standard_normal((500, 2))
    model = KSums(30, random_state=0, callbacks=[lambda record: record.stage == "merge-split"]).fit(X)
    assert len(search_records(model)) == 1
    assert model.history_[-1].stage == "merge-split"


def test_ctrl_c_in_the_search_keeps_what_was_found(rng, monkeypatch):
    run, calls = MergeSplit.run, []

    def interrupted(self, *arguments):
        calls.append(1)
        found = run(self, *arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(MergeSplit, "run", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = KSums(30, init="random-points", random_state=0).fit(rng.standard_normal((500, 2)))
    assert search_records(model) == []
    assert model.distortion_ < model.history_[-1].distortion * 0.999
    assert not model.converged_


def test_fits_without_a_search(grid):
    sparse_grid = sparse.csr_array(grid)
    for model in (
        KSums(5, refine=None, random_state=0).fit(grid),
        KSums(5, random_state=0).fit(sparse_grid),
        KSums(5, metric="cosine", random_state=0).fit(grid),
        KSums(5, objective="pairwise", random_state=0).fit(grid),
        KSums(5, rule="hartigan", random_state=0).fit(grid),
    ):
        assert search_records(model) == []
    assert search_records(KSums(5, metric="cosine", rule="hartigan", refine="merge-split", random_state=0).fit(grid))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "pairwise"}, "it is not offered for objective='pairwise'"),
        ({"metric": "cosine"}, "for squares of unit rows use rule='hartigan'"),
        ({"rule": "paper"}, "ends in passes of the exact rule, which rule='paper' is not"),
        ({"rule": 1.5}, "use rule='annealed' or 'hartigan', or refine=None"),
    ],
)
def test_the_search_is_refused_for_other_objectives_and_rules(options, message, grid):
    with pytest.raises(ValueError, match=message):
        KSums(5, refine="merge-split", **options).fit(grid)


def test_the_search_is_refused_for_sparse_rows(grid):
    with pytest.raises(ValueError, match="not offered for sparse X; leave refine='auto'"):
        KSums(5, refine="merge-split").fit(sparse.csr_array(grid))
