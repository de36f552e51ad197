"""Engine ``"blocks"``: its passes equal those of the reference, its bounds hide no gain, and its fits are good."""

import os
import signal
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest
from helpers import rule_of
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ksums import FitInterrupted, KSums, load, metrics
from ksums.compute.threads import use_threads
from ksums.method.data.rows import prepare
from ksums.method.engines.blocks import BlockEngine, near_each_other
from ksums.method.engines.reference import ReferenceBlocks
from ksums.method.fitting import samples
from ksums.method.fitting.listener import Silence
from ksums.method.fitting.looks import draw_looks, gain_of_search, share_of_far
from ksums.method.starts.outliers import heavy_rows
from ksums.method.state.limits import no_limits
from ksums.method.state.state import build_state, renew_sq_composites
from ksums.planning.blocks import FIRST_PUSHED, block_length, cluster_groups
from ksums.rules.annealing import relaxed
from ksums.rules.objectives import objective_value

HARTIGAN = rule_of("distortion", "l2", "hartigan")
"""The engine has one rule."""
SHAPES = [(9000, 3, 5), (9000, 30, 41)]
"""With the second of these shapes, clusters are in groups that have bounds of their own."""


def blobs(rng, n, d, groups=30):
    return (2 * rng.normal(size=(groups, d)))[rng.integers(groups, size=n)] + rng.normal(size=(n, d))


def gains_left(X, labels, k, weights=None):
    """Return how many single moves would lower E_m by more than rounding, all in float64."""
    rows = prepare(np.asarray(X, np.float64), "l2", weights)
    state, left = build_state(rows, labels, k), 0
    centres, n = state.composites / state.sizes[:, None], state.sizes
    for ids in rows.blocks_of(rows.active, k):
        block, w, own = rows.read(ids), rows.weights_of(ids)[:, None], labels[ids]
        squares = ((block[:, None] - centres) ** 2).sum(axis=2)
        join = squares * n / (n + w)
        here = np.arange(len(ids)), own
        stay = squares[here] * n[own] / np.maximum(n[own] - w[:, 0], 1e-300)
        join[here] = np.inf
        rounding = 2e-12 * ((block**2).sum(axis=1) + (centres[own] ** 2).sum(axis=1))
        left += int(np.sum((join.min(axis=1) < stay - rounding) & (state.counts[own] > 1)))
    return left


def settle(engine, rng, most=500):
    """Make passes until nothing moves; return how many."""
    for made in range(1, most + 1):
        if sum(engine.visit(engine.draw_order(rng))) == 0:
            return made
    raise AssertionError("the passes did not end")


# ------------------------------------------------------------------------------------------------ passes
@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("from_centres", [False, True], ids=["labels", "centres"])
def test_passes_equal_those_of_the_reference(n, d, k, weighted, from_centres, rng):
    X = blobs(rng, n, d) + 100
    rows = prepare(X, "l2", rng.integers(0, 4, n).astype(float) if weighted else None)
    if from_centres:
        engine = BlockEngine.from_centres(rows, rows.read(rows.active[:k]), HARTIGAN)
    else:
        engine = BlockEngine(rows, build_state(rows, rng.integers(k, size=n), k), HARTIGAN, no_limits(k))
    labels = engine.state.labels.copy()
    reference = ReferenceBlocks(rows, build_state(rows, labels, k), HARTIGAN, no_limits(k), length=block_length(k))
    np.testing.assert_allclose(engine.state.composites, reference.state.composites, atol=1e-6)
    np.testing.assert_allclose(engine.state.norm_sums, reference.state.norm_sums)
    for _ in range(2 * FIRST_PUSHED):
        order = engine.draw_order(rng)
        assert sum(engine.visit(order)) == sum(reference.visit(order))
        np.testing.assert_array_equal(engine.state.labels[rows.active], reference.state.labels[rows.active])
    np.testing.assert_array_equal(engine.state.counts, reference.state.counts)
    np.testing.assert_allclose(engine.state.sizes, reference.state.sizes)


@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_annealing_passes_equal_those_of_the_reference(n, d, k, weighted, rng):
    """Bounds hold from one relaxation to the next, falling or rising."""
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    rows = prepare(blobs(rng, n, d) + 100, "l2", weights)
    labels = BlockEngine.from_centres(rows, rows.read(rows.active[:k]), HARTIGAN).state.labels
    state, limits = build_state(rows, labels, k), no_limits(k)
    reference = ReferenceBlocks(rows, build_state(rows, labels, k), HARTIGAN, limits, length=block_length(k))
    engine = BlockEngine(rows, state, relaxed(HARTIGAN, 30.0, rows.heaviest), limits)
    for relaxation in (30.0, 10.0, 4.0, 12.0, 2.0, 1.0, 1.0):
        for one in (engine, reference):
            one.use_rule(relaxed(HARTIGAN, relaxation, rows.heaviest))
        order = engine.draw_order(rng)
        assert sum(engine.visit(order)) == sum(reference.visit(order))
        np.testing.assert_array_equal(engine.state.labels, reference.state.labels)


def slow_ground(rng, n, d, k):
    """Return rows without groups, an engine for them, and a copy of it with the plain twin's passes."""
    rows = prepare(rng.normal(size=(n, d)), "l2")
    engine = BlockEngine.from_centres(rows, rows.read(np.arange(k)), HARTIGAN)
    labels = engine.state.labels.copy()
    return rows, engine, ReferenceBlocks(rows, build_state(rows, labels, k), HARTIGAN, no_limits(k), length=8192)


@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
@pytest.mark.parametrize("push", [0.5, 4.0], ids=["as it is", "too far"])
def test_pushed_passes_never_end_higher_and_equal_those_of_the_reference(push, n, d, k, rng, monkeypatch):
    """Pushed four times as far as centroids have moved, most passes end higher, and are taken back."""
    monkeypatch.setattr("ksums.method.engines.pushed.PUSH", push)
    rows, engine, reference = slow_ground(rng, n, d, k)
    values, taken_back = [], 0
    for _ in range(12):
        order = engine.draw_order(rng)
        moves, of_reference = list(engine.visit(order)), list(reference.visit(order))
        taken_back += min(moves) < 0
        assert (min(moves) < 0) == (min(of_reference) < 0)
        assert sum(moves) == sum(of_reference)
        np.testing.assert_array_equal(engine.state.labels, reference.state.labels)
        fresh = build_state(rows, engine.state.labels, k)
        np.testing.assert_allclose(engine.state.composites, fresh.composites, atol=1e-6)
        values.append(objective_value("distortion", fresh))
    assert (np.diff(values) < 0).all()
    assert (taken_back > 4) == (push == 4.0)


def test_a_pushed_pass_that_gains_no_more_than_rounding_is_made_again(rng, monkeypatch):
    """Sums to which something was added and taken away differ in the last digit: nobody may take that for a gain."""
    _, engine, _ = slow_ground(rng, 9000, 3, 5)
    settle(engine, rng)
    engine.remember({"before": engine.memory()["before"] + 1e-9, "passes": np.array(FIRST_PUSHED)})
    falling = iter(1.0 - 1e-15 * np.arange(100))
    monkeypatch.setattr("ksums.method.engines.pushed.objective_value", lambda *_: next(falling))
    assert sum(1 for _ in engine.attempts()) == 2


def test_pushing_saves_passes(rng, monkeypatch):
    passes = []
    for first in (FIRST_PUSHED, 10_000):
        monkeypatch.setattr("ksums.method.engines.pushed.FIRST_PUSHED", first)
        _, engine, _ = slow_ground(np.random.default_rng(5), 40_000, 4, 8)
        order = np.random.default_rng(0)
        passes.append(settle(engine, order))
    assert passes[0] < 0.6 * passes[1]


@pytest.mark.parametrize("push", [0.5, 4.0], ids=["as it is", "too far"])
def test_a_pushed_pass_that_is_left_early_leaves_the_sums_of_the_labels(push, rng, monkeypatch):
    monkeypatch.setattr("ksums.method.engines.pushed.PUSH", push)
    monkeypatch.setattr("ksums.method.engines.blocks._CALL", 1.0)
    rows, engine, _ = slow_ground(rng, 40_000, 4, 8)
    for _ in range(FIRST_PUSHED):
        sum(engine.visit(engine.draw_order(rng)))
    renew_sq_composites(engine.state)
    before = objective_value("distortion", engine.state)
    visit = engine.visit(engine.draw_order(rng))
    next(visit)
    visit.close()
    fresh = build_state(rows, engine.state.labels, 8)
    np.testing.assert_allclose(engine.state.composites, fresh.composites, atol=1e-6)
    assert objective_value("distortion", fresh) <= before * (1 + 1e-12)
    settle(engine, rng)
    assert gains_left(rows.read(np.arange(rows.n)), engine.state.labels, 8) == 0


@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_late_passes_look_at_few_rows(n, d, k, rng):
    rows = prepare(blobs(rng, n, d), "l2")
    engine = BlockEngine.from_centres(rows, rows.read(np.arange(k)), HARTIGAN)
    settle(engine, rng)
    assert engine.comparisons < 0.1 * n * k


@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_nothing(n, d, k, dtype, rng):
    rows, found = prepare(blobs(rng, 3 * n, d).astype(dtype), "l2"), []
    for threads in (1, 2, 5):
        with use_threads(threads):
            engine, order = BlockEngine.from_centres(rows, rows.read(np.arange(k)), HARTIGAN), np.random.default_rng(0)
            for _ in range(4):
                sum(engine.visit(engine.draw_order(order)))
        found.append((engine.state.labels, engine.state.composites))
    for labels, composites in found[1:]:
        np.testing.assert_array_equal(labels, found[0][0])
        np.testing.assert_array_equal(composites, found[0][1])


@pytest.mark.parametrize("kind", ["uint8", "float16", "columns", "file", "part"])
def test_rows_that_are_read_give_the_same_as_rows_in_place(kind, rng, tmp_path):
    """Rows of other types and layouts are converted a block at a time."""
    X = np.clip(blobs(rng, 20_000, 6) * 20 + 128, 0, 255).astype(np.uint8)
    stored, k = X.astype(np.float32), 7
    if kind == "uint8":
        stored = X
    elif kind == "float16":
        stored = X.astype(np.float16)
    elif kind == "columns":
        stored = np.asfortranarray(stored)
    elif kind == "file":
        np.save(tmp_path / "x.npy", X)
        stored = np.load(tmp_path / "x.npy", mmap_mode="r")
    rows = prepare(X.astype(np.float32), "l2")
    other = prepare(stored, "l2")
    if kind == "part":
        other = prepare(np.repeat(stored, 2, axis=0), "l2")
        other = samples.replace(other, ids=np.arange(0, 40_000, 2), shift=rows.shift)
    labels = []
    for part in (rows, other):
        engine = BlockEngine.from_centres(part, rows.read(np.arange(k)), HARTIGAN)
        settle(engine, np.random.default_rng(0))
        labels.append(engine.state.labels)
    np.testing.assert_array_equal(*labels)


# ------------------------------------------------------------------------------------------------ hostile data
def hostile(name, rng, n=20_000, d=6):
    X = blobs(rng, n, d, 12)
    if name == "sorted":
        X = X[np.argsort(X[:, 0])]
    elif name == "duplicates":
        X = X[rng.integers(200, size=n)]
    elif name == "outliers":
        X[rng.integers(n, size=40)] *= 300
    elif name == "one far away":
        X[17] = 1e6
    elif name == "uneven":
        X = np.concatenate([rng.normal(size=(n - 60, d)), 9 + 0.01 * rng.normal(size=(60, d))])
    elif name == "constant columns":
        X[:, 1] = 5.0
        X[:, 4] = -1e3
    elif name == "offset":
        X += 1e6
    elif name == "scales":
        X *= 10.0 ** np.arange(-3, d - 3)
    elif name == "heavy tails":
        X = rng.standard_t(1.5, size=(n, d))
    elif name == "lattice":
        X = rng.integers(0, 4, (n, d)).astype(float)
    return X


HOSTILE = [
    "sorted", "duplicates", "outliers", "one far away", "uneven", "constant columns", "offset", "scales", "heavy tails",
    "lattice",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_hide_no_gain(name, dtype, rng):
    """When passes end because nothing moves, no single move is a gain in float64."""
    X, k = hostile(name, rng).astype(dtype), 9
    rows = prepare(X, "l2")
    engine = BlockEngine.from_centres(rows, rows.read(np.sort(rng.choice(len(X), k, replace=False))), HARTIGAN)
    if engine.state.counts.min() == 0:
        labels = np.arange(len(X)) % k
        engine = BlockEngine(rows, build_state(rows, labels, k), HARTIGAN, no_limits(k))
    settle(engine, rng)
    prepared = rows.read(np.arange(len(X))).astype(np.float64)  # what the engine saw, exactly
    assert gains_left(prepared, engine.state.labels, k) == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_bounds_of_groups_hide_no_gain(name, rng):
    X, k = hostile(name, rng, n=12_000, d=26).astype(np.float32), 30
    rows = prepare(X, "l2")
    labels = rng.integers(k, size=len(X))
    engine = BlockEngine(rows, build_state(rows, labels, k), HARTIGAN, no_limits(k))
    settle(engine, rng)
    assert len(cluster_groups(k, 26)) > 2
    assert gains_left(rows.read(np.arange(len(X))).astype(np.float64), engine.state.labels, k) == 0


def test_centroids_that_grow_longer_are_noticed(rng):
    """The margin of rounding goes by the longest centroid; when one becomes longer, all bounds are made again."""
    X = np.concatenate([rng.normal(size=(9000, 3)), 1e4 + rng.normal(size=(9000, 3))]).astype(np.float32)
    rows = prepare(X, "l2")
    engine = BlockEngine(rows, build_state(rows, np.arange(len(X)) % 2, 2), HARTIGAN, no_limits(2))
    before = engine._layout.margin
    settle(engine, rng)
    assert engine._layout.margin > 100 * before
    assert gains_left(rows.read(np.arange(len(X))).astype(np.float64), engine.state.labels, 2) == 0


def test_groups_hold_clusters_that_are_near_each_other(rng):
    centres = np.repeat(10 * rng.normal(size=(5, 30)), 8, axis=0) + rng.normal(size=(40, 30))
    groups = np.array([0, 8, 16, 24, 32, 40])
    order = near_each_other(centres, groups)
    assert sorted(order) == list(range(40))
    together = [len(set(order[first : first + 8] // 8)) for first in groups[:-1]]
    assert np.mean(together) < 2.5


# ------------------------------------------------------------------------------------------------ fits
def small_problem(monkeypatch):
    """Let samples be searched in small data."""
    monkeypatch.setattr("ksums.planning.samples.LEAST_ROWS", 20_000)
    monkeypatch.setattr("ksums.planning.samples._ROWS", 1000)
    monkeypatch.setattr("ksums.planning.samples._LEAST_SAMPLE", 1000)
    monkeypatch.setattr("ksums.planning.samples._MIDDLE", 2500)
    monkeypatch.setattr("ksums.planning.samples._MIDDLE_PER_SAMPLE", 2)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_a_fit_ends_where_nothing_moves(weighted, rng, monkeypatch):
    small_problem(monkeypatch)
    X = blobs(rng, 40_000, 4, 12)
    weights = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    model = KSums(8, random_state=0).fit(X, sample_weight=weights)
    assert model.plan_.engine.name == "blocks"
    assert model.plan_.samples.middle
    assert model.converged_
    assert model.history_[0].stage == "samples"
    assert model.n_iter_ == len(model.history_) - 1
    assert gains_left(X, model.labels_, 8, weights) == 0
    exact = KSums(8, random_state=0, engine="exact").fit(X, sample_weight=weights)
    assert model.distortion_ <= 1.0005 * exact.distortion_


@pytest.mark.parametrize("effort", ["low", "default", "high"])
def test_the_same_seed_gives_the_same_labels(effort, rng, monkeypatch):
    small_problem(monkeypatch)
    X = blobs(rng, 40_000, 4, 12).astype(np.float32)
    X[::1000] *= 40
    models = [KSums(8, effort=effort, random_state=3, n_threads=threads).fit(X) for threads in (1, 2)]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)


def test_outliers_keep_their_cluster(rng, monkeypatch):
    """Fifty rows far out are in every sample; without them the passes over all rows could give them no cluster."""
    small_problem(monkeypatch)
    X = blobs(rng, 60_000, 4, 3)
    X[rng.choice(len(X), 50, replace=False)] += 3000.0
    model = KSums(4, random_state=0).fit(X)
    assert 50 in model.sizes_


def test_heavy_rows_are_those_with_much_of_the_sum_of_squares(rng):
    X = rng.normal(size=(30_000, 3))
    X[[5, 700, 29_999]] = 100.0
    rows = prepare(X, "l2")
    np.testing.assert_array_equal(heavy_rows(rows, 1000), [5, 700, 29_999])


def rare_groups(rng, n=60_000, d=6, groups=10):
    """One large round cluster, and small groups around it."""
    X = rng.normal(size=(n, d))
    labels = np.zeros(n, int)
    for r in range(groups):
        X[30 * r : 30 * r + 30] += 60.0 * np.eye(d)[r % d] * (1 if r < d else -1)
        labels[30 * r : 30 * r + 30] = r + 1
    return X, labels


@pytest.mark.parametrize("middle", [2500, 60_000], ids=["with a judge", "without"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_looks_find_small_groups_that_samples_miss(weighted, middle, rng, monkeypatch):
    small_problem(monkeypatch)
    monkeypatch.setattr("ksums.planning.samples._MIDDLE", middle)
    X, labels = rare_groups(rng)
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    model = KSums(11, random_state=0).fit(X, sample_weight=weights)
    assert model.plan_.samples.looks
    assert model.distortion_ <= 1.001 * metrics.distortion(X, labels, sample_weight=weights)
    numbers = samples.NUMBERS._replace(share_of_far=1.0, heavy=np.inf)
    monkeypatch.setattr("ksums.method.fitting.looks.NUMBERS", numbers)
    monkeypatch.setattr("ksums.method.starts.outliers.NUMBERS", numbers)
    assert KSums(11, random_state=0).fit(X, sample_weight=weights).distortion_ > 1.01 * model.distortion_


def test_looks_do_not_depend_on_threads(rng, monkeypatch):
    small_problem(monkeypatch)
    X = rng.standard_t(2.0, (30_000, 4))
    fits = [KSums(12, random_state=0, n_threads=number).fit(X) for number in (1, 2)]
    assert share_of_far(prepare(X, "l2"), build_state(prepare(X, "l2"), fits[0].labels_, 12))[1]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)


def test_a_look_stands_for_all_rows(rng):
    X, labels = rare_groups(rng)
    rows = prepare(X, "l2")
    state = build_state(rows, (labels == 1).astype(np.int32), 2)
    total, far = share_of_far(rows, state)
    assert far
    assert total == pytest.approx(len(X) * objective_value("distortion", state))
    few, more = draw_looks(rows, state, total, [2000, 8000], rng)
    for look, count in ((few, 2000), (more, 8000)):
        assert 0.5 * count < look.rows.n < 1.1 * count  # fewer, because no row is drawn twice
        assert look.rows.weights.sum() == pytest.approx(len(X), rel=0.1)
        assert look.rows.weights[look.labels == 1].sum() == 30
        own = build_state(look.rows, look.labels, 2)
        assert objective_value("distortion", own) == pytest.approx(objective_value("distortion", state), rel=0.1)
    ordinary = prepare(rng.normal(size=(20_000, 6)), "l2")
    assert not share_of_far(ordinary, build_state(ordinary, np.zeros(20_000, np.int32), 1))[1]


def test_the_gain_of_a_search_is_that_of_merge_split_alone():
    class Record(NamedTuple):
        stage: str
        objective: float

    def gain(*stages):
        return gain_of_search([Record(*stage) for stage in stages])

    assert gain(("pass", 9.0), ("pass", 8.0), ("merge-split", 7.0), ("merge-split", 6.0), ("pass", 3.0)) == 0.25
    assert gain(("pass", 9.0), ("pass", 8.0)) == 0.0
    assert gain(("pass", 0.0), ("merge-split", 0.0)) == 0.0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("effort", ["low", "default"])
def test_rows_far_out_get_clusters_of_their_own_without_samples_too(effort, kind, rng):
    X = rng.normal(size=(20_000, 12))
    X[:3] += 100.0 * np.eye(12)[:3]
    model = KSums(30, effort=effort, random_state=0).fit(kind(X))
    assert model.plan_.samples is None
    assert (model.sizes_[model.labels_[:3]] == 1).all()


def test_further_samples_are_searched_while_the_best_two_disagree(rng, monkeypatch):
    small_problem(monkeypatch)
    X, searched = blobs(rng, 40_000, 4, 12), []
    search = samples.SampleSearch._search
    monkeypatch.setattr(samples.SampleSearch, "_search", lambda self, seed: searched.append(seed) or search(self, seed))
    for agree, batches in ((0.5, 1), (-1.0, 3)):
        searched.clear()
        monkeypatch.setattr(samples, "NUMBERS", samples.NUMBERS._replace(agree=agree))
        model = KSums(8, random_state=0).fit(X)
        assert len(searched) == batches * model.plan_.samples.count


def test_a_time_limit_is_kept(rng, monkeypatch):
    small_problem(monkeypatch)
    X = blobs(rng, 40_000, 4, 12)
    model = KSums(8, effort=0.5, random_state=0).fit(X)
    assert model.plan_.samples.plan.seconds < 0.5
    assert model.history_[-1].seconds < 5
    assert np.isfinite(model.distortion_)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to itself")
def test_ctrl_c_in_the_samples_leaves_a_model(rng, monkeypatch):
    small_problem(monkeypatch)
    X, started = blobs(rng, 40_000, 4, 12), threading.Event()
    KSums(8, random_state=0, max_iter=2).fit(X)  # compiles
    search = samples.SampleSearch._search

    def slow(self, seed):
        time.sleep(0.2)  # By then the fit waits for its samples.
        started.set()
        return search(self, seed)

    monkeypatch.setattr(samples.SampleSearch, "_search", slow)
    watcher = threading.Thread(target=lambda: started.wait() and os.kill(os.getpid(), signal.SIGINT))
    watcher.start()
    with pytest.warns(FitInterrupted):
        model = KSums(8, random_state=0, n_threads=2).fit(X)
    watcher.join()
    assert not model.converged_
    assert (model.sizes_ > 0).all()


def test_an_empty_cluster_gets_a_row(rng, monkeypatch):
    """Centres that no row is nearest to still end up with a cluster."""
    rows = prepare(rng.normal(size=(9000, 2)), "l2")
    plan = KSums(3, engine="blocks").plan_for(rng.normal(size=(9000, 2)))
    starting = samples.SampleSearch(samples.Job(rows, plan, Silence()), rng, None)
    engine = starting._engine(rows, np.array([[0.0, 0.0], [0.5, 0.0], [1e3, 1e3]]))
    assert engine.state.counts.min() > 0
    renew_sq_composites(engine.state)
    settle(engine, rng)


def test_what_the_engine_is_not_offered_for():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for wrong in (
        {"objective": "pairwise"},
        {"metric": "cosine"},
        {"rule": "hartigan"},
        {"refine": None},
        {"init": np.zeros((2, 3))},
    ):
        with pytest.raises(ValueError, match=r"engine='blocks' is for .* got .* Use engine='exact'"):
            KSums(2, engine="blocks", **wrong).fit(X)


def test_a_model_of_samples_can_be_saved(rng, tmp_path):
    X = blobs(rng, 9000, 3)
    model = KSums(4, engine="blocks", random_state=0).fit(X)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.plan_ == model.plan_
    assert again.history_ == model.history_


def test_fewer_distinct_rows_than_clusters(rng, monkeypatch):
    small_problem(monkeypatch)
    X = np.repeat(rng.normal(size=(3, 4)), 10_000, axis=0)[rng.permutation(30_000)]
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\)"):
        model = KSums(5, random_state=0).fit(X)
    assert model.plan_.engine.name == "blocks"
    assert (model.sizes_ > 0).all()
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize(("n", "k"), [(3, 1), (10, 8), (50, 2), (5, 5)])
def test_tiny_data_can_be_asked_for_too(n, k, rng):
    model = KSums(k, engine="blocks", random_state=0).fit(rng.normal(size=(n, 2)))
    assert (model.sizes_ > 0).all()
    assert model.converged_
