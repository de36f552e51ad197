"""faiss quantisers: they are trained, and no worse than those of faiss itself."""

import numpy as np
import pytest

from ksums.contrib.faiss import Kmeans, train_ivf, train_pq

faiss = pytest.importorskip("faiss", reason="faiss is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning")  # faiss raises it.


@pytest.fixture
def vectors():
    """Fifty groups in sixteen dimensions, float32."""
    rng = np.random.default_rng(0)
    return (np.repeat(rng.normal(size=(50, 16)) * 2, 60, axis=0) + rng.normal(size=(3000, 16))).astype(np.float32)


# -------------------------------------------------------------------------------------------- Kmeans
def test_replaces_faiss_kmeans(vectors):
    ours, theirs = Kmeans(16, 40, seed=0), faiss.Kmeans(16, 40, seed=0)
    objective = ours.train(vectors)
    theirs.train(vectors)
    assert ours.centroids.shape == theirs.centroids.shape
    assert ours.centroids.dtype == np.float32
    assert objective < theirs.obj[-1]
    distances, nearest = ours.assign(vectors)
    np.testing.assert_array_equal(nearest, ours.model.predict(vectors))
    assert distances.sum() == pytest.approx(((vectors - ours.centroids[nearest]) ** 2).sum(), rel=1e-4)
    assert len(ours.obj) == len(ours.iteration_stats) == len(ours.model.history_)
    assert ours.obj[-1] == pytest.approx(objective, rel=1e-4)
    assert ours.index.ntotal == 40


def test_spherical_centroids_have_unit_length(vectors):
    model = Kmeans(16, 20, spherical=True)
    model.train(vectors)
    np.testing.assert_allclose(np.linalg.norm(model.centroids, axis=1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(model.assign(vectors)[1], model.model.predict(vectors))


def test_rows_are_sampled_only_on_request(vectors):
    complete, sampled = Kmeans(16, 10), Kmeans(16, 10, max_points_per_centroid=50)
    complete.train(vectors)
    sampled.train(vectors, weights=np.ones(len(vectors)))
    assert len(complete.model.labels_) == 3000
    assert len(sampled.model.labels_) == 500


def test_the_start_and_the_number_of_passes_can_be_given(vectors):
    model = Kmeans(16, 10, niter=2, nredo=1, rule="hartigan", refine=None)
    model.train(vectors, init_centroids=vectors[:10])
    assert model.model.n_iter_ <= 2


def test_unsupported_parameters_are_refused(vectors):
    with pytest.raises(ValueError, match="gpu is not supported"):
        Kmeans(16, 10, gpu=True)
    with pytest.raises(TypeError, match="frozen_centroids"):
        Kmeans(16, 10, frozen_centroids=True)
    with pytest.raises(ValueError, match="call train"):
        Kmeans(16, 10).assign(vectors)
    with pytest.raises(ValueError, match=r"must have shape \(n, 8\); got shape \(3000, 16\)"):
        Kmeans(8, 10).train(vectors)


# -------------------------------------------------------------------------------------------- IVF
def test_the_cells_of_an_index_are_clusters(vectors):
    index = train_ivf(vectors, 30, random_state=0)
    assert index.is_trained
    assert index.ntotal == 0
    assert index.nlist == index.quantizer.ntotal == 30
    index.add(vectors)
    index.nprobe = 30
    distances, found = index.search(vectors[:20], 1)
    np.testing.assert_array_equal(found.ravel(), np.arange(20))
    np.testing.assert_allclose(distances, 0, atol=1e-4)


@pytest.mark.parametrize("form", ["IVF30,Flat", "IVF30,PQ4", "IVF30,SQ8"])
@pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
def test_any_faiss_ivf_index_can_be_trained(vectors, form, metric):
    index = faiss.index_factory(16, form, metric)
    assert train_ivf(vectors, index=index, random_state=0) is index
    assert index.is_trained
    index.add(vectors)
    index.nprobe = 5
    assert (index.search(vectors[:50], 10)[1] >= 0).all()
    if metric == faiss.METRIC_INNER_PRODUCT:
        centroids = index.quantizer.reconstruct_n(0, 30)
        np.testing.assert_allclose(np.linalg.norm(centroids, axis=1), 1.0, rtol=1e-5)


def test_unsupported_indexes_are_refused(vectors):
    with pytest.raises(ValueError, match="give nlist"):
        train_ivf(vectors)
    with pytest.raises(ValueError, match="must be a faiss IVF index with a flat coarse quantiser"):
        train_ivf(vectors, index=faiss.IndexFlatL2(16))
    with pytest.raises(ValueError, match="nlist=7, but the index has 30 cells"):
        train_ivf(vectors, 7, index=faiss.index_factory(16, "IVF30,Flat"))
    with pytest.raises(ValueError, match="has 8 dimensions; X has 16"):
        train_ivf(vectors, index=faiss.index_factory(8, "IVF30,Flat"))
    for transform in ("PCA8", "OPQ4"):
        with pytest.raises(ValueError, match="behind a transform"):
            train_ivf(vectors, index=faiss.index_factory(16, f"{transform},IVF30,Flat"))
    full = train_ivf(vectors, 20, random_state=0)
    full.add(vectors)
    with pytest.raises(ValueError, match="already holds 3000 vectors"):
        train_ivf(vectors, index=full)


# -------------------------------------------------------------------------------------------- PQ
def test_the_product_quantiser_has_less_error_than_that_of_faiss(vectors):
    ours = train_pq(vectors, 4, 6, random_state=0)
    theirs = faiss.IndexPQ(16, 4, 6)
    theirs.train(vectors)
    assert ours.is_trained
    errors = [((index.pq.decode(index.pq.compute_codes(vectors)) - vectors) ** 2).sum() for index in (ours, theirs)]
    assert errors[0] < errors[1]
    ours.add(vectors)
    assert ours.search(vectors[:5], 3)[1].shape == (5, 3)


def test_bad_code_sizes_are_refused(vectors):
    with pytest.raises(ValueError, match="m=5 does not divide the 16 dimensions"):
        train_pq(vectors, 5)
    with pytest.raises(ValueError, match="nbits must be from 1 to 16; got 20"):
        train_pq(vectors, 4, 20)


def test_missing_faiss_is_reported(vectors, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install 'ksums\[faiss\]'"):
        train_pq(vectors, 4)
