"""Compare k-sums with the best of other packages on many real data sets: lowest sum of squares, and time.

    python benchmarks/quality.py                   all sets, about half an hour; results/quality.json
    python benchmarks/quality.py u1060 glove10k    only these sets; replaces their earlier results

Peers: scikit-learn's KMeans (k-means++, one start and ten), breathing k-means (bkmeans), faiss.Kmeans without
subsampling, and Hartigan's method from k-means++ seeds. Each uses its defaults and both cores. Sums of squares are
computed in float64 from the labels, with the mean of each cluster as its centre. ``quality_hgmeans.py`` compares with
HG-means, ``quality_levels.py`` compares levels of ``effort``.

Dense sets are centred and scaled to unit variance (one factor for all columns), which changes no clustering. Documents
are TF-IDF rows of unit length. Their measure is the mean cosine distance to the cluster's centroid; scikit-learn
minimises squared distances of unit rows, faiss runs its spherical k-means, and breathing k-means is left out because it
does not accept sparse rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from common import DATA, HERE, load, peak_bytes, print_table, reset_peak, save, short
from scipy import sparse
from sklearn.cluster import KMeans

from ksums import KSums, metrics
from ksums.text import TfIdf

SEEDS = (0, 1, 2, 3, 4)
"""Each method runs once with each seed."""
DOCUMENTS = (
    "classic",
    "fbis",
    "hitech",
    "k1a",
    "k1b",
    "la12",
    "ohscal",
    "re0",
    "re1",
    "reviews",
    "tr31",
    "tr41",
    "wap",
)
"""These are the names of the document sets."""


class Case(NamedTuple):
    """A data set: its name, its path, the numbers of clusters, and how many rows are used."""

    name: str
    path: str
    ks: tuple[int, ...]
    rows: int | None = None


CASES = [
    *(
        Case(name, f"tsplib/tsplib.npz:{name}", ks)
        for name, ks in (
            ("u1060", (10, 50)),
            ("pr2392", (20, 50)),
            ("pcb3038", (50, 100)),
            ("fnl4461", (50, 100)),
            ("rl5915", (50, 100)),
            ("usa13509", (50, 200)),
            ("d15112", (50, 200)),
            ("pla33810", (50, 200)),
        )
    ),
    *(
        Case(name, f"franti/{name}.npz:X", ks)
        for name, ks in (
            ("a1", (20, 40)),
            ("a2", (20, 35)),
            ("s1", (15, 30)),
            ("s2", (15, 30)),
            ("s4", (15, 30)),
            ("unbalance", (8, 20)),
            ("dim32", (16, 32)),
            ("birch1", (50, 100)),
        )
    ),
    *(
        Case(name, f"hgmeans/hgmeans.npz:{name}", ks)
        for name, ks in (
            ("german", (5, 10)),
            ("bavaria1", (5, 10)),
            ("bavaria2", (5, 10)),
            ("iris", (5, 10)),
            ("liver", (10, 20)),
            ("heart", (10, 20)),
            ("ionosphere", (10, 20)),
            ("congress", (10, 20)),
            ("breast", (10, 30)),
            ("pima", (10, 30)),
            ("image", (20, 50)),
            ("page", (20, 50)),
            ("pendigit", (20, 100)),
            ("letter", (26, 100)),
        )
    ),
    Case("magic", "magic/magic.npz:X", (20, 100)),
    Case("cms", "cms_dilepton/cms_dilepton.npz:X", (20, 100)),
    Case("susy", "susy10k/susy10k.npz:X", (20, 100)),
    Case("millionsong", "millionsong6724/millionsong.npz:X", (20, 100)),
    Case("mnist5k", "mnist/mnist.npz:X", (20, 100), 5_000),
    Case("sift10k", "sift/sift100k_learn.npy", (50, 200), 10_000),
    Case("glove10k", "glove100/glove60k.npy", (50, 200), 10_000),
    Case("esc10k", "esc50_mfcc60/esc50_mfcc60_50k.npz:X", (50, 200), 10_000),
    *(Case(name, f"docs/{name}/X.npz", (10, 20)) for name in DOCUMENTS),
]
"""All methods run on these data sets."""


def data(case: Case) -> np.ndarray | sparse.csr_array:
    """Return the rows of a case: TF-IDF rows for documents, float64 up to 20 columns, otherwise float32."""
    if case.path.startswith("docs/"):
        return TfIdf().fit_transform(sparse.load_npz(DATA / case.path))
    X = load(case.path).astype(np.float64)
    if case.rows is not None:
        X = X[np.random.default_rng(0).permutation(len(X))[: case.rows]]
    X = (X - X.mean(axis=0)) / np.std(X - X.mean(axis=0))
    return X if X.shape[1] <= 20 else X.astype(np.float32)


# ------------------------------------------------------------------------------------------ methods
def ksums(X: Any, k: int, seed: int, **options: Any) -> np.ndarray:
    return KSums(k, metric="cosine" if sparse.issparse(X) else "l2", random_state=seed, **options).fit(X).labels_


def hartigan(X: Any, k: int, seed: int) -> np.ndarray:
    return ksums(X, k, seed, rule="hartigan", init="k-means++", refine=None, tol=0)


def sklearn(n_init: int) -> Callable[[Any, int, int], np.ndarray]:
    return lambda X, k, seed: KMeans(k, n_init=n_init, random_state=seed).fit(X).labels_


def breathing(X: Any, k: int, seed: int) -> np.ndarray | None:
    from bkmeans import BKMeans

    return None if sparse.issparse(X) else BKMeans(n_clusters=k, random_state=seed).fit(X).labels_


def faiss(X: Any, k: int, seed: int) -> np.ndarray | None:
    import faiss

    spherical = sparse.issparse(X)
    if spherical:
        if X.shape[0] * X.shape[1] > 50_000_000:
            return None
        X = X.toarray()
    X = np.ascontiguousarray(X, np.float32)
    n, d = X.shape
    found = faiss.Kmeans(d, k, seed=seed + 1, spherical=spherical, max_points_per_centroid=n, min_points_per_centroid=1)
    found.train(X)
    return found.index.search(X, 1)[1][:, 0]


METHODS: dict[str, Callable[[Any, int, int], np.ndarray | None]] = {
    "ksums": ksums,
    "sklearn": sklearn(1),
    "sklearn x10": sklearn(10),
    "breathing": breathing,
    "faiss": faiss,
    "Hartigan": hartigan,
}
"""Each method is a function of the rows, k and a seed that returns labels, or None if it cannot run."""


def quality(X: Any, labels: np.ndarray) -> float:
    """Return the mean squared distance to the cluster's mean; for documents, return the mean cosine distance."""
    if sparse.issparse(X):
        return metrics.cosine_distance(X, labels)
    return metrics.distortion(X, labels)


def run(X: Any, k: int, methods: dict[str, Callable[[Any, int, int], np.ndarray | None]]) -> dict[str, Any]:
    """Run each method with all seeds; return its mean and best value, mean seconds, and the memory that a fit added."""
    found: dict[str, Any] = {}
    for name, method in methods.items():
        values, seconds, added = [], [], 0.0
        for seed in SEEDS:
            reset_peak()
            before, started = peak_bytes(), time.perf_counter()
            labels = method(X, k, seed)
            seconds.append(time.perf_counter() - started)
            added = max(added, (peak_bytes() - before) / 1e6)
            if labels is None:
                break
            values.append(quality(X, labels))
        if values:
            found[name] = {
                "mean": float(np.mean(values)),
                "best": float(np.min(values)),
                "s": float(np.mean(seconds)),
                "MB": added,
            }
    return found


def warm_up() -> None:
    """Compile the kernels that the measured fits use, or load them from disk."""
    rng = np.random.default_rng(0)
    for k in (5, 20):
        for dtype in (np.float32, np.float64):
            X = rng.standard_normal((300, 3)).astype(dtype)
            for method in METHODS.values():
                method(X, k, 0)
        ksums(sparse.csr_array(np.abs(X)), k, 0)


def main() -> None:
    wanted = sys.argv[1:]
    warm_up()
    rows: list[dict[str, Any]] = []
    path = HERE / "results" / "quality.json"
    if wanted and path.exists():
        rows = [row for row in json.loads(path.read_text())["results"]["cases"] if row["data"] not in wanted]
    names = [case.name for case in CASES]
    for case in CASES:
        if wanted and case.name not in wanted:
            continue
        X = data(case)
        for k in case.ks:
            found = run(X, k, METHODS)
            rows.append({"data": case.name, "n": X.shape[0], "d": X.shape[1], "k": k, "methods": found})
            best = min(method["mean"] for method in found.values())
            shown = {name: f"{method['mean'] / best - 1:.2%} {method['s']:.3g}s" for name, method in found.items()}
            print_table([{"data": case.name, "k": k, **shown}], ["data", "k", *METHODS], short)
        rows.sort(key=lambda row: names.index(row["data"]))
        peers = {package: version(package) for package in ("bkmeans", "faiss-cpu")}
        save("quality", {"peers": peers, "seeds": len(SEEDS), "cases": rows})


if __name__ == "__main__":
    main()
