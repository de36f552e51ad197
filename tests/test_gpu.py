"""Fits on a graphics card, as far as they need none: kernels in Triton's interpreter, fits with the twin."""

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from gpu_helpers import DEVICE, a_card, data, fitted, make_passes, placed, weights_for

from ksums import Annealed, KSums, load, metrics
from ksums.compute.tensors import as_numpy, is_on_card, kind_of
from ksums.estimators.interruption import FitInterrupted
from ksums.estimators.on_card import plan_tensor
from ksums.method.engines.gpu.card import new_state
from ksums.method.engines.gpu.launch import Kernels
from ksums.method.engines.gpu.rows import scrambled
from ksums.method.engines.gpu.twin import Twin
from ksums.method.nearest.card import distances_on_card, nearest_on_card
from ksums.planning.gpu import first_relaxation, products_are_split
from ksums.planning.tiles import padded_columns, tiles_for


# ------------------------------------------------------------------------------------------ kernels and their twin
@pytest.mark.parametrize(
    ("n", "d", "k", "more"),
    [
        (300, 5, 7, {}),
        (260, 5, 7, {"split": True, "dtype": torch.float64, "weights": True}),
        (200, 40, 70, {"weights": True}),
        (200, 20, 70, {"cosine": True}),
        (150, 9, 5, {"cosine": True, "weights": True, "dtype": torch.bfloat16}),
        (130, 300, 12, {}),
        (130, 270, 12, {"split": True, "dtype": torch.float16}),
        (40, 1, 20, {}),
        (60, 8, 5, {"dtype": torch.uint8}),
        (300, 5, 7, {"pairs": True}),
        (200, 20, 70, {"pairs": True, "cosine": True, "weights": True}),
        (130, 270, 12, {"pairs": True, "split": True, "dtype": torch.float64}),
    ],
)
def test_kernels_move_the_rows_that_the_twin_moves(n, d, k, more):
    X = data(n, d, more.get("dtype", torch.float32))
    options = {name: more[name] for name in ("split", "cosine", "pairs") if name in more}
    options["weights"] = weights_for(n) if "weights" in more else None
    states = [make_passes(o, a_card(o, X, k, **options), (2.0, 1.0)).state for o in (Kernels(), Twin())]
    for name in ("labels", "composites", "counts", "sizes", "moved"):
        assert torch.equal(getattr(states[0], name), getattr(states[1], name)), name
    assert int(states[0].moved) > 0
    assert int(states[0].counts.min()) > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_kernels_measure_as_the_twin_does(dtype):
    X, found = data(150, 6, dtype), []
    for operations in (Kernels(), Twin()):
        card = a_card(operations, X, 4)
        centres = card.state.composites.double() / card.layout.fixed / card.state.counts[:, None]
        moments, numbers = operations.moments(X, None, DEVICE), torch.zeros(1, 7, dtype=torch.float64, device=DEVICE)
        operations.refresh(card)
        operations.summarise(card, numbers)
        found.append(
            [*moments, numbers[0, 2:], operations.squares_to_own(card.table, card.layout, card.state.labels, centres)]
        )
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-12, atol=1e-12)


def test_kernels_compile_for_a_card_without_one():
    script = Path(__file__).with_name("compile_kernels.py")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(script), "l2", "pairs"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 0, found.stderr[-2000:]
    assert "kernels compiled" in found.stdout


@pytest.mark.parametrize("cosine", [False, True])
def test_sums_are_those_of_the_labels(cosine):
    X = data(400, 7)
    card = make_passes(Twin(), a_card(Twin(), X, 11, cosine=cosine, weights=weights_for(400)), (4.0, 1.0))
    again = new_state(card.layout, DEVICE)
    again.labels.copy_(card.state.labels)
    Twin().add_by_cluster(card.table, card.layout, again)
    for name in ("composites", "counts", "sizes", "norm_sums"):
        assert torch.equal(getattr(card.state, name), getattr(again, name)), name


# ------------------------------------------------------------------------------------------ fits
def test_attributes_are_tensors_and_measures_are_those_of_the_labels():
    X = data(1500, 5)
    model = fitted(X, 6)
    for name, dtype in (("labels_", torch.int32), ("cluster_centers_", torch.float32), ("composites_", torch.float64)):
        tensor = getattr(model, name)
        assert isinstance(tensor, torch.Tensor), name
        assert tensor.device == X.device, name
        assert tensor.dtype == dtype, name
    rows, labels = as_numpy(X), as_numpy(model.labels_)
    assert model.distortion_ == pytest.approx(metrics.distortion(rows, labels), rel=1e-9)
    assert model.pairwise_ == pytest.approx(metrics.pairwise(rows, labels), rel=1e-9)
    assert model.history_[-1].distortion == pytest.approx(model.distortion_, rel=1e-6)
    assert as_numpy(model.sizes_).tolist() == np.bincount(labels, minlength=6).tolist()
    np.testing.assert_allclose(as_numpy(model.composites_)[2], rows[labels == 2].sum(axis=0, dtype=float), rtol=1e-6)
    assert [record.stage for record in model.history_[:24]] == ["annealing"] * 24


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
def test_quality_is_near_that_of_the_cpu(objective, metric):
    X, asked = data(3000, 6, groups=1), {"objective": objective, "metric": metric}
    on_card, on_cpu = fitted(X, 30, **asked), KSums(30, random_state=0, **asked).fit(as_numpy(X))
    assert on_card.objective_ <= 1.01 * on_cpu.objective_
    assert on_card.history_[-1].objective == pytest.approx(on_card.objective_, rel=1e-6)


@pytest.mark.parametrize(
    ("k", "d", "way"), [(30, 8, "a search on 600 rows"), (180, 36, "random rows as centres, moved to")]
)
def test_clusters_that_lie_apart_are_found(k, d, way):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(k), 20)
    X = torch.tensor(
        rng.uniform(-10, 10, (k, d))[labels] + rng.standard_normal((len(labels), d)), device=DEVICE
    ).float()
    best = metrics.distortion(as_numpy(X), labels)
    model = fitted(X, k, effort="low")
    assert way in model.plan_.summary
    assert model.distortion_ <= 1.001 * best
    assert fitted(X, k, effort="low", init="random-points").distortion_ > 1.5 * best


def test_outliers_that_no_sample_holds_get_clusters_of_their_own():
    rng = np.random.default_rng(3)
    X = np.exp(rng.standard_normal((12_000, 5))).astype(np.float32)
    X[rng.integers(len(X), size=6)] *= 300.0
    on_cpu = KSums(8, random_state=0).fit(X)
    assert fitted(torch.tensor(X, device=DEVICE), 8).distortion_ <= 1.02 * on_cpu.distortion_


def test_a_row_of_weight_0_costs_no_digits():
    X, weights = data(1000, 4), np.ones(1001)
    weights[-1] = 0.0
    far = torch.cat([X, torch.full((1, 4), 1e8, device=DEVICE)])
    assert fitted(far, 6, weights=weights).distortion_ == pytest.approx(fitted(X, 6).distortion_, rel=0.05)
    far[-1, 0] = torch.inf
    with pytest.raises(ValueError, match="first in row 1000, column 0"):
        fitted(far, 6, weights=weights)


def test_after_settling_no_single_move_is_a_gain():
    X = data(900, 4)
    model = fitted(X, 30)
    assert model.converged_
    rows, labels = as_numpy(X).astype(float), as_numpy(model.labels_)
    n = np.bincount(labels).astype(float)
    centres = np.stack([rows[labels == r].mean(axis=0) for r in range(30)])
    squares = ((rows[:, None] - centres) ** 2).sum(axis=2)
    own = squares[np.arange(900), labels]
    stay = np.where(n[labels] > 1, n[labels] / np.maximum(n[labels] - 1, 1e-9), 0.0) * own
    join = squares * n / (n + 1)
    join[np.arange(900), labels] = np.inf
    assert (stay - join.min(axis=1) <= 1e-5 * (stay + join.min(axis=1))).all()


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_after_settling_no_single_move_lowers_the_sum_over_pairs(metric):
    X = data(900, 4)
    model = fitted(X, 30, objective="pairwise", metric=metric)
    assert model.converged_
    rows, labels = as_numpy(X).astype(float), as_numpy(model.labels_)
    if metric == "cosine":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert model.pairwise_ == pytest.approx(metrics.pairwise(rows, labels), rel=1e-6)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    sums = squares @ (labels[:, None] == np.arange(30))  # of each row to each cluster
    stay, join = sums[np.arange(900), labels], sums.copy()
    join[np.arange(900), labels] = np.inf
    alone = np.bincount(labels)[labels] == 1
    assert (alone | (stay - join.min(axis=1) <= 1e-5 * (stay + join.min(axis=1)))).all()


def test_blocks_of_pairs_do_not_swing():
    X = data(4000, 12, groups=1)
    model = fitted(X, 8, objective="pairwise", init="random-points", rule=Annealed(1.0, 0))
    values = [record.objective for record in model.history_]
    assert (np.diff(values) <= 1e-3 * values[-1]).all()
    one_by_one = KSums(8, objective="pairwise", rule="paper", init="random-points", random_state=0).fit(as_numpy(X))
    assert model.objective_ <= 1.01 * one_by_one.objective_


def test_the_same_seed_gives_the_same_labels_and_another_one_does_not():
    X = data(2000, 5)
    first, again, other = (as_numpy(fitted(X, 20, random_state=seed).labels_) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_weights_count_as_copies_of_rows_do():
    X = data(600, 3)
    counts = np.random.default_rng(0).integers(1, 4, 600)
    weighted = fitted(X, 5, weights=counts)
    copies = X[torch.from_numpy(np.repeat(np.arange(600), counts)).to(DEVICE)]
    assert weighted.distortion_ == pytest.approx(
        metrics.distortion(as_numpy(copies), np.repeat(as_numpy(weighted.labels_), counts)), rel=1e-6
    )
    assert float(weighted.sizes_.sum()) == pytest.approx(counts.sum())


def test_rows_without_weight_or_direction_get_a_label_and_nothing_else():
    X, weights = data(300, 4), np.ones(300)
    X[:5], weights[10:20] = 0.0, 0.0
    with pytest.warns(UserWarning, match="5 rows of X are all zeros"):
        model = fitted(X, 4, weights=weights, metric="cosine")
    assert float(model.sizes_.sum()) == 285
    nearest = nearest_on_card(X, model.cluster_centers_, cosine=True)[0]
    assert torch.equal(model.labels_[10:20], nearest[10:20])


def hostile():
    rng = np.random.default_rng(0)
    yield "duplicates", np.repeat(rng.standard_normal((20, 3)), 30, axis=0), 15
    yield "fewer rows than clusters that differ", np.repeat(rng.standard_normal((5, 2)), 20, axis=0), 40
    yield "half as many clusters as rows", rng.standard_normal((200, 4)), 100
    yield "as many clusters as rows", rng.standard_normal((60, 2)), 60
    yield "constant columns", np.hstack([rng.standard_normal((300, 2)), np.full((300, 3), 7.0)]), 12
    yield "all equal", np.full((100, 3), 2.5), 9
    yield "outliers", np.vstack([rng.standard_normal((400, 3)), 1e6 * rng.standard_normal((4, 3))]), 20
    yield "an offset", rng.standard_normal((300, 3)) + 1e6, 10
    yield "one cluster", rng.standard_normal((50, 3)), 1
    yield "tiny numbers", 1e-20 * rng.standard_normal((300, 3)), 10
    yield "huge numbers", 1e15 * rng.standard_normal((300, 3)), 10


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize(("name", "X", "k"), list(hostile()), ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_cluster_is_ever_empty(name, X, k, dtype):
    rows = torch.tensor(X).to(dtype).to(DEVICE)
    model = fitted(rows, k)
    assert np.bincount(as_numpy(model.labels_), minlength=k).min() > 0
    assert min(record.smallest for record in model.history_) >= 1 - 1e-6
    assert np.isfinite(model.distortion_)


def test_products_are_split_where_clusters_are_small_beside_the_data():
    rng = np.random.default_rng(1)
    centres = 1000.0 * rng.integers(50, size=(40, 2))
    X = torch.tensor((centres[rng.integers(40, size=2000)] + rng.standard_normal((2000, 2))), device=DEVICE).float()
    model = fitted(X, 40, init=centres)
    assert model.distortion_ < 2.5
    assert products_are_split(2.0, 1e6, 2)
    assert not products_are_split(0.4, 1.0, 128)


def test_a_start_that_the_user_gives():
    X = data(500, 3)
    centres = as_numpy(X[:6]).copy()
    first = fitted(X, 6, init=centres, max_iter=1, rule=Annealed(1.0, 0))
    nearest = nearest_on_card(X, torch.from_numpy(centres).to(DEVICE), cosine=False)[0]
    assert (first.labels_ == nearest).float().mean() > 0.8
    with pytest.raises(ValueError, match=r"centres of shape \(6, 3\); got float32 of shape \(5, 3\)"):
        fitted(X, 6, init=centres[:5])


def test_callbacks_time_limits_and_interruption():
    X = data(800, 4)
    assert len(fitted(X, 5, callbacks=[lambda record: record.index == 3]).history_) == 3
    assert len(fitted(X, 5, time_budget=1e-9).history_) == 1

    def interrupt(record):
        if record.index == 4:
            raise KeyboardInterrupt

    with pytest.warns(FitInterrupted, match="after 4 passes"):
        model = fitted(X, 5, callbacks=[interrupt])
    assert np.bincount(as_numpy(model.labels_), minlength=5).min() > 0


def test_a_plan_without_a_fit():
    X = data(500, 4)
    plan = plan_tensor(KSums(5), placed(X), None, Twin())
    assert str(plan) == str(fitted(X, 5).plan_)
    assert "start      the centres of a search on 500 rows by the CPU, moved to clusters" in str(plan)
    assert "settling   moves that concern no cluster" in str(fitted(X, 20, effort="high").plan_)


def test_time_may_be_over_before_the_first_pass():
    rng = np.random.default_rng(0)
    X = torch.tensor(rng.uniform(-10, 10, (180, 36))[np.arange(3600) % 180] + rng.standard_normal((3600, 36)))
    model = fitted(X.float().to(DEVICE), 180, time_budget=0.05)  # moves many centres after the start
    assert [record.stage for record in model.history_] == ["start"]
    assert model.history_[0].distortion == pytest.approx(model.distortion_, rel=1e-5)
    assert np.bincount(as_numpy(model.labels_), minlength=180).min() > 0


def test_each_run_has_its_share_of_the_time():
    seconds = []

    def slow(record):
        seconds.append(record.seconds)
        time.sleep(0.1)

    fitted(data(300, 3), 9, n_init=2, time_budget=1.2, effort="high", init="random-points", callbacks=[slow])
    assert sum(after < before for before, after in pairwise(seconds)) == 1  # the second run was made, too


def test_no_more_passes_than_asked_for():
    model = fitted(data(3000, 5), 40, max_iter=60)
    rounds = sum(record.stage == "merge-split" for record in model.history_)
    assert rounds > 0
    assert len(model.history_) + rounds * (model.plan_.search.passes - 1) <= 60
    assert len(model.plan_.relaxations) == 24
    short = fitted(data(300, 5), 4, max_iter=5)
    assert len(short.history_) <= 5
    assert len(short.plan_.relaxations) == 2
    assert short.plan_.search is None


def test_a_search_that_cannot_be_made_is_refused():
    for parameters, words in (
        ({"k": 3}, "refine='merge-split' with n_clusters=3 is not offered"),
        ({"k": 9, "objective": "pairwise"}, "refine='merge-split' with objective='pairwise' is not offered"),
        ({"k": 9, "max_iter": 5}, "with max_iter=5 is not offered on a graphics card; raise max_iter"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted(data(100, 3), refine="merge-split", **parameters)
    assert fitted(data(100, 3), 9, refine="merge-split", effort="low").plan_.search.rounds == 8


def test_weights_that_whole_numbers_would_lose_are_refused():
    weights = np.ones(100)
    weights[7] = 1e-12
    assert np.isfinite(fitted(data(100, 3), 4, weights=weights).distortion_)
    weights[50:] = 1e6
    with pytest.raises(ValueError, match=r"must be at least 6e-14 of their mean, 5e\+05; got 1e-12. Give such rows"):
        fitted(data(100, 3), 4, weights=weights)


def test_several_runs_keep_the_best():
    X = data(700, 3)
    best = fitted(X, 12, n_init=4)
    assert best.objective_ <= fitted(X, 12, n_init=1).objective_


def test_a_model_is_saved_loaded_and_used_on_the_cpu(tmp_path):
    X = data(400, 3)
    model = fitted(X, 5)
    model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    rows = as_numpy(X)
    assert isinstance(loaded.cluster_centers_, np.ndarray)
    assert (loaded.labels_ == as_numpy(model.labels_)).all()
    assert (loaded.predict(rows) == model.predict(rows)).all()
    assert str(loaded.plan_) == str(model.plan_)
    assert "on the card" in loaded.plan_.summary


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_nearest_centres_and_distances_are_those_of_the_cpu(metric):
    X = data(300, 4)
    model = KSums(6, metric=metric, random_state=0).fit(as_numpy(X))
    centres = torch.from_numpy(model.cluster_centers_).to(DEVICE)
    labels, squares = nearest_on_card(X, centres, metric == "cosine")
    assert (as_numpy(labels) == model.predict(as_numpy(X))).all()
    assert -float(squares.sum()) == pytest.approx(model.score(as_numpy(X)), rel=1e-5)
    distances = distances_on_card(X, centres, metric == "cosine")
    np.testing.assert_allclose(as_numpy(distances), model.transform(as_numpy(X)), atol=2e-3)


# ------------------------------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"size_max": 10}, "size_max=10 is not offered on a graphics card; leave size_max=None, or fit on the CPU"),
        ({"engine": "exact"}, "engine='exact' is not offered"),
        ({"rule": "paper"}, "rule='paper' is not offered on a graphics card; leave rule='auto'"),
        ({"init": "k-means++"}, "use init='random-points' or an array of centres"),
        ({"checkpoint": "fit.ckpt"}, "checkpoint='fit.ckpt' is not offered"),
    ],
)
def test_what_a_card_does_not_offer_is_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        KSums(2, device="cuda", **parameters).fit(np.zeros((10, 2)))


def test_names_of_devices():
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(ValueError, match="device must be None, 'cpu', 'cuda' or 'cuda:N'; got 'gpu'"):
        KSums(2, device="gpu").fit(X)
    assert KSums(2, device="cpu", random_state=0).fit(X).labels_.shape == (30,)
    with pytest.raises(ValueError, match=r"device='cuda:99', but torch .* leave device=None"):
        KSums(2, device="cuda:99").fit(X)
    with pytest.raises(ValueError, match="is for arrays; data in parts is clustered on the CPU"):
        KSums(2, device="cuda").fit([X, X])


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("scale", [1e-150, 1e130])
def test_units_of_float64_rows_do_not_matter(scale, metric):
    X = data(300, 4, torch.float64)
    plain, scaled = fitted(X, 6, metric=metric), fitted(X * scale, 6, metric=metric)
    assert scaled.distortion_ == pytest.approx(plain.distortion_ * (scale**2 if metric == "l2" else 1.0), rel=0.05)


def test_rows_that_are_not_finite_are_named():
    X = data(50, 3)
    X[7, 2] = torch.nan
    with pytest.raises(ValueError, match="NaN or infinity, first in row 7, column 2"):
        fitted(X, 4)
    with pytest.raises(ValueError, match=r"up to 1.5e\+38 around their mean; torch.float32 is accepted up to 1e\+37"):
        fitted(torch.tensor([[2e38], [0.0], [0.0], [0.0]], device=DEVICE), 2)


# ------------------------------------------------------------------------------------------ small parts
def test_an_order_depends_on_the_seed_only():
    order = scrambled(Twin(), 1000, 7, torch.device("cpu"))
    assert sorted(order.tolist()) == list(range(1000))
    assert order[:8].tolist() == scrambled(Kernels(), 1000, 7, DEVICE)[:8].tolist()
    assert order.tolist() != scrambled(Twin(), 1000, 8, torch.device("cpu")).tolist()
    assert abs(np.corrcoef(order.numpy(), np.arange(1000))[0, 1]) < 0.1


def test_numbers_of_the_plan():
    assert [padded_columns(d) for d in (1, 16, 17, 100, 256, 257, 768)] == [16, 16, 32, 128, 256, 320, 768]
    assert tiles_for(128, 10_000, split=False).bits(10_000) == 8
    assert first_relaxation(10) == 3.0
    assert first_relaxation(200) == 8.0
    assert 8.0 < first_relaxation(600) < 24.0
    assert first_relaxation(1e6) == 24.0


def test_arrays_are_recognised():
    assert not is_on_card(np.zeros(3))
    assert is_on_card(torch.zeros(3, device=DEVICE)) == (DEVICE.type == "cuda")
    assert kind_of(torch.zeros(3))(1) == 1
    with pytest.raises(TypeError, match=r"arrays of torch, CuPy and JAX are accepted"):
        kind_of([1.0])


def test_tensors_on_the_cpu_are_followed_where_scikit_learn_dispatches():
    X = np.random.default_rng(0).standard_normal((60, 3))
    plain = KSums(3, random_state=0).fit(X)
    assert isinstance(KSums(3, random_state=0).fit(torch.tensor(X)).labels_, np.ndarray)
    code = (
        "import sklearn, torch, numpy as np; from ksums import KSums\n"
        "X = torch.tensor(np.random.default_rng(0).standard_normal((60, 3)))\n"
        "with sklearn.config_context(array_api_dispatch=True):\n"
        "    model = KSums(3, random_state=0).fit(X)\n"
        "    found = [model.labels_, model.cluster_centers_, model.composites_, model.sizes_, model.predict(X),\n"
        "             model.transform(X), model.assign(X, size_max='balanced'), model.fit_predict(X)]\n"
        "    assert all(isinstance(each, torch.Tensor) for each in found), [type(each) for each in found]\n"
        "    assert isinstance(model.fit(X.numpy()).labels_, np.ndarray)\n"
        "    model.fit(X)\n"
        "assert isinstance(model.predict(X.numpy()), np.ndarray)\n"
        "assert abs(model.score(X) + model.inertia_) < 1e-9\n"
        "print(model.labels_.tolist())"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert found.stdout.strip() == str(plain.labels_.tolist()), found.stderr


def test_importing_the_package_loads_neither_torch_nor_triton():
    code = "import sys, ksums; ksums.KSums(2).fit([[0.0], [1.0], [5.0]]); print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
