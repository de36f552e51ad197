"""Real data, if it is on this machine: the results measured with the prototypes hold here, too."""

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from ksums import METHODS, KSums, metrics
from ksums.text import TfIdf


def test_rules_on_word_vectors(shared, monkeypatch):
    """E_m from random labels: hartigan ≈ paper < Lloyd from random points < online. See also benchmarks/rules.py."""
    monkeypatch.setenv("KSUMS_CHECK", "0")
    X = np.load(shared / "glove100" / "glove60k.npy")[:20_000]
    options = {"n_clusters": 1000, "init": "random-labels", "max_iter": 30, "tol": 0, "random_state": 0}
    e_m = {rule: KSums(rule=rule, **options).fit(X).distortion_ for rule in ("hartigan", "paper", "online")}
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
    """k1b, prepared as in the paper: comparing directions finds the classes better than squared distances do."""
    X = TfIdf().fit_transform(sparse.load_npz(shared / "docs" / "k1b" / "X.npz"))
    classes = np.load(shared / "docs" / "k1b" / "y.npy")
    options = {"metric": "cosine", "init": "random-labels"}
    entropies = {
        rule: [
            metrics.entropy(classes, KSums(20, rule=rule, random_state=seed, **options).fit_predict(X))
            for seed in range(3)
        ]
        for rule in ("paper", "hartigan")
    }
    assert np.mean(entropies["paper"]) < 0.17
    assert np.mean(entropies["paper"]) < np.mean(entropies["hartigan"])


def test_bisecting_documents(shared):
    """wap: the printed k-sums I_m finds the classes better than squared distances do. All sets: ksums reproduce."""
    X = TfIdf().fit_transform(sparse.load_npz(shared / "docs" / "wap" / "X.npz"))
    classes = np.load(shared / "docs" / "wap" / "y.npy")
    entropies = {
        name: np.mean([metrics.entropy(classes, METHODS[name](20, "cosine", seed).fit(X).cut(10)) for seed in range(5)])
        for name in ("bisecting k-means#", "bisecting k-sums-Im")
    }
    assert entropies["bisecting k-sums-Im"] < entropies["bisecting k-means#"]


def test_one_pass_over_image_descriptors(shared, monkeypatch):
    """Fig. 3(c, d) of the paper with fewer samples; benchmarks/sequential.py uses all."""
    monkeypatch.setenv("KSUMS_CHECK", "0")
    X = np.load(shared / "sift" / "sift100k_learn.npy")[:20_000]
    names = ("Sequential k-means", "Sequential k-sums-Im", "Sequential k-sums-Is")
    models = {name: [METHODS[name](200, random_state=seed).fit(X) for seed in range(3)] for name in names}
    e_m = {name: [model.distortion_ for model in models[name]] for name in names}
    e_s = {name: [model.pairwise_ for model in models[name]] for name in names}
    assert max(e_m["Sequential k-sums-Im"]) < min(e_m["Sequential k-means"])
    assert max(e_s["Sequential k-sums-Is"]) < min(e_s["Sequential k-sums-Im"]) < min(e_s["Sequential k-means"])
