"""The whole on a graphics card: ``make test-gpu``. Without one, nothing of this runs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)

from test_gpu import hostile

import ksums.planning.gpu as planning
from ksums import KSums, load
from ksums.planning.room import chunk_for, least_room
from ksums.planning.shape import Shape
from ksums.torch import batched


def data(n, d, seed=0, dtype=torch.float32):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.standard_normal((n, d)) + 3.0 * rng.integers(5, size=(n, 1))).to(dtype).cuda()


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize(("n", "d", "k"), [(40_000, 24, 300), (5_000, 3, 1_000), (9_000, 300, 20)])
def test_labels_are_the_same_every_time(monkeypatch, n, d, k, metric):
    X, found = data(n, d), set()
    for number in range(10):
        monkeypatch.setattr(planning, "_SHORT", 1e12 if number % 2 else 0.0)
        found.add(KSums(k, metric=metric, random_state=0).fit(X).labels_.cpu().numpy().tobytes())
    assert len(found) == 1


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_no_cluster_is_empty_in_a_thousand_hostile_fits():
    cases = [(torch.tensor(X).float().cuda(), k) for _, X, k in hostile()]
    for seed in range(1000 // len(cases)):
        for X, k in cases:
            model = KSums(k, effort="low", init="random-points", random_state=seed).fit(X)
            assert int(torch.bincount(model.labels_.long(), minlength=k).min()) > 0
            assert np.isfinite(model.distortion_)


@pytest.mark.parametrize(
    ("dtype", "d"),
    [
        (torch.float16, 64),
        (torch.bfloat16, 257),
        (torch.float32, 1),
        (torch.float32, 7),
        (torch.float32, 4096),
        (torch.float64, 3),
        (torch.float64, 1000),
    ],
)
def test_types_and_dimensions(dtype, d):
    X = data(600, d, dtype=dtype)
    model = KSums(9, random_state=0).fit(X)
    assert model.labels_.device == X.device
    assert model.cluster_centers_.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    cpu = KSums(9, random_state=0).fit(X.double().cpu().numpy())
    assert model.distortion_ <= 1.02 * cpu.distortion_ + 1e-12


def test_what_comes_back_is_the_kind_that_went_in(tmp_path):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    X = data(2000, 6)
    model = KSums(5, random_state=0).fit(X)
    other = KSums(5, random_state=0).fit(cupy.from_dlpack(X))
    assert isinstance(other.labels_, cupy.ndarray)
    assert isinstance(other.transform(cupy.from_dlpack(X)), cupy.ndarray)
    assert (other.labels_.get() == model.labels_.cpu().numpy()).all()
    host = KSums(5, device="cuda", random_state=0).fit(X.cpu().numpy())
    assert isinstance(host.labels_, np.ndarray)
    assert (host.labels_ == model.labels_.cpu().numpy()).all()
    rows = X.cpu().numpy()
    assert (model.predict(rows) == model.predict(X).cpu().numpy()).all()
    assert model.score(rows) == pytest.approx(model.score(X), rel=1e-5)
    np.testing.assert_allclose(model.transform(rows), model.transform(X).cpu().numpy(), atol=1e-2)
    model.save(tmp_path / "model.safetensors")
    assert (load(tmp_path / "model.safetensors").predict(rows) == model.predict(rows)).all()


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_rows_of_the_host_get_the_labels_of_rows_on_the_card(metric, objective):
    X, shape = data(40_000, 24), Shape(40_000, 24, 300)
    little = int(1.1 * least_room(shape))
    assert chunk_for(shape, little) > 0
    parameters = {"metric": metric, "objective": objective, "random_state": 0}
    resident = KSums(300, **parameters).fit(X).labels_.cpu().numpy()
    streamed = KSums(300, device="cuda", max_memory=little, **parameters).fit(X.cpu().numpy())
    assert (streamed.labels_ == resident).all()
    with pytest.raises(MemoryError, match="with n_clusters=300 takes at least"):
        KSums(300, device="cuda", max_memory=little // 2, **parameters).fit(X.cpu().numpy())


def test_a_file_that_may_only_be_read_gives_the_labels_of_its_rows(tmp_path):
    X, little = data(40_000, 24), int(1.1 * least_room(Shape(40_000, 24, 300)))
    np.save(tmp_path / "rows.npy", X.cpu().numpy())
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    streamed = KSums(300, device="cuda", max_memory=little, random_state=0).fit(rows)
    assert (streamed.labels_ == KSums(300, random_state=0).fit(X).labels_.cpu().numpy()).all()


def test_lists_in_graphs_give_the_labels_of_lists_without(monkeypatch):
    monkeypatch.setattr(planning, "MANY_CLUSTERS", 500)
    X, found = data(9_000, 24), set()
    for limit in (1e12, 0.0, 1e12):
        monkeypatch.setattr(planning, "_SHORT", limit)
        model = KSums(600, random_state=0).fit(X)
        assert model.plan_.lists
        found.add(model.labels_.cpu().numpy().tobytes())
    assert len(found) == 1


def test_problems_of_a_batch_get_the_labels_that_they_get_alone():
    X = torch.stack([data(700, 16, seed) for seed in range(5)]).bfloat16()
    together = batched(X, 9, random_state=0)
    again = batched(X, 9, random_state=0)
    assert torch.equal(together.labels, again.labels)
    assert int(together.sizes.min()) > 0
    for at in range(5):
        assert torch.equal(batched(X[at : at + 1], 9, random_state=0).labels[0], together.labels[at])


def test_a_second_run_takes_no_more_memory_than_the_first():
    X, peaks = torch.randn(300_000, 128, device="cuda"), []
    for runs in (1, 3):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        KSums(50, effort="low", init="random-points", n_init=runs, random_state=0).fit(X)
        peaks.append(torch.cuda.max_memory_allocated())
    assert peaks[1] <= peaks[0] + 40 * len(X)


def test_memory_beside_the_rows():
    X = torch.randn(1_000_000, 128, device="cuda")
    KSums(50, effort="low", init="random-points", random_state=0).fit(X[:1000])
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    KSums(50, effort="low", init="random-points", random_state=0).fit(X)
    of_rows = 200 * len(X)  # labels, candidates, orders and the room that sorting takes
    assert torch.cuda.max_memory_allocated() - before <= 0.6 * X.numel() * 4 + of_rows
