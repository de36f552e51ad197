"""BisectingKSums: Algorithm 2, and all queries of its tree."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster import hierarchy
from sklearn.exceptions import ConvergenceWarning

from ksums import BisectingKSums, KSums, metrics
from ksums.compute import sharing
from ksums.method.data import rows
from ksums.method.trees import bisecting, splits
from ksums.method.trees.tree import sums_of_nodes
from ksums.planning import trees

VARIANTS = [
    {},
    {"strategy": "largest", "rule": "paper", "init": "random-labels"},
    {"objective": "pairwise"},
    {"metric": "cosine"},
    {"objective": "pairwise", "metric": "cosine", "strategy": "largest"},
    {"rule": "released"},
]
"""These parameters cover all objectives, metrics, strategies and kinds of rules."""


def measure_of(options, X, labels, weights=None):
    """Return the objective that a fit with these parameters minimises."""
    metric = options.get("metric", "l2")
    if options.get("objective") == "pairwise":
        return metrics.pairwise(X, labels, metric=metric, sample_weight=weights)
    if metric == "cosine":
        return metrics.cosine_distance(X, labels, sample_weight=weights)
    return metrics.distortion(X, labels, sample_weight=weights)


def test_six_points_by_hand():
    """0 1 | 10 11 | 50 51: the first split separates the far pair, the second halves the rest."""
    X = np.array([[0.0], [1.0], [10.0], [11.0], [50.0], [51.0]])
    model = BisectingKSums(3, random_state=0).fit(X)
    tree = model.tree_
    assert tree.splits.tolist()[0] == 0
    assert tree.parents.tolist()[:3] == [-1, 0, 0]
    large = 1 if tree.sizes[1] == 4 else 2
    assert tree.splits.tolist() == [0, large]
    assert tree.children[large].tolist() == [3, 4]
    assert sorted(tree.sizes[1:3]) == [2, 4]
    assert tree.sizes[3:].tolist() == [2, 2]
    assert tree.within[0] == pytest.approx(2801.5)  # 20.5² + 19.5² + 10.5² + 9.5² + 29.5² + 30.5²
    assert tree.within[large] == pytest.approx(101)  # 5.5² + 4.5² + 4.5² + 5.5²
    assert tree.within[3:].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(tree.objectives, [2801.5 / 6, 101.5 / 6, 1.5 / 6])
    assert tree.leaves[tree.labels[3]] == 3
    assert [record.distortion for record in model.history_] == pytest.approx([101.5 / 6, 1.5 / 6])
    assert model.cut(1).tolist() == [0] * 6
    two = model.cut(2)
    assert two.tolist() == ([0, 0, 0, 0, 1, 1] if large == 1 else [1, 1, 1, 1, 0, 0])
    np.testing.assert_array_equal(model.cut(3), model.labels_)
    linkage = model.linkage()
    np.testing.assert_allclose(linkage[:, 2:], [[101, 2], [2801.5, 3]])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("options", VARIANTS)
def test_a_cut_is_the_fit_with_fewer_clusters(options, kind, rng):
    X = np.abs(rng.standard_normal((300, 8)))
    X = sparse.csr_array(X * (rng.random(X.shape) < 0.7)) if kind == "sparse" else X
    model = BisectingKSums(17, random_state=3, **options).fit(X)
    for k in (1, 2, 9, 16, 17):
        smaller = BisectingKSums(k, random_state=3, **options).fit(X)
        np.testing.assert_array_equal(model.cut(k), smaller.labels_)
        assert model.tree_.objectives[k - 1] == pytest.approx(smaller.tree_.objectives[-1])


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("options", VARIANTS)
def test_tree_and_history_agree_with_the_labels(options, weighted, rng):
    X = 5 + rng.standard_normal((200, 6))
    weights = rng.uniform(0.5, 3, 200) if weighted else None
    model = BisectingKSums(12, random_state=0, **options).fit(X, sample_weight=weights)
    measure_options, tree = {"metric": options.get("metric", "l2"), "sample_weight": weights}, model.tree_
    for k, record in enumerate(model.history_, start=2):
        assert record.index == k - 1
        assert record.distortion == pytest.approx(metrics.distortion(X, model.cut(k), **measure_options))
        assert record.pairwise == pytest.approx(metrics.pairwise(X, model.cut(k), **measure_options))
        assert record.objective == pytest.approx(tree.objectives[k - 1])
        sizes = np.bincount(model.cut(k), weights)
        assert (record.smallest, record.largest) == pytest.approx((sizes.min(), sizes.max()))
    assert tree.objectives == pytest.approx([measure_of(options, X, model.cut(k), weights) for k in range(1, 13)])
    np.testing.assert_allclose(tree.sizes[tree.leaves], model.sizes_)
    np.testing.assert_allclose(sums_of_nodes(tree.splits, model.composites_)[0], model.composites_.sum(axis=0))
    assert model.distortion_ == pytest.approx(metrics.distortion(X, model.labels_, **measure_options))


@pytest.mark.parametrize("strategy", ["largest", "loosest"])
@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
def test_the_strategy_chooses_the_next_cluster(strategy, objective, rng):
    X = rng.standard_normal((250, 3)) ** 3
    tree = BisectingKSums(20, strategy=strategy, objective=objective, random_state=0).fit(X).tree_
    priority = tree.sizes if strategy == "largest" else tree.within
    leaves = {0}
    for s, node in enumerate(tree.splits):
        assert node in leaves
        assert priority[node] >= max(priority[leaf] for leaf in leaves if tree.sizes[leaf] > 1) * (1 - 1e-12)
        leaves = leaves - {node} | {2 * s + 1, 2 * s + 2}
    assert leaves == set(tree.leaves.tolist())


@pytest.mark.parametrize("options", VARIANTS[:-1])  # The rule "released" need not converge.
def test_each_split_is_a_local_optimum(options, rng):
    """k-sums with two clusters cannot improve the halves of a split: Algorithm 1 had converged."""
    X = rng.standard_normal((200, 4))
    model = BisectingKSums(6, random_state=0, tol=0, max_iter=1000, **options).fit(X)
    plain = "hartigan" if options.get("objective") != "pairwise" and options.get("metric") != "cosine" else "paper"
    flat = {"rule": plain} | {name: value for name, value in options.items() if name in ("objective", "metric", "rule")}
    for k in range(2, 7):
        before, now = model.cut(k - 1), model.cut(k)
        members = before == before[now == k - 1][0]
        halves = (now[members] == k - 1).astype(int)
        again = KSums(2, init=halves, random_state=0, tol=0, max_iter=1, **flat).fit(X[members])
        found, start = (measure_of(options, X[members], labels) for labels in (again.labels_, halves))
        assert found >= start * (1 - 1e-9)


@pytest.mark.parametrize("options", VARIANTS)
def test_scipy_accepts_the_linkage(options, rng):
    X = rng.standard_normal((150, 5))
    model = BisectingKSums(15, random_state=0, **options).fit(X)
    linkage = model.linkage()
    assert linkage.shape == (14, 4)
    assert hierarchy.is_valid_linkage(linkage)
    assert hierarchy.is_monotonic(linkage)
    drawn = hierarchy.dendrogram(linkage, no_plot=True)
    assert sorted(drawn["leaves"]) == list(range(15))
    if options == {}:  # With the loosest cluster first, a cut at a height undoes splits.
        flat = hierarchy.fcluster(linkage, 6, "maxclust")
        clusters = model.tree_.relabelling(6)
        assert len({(a, b) for a, b in zip(flat, clusters, strict=True)}) == 6
    one = BisectingKSums(1).fit(X)
    assert one.linkage().shape == (0, 4)
    assert one.n_iter_ == 1
    assert BisectingKSums(1, refine=2).fit(X).n_iter_ == 2
    assert one.history_[0].distortion == pytest.approx(one.distortion_)


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_sparse_and_dense_data_agree(metric, rng):
    X = rng.standard_normal((200, 30)) * (rng.random((200, 30)) < 0.3)
    X[:, 0] += 0.5
    options = {"metric": metric, "random_state": 3, "init": "random-labels"}
    dense, from_sparse = (BisectingKSums(8, n_init=20, **options).fit(data) for data in (X, sparse.csr_array(X)))
    # The random numbers differ, so the trees are only similar.
    np.testing.assert_allclose(dense.tree_.objectives[:3], from_sparse.tree_.objectives[:3], rtol=0.02)
    for model in (dense, from_sparse):
        np.testing.assert_array_equal(model.predict(X), model.predict(sparse.csr_array(X)))
        np.testing.assert_array_equal(model.predict(X, by="tree"), model.predict(sparse.csr_array(X), by="tree"))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("options", VARIANTS)
def test_large_parts_are_read_block_by_block(options, kind, rng, monkeypatch):
    """Parts above the limit are not copied; KSUMS_CHECK compares every sum with the labels."""
    monkeypatch.setattr(rows, "_GATHERED_BYTES", 2000)
    X = 3 + rng.standard_normal((300, 5))
    X[:, 1:] *= rng.random((300, 4)) < 0.5
    X = sparse.csr_array(X) if kind == "sparse" else X
    weights = rng.uniform(0.5, 2, 300)
    model = BisectingKSums(10, random_state=0, **options).fit(X, sample_weight=weights)
    assert len(set(model.labels_)) == 10
    assert model.converged_


def test_threads_make_no_difference(rng, monkeypatch):
    monkeypatch.setattr(sharing, "_WORTH_SHARING", 0)
    monkeypatch.setattr(trees, "_SAMPLE", 500)
    X = rng.standard_normal((3000, 40)).astype(np.float32)
    one, two = (BisectingKSums(300, random_state=0, n_threads=n, refine=2).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)


@pytest.mark.parametrize("kind", ["dense", "sparse", "large"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_the_split_of_a_large_cluster_starts_from_a_sample(metric, kind, rng, monkeypatch):
    """The result is as good as without a sample and takes fewer moves, as the start is nearly optimal."""
    X = np.abs(rng.standard_normal((4000, 12))) + np.repeat(np.eye(12)[[0, 5]] * 3, 2000, axis=0)
    X = sparse.csr_array(X) if kind == "sparse" else X
    if kind == "large":
        monkeypatch.setattr(rows, "_GATHERED_BYTES", 100_000)
    plain = BisectingKSums(2, metric=metric, init="random-labels", random_state=0).fit(X)
    monkeypatch.setattr(trees, "_SAMPLE", 600)
    quick = BisectingKSums(2, metric=metric, random_state=0).fit(X)
    assert quick.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    assert quick.history_[0].moves < plain.history_[0].moves / 4


def test_copies_of_one_row_are_split_last(rng):
    """Three groups consist of copies, so only the ten distinct rows can be split."""
    distinct = rng.standard_normal((10, 4))
    X = np.concatenate([np.repeat(rng.standard_normal((3, 4)) + 100, 40, axis=0), distinct])
    model = BisectingKSums(13, random_state=0, strategy="largest").fit(X)
    assert model.inertia_ == pytest.approx(0, abs=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(13\) found smaller than n_clusters \(20\)"):
        model = BisectingKSums(20, random_state=0).fit(X)
    assert (model.sizes_ > 0).all()
    assert len(model.sizes_) == 20
    assert hierarchy.is_monotonic(model.linkage())
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        assert sorted(BisectingKSums(5).fit(np.ones((5, 2)) / 3).labels_) == list(range(5))
    wide = np.array([[1, 2, 3]] * 50 + [[3, 0, 1], [0, 3, 1]])
    for dtype in (np.float32, np.float64, np.uint8):
        for kind in (np.asarray, sparse.csr_array):
            options = {"metric": "cosine", "strategy": "largest", "random_state": 0}
            model = BisectingKSums(3, **options).fit(kind(wide.astype(dtype if kind is np.asarray else np.float32)))
            assert sorted(model.sizes_) == [1, 1, 50]
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        BisectingKSums(3, metric="cosine").fit(sparse.csr_array(np.outer([1, 2, 3, 5], [1, 1 / 3, 0])))


def test_rows_without_weight_or_direction(rng):
    X = rng.standard_normal((100, 4))
    weights = np.ones(100)
    weights[::7] = 0
    model = BisectingKSums(6, random_state=0).fit(X, sample_weight=weights)
    without = BisectingKSums(6, random_state=0).fit(X[weights > 0])
    np.testing.assert_allclose(model.cluster_centers_, without.cluster_centers_)
    np.testing.assert_array_equal(model.labels_[::7], model.predict(X[::7]))
    X[[3, 8]] = 0
    with pytest.warns(UserWarning, match="2 rows of X are all zeros"):
        model = BisectingKSums(6, metric="cosine", random_state=0).fit(X)
    assert (model.labels_[[3, 8]] == 0).all()
    assert model.cut(3).max() == 2
    assert model.tree_.objectives[-1] == pytest.approx(model.objective_)
    assert model.tree_.objectives[2] == pytest.approx(metrics.cosine_distance(X, model.cut(3)))


def test_predict_by_centre_and_down_the_tree(blobs):
    model = BisectingKSums(5, random_state=0).fit(blobs)
    for by in ("nearest", "tree"):
        np.testing.assert_array_equal(model.predict(blobs, by=by), model.labels_)
    finer = BisectingKSums(60, random_state=0).fit(blobs)
    down, nearest = finer.predict(blobs, by="tree"), finer.predict(blobs)
    assert np.mean(down == finer.labels_) > 0.9
    assert metrics.distortion(blobs, nearest) < metrics.distortion(blobs, finer.labels_)
    assert set(finer.predict(blobs[:1], by="tree")) <= set(range(60))


def test_flat_passes_improve_the_tree(rng):
    X = rng.standard_normal((500, 6))
    rough = BisectingKSums(25, random_state=0).fit(X)
    fine = BisectingKSums(25, random_state=0, refine=30).fit(X)
    assert fine.distortion_ < rough.distortion_
    assert 24 < fine.n_iter_ <= 24 + 30
    assert [record.index for record in fine.history_] == list(range(1, fine.n_iter_ + 1))
    seconds = [record.seconds for record in fine.history_]
    assert seconds == sorted(seconds)
    assert fine.history_[-1].distortion == pytest.approx(fine.distortion_)
    np.testing.assert_array_equal(fine.tree_.splits, rough.tree_.splits)
    np.testing.assert_allclose(fine.tree_.sizes[fine.tree_.leaves], fine.sizes_)
    assert fine.tree_.objectives[-1] == pytest.approx(fine.distortion_)
    assert fine.tree_.objectives[9] == pytest.approx(metrics.distortion(X, fine.cut(10)))


def test_more_tries_improve_a_split(rng):
    X = rng.standard_normal((300, 8))
    one, ten = (BisectingKSums(2, init="random-labels", n_init=n, random_state=1).fit(X) for n in (1, 10))
    assert ten.distortion_ <= one.distortion_


def test_clusters_far_from_the_mean_keep_their_precision(monkeypatch):
    """A tight group far from the mean of all, in float32."""
    X = np.array([[0], [0.01], [0], [0.01], [1e6], [1000100]], np.float32)
    model = BisectingKSums(4, random_state=0).fit(X)
    assert model.labels_[0] == model.labels_[2] != model.labels_[1] == model.labels_[3]
    assert model.inertia_ == 0
    for limit in (0, 1 << 20):  # With 0, rows are read block by block; otherwise they are copied.
        monkeypatch.setattr(rows, "_GATHERED_BYTES", limit)
        part = rows.subset(rows.prepare(X, "l2"), np.arange(4))
        assert float(np.ptp(part.read(np.arange(4)))) == pytest.approx(0.01, rel=1e-3)


def test_a_stopped_fit_keeps_the_finished_splits(rng):
    X = rng.standard_normal((200, 4))
    model = BisectingKSums(20, random_state=0, callbacks=[lambda record: record.index == 7]).fit(X)
    assert len(model.sizes_) == 8
    assert not model.converged_
    np.testing.assert_array_equal(model.labels_, BisectingKSums(8, random_state=0).fit(X).labels_)

    def interrupt(record):
        if record.index == 5:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted after 5 splits; the model holds 6 of 20 clusters"):
        model = BisectingKSums(20, random_state=0, callbacks=[interrupt]).fit(X)
    assert model.predict(X).max() == 5


def test_an_interrupted_split_is_discarded(rng, monkeypatch):
    X = rng.standard_normal((200, 4))
    calls = []

    def split(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(*arguments)

    original = splits.split
    monkeypatch.setattr(splits, "split", split)
    with pytest.warns(ConvergenceWarning, match="the model holds 4 of 20 clusters"):
        model = BisectingKSums(20, random_state=0, n_threads=1).fit(X)
    assert len(model.sizes_) == 4


def test_an_interrupt_while_the_tree_changes_keeps_the_finished_splits(rng, monkeypatch):
    """Ctrl-C at any moment leaves the tree of the finished splits."""
    X = rng.standard_normal((200, 4))

    class Interrupting(list):
        def append(self, node):
            if len(self) == 5:
                raise KeyboardInterrupt
            super().append(node)

    original = bisecting.Leaves.__init__

    def initialise(self, *arguments):
        original(self, *arguments)
        self.splits = Interrupting()

    monkeypatch.setattr(bisecting.Leaves, "__init__", initialise)
    with pytest.warns(ConvergenceWarning, match="interrupted after 5 splits; the model holds 6 of 20 clusters"):
        model = BisectingKSums(20, random_state=0).fit(X)
    monkeypatch.undo()
    np.testing.assert_array_equal(model.labels_, BisectingKSums(6, random_state=0).fit(X).labels_)


def test_progress_counts_splits(rng, capsys):
    BisectingKSums(4, random_state=0, verbose=2).fit(rng.standard_normal((50, 3)))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4  # The plan, then one line for each of three splits.
    assert lines[-1].startswith("BisectingKSums: pass 3, objective")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "biggest"}, "strategy must be one of 'largest', 'loosest'; got 'biggest'"),
        ({"refine": -1}, "refine must be an integer of at least 0; got -1"),
        ({"init": np.zeros(30, int)}, "init must be one of .* got an array, which can start a flat fit"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
        ({"rule": "hartigan", "objective": "pairwise"}, "has no meaning for objective='pairwise'"),
    ],
)
def test_bad_parameters_are_refused(parameters, message, rng):
    model = BisectingKSums(**{"n_clusters": 3, **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(rng.standard_normal((30, 4)))
    assert not hasattr(model, "labels_")


def test_bad_queries_are_refused(blobs):
    model = BisectingKSums(5, random_state=0).fit(blobs)
    for k in (0, 6, 2.5, "3", True):
        with pytest.raises(ValueError, match=r"can be cut at 1 … 5 clusters; got n_clusters="):
            model.cut(k)
    with pytest.raises(ValueError, match="by must be one of 'nearest', 'tree'; got 'path'"):
        model.predict(blobs, by="path")


def test_sparse_rows_of_zeros_are_copies(rng):
    X = np.vstack([np.zeros((7, 3)), rng.standard_normal((9, 3)) + 20])
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = BisectingKSums(12, random_state=0).fit(sparse.csr_array(X))
    assert len(set(model.labels_)) == 12


def test_large_splits_have_bounds_and_threads_change_nothing(rng):
    """A cluster of 9,000 rows is split by passes with bounds; no single move between its halves is a gain."""
    X = np.repeat(rng.normal(size=(6, 5)) * 4, 3000, axis=0) + rng.normal(size=(18_000, 5))
    one, two = (BisectingKSums(40, random_state=0, n_threads=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    halves = BisectingKSums(2, random_state=0, tol=0.0).fit(X)
    flat = KSums(2, init=halves.labels_, rule="hartigan", tol=0.0).fit(X)
    np.testing.assert_array_equal(flat.labels_, halves.labels_)
