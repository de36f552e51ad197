"""Real data, where it is at hand: what was measured with the prototypes holds here too."""

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from ksums import KSums, metrics


def test_rules_on_word_vectors(shared, monkeypatch):
    """From random labels: hartigan ≈ paper < Lloyd from random points < online. (See benchmarks/rules.py for more.)"""
    monkeypatch.setenv("KSUMS_CHECK", "0")
    X = np.load(shared / "glove100" / "glove60k.npy")[:20_000]
    given = {"n_clusters": 1000, "init": "random-labels", "max_iter": 30, "tol": 0, "random_state": 0}
    e_m = {rule: KSums(rule=rule, **given).fit(X).distortion_ for rule in ("hartigan", "paper", "online")}
    assert abs(e_m["paper"] / e_m["hartigan"] - 1) < 0.005
    lloyd = KMeans(1000, init="random", n_init=1, max_iter=30, tol=0, random_state=0).fit(X)
    assert max(e_m["hartigan"], e_m["paper"]) < metrics.distortion(X, lloyd.labels_) < e_m["online"]


def test_bytes_of_image_descriptors(shared, monkeypatch):
    monkeypatch.setenv("KSUMS_CHECK", "0")
    mapped = np.load(shared / "sift" / "sift100k_learn.npy", mmap_mode="r")[:20_000]
    assert mapped.dtype == np.uint8
    model = KSums(100, max_iter=5, random_state=0).fit(mapped)
    np.testing.assert_array_equal(
        model.labels_, KSums(100, max_iter=5, random_state=0).fit(mapped.astype(np.float32)).labels_
    )
    pairs = KSums(100, objective="pairwise", max_iter=5, random_state=0).fit(mapped)
    assert pairs.pairwise_ < model.pairwise_
    assert model.distortion_ < pairs.distortion_


def test_documents_under_cosine(shared):
    """k1b, prepared as by the paper's authors: comparing directions finds the classes better than squares do."""
    counts = sparse.load_npz(shared / "docs" / "k1b" / "X.npz").astype(np.float64).tocsr()
    classes = np.load(shared / "docs" / "k1b" / "y.npy")
    document_frequency = np.maximum(np.bincount(counts.indices, minlength=counts.shape[1]), 1)
    X = sparse.csr_array(counts.multiply(np.log(counts.shape[0] / document_frequency)))
    given = {"metric": "cosine", "init": "random-labels"}
    entropies = {
        rule: [
            metrics.entropy(classes, KSums(20, rule=rule, random_state=seed, **given).fit_predict(X))
            for seed in range(3)
        ]
        for rule in ("paper", "hartigan")
    }
    assert np.mean(entropies["paper"]) < 0.17
    assert np.mean(entropies["paper"]) < np.mean(entropies["hartigan"])
