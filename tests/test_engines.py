"""The exact engine makes the moves of the reference engine, pass by pass; its kernels agree bit for bit."""

import numpy as np
import pytest
from helpers import DIRECTION_RULES, EVERY_RULE, RULES, engine_for, run_passes
from scipy import sparse

from ksums.compute import sharing, vectors
from ksums.compute.threads import use_threads
from ksums.compute.vectors import VECTORS, lanes_of
from ksums.method.data import rows
from ksums.method.data.centres import prepare_with_centres
from ksums.method.data.rows import prepare, subset
from ksums.method.engines import exact
from ksums.method.engines.resident import settle
from ksums.method.nearest.centres import nearest_centres
from ksums.method.state.limits import Limits, no_limits
from ksums.method.state.state import build_state, reallocate, renew_sq_composites
from ksums.planning.plan import Stop
from ksums.rules.kinds import rule_for
from ksums.rules.objectives import objective_value

SHAPES = [(260, 7, 13), (300, 33, 97), (200, 3, 2), (250, 20, 40)]
"""Each shape is the number of samples n, of dimensions d and of clusters k."""
PASSES = 4
"""Engines are compared over this many passes."""


def start(n, k, rng):
    """Return labels that leave no cluster empty, and an order for each pass."""
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])[rng.permutation(n)]
    return labels, [rng.permutation(n) for _ in range(PASSES)]


@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize(("objective", "rule"), RULES)
def test_exact_equals_reference_pass_by_pass(objective, rule, metric, kind, weighted, limited, rng):
    for n, d, k in SHAPES:
        X = rng.standard_normal((n, d))
        if kind == "sparse":
            X *= rng.random((n, d)) < 0.4
            X[:, 0] += 1  # No row is all zeros.
            X = sparse.csr_array(X)
        weights = rng.uniform(0.5, 3, n) if weighted else None
        labels, orders = start(n, k, rng)
        limits = None
        if limited:
            sizes = np.bincount(labels, weights, minlength=k)
            limits = Limits(np.minimum(sizes, 0.7 * sizes.mean()), np.maximum(sizes, 1.4 * sizes.mean()))
        options = {"objective": objective, "rule": rule, "metric": metric, "weights": weights, "limits": limits}
        expected, moves = run_passes(engine_for(X, labels, k, reference=True, **options), orders)
        assert sum(moves) > 0
        for kernel in ["sparse"] if kind == "sparse" else ["rows", "columns", "panels"]:
            engine = engine_for(X, labels, k, kernel=kernel, **options)
            got, got_moves = run_passes(engine, orders)
            assert got_moves == moves, kernel
            for one, other in zip(expected, got, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=kernel)
            if limited:
                assert (engine.state.sizes <= limits.high + 1e-9).all()
                assert (engine.state.sizes >= limits.low - 1e-9).all()


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("objective", "rule"), DIRECTION_RULES)
def test_rules_of_the_baselines_equal_the_reference(objective, rule, kind, weighted, rng):
    test_exact_equals_reference_pass_by_pass(objective, rule, "cosine", kind, weighted, False, rng)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("objective", "rule", "metric"), EVERY_RULE)
def test_samples_without_a_cluster_join_one(objective, rule, metric, kind, weighted, rng):
    """Samples with and without a cluster all go where the reference engine puts them."""
    for n, d, k in SHAPES:
        X = rng.standard_normal((n, d))
        if kind == "sparse":
            X *= rng.random((n, d)) < 0.4
            X[:, 0] += 1
            X = sparse.csr_array(X)
        weights = rng.uniform(0.5, 3, n) if weighted else None
        options = {"objective": objective, "rule": rule, "metric": metric, "weights": weights}
        labels = np.where(rng.random(n) < 0.3, rng.integers(0, k, n), -1)
        labels[rng.permutation(n)[:k]] = np.arange(k)
        expected = moves = None
        for kernel in ["reference", "sparse"] if kind == "sparse" else ["reference", "rows", "columns", "panels"]:
            chosen = {"reference": True} if kernel == "reference" else {"kernel": kernel}
            engine = engine_for_labelled(X, labels, k, **options, **chosen)
            got, got_moves = run_passes(engine, [np.arange(n)])
            expected, moves = (got, got_moves) if kernel == "reference" else (expected, moves)
            np.testing.assert_array_equal(expected[0], got[0], err_msg=kernel)
            assert got_moves[0] == moves[0]
            assert got[0].min() >= 0
            assert engine.state.counts.sum() == n
            fresh = build_state(engine.rows, got[0], k)
            np.testing.assert_allclose(engine.state.composites, fresh.composites, atol=1e-10)
            np.testing.assert_allclose(engine.state.sizes, fresh.sizes)
            np.testing.assert_allclose(engine.state.sq_composites, fresh.sq_composites, atol=1e-9)


def engine_for_labelled(X, labels, k, **options):
    """Return an engine whose state holds only the samples with a label; the others have label −1."""
    engine = engine_for(X, np.maximum(labels, 0), k, **options)
    labelled = build_state(engine.rows.with_active(np.flatnonzero(labels >= 0)), np.maximum(labels, 0), k)
    for array, values in zip(engine.state, labelled, strict=True):
        array[...] = values
    engine.state.labels[...] = labels
    return engine


def shuffle(order, seed):
    """Shuffle in place as the resident kernel does, and return the next seed."""
    for last in range(len(order) - 1, 0, -1):
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        bits = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
        other = ((bits ^ (bits >> 31)) >> 32) * (last + 1) >> 32
        order[last], order[other] = order[other], order[last]
    return seed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("objective", "rule", "metric"),
    [*((*rule, "l2") for rule in RULES), ("distortion", "paper", "cosine"), *((*r, "cosine") for r in DIRECTION_RULES)],
)
def test_all_passes_of_a_resident_fit(objective, rule, metric, weighted, dtype, rng):
    """``resident.settle`` makes the passes of the ``rows`` kernel, and stops and keeps the best pass as a fit does."""
    X = rng.standard_normal((300, 5)).astype(dtype)
    weights = rng.uniform(0.5, 3, 300) if weighted else None
    part = subset(prepare(X, metric, weights), np.sort(rng.permutation(300)[:120]))
    rule, labels = rule_for(objective, metric, rule), np.arange(120) % 3
    settled = settle(part, labels, 3, rule, Stop(max_iter=20, tol=1e-3), np.random.default_rng(1))

    state = build_state(part, labels, 3)
    engine = exact.ExactEngine(part, state, rule, no_limits(3), kernel="rows")
    best, values = (objective_value(rule.objective, state), labels), []
    order, seed = np.arange(120), int(np.random.default_rng(1).integers(2**63))
    for _ in range(20):
        seed = shuffle(order, seed)
        moved = sum(engine.visit(order.copy()))
        renew_sq_composites(state)
        values.append(objective_value(rule.objective, state))
        if values[-1] < best[0] or rule.monotone:
            best = values[-1], state.labels.copy()
        earlier = values[: -rule.patience]
        if moved == 0 or (earlier and min(earlier) - min(values) <= 1e-3 * min(earlier)):
            break
    assert settled.passes == len(values)
    np.testing.assert_array_equal(settled.state.labels, best[1])
    assert settled.objective == pytest.approx(best[0], rel=1e-6)


@pytest.mark.parametrize("k", [20, 25])
@pytest.mark.parametrize(("objective", "rule"), [*RULES, *DIRECTION_RULES])
def test_equal_rows_stop_moving(objective, rule, k, rng):
    """Among copies of a row an apparent gain is only rounding, and no sample moves for it."""
    metric = "cosine" if (objective, rule) in DIRECTION_RULES else "l2"
    X = rng.standard_normal((20, 5))[rng.integers(0, 20, 400)]
    labels, orders = start(400, k, rng)
    for kernel in ("reference", "rows", "columns", "panels"):
        chosen = {"reference": True} if kernel == "reference" else {"kernel": kernel}
        engine = engine_for(X, labels, k, objective=objective, rule=rule, metric=metric, **chosen)
        _, moves = run_passes(engine, orders * 3)
        assert moves[-1] == 0, kernel


def all_data(rng, dtype):
    """Yield ordinary data, data with many equal rows, and a grid with many equal distances."""
    for n, d, k in SHAPES:
        X = rng.standard_normal((n, d))
        yield X.astype(dtype), k
        yield X[rng.integers(0, n // 8, n)].astype(dtype), k
    yield rng.integers(-2, 3, (300, 6)).astype(dtype), 60


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("objective", "rule", "metric"), EVERY_RULE)
def test_panels_equal_the_plain_kernel_bit_for_bit(objective, rule, metric, dtype, rng, monkeypatch):
    """Even ties are broken in the same way, as the rounding is the same, on 1 and 2 threads."""
    monkeypatch.setattr(sharing, "_WORTH_SHARING", 0)
    for X, k in all_data(rng, dtype):
        X = X[np.abs(X).sum(axis=1) > 0] if metric == "cosine" else X
        labels, orders = start(len(X), k, rng)
        options = {"objective": objective, "rule": rule, "metric": metric}
        plain = engine_for(X, labels, k, kernel="columns", **options)
        expected, moves = run_passes(plain, orders)
        for n_threads in (1, 2):
            panels = engine_for(X, labels, k, kernel="panels", n_threads=n_threads, **options)
            got, got_moves = run_passes(panels, orders)
            assert got_moves == moves
            np.testing.assert_array_equal(expected, got)
            np.testing.assert_array_equal(plain.state.composites, panels.state.composites)
            np.testing.assert_array_equal(plain.state.sq_composites, panels.state.sq_composites)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("objective", "rule", "metric"), EVERY_RULE)
def test_threads_that_share_a_pass_do_not_change_labels(objective, rule, metric, dtype, rng, monkeypatch):
    """With several pieces of clusters and many blocks, 1, 2 and 3 threads give the labels of the plain kernel."""
    monkeypatch.setattr(sharing, "_WORTH_SHARING", 0)
    monkeypatch.setattr(rows, "_BLOCK_BYTES", 5000)
    X, k = rng.integers(-3, 4, (1500, 6)).astype(dtype), 400
    X = X[np.abs(X).sum(axis=1) > 0]
    labels, orders = start(len(X), k, rng)
    options = {"objective": objective, "rule": rule, "metric": metric}
    expected, moves = run_passes(engine_for(X, labels, k, kernel="columns", **options), orders)
    for n_threads in (1, 2, 3):
        engine = engine_for(X, labels, k, kernel="panels", n_threads=n_threads, **options)
        assert engine._threads == n_threads
        got, got_moves = run_passes(engine, orders)
        assert got_moves == moves
        np.testing.assert_array_equal(expected, got)


def test_the_nearest_centres_are_the_same_for_any_number_of_threads(rng, monkeypatch):
    monkeypatch.setattr(sharing, "_WORTH_SHARING", 0)
    X, centres = rng.integers(0, 4, (3000, 5)).astype(np.float32), rng.integers(0, 4, (70, 5)).astype(np.float32)
    data, prepared_centres = prepare_with_centres(X, centres, "l2")
    expected = np.argmin(((X[:, None] - centres) ** 2).sum(axis=2), axis=1)
    for n_threads in (1, 2, 3):
        with use_threads(n_threads):
            got = nearest_centres(data, np.arange(3000), prepared_centres)
        distances = ((X - centres[got]) ** 2).sum(axis=1)
        np.testing.assert_array_equal(distances, ((X - centres[expected]) ** 2).sum(axis=1))


@pytest.mark.parametrize("kernel", ["rows", "columns", "panels"])
def test_float32_decides_as_float64_except_for_near_ties(kernel, rng):
    """A float32 decision differs from float64 only where the float64 costs are nearly equal."""
    n, d, k = 600, 24, 30
    X = rng.standard_normal((n, d)).astype(np.float32)
    labels, orders = start(n, k, rng)
    engine = engine_for(X, labels, k, kernel=kernel)
    exact_state = build_state(prepare(X.astype(np.float64), "l2"), labels, k)
    rows64 = prepare(X.astype(np.float64), "l2")
    for order in orders:
        for i in order:  # Both decide about one sample at a time, from the same state.
            before = engine.state.labels[i]
            sum(engine.visit(np.array([i])))
            chosen = engine.state.labels[i]
            x = rows64.read(np.array([i]))[0]
            size = exact_state.sizes[before]
            distances = np.sum((x - exact_state.composites / exact_state.sizes[:, None]) ** 2, axis=1)
            costs = exact_state.sizes / (exact_state.sizes + 1) * distances
            costs[before] = size / (size - 1) * distances[before] if size > 1 else -np.inf
            if chosen != np.argmin(costs):
                assert costs[chosen] == pytest.approx(costs.min(), rel=1e-5)
            if chosen != before:
                reallocate(exact_state, i, x, 1.0, before, chosen)
    np.testing.assert_array_equal(engine.state.labels, exact_state.labels)


def test_an_unknown_cpu_uses_the_plain_kernel_and_logs_it(rng, monkeypatch, caplog):
    monkeypatch.setattr(vectors, "USE_VECTORS", False)
    engine = engine_for(rng.standard_normal((100, 3)), np.arange(100) % 20, 20)
    assert engine.kernel == "columns"
    assert "plain loops" in caplog.text


@pytest.mark.parametrize(
    ("features", "shape"),
    [
        ({"avx512f": True, "avx2": True, "fma": True}, (512, 8, True)),
        ({"avx2": True, "fma": True}, (256, 4, True)),
        ({"neon": True}, (128, 8, True)),
        ({"sse2": True}, (128, 8, False)),
    ],
)
def test_the_cpu_sets_the_shape_of_vectors(features, shape):
    assert vectors._shape_for(features) == shape


def test_a_panel_holds_twice_as_many_values_in_float32():
    assert VECTORS * lanes_of(4) == 2 * VECTORS * lanes_of(8)
