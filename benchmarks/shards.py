"""Data in parts: how low it ends beside a fit in memory, what it costs to read from disk, and the same on Dask.

    python benchmarks/shards.py             all of it, about half an hour; results/shards.json
    python benchmarks/shards.py quality     E_m against a fit in memory: samples, blocks, orders; SIFT, GloVe, MNIST
    python benchmarks/shards.py disk        a data set of some GB in files, read again in each round, in limited memory
    python benchmarks/shards.py dask        one and two workers against one process; the digest of the labels

Sections that are not asked for keep their earlier results.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, in_new_process, load, peak_bytes, print_table, save, short

from ksums import KSums
from ksums.planning import shards

SETS = [
    ("SIFT 200K", "sift/sift200k_base.npy", (100, 1000)),
    ("GloVe 60K", "glove100/glove60k.npy", (100, 1000)),
    ("MNIST", "mnist/mnist.npz:X", (20,)),
]
"""Data sets, and the numbers of clusters."""
SAMPLES = (64, 256, 1024)
"""Rows for each cluster in the sample."""
DISK = {"files": 8, "rows": 2_000_000, "columns": 64, "k": 256, "memory": "1GB"}
"""Files of the data set on disk, rows in each; k, and the memory that a fit may use."""
CLUSTER = {"rows": 2_000_000, "columns": 32, "parts": 16, "k": 1000}
"""The data for Dask."""


def digest(labels: np.ndarray) -> str:
    """A short name for labels."""
    return hashlib.sha256(np.ascontiguousarray(labels, np.int32).tobytes()).hexdigest()[:16]


# ------------------------------------------------------------------------------------------ quality
def quality() -> list[dict[str, Any]]:
    """E_m of data in parts, in per cent above a fit in memory with the same seed."""
    rows = []
    for name, path, ks in SETS:
        X = np.ascontiguousarray(load(path).astype(np.float32))
        shuffled = X[np.random.default_rng(0).permutation(len(X))]
        for k in ks:
            started = time.perf_counter()
            one = KSums(k, random_state=0).fit(shuffled)
            base, seconds = one.distortion_, time.perf_counter() - started
            rows.append({"data": name, "k": k, "how": "in memory", "E_m": base, "above, %": 0.0, "s": seconds})
            for how, sample, parts in cases(shuffled):
                if sample * k > len(X) // 2:
                    continue
                shards._ROWS_PER_CLUSTER, shards._LEAST_SAMPLE = sample, 0
                started = time.perf_counter()
                value = KSums(k, random_state=0).fit(parts).distortion_
                seconds = time.perf_counter() - started
                rows.append(
                    {"data": name, "k": k, "how": f"{how}, {sample} rows per cluster", "E_m": value}
                    | {"above, %": 100 * (value / base - 1), "s": seconds}
                )
            print_table([row for row in rows if row["data"] == name and row["k"] == k], list(rows[0]), short)
    return rows


def cases(X: np.ndarray) -> list[tuple[str, int, list[np.ndarray]]]:
    """The ways to cut the rows into blocks."""
    axis = np.linalg.svd(X[:5000] - X[:5000].mean(axis=0), full_matrices=False)[2][0]
    shares = np.exp(1.5 * np.random.default_rng(7).standard_normal(128))
    edges = (np.cumsum(shares) / shares.sum() * len(X)).astype(int)[:-1]
    found = [(f"{count} blocks", sample, np.array_split(X, count)) for sample in SAMPLES for count in (2, 128)]
    found.append(("128 blocks sorted by content", 256, np.array_split(X[np.argsort(X @ axis)], 128)))
    found.append(("128 uneven blocks", 256, np.split(X, edges)))
    return found


# ------------------------------------------------------------------------------------------ disk
def disk() -> list[dict[str, Any]]:
    """Rows in files, in limited memory: the time of a round beside that of reading the files."""
    with tempfile.TemporaryDirectory(dir=Path(sys.argv[0]).resolve().parent) as folder:
        centres = np.random.default_rng(1).standard_normal((500, DISK["columns"])).astype(np.float32) * 1.5
        for at in range(DISK["files"]):
            rng = np.random.default_rng((2, at))
            own = rng.integers(len(centres), size=DISK["rows"])
            noise = rng.standard_normal((DISK["rows"], DISK["columns"]), dtype=np.float32)
            np.save(Path(folder) / f"{at:03d}.npy", centres[own] + noise)
        rows = [
            in_new_process("shards.py", "child", folder, memory) for memory in (DISK["memory"], "half of what is free")
        ]
    print_table(rows, list(rows[0]), short)
    return rows


def child(folder: str, memory: str) -> None:
    """Fit in a process of its own, and print what it took."""
    files = sorted(Path(folder).glob("*.npy"))
    size = sum(file.stat().st_size for file in files)
    started = time.perf_counter()
    for file in files:
        with file.open("rb", buffering=0) as stream:
            while stream.read(1 << 24):
                pass
    reading = time.perf_counter() - started
    KSums(8, random_state=0).fit([np.random.default_rng(0).random((20_000, 8), np.float32)] * 2)  # compiles
    before = peak_bytes()
    limit = memory if memory[0].isdigit() else None
    started = time.perf_counter()
    model = KSums(DISK["k"], random_state=0, max_memory=limit).fit(str(Path(folder) / "*.npy"))
    seconds = time.perf_counter() - started
    took = np.diff([record.seconds for record in model.history_])
    print(
        json.dumps(
            {"GB": size / 1e9, "max_memory": memory, "read the files, s": reading, "fit, s": seconds}
            | {"sample, s": model.history_[0].seconds, "a round, s": float(np.median(took))}
            | {"GB/s in a round": size / 1e9 / float(np.median(took)), "memory, MB": (peak_bytes() - before) / 1e6}
            | {"E_m": model.distortion_, "labels": digest(model.labels_)}
        )
    )


# ------------------------------------------------------------------------------------------ Dask
def on_dask() -> list[dict[str, Any]]:
    """The same fit in one process with one and two threads, and on one and two workers of one thread."""
    import dask.array
    from distributed import Client, LocalCluster

    from ksums.dask import KSums as OnDask

    rng = np.random.default_rng(3)
    centres = rng.standard_normal((3000, CLUSTER["columns"])).astype(np.float32)
    own = rng.integers(len(centres), size=CLUSTER["rows"])
    X = centres[own] + 0.5 * rng.standard_normal((CLUSTER["rows"], CLUSTER["columns"]), dtype=np.float32)
    parts, k = np.array_split(X, CLUSTER["parts"]), CLUSTER["k"]
    rows = [measured(f"one process, {n} threads", KSums(k, random_state=0, n_threads=n), parts) for n in (1, 2)]
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        for at, part in enumerate(parts):
            np.save(Path(folder) / f"{at:03d}.npy", part)
        for workers in (1, 2):
            with (
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster) as client,
            ):
                stored = [dask.array.from_delayed(dask.delayed(np.load)(str(file)), part.shape, np.float32)
                          for file, part in zip(sorted(Path(folder).iterdir()), parts, strict=True)]  # fmt: skip
                data = dask.array.concatenate(stored)
                client.run(
                    lambda: KSums(8, random_state=0).fit([np.random.default_rng(0).random((9000, 32), np.float32)] * 2)
                )
                rows.append(measured(f"Dask, {workers} workers", OnDask(k, random_state=0, n_threads=1), data))
    print_table(rows, list(rows[0]), short)
    return rows


def measured(name: str, model: Any, data: Any) -> dict[str, Any]:
    """Seconds of a fit and of a round, E_m, and the digest of the labels."""
    started = time.perf_counter()
    model.fit(data)
    seconds = time.perf_counter() - started
    took = np.diff([record.seconds for record in model.history_])
    labels = model.labels_ if isinstance(model.labels_, np.ndarray) else model.labels_.compute()
    about = {
        "how": name,
        "fit, s": seconds,
        "sample, s": model.history_[0].seconds,
        "a round, s": float(np.median(took)),
    }
    return {**about, "E_m": model.distortion_, "labels": digest(labels)}


def main() -> None:
    """Run the sections that are asked for."""
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
        return
    sections = {"quality": quality, "disk": disk, "dask": on_dask}
    path = HERE / "results" / "shards.json"
    found = json.loads(path.read_text())["results"] if path.exists() else {}
    for name in sys.argv[1:] or sections:
        found[name] = sections[name]()
        save("shards", {**found, "disk data": DISK, "Dask data": CLUSTER})


if __name__ == "__main__":
    main()
