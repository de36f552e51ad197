"""Data in parts: how low a fit ends beside one in memory, and what it costs to read the rows from disk in each round.

    python benchmarks/shards.py             all of it, about half an hour; results/shards.json
    python benchmarks/shards.py quality     E_m against a fit in memory: samples, blocks, orders; SIFT, GloVe, MNIST
    python benchmarks/shards.py disk        20 GB in files, read again in each round, with 1 GB of memory

Sections that are not asked for keep their earlier results. ``shards_dask.py`` has the same on the workers of a cluster.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, in_new_process, load, peak_bytes, print_table, reset_peak, save, short

from ksums import KSums
from ksums.checking.sources import bytes_of
from ksums.planning import shards

SETS = [
    ("SIFT 200K", "sift/sift200k_base.npy", (100, 1000, 5000), {}),
    ("GloVe 60K", "glove100/glove60k.npy", (100, 1000), {}),
    ("GloVe 60K, cosine", "glove100/glove60k.npy", (100,), {"metric": "cosine"}),
    ("SIFT 200K, pairwise", "sift/sift200k_base.npy", (100,), {"objective": "pairwise"}),
    ("MNIST", "mnist/mnist.npz:X", (20,), {}),
]
"""Data sets, the numbers of clusters, and parameters."""
SAMPLES = (256, 1024)
"""Rows for each cluster in the sample."""
SEEDS = 3
DISK = {"files": 20, "rows": 4_000_000, "columns": 64, "k": 100, "memory": "1GB"}
"""Files of the data set on disk, rows in each; k, and the memory that a fit may use."""


def digest(labels: np.ndarray) -> str:
    """A short name for labels, which need not fit into memory."""
    found = hashlib.sha256()
    for first in range(0, len(labels), 1 << 20):
        found.update(np.ascontiguousarray(labels[first : first + (1 << 20)], np.int32).data)
    return found.hexdigest()[:16]


# ------------------------------------------------------------------------------------------ quality
def quality() -> list[dict[str, Any]]:
    """The objective of data in parts, in per cent above fits in memory, mean of the seeds."""
    rows = []
    for name, path, ks, options in SETS:
        X = np.ascontiguousarray(load(path).astype(np.float32))
        shuffled = X[np.random.default_rng(0).permutation(len(X))]
        for k in ks:
            base, least, most, seconds = fits(k, options, shuffled, 2 if k < 1000 else 1)
            rows.append(
                {"data": name, "k": k, "how": "in memory", "objective": base, "above, %": 0.0}
                | {"least": 100 * (least / base - 1), "most": 100 * (most / base - 1), "s": seconds}
            )
            for how, sample, parts in cases(shuffled, k):
                shards._ROWS_PER_CLUSTER, shards._LEAST_SAMPLE = sample, 0
                mean, least, most, seconds = fits(k, options, parts, SEEDS if k < 1000 else 1)
                rows.append(
                    {"data": name, "k": k, "how": how, "objective": mean, "above, %": 100 * (mean / base - 1)}
                    | {"least": 100 * (least / base - 1), "most": 100 * (most / base - 1), "s": seconds}
                )
            print_table([row for row in rows if row["data"] == name and row["k"] == k], list(rows[0]), short)
    return rows


def fits(k: int, options: dict[str, Any], data: Any, seeds: int) -> tuple[float, float, float, float]:
    """Mean, least and largest objective of some seeds, and the mean of the seconds."""
    started = time.perf_counter()
    found = [KSums(k, random_state=seed, **options).fit(data).objective_ for seed in range(seeds)]
    return float(np.mean(found)), min(found), max(found), (time.perf_counter() - started) / seeds


def cases(X: np.ndarray, k: int) -> list[tuple[str, int, list[np.ndarray]]]:
    """The ways to cut the rows into blocks, with samples of at most half of the rows; else the default sample."""
    axis = np.linalg.svd(X[:5000] - X[:5000].mean(axis=0), full_matrices=False)[2][0]
    shares = np.exp(1.5 * np.random.default_rng(7).standard_normal(128))
    edges = (np.cumsum(shares) / shares.sum() * len(X)).astype(int)[:-1]
    by_content, uneven = np.array_split(X[np.argsort(X @ axis)], 128), np.split(X, edges)
    found, few = [], 64 if k >= 1000 else 256
    for sample in SAMPLES:
        if sample * k <= len(X) // 2:
            found += [(f"{n} blocks, {sample} rows per cluster", sample, np.array_split(X, n)) for n in (2, 128)]
    if few * k <= len(X) // 2:
        found.append((f"128 blocks sorted by content, {few} rows per cluster", few, by_content))
        found.append((f"128 uneven blocks, {few} rows per cluster", few, uneven))
    if not found:
        found.append(("16 blocks, sample of all rows", 1024, np.array_split(X, 16)))
    return found


# ------------------------------------------------------------------------------------------ disk
def disk() -> list[dict[str, Any]]:
    """Rows in files, in limited memory: the time of a round beside that of reading the files."""
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        centres = np.random.default_rng(1).standard_normal((500, DISK["columns"])).astype(np.float32) * 1.5
        for at in range(DISK["files"]):
            rng = np.random.default_rng((2, at))
            own = rng.integers(len(centres), size=DISK["rows"])
            noise = rng.standard_normal((DISK["rows"], DISK["columns"]), dtype=np.float32)
            noise += centres[own]
            np.save(Path(folder) / f"{at:03d}.npy", noise)
        row = in_new_process("shards.py", "child", folder, DISK["memory"])
    print_table([row], list(row), short)
    return [row]


def child(folder: str, memory: str) -> None:
    """Fit in a process of its own that cannot have more memory, and print what it took."""
    files = sorted(Path(folder).glob("*.npy"))
    size = sum(file.stat().st_size for file in files)
    X = [np.random.default_rng(0).random((20_000, DISK["columns"]), np.float32)] * 2
    for k in (8, DISK["k"]):  # compiles
        KSums(k, random_state=0).fit(X)
    forget_files()
    started = time.perf_counter()
    for file in files:
        with file.open("rb", buffering=0) as stream:
            while stream.read(1 << 24):
                pass
    reading = time.perf_counter() - started
    own = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData"))
    limit = int(own.split()[1]) * 1024 + int(bytes_of(memory))
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    reset_peak()
    before, starts = peak_bytes(), []
    started = time.perf_counter()

    def note(record: Any) -> None:
        starts.append(time.perf_counter())
        forget_files()

    model = KSums(DISK["k"], random_state=0, max_memory=memory, callbacks=[note]).fit(str(Path(folder) / "*.npy"))
    seconds, took = time.perf_counter() - started, np.diff(starts).tolist()
    rate, round_rate = size / 1e9 / reading, size / 1e9 / float(np.median(took))
    print(
        json.dumps(
            {"GB": size / 1e9, "max_memory": memory, "read the files, GB/s": rate, "a round, GB/s": round_rate}
            | {"share": round_rate / rate, "first round, s": took[0], "last round, s": took[-1], "fit, s": seconds}
            | {"sample, s": model.history_[0].seconds, "memory, MB": (peak_bytes() - before) / 1e6}
            | {"of which labels in files, MB": 8 * len(model.labels_) / 1e6 * isinstance(model.labels_, np.memmap)}
            | {"E_m": model.distortion_, "labels": digest(model.labels_)}
        )
    )


def forget_files() -> None:
    """Let the system forget what it has read, so that the next round reads the disk; that takes a privilege."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("1")


def main() -> None:
    """Run the sections that are asked for."""
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
        return
    sections = {"quality": quality, "disk": disk}
    path = HERE / "results" / "shards.json"
    found = json.loads(path.read_text())["results"] if path.exists() else {}
    for name in sys.argv[1:] or sections:
        found[name] = sections[name]()
        save("shards", {**{key: found[key] for key in sections if key in found}, "disk data": DISK})


if __name__ == "__main__":
    main()
