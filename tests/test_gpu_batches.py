"""``ksums.torch.batched``: many problems at the same time on a card."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from gpu_helpers import DEVICE
from sklearn.cluster import KMeans

from ksums import KSums, metrics
from ksums.compute.tensors import as_numpy
from ksums.estimators.on_card import cluster_with
from ksums.method.engines.gpu.launch import Kernels
from ksums.method.engines.gpu.twin import Twin
from ksums.torch import batched


def problems(count, n, d, k, dtype=torch.float32, seed=0):
    """Problems with k groups each, of different places and scales."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 4, (count, 1, 1))
    centres = rng.uniform(-6, 6, (count, k, d))
    rows = centres[np.arange(count)[:, None], rng.integers(k, size=(count, n))] + rng.standard_normal((count, n, d))
    return torch.tensor(scale * (rows + 3.0), device=DEVICE).to(dtype)


def clustered(X, k, metric="l2", effort="default", seed=0, operations=None):
    return cluster_with(operations or Twin(), X, k, metric == "cosine", effort, seed)


@pytest.mark.parametrize(
    ("shape", "k", "metric", "dtype"),
    [((2, 60, 5), 7, "l2", torch.float32), ((2, 40, 20), 5, "cosine", torch.bfloat16), ((2, 90, 3), 2, "l2", None)],
)
def test_kernels_cluster_as_the_twin_does(shape, k, metric, dtype):
    X = problems(*shape, 4, dtype or torch.float64)
    found = [clustered(X, k, metric, "low", operations=operations) for operations in (Kernels(), Twin())]
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain)
    assert int(found[0][2].min()) > 0


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_a_problem_gets_the_labels_that_it_gets_alone(metric):
    X = problems(4, 150, 6, 5)
    X[2] = X[2].round()  # copies of rows
    X[3] = 1e-3 * X[3] / X[3].std()
    X[3, 75:] += 1.0  # needs products of two numbers
    together = clustered(X, 6, metric)
    for at in range(4):
        alone = clustered(X[at : at + 1], 6, metric)
        for whole, single in zip(together[:3], alone[:3], strict=True):
            assert torch.equal(whole[at], single[0])
        torch.testing.assert_close(together[3][at], alone[3][0])


def test_results_are_those_of_the_labels():
    X = problems(3, 200, 4, 5)
    labels, centres, sizes, distortion = clustered(X, 5)
    assert labels.dtype == torch.int64
    assert centres.dtype == X.dtype
    for at in range(3):
        rows, own = as_numpy(X[at]), as_numpy(labels[at])
        assert as_numpy(sizes[at]).tolist() == np.bincount(own, minlength=5).tolist()
        assert float(distortion[at]) == pytest.approx(metrics.distortion(rows, own), rel=1e-6)
        for r in range(5):
            np.testing.assert_allclose(as_numpy(centres[at, r]), rows[own == r].mean(axis=0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("n", "d", "k"), [(400, 8, 7), (300, 3, 30)])
def test_optima_are_below_those_of_k_means(n, d, k):
    X = problems(8, n, d, 5, seed=3)
    distortion = as_numpy(clustered(X, k)[3])
    one_run = [KMeans(k, n_init=1, random_state=0).fit(as_numpy(rows)).inertia_ / n for rows in X]
    best = [KSums(k, random_state=0).fit(as_numpy(rows)).distortion_ for rows in X]
    assert np.median(distortion / np.array(one_run)) <= 1.0
    assert np.median(distortion / np.array(best)) <= 1.06


def test_the_order_in_memory_does_not_matter():
    X = problems(2, 60, 5, 4)
    for rows in (X, X[:1]):
        stored_by_column = rows.transpose(1, 2).contiguous().transpose(1, 2)
        assert torch.equal(clustered(stored_by_column.requires_grad_(), 4)[0], clustered(rows, 4)[0])


def test_units_do_not_matter():
    X = problems(2, 60, 5, 4)
    plain = clustered(X, 4)
    for scale in (2.0**-140, 2.0**60):
        rows = X / X.std() * scale
        found = clustered(rows, 4)
        assert torch.isfinite(found[3]).all()
        assert int(found[2].min()) > 0
    assert torch.equal(clustered(X * 2.0**20, 4)[0], plain[0])


def test_hostile_problems_leave_no_cluster_empty():
    X = torch.stack([torch.zeros(40, 3), torch.ones(40, 3) * 1e6, torch.eye(3).repeat(14, 1)[:40]]).to(DEVICE)
    X[1, 0] = -1e6
    for k in (1, 5, 40):
        assert int(clustered(X, k)[2].min()) > 0


def test_what_cannot_be_clustered_is_refused():
    with pytest.raises(TypeError, match="X must be a torch tensor on a CUDA device; got a Tensor on cpu"):
        batched(torch.zeros(2, 5, 3), 2)
    with pytest.raises(TypeError, match="got a ndarray on cpu"):
        batched(np.zeros((2, 5, 3)), 2)
    X = problems(2, 20, 3, 2)
    X[1, 4, 0] = 2e38
    with pytest.raises(ValueError, match=r"values up to 2e\+38; torch.float32 is accepted up to 1e\+37"):
        clustered(X, 3)
    X[1, 4, 0] = torch.nan
    with pytest.raises(ValueError, match="first in problem 1, row 4, column 0"):
        clustered(X, 3)
