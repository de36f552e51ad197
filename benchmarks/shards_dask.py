"""Data in parts on the workers of a Dask cluster: the same labels everywhere, speed, traffic, killed workers, peers.

    python benchmarks/shards_dask.py            all of it, about half an hour; results/shards_dask.json
    python benchmarks/shards_dask.py same       10M × 64: one digest of the labels from arrays, files, workers, kills
    python benchmarks/shards_dask.py speed      2M × 32, k = 1,000: one and two workers; an empty round; traffic
    python benchmarks/shards_dask.py peers      1M × 32, k = 100, beside dask-ml and Spark, where they are installed

Sections that are not asked for keep their earlier results. All of it runs on this machine, in processes of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
from common import HERE, print_table, save, short
from distributed import Client, LocalCluster

import ksums
from ksums.dask.blocks import RemoteBlocks
from ksums.dask.estimator import KSums
from ksums.io import open_source

SAME = {"parts": 20, "rows": 500_000, "columns": 64, "groups": 300, "k": 100}
SPEED = {"parts": 16, "rows": 125_000, "columns": 32, "groups": 3000, "k": 1000}
PEERS = {"parts": 8, "rows": 125_000, "columns": 32, "groups": 300, "k": 100}
"""The data sets: parts, rows of each, columns, Gaussian groups; the number of clusters."""


def digest(labels: Any) -> str:
    """A short name for labels."""
    found = labels if isinstance(labels, np.ndarray) else labels.compute()
    return hashlib.sha256(np.ascontiguousarray(found, np.int32).tobytes()).hexdigest()[:16]


def part_of(data: dict[str, int], at: int) -> np.ndarray:
    """One part of a data set."""
    centres = np.random.default_rng(1).standard_normal((data["groups"], data["columns"])).astype(np.float32)
    rng = np.random.default_rng((2, at))
    own = rng.integers(len(centres), size=data["rows"])
    return centres[own] + 0.5 * rng.standard_normal((data["rows"], data["columns"]), dtype=np.float32)


@contextmanager
def files_of(data: dict[str, int], parquet: bool = False) -> Iterator[Path]:
    """A folder with a file for each part: npy, and parquet if asked for."""
    with tempfile.TemporaryDirectory(dir=HERE) as name:
        folder = Path(name)
        for at in range(data["parts"]):
            X = part_of(data, at)
            np.save(folder / f"{at:03d}.npy", X)
            if parquet:
                import pyarrow
                from pyarrow import parquet as writer

                lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.ravel()), X.shape[1])
                table = pyarrow.table({"id": np.arange(len(X)), "vector": lists})
                writer.write_table(table, folder / f"{at:03d}.parquet", row_group_size=100_000)
        yield folder


@contextmanager
def workers(count: int) -> Iterator[Client]:
    """A cluster of processes with one thread each, which have compiled what they need."""
    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        client.run(warm_up)
        yield client


def warm_up() -> None:
    """Load and compile."""
    X = [np.random.default_rng(0).random((9000, 32), np.float32)] * 2
    for k, engine in ((8, "auto"), (100, "auto"), (600, "neighbors")):
        ksums.KSums(k, engine=engine, effort="low", random_state=0).fit(X)


def measured(how: str, model: Any, *data: Any, **more: Any) -> dict[str, Any]:
    """Seconds of a fit and of a round, E_m, and the digest of the labels."""
    started = time.perf_counter()
    model.fit(*data, **more)
    seconds = time.perf_counter() - started
    took = np.diff([record.seconds for record in model.history_])
    row = {"how": how, "fit, s": seconds, "sample, s": model.history_[0].seconds, "a round, s": float(np.median(took))}
    row |= {"E_m": model.distortion_, "labels": digest(model.labels_)}
    print_table([row], list(row), short)
    return row


# ------------------------------------------------------------------------------------------ the same labels
def same() -> list[dict[str, Any]]:
    """The same digest from arrays, files and workers, with little memory, and after kills."""
    k, size = SAME["k"], 4 * SAME["parts"] * SAME["rows"] * SAME["columns"]
    warm_up()
    with files_of(SAME, parquet=True) as folder:
        npy, parquet = str(folder / "*.npy"), open_source(str(folder / "*.parquet"), ["vector"])
        arrays = [part_of(SAME, at) for at in range(SAME["parts"])]
        rows = [measured("arrays", ksums.KSums(k, random_state=0), arrays)]
        del arrays
        rows.append(measured("npy, one thread", ksums.KSums(k, random_state=0, n_threads=1), npy))
        rows.append(measured("parquet", ksums.KSums(k, random_state=0), parquet))
        tenth = max(size // 10, 700_000_000)
        rows.append(
            measured(f"npy, {tenth / size:.0%} in memory", ksums.KSums(k, random_state=0, max_memory=tenth), npy)
        )
        rows.append(killed_client(folder, npy, k))
        for count in (1, 2, 5):
            with workers(count) as client:
                how = f"Dask, {count} workers"
                rows.append(measured(how, KSums(k, random_state=0, n_threads=1), npy, client=client))
        with workers(2) as client:
            rows += killed_workers(client, npy, k)
    return rows


def killed_client(folder: Path, files: str, k: int) -> dict[str, Any]:
    """The process is killed in the middle of its rounds, twice; the third call ends."""
    path = folder / "run.ckpt"
    command = [sys.executable, __file__, "child", files, str(k), str(path)]
    for _ in range(2):
        size = path.stat().st_mtime if path.exists() else 0.0
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None and (not path.exists() or path.stat().st_mtime == size):
            time.sleep(0.05)
        time.sleep(2.5)
        process.kill()
        process.wait()
    model = ksums.KSums(k, random_state=0, checkpoint=path)
    return measured("npy, killed twice, resumed", model, files)


def killed_workers(client: Client, files: str, k: int) -> list[dict[str, Any]]:
    """A worker is killed in each phase; what that costs, beside a fit in which none is."""
    plain = measured("Dask, 2 workers, again", KSums(k, random_state=0, n_threads=1), files, client=client)
    rows = [plain]
    for phase, call in (("sample", 1), ("assign", 1), ("step", 5), ("measure", 1)):
        original, calls = getattr(RemoteBlocks, phase), []

        def deadly(self: Any, *arguments: Any, _call: int = call, _of: Any = original, _calls: Any = calls) -> Any:
            _calls.append(1)
            if len(_calls) == _call:
                victim = sorted(self.client.run(os.getpid).values())[0]
                threading.Timer(0.1, os.kill, (victim, signal.SIGKILL)).start()
            return _of(self, *arguments)

        setattr(RemoteBlocks, phase, deadly)
        try:
            row = measured(f"a worker killed in {phase}", KSums(k, random_state=0, n_threads=1), files, client=client)
        finally:
            setattr(RemoteBlocks, phase, original)
        rows.append({**row, "more, s": row["fit, s"] - plain["fit, s"]})
    path = Path(files).parent / "dask.ckpt"
    calls, original = [], RemoteBlocks.step

    def late(self: Any, order: Any) -> Any:
        calls.append(1)
        if len(calls) == 10:
            victim = sorted(self.client.run(os.getpid).values())[0]
            threading.Timer(0.1, os.kill, (victim, signal.SIGKILL)).start()
        return original(self, order)

    RemoteBlocks.step = late  # type: ignore[method-assign]
    try:
        model = KSums(k, random_state=0, n_threads=1, checkpoint=path)
        row = measured("a worker killed in round 10, checkpoints", model, files, client=client)
    finally:
        RemoteBlocks.step = original  # type: ignore[method-assign]
    return [*rows, {**row, "more, s": row["fit, s"] - plain["fit, s"]}]


def child(files: str, k: str, checkpoint: str) -> None:
    """A fit that is killed."""
    ksums.KSums(int(k), random_state=0, checkpoint=checkpoint).fit(files)


# ------------------------------------------------------------------------------------------ speed
def speed() -> list[dict[str, Any]]:
    """One and two workers against one and two threads; an empty round; bytes to and from a worker in a round."""
    k, d = SPEED["k"], SPEED["columns"]
    warm_up()
    with files_of(SPEED) as folder:
        npy = str(folder / "*.npy")
        parts = [np.load(file) for file in sorted(folder.glob("*.npy"))]
        rows = [
            measured(f"one process, {n} threads", ksums.KSums(k, random_state=0, n_threads=n), parts) for n in (1, 2)
        ]
        for count in (1, 2):
            with workers(count) as client:
                stored = [dask.array.from_delayed(dask.delayed(np.load)(str(file)), part.shape, np.float32)
                          for file, part in zip(sorted(folder.glob("*.npy")), parts, strict=True)]  # fmt: skip
                X = dask.array.concatenate(stored)
                how = f"Dask, {count} workers"
                rows.append(measured(f"{how}, rows in memory", KSums(k, random_state=0, n_threads=1), X, client=client))
                rows.append(measured(f"{how}, files", KSums(k, random_state=0, n_threads=1), npy, client=client))
                tiny = dask.array.from_array(np.random.default_rng(0).random((400, d), np.float32), chunks=(200, d))
                empty = measured(
                    f"{how}, 400 rows, k = 10", KSums(10, random_state=0, n_threads=1), tiny, client=client
                )
                rows.append(empty)
        rows.append(traffic(parts[0], k, d))
    return rows


def traffic(X: np.ndarray, k: int, d: int) -> dict[str, Any]:
    """Bytes that a worker gets and hands back in a round, as they are sent."""
    sizes: dict[str, int] = {}
    original = RemoteBlocks.step

    def weigh(self: Any, order: Any) -> Any:
        step = original(self, order)
        sizes.update(sent=len(pickle.dumps(order)), back=len(pickle.dumps(step)))
        return step

    RemoteBlocks.step = weigh  # type: ignore[method-assign]
    try:
        with workers(1) as client:
            data = dask.array.from_array(X[:20_000], chunks=(10_000, d))
            KSums(k, random_state=0, n_threads=1, effort="low").fit(data, client=client)
    finally:
        RemoteBlocks.step = original  # type: ignore[method-assign]
    total = sizes["sent"] + sizes["back"]
    return {
        "how": f"traffic of a round, k = {k}, d = {d}",
        "bytes": total,
        "k (d + 2) 8 times": total / (k * (d + 2) * 8),
    }


# ------------------------------------------------------------------------------------------ peers
def peers() -> list[dict[str, Any]]:
    """Time and E_m of dask-ml and Spark; how long a fit of ours takes to be as low."""
    k = PEERS["k"]
    warm_up()
    with files_of(PEERS) as folder:
        parts = [np.load(file) for file in sorted(folder.glob("*.npy"))]
        X = np.concatenate(parts)
        with workers(2) as client:
            data = dask.array.from_array(X, chunks=(len(parts[0]), X.shape[1])).persist()
            model = KSums(k, random_state=0, n_threads=1)
            rows = [measured("ksums.dask, 2 workers", model, data, client=client)]
            history = [(record.seconds, record.distortion) for record in model.history_]
            rows += [row for row in (of_peer(name, run, data, X) for name, run in PEER_FITS.items()) if row]
    for row in rows:
        reached = [seconds for seconds, value in history if value <= row["E_m"] * (1 + 1e-9)]
        row["ksums as low after, s"] = reached[0] if reached else None
    print_table(rows, ["how", "fit, s", "E_m", "ksums as low after, s"], short)
    return rows


def of_peer(name: str, run: Callable[[Any, np.ndarray], np.ndarray], data: Any, X: np.ndarray) -> dict[str, Any] | None:
    """Time of a peer, and E_m of its centres, in float64; None if it is not installed."""
    try:
        started = time.perf_counter()
        centres = run(data, X)
        seconds = time.perf_counter() - started
    except ImportError as error:
        print(f"{name}: {error}")
        return None
    squares = 0.0
    for first in range(0, len(X), 50_000):
        part = X[first : first + 50_000].astype(np.float64)
        away = (part**2).sum(1)[:, None] - 2 * part @ centres.T + (centres**2).sum(1)
        squares += float(away.min(axis=1).sum())
    return {"how": name, "fit, s": seconds, "E_m": squares / len(X), "centres": len(np.unique(centres, axis=0))}


def _dask_ml(data: Any, X: np.ndarray) -> np.ndarray:
    from dask_ml.cluster import KMeans

    return np.asarray(KMeans(PEERS["k"], random_state=0).fit(data).cluster_centers_, np.float64)


def _spark(data: Any, X: np.ndarray) -> np.ndarray:
    import pandas
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    names = [f"c{t}" for t in range(X.shape[1])]
    frame = session.createDataFrame(pandas.DataFrame(X, columns=names))
    rows = VectorAssembler(inputCols=names, outputCol="features").transform(frame).select("features").cache()
    rows.count()
    started = time.perf_counter()
    model = KMeans(k=PEERS["k"], seed=0).fit(rows)
    print(f"Spark: {time.perf_counter() - started:.1f} s for the fit alone")
    found = np.array(model.clusterCenters(), np.float64)
    session.stop()
    return found


PEER_FITS = {"dask-ml KMeans": _dask_ml, "Spark KMeans": _spark}


def main() -> None:
    """Run the sections that are asked for."""
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
        return
    sections = {"same": same, "speed": speed, "peers": peers}
    path = HERE / "results" / "shards_dask.json"
    found = json.loads(path.read_text())["results"] if path.exists() else {}
    for name in sys.argv[1:] or sections:
        found[name] = sections[name]()
        data = {"same": SAME, "speed": SPEED, "peers": PEERS}
        save("shards_dask", {**{key: found[key] for key in sections if key in found}, "data": data})


if __name__ == "__main__":
    main()
