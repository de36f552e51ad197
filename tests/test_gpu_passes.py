"""Ways to make a pass on a card: lists of nearest clusters, rows in chunks, pushed centres, samples that grow."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from gpu_helpers import DEVICE, data, fitted, passes_for, weights_for

import ksums.planning.gpu as planning
from ksums import KSums, metrics
from ksums.compute.tensors import as_numpy
from ksums.estimators.interruption import FitInterrupted
from ksums.method.engines.gpu.launch import Kernels
from ksums.method.engines.gpu.lists import nearest_clusters, nearest_lists, seeds_nearby
from ksums.method.engines.gpu.passes import Passes
from ksums.method.engines.gpu.twin import Twin
from ksums.planning.room import chunk_for, least_room
from ksums.planning.shape import Shape

VARIANTS = [
    (300, 5, 24, {}),
    (260, 5, 24, {"split": True, "dtype": torch.float64, "weights": True}),
    (220, 40, 30, {"weights": True}),
    (220, 20, 30, {"cosine": True}),
    (130, 300, 24, {}),
    (130, 270, 24, {"split": True, "dtype": torch.float16}),
    (220, 12, 30, {"pairs": True}),
]

OF_KERNELS = VARIANTS if DEVICE.type == "cuda" else [VARIANTS[at] for at in (0, 3, 4, 6)]
"""Those that the interpreter is asked for: it is slow."""


def pair(n, d, k, more, **options):
    """Passes by the kernels and by their twin, from the same start."""
    X = data(n, d, more.get("dtype", torch.float32))
    known = {name: more[name] for name in ("split", "cosine", "pairs") if name in more}
    known["weights"] = weights_for(n) if "weights" in more else None
    return [passes_for(operations, X, k, **known, **options) for operations in (Kernels(), Twin())]


def assert_same(passes):
    for name in ("labels", "composites", "counts", "sizes", "moved"):
        assert torch.equal(*(getattr(some.card.state, name) for some in passes)), name


@pytest.mark.parametrize(("n", "d", "k", "more"), VARIANTS)
def test_kernels_pass_over_lists_as_the_twin_does(n, d, k, more):
    passes = pair(n, d, k, more)
    for some in passes:
        some.start_from_rows()
        some.renew_lists(8)
        some.relax(2.0)
        some.one_pass()
        some.relax(1.0)
        some.settling_pass(2)
    assert torch.equal(passes[0].lists.entries, passes[1].lists.entries)
    assert_same(passes)
    assert int(passes[0].card.state.moved) > 0


@pytest.mark.parametrize(("n", "d", "k", "more"), OF_KERNELS)
def test_kernels_start_from_groups_as_the_twin_does(n, d, k, more):
    passes = pair(n, d, k, more)
    for some in passes:
        some.start_from_groups(
            some.operations.prepared_rows(some.card.table, some.card.layout, torch.arange(40, 44, device=DEVICE))
        )
    assert_same(passes)
    assert int(passes[0].card.state.counts.min()) > 0


@pytest.mark.parametrize(("n", "d", "k", "more"), OF_KERNELS)
def test_kernels_push_centres_as_the_twin_does(n, d, k, more):
    passes = pair(n, d, k, more, pushed=True)
    for some in passes:
        some.start_from_rows()
        for relaxation in (2.0, 1.0, 1.0):
            some.relax(relaxation)
            some.one_pass()
    assert_same(passes)
    assert float(passes[0].card.clusters.push.abs().max()) > 0


@pytest.mark.parametrize(
    ("n", "d", "k", "more", "operations"),
    [(*variant, Twin()) for variant in VARIANTS if "split" not in variant[3]]  # rows that are split are read in place
    + [(*variant, Kernels()) for variant in OF_KERNELS],
)
def test_rows_in_chunks_get_the_labels_of_rows_that_are_there_as_a_whole(n, d, k, more, operations):
    chosen = isinstance(operations, Twin)
    resident, streamed = (pair(n, d, k, more, chunk=chunk)[chosen] for chunk in (0, 17))
    for some in (resident, streamed):
        some.start_from_groups(
            operations.prepared_rows(some.card.table, some.card.layout, torch.arange(40, 44, device=DEVICE))
        )
        some.relax(2.0)
        some.one_pass()
        some.renew_lists(8)
        some.settling_pass(1)
    assert_same([resident, streamed])
    assert len(streamed.card.table.low) <= 34


def test_a_list_holds_the_nearest_clusters_and_ways_back():
    passes = passes_for(Twin(), data(400, 3), 40)
    passes.start_from_rows()
    near, squares = nearest_clusters(passes.operations, passes.card, 5)
    centres = passes.centres()
    exact = torch.cdist(centres, centres)
    exact.fill_diagonal_(torch.inf)
    assert torch.equal(near[:, 0].long(), exact.argmin(1))  # as many bins as clusters: none is missed
    assert (squares.diff(dim=1) >= 0).all()
    lists = nearest_lists(passes.operations, passes.card, 12)
    entries = lists.entries.view(40, 12).long()
    assert (entries[:, 0].cpu() == torch.arange(40)).all()
    assert all((entries[r, 1:] != r).all() for r in range(40))
    back = [(int(v), r) for r in range(40) for v in entries[r, 9:] if int(v) not in entries[r, :9].tolist()]
    assert back
    assert all(r in entries[v, :9] for v, r in back)


def test_seeds_near_a_group():
    vectors = torch.tensor([[0.0], [10.0], [21.0], [1000.0]])
    lists = seeds_nearby(torch.tensor([2, 0, 1, 0, 2]), vectors)
    first = lists.entries[lists.ends[0] : lists.ends[1]]
    assert first.tolist() == [1, 3, 2, 0, 4]
    assert sorted(lists.entries[lists.ends[3] : lists.ends[4]].tolist()) == [0, 1, 2, 3, 4]


def with_lists(monkeypatch, least=40, length=12):
    monkeypatch.setattr(planning, "MANY_CLUSTERS", least)
    levels = {name: level._replace(length=length, annealing_of_lists=24) for name, level in planning._LEVELS.items()}
    monkeypatch.setattr(planning, "_LEVELS", levels)


def test_lists_end_near_where_all_clusters_end_and_no_single_move_is_a_gain(monkeypatch):
    X = data(900, 4)
    whole = fitted(X, 60)
    with_lists(monkeypatch)
    model = fitted(X, 60)
    assert "over lists of 12 clusters" in model.plan_.summary
    assert "the 12 clusters nearest to their own" in str(model.plan_)
    assert model.distortion_ <= 1.02 * whole.distortion_
    assert model.history_[0].comparisons == 900 * 12
    assert model.history_[-1].comparisons == 900 * 60
    rows, labels = as_numpy(X).astype(float), as_numpy(model.labels_)
    sizes = np.bincount(labels, minlength=60).astype(float)
    centres = np.stack([rows[labels == r].mean(axis=0) for r in range(60)])
    squares = ((rows[:, None] - centres) ** 2).sum(axis=2)
    own = squares[np.arange(900), labels]
    stay = np.where(sizes[labels] > 1, sizes[labels] / np.maximum(sizes[labels] - 1, 1e-9), 0.0) * own
    join = squares * sizes / (sizes + 1)
    join[np.arange(900), labels] = np.inf
    assert (stay - join.min(axis=1) <= 1e-5 * (stay + join.min(axis=1))).all()


def test_clusters_that_lie_apart_are_found_with_lists(monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(180), 20)
    X = torch.tensor(rng.uniform(-10, 10, (180, 36))[labels] + rng.standard_normal((3600, 36)), device=DEVICE).float()
    with_lists(monkeypatch, 100, 32)
    model = fitted(X, 180)
    assert model.distortion_ <= 1.001 * metrics.distortion(as_numpy(X), labels)


# ------------------------------------------------------------------------------------------ samples
@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(planning, "_LEAST_SAMPLE", 50)
    monkeypatch.setattr(planning, "_LEAST_MEMBERS", 8)


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_a_fit_of_many_rows_begins_with_samples(small_samples, metric):
    X = data(6400, 5, groups=1)
    model = fitted(X, 6, metric=metric, init="random-points")
    assert model.plan_.samples == (100, 800)
    assert "growing from 100 rows" in model.plan_.summary
    assert "passes over 100, then 800, then 6,400 rows" in str(model.plan_)
    assert model.history_[0].stage == "samples"
    assert {record.stage for record in model.history_[1:]} == {"pass"}
    assert model.objective_ <= 1.01 * KSums(6, metric=metric, random_state=0).fit(as_numpy(X)).objective_
    again = fitted(X, 6, metric=metric, init="random-points")
    assert torch.equal(model.labels_, again.labels_)


@pytest.mark.parametrize("far", [100.0, 1e6])
def test_groups_and_outliers_that_no_sample_holds_are_found(small_samples, far):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(30), 700)
    X = rng.uniform(-10, 10, (30, 12))[labels] + rng.standard_normal((21_000, 12))
    X[:3] += far * np.eye(12)[:3]
    X = torch.tensor(X, device=DEVICE).float()
    labels[:3] = [30, 31, 32]
    model = fitted(X, 33)
    assert model.distortion_ <= 1.01 * metrics.distortion(as_numpy(X), labels)
    assert model.history_[-1].distortion == pytest.approx(model.distortion_, rel=1e-5)


def test_a_given_start_is_not_sampled(small_samples):
    X = data(1000, 3)
    assert fitted(X, 4, init=as_numpy(X[:4]).copy()).plan_.samples == ()


def test_a_fit_that_is_interrupted_in_a_sample_labels_all_rows(small_samples, monkeypatch):
    X, calls = data(6400, 5), []

    def one_pass(self):
        calls.append(len(self.card.state.labels))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self)

    original = Passes.one_pass
    monkeypatch.setattr(Passes, "one_pass", one_pass)
    with pytest.warns(FitInterrupted):
        model = fitted(X, 6, init="random-points")
    assert calls == [100, 100, 100]
    assert len(model.labels_) == 6400
    assert [record.stage for record in model.history_] == ["samples"]
    assert np.bincount(as_numpy(model.labels_), minlength=6).min() > 0


# ------------------------------------------------------------------------------------------ rows that do not fit
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_a_fit_in_chunks_gives_the_same_model(monkeypatch, metric):
    X, weights = data(700, 5), weights_for(700).cpu().numpy()
    with_lists(monkeypatch, 30, 8)
    whole, chunked = (fitted(X, 30, weights=weights, metric=metric, chunk=chunk) for chunk in (0, 64))
    assert torch.equal(whole.labels_, chunked.labels_)
    assert whole.distortion_ == chunked.distortion_


def test_how_many_rows_are_in_low_precision_at_a_time():
    shape = Shape(1_000_000, 128, 100)
    fixed = 200_000_000 + 200 * 12_800
    assert chunk_for(shape, 1e9) == 0
    assert chunk_for(shape, 0.25e9) == (250_000_000 - fixed) // 512
    assert chunk_for(shape, 0.35e9) == 1 << 17
    assert chunk_for(shape, 0.2e9) == -1
    assert least_room(shape) == fixed + 2 * (1 << 12) * 256
    assert least_room(Shape(1_000_000, 128, 1 << 15)) > least_room(Shape(1_000_000, 128, (1 << 15) - 1)) + 4e8
