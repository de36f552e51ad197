"""Dask: the labels of one machine, on any number of workers, also when workers are killed."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from helpers import digest, run_ksums
from sklearn.datasets import make_blobs

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")

import ksums  # noqa: E402
from ksums.dask import KSums  # noqa: E402
from ksums.dask.blocks import RemoteBlocks, _divided  # noqa: E402
from ksums.dask.compat import memory_of_workers  # noqa: E402
from ksums.io import open_source, write_vecs  # noqa: E402
from ksums.planning import shards as planning  # noqa: E402

LENGTHS = (700, 0, 300, 1500, 11, 489)


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    monkeypatch.setattr(planning, "_LEAST_SAMPLE", 300)
    monkeypatch.setattr(planning, "_ROWS_PER_CLUSTER", 40)
    monkeypatch.setattr(planning, "_BLOCK_BYTES", 16_000)


@pytest.fixture(scope="module")
def client():
    """A cluster of threads in this process, which starts at once."""
    with (
        distributed.LocalCluster(n_workers=2, processes=False, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def rows():
    return make_blobs(sum(LENGTHS), 8, centers=20, cluster_std=2.0, random_state=1)[0].astype(np.float32)


def in_parts(X):
    return np.split(X, np.cumsum(LENGTHS)[:-1])


def lazy(X, name="rows"):
    return dask.array.from_array(X, chunks=(LENGTHS, X.shape[1]), name=False)


def one_machine(X, **parameters):
    return ksums.KSums(12, random_state=3, **parameters).fit(in_parts(X))


@pytest.mark.parametrize(
    "options", [{}, {"metric": "cosine"}, {"engine": "neighbors"}, {"n_threads": 1}, {"objective": "pairwise"}]
)
def test_the_labels_of_one_machine(options, client, rows):
    model = KSums(12, random_state=3, **options).fit(lazy(rows))
    expected = one_machine(rows, **options)
    assert digest(model.labels_.compute()) == digest(expected.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.inertia_ == expected.inertia_
    assert [record.moves for record in model.history_] == [record.moves for record in expected.history_]


def test_labels_are_lazy_and_aligned(client, rows):
    X = lazy(rows)
    model = KSums(12, random_state=3).fit(X)
    assert isinstance(model.labels_, dask.array.Array)
    assert model.labels_.chunks == (LENGTHS,)
    predicted = model.predict(X)
    assert predicted.chunks == (LENGTHS,)
    np.testing.assert_array_equal(predicted.compute(), ksums.KSums.predict(model, rows))
    np.testing.assert_allclose(model.transform(X).compute(), ksums.KSums.transform(model, rows), rtol=1e-5)


def test_data_frames_and_unknown_chunks(client, rows):
    pandas = pytest.importorskip("pandas")
    import dask.dataframe

    frame = pandas.DataFrame(rows, columns=[f"c{t}" for t in range(8)])
    X = dask.dataframe.from_pandas(frame, npartitions=3)
    model = KSums(12, random_state=3).fit(X)
    parts = [part.to_numpy() for part in dask.compute(*X.to_delayed())]
    expected = ksums.KSums(12, random_state=3).fit(parts)
    assert digest(model.labels_.compute()) == digest(expected.labels_)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    unknown = KSums(12, random_state=3).fit(X.to_dask_array())
    assert digest(unknown.labels_.compute()) == digest(expected.labels_)
    assert digest(model.predict(X).compute()) == digest(ksums.KSums.predict(model, frame))


def test_files_are_read_by_the_workers(client, rows, tmp_path):
    for at, part in enumerate(in_parts(rows)):
        np.save(tmp_path / f"{at}.npy", part)
    expected = one_machine(rows)
    model = KSums(12, random_state=3).fit(str(tmp_path / "*.npy"))
    assert digest(model.labels_.compute()) == digest(expected.labels_)
    assert model.labels_.chunks == (LENGTHS,)
    assert digest(model.predict(tmp_path).compute()) == digest(expected.predict(rows))
    write_vecs(tmp_path / "0.fvecs", rows)
    assert len(pickle.dumps(open_source(tmp_path / "0.fvecs").parts)) < 1000
    model = KSums(12, random_state=3).fit(tmp_path / "0.fvecs")
    assert digest(model.labels_.compute()) == digest(ksums.KSums(12, random_state=3).fit([rows]).labels_)
    (tmp_path / "0.fvecs").unlink()
    weights = np.arange(1.0, 1 + len(rows))
    model = KSums(12, random_state=3).fit(tmp_path, sample_weight=weights)
    expected = ksums.KSums(12, random_state=3).fit(in_parts(rows), sample_weight=weights)
    assert digest(model.labels_.compute()) == digest(expected.labels_)


def test_rows_that_workers_cannot_hold_are_refused_before_they_are_read(client, rows, monkeypatch):
    monkeypatch.setattr("ksums.dask.estimator.memory_of_workers", lambda client: [1e5])
    X = lazy(rows).map_blocks(lambda block: 1 / 0, dtype=np.float32)  # would fail if it were computed
    with pytest.raises(MemoryError, match=r"X takes 9.6e-05 GB, .* or pass the names of files"):
        KSums(12).fit(X)
    assert min(memory_of_workers(client)) > 1e8


def test_partitions_of_different_widths_are_refused(client, rows):
    parts = [dask.delayed(rows), dask.delayed(rows[:, :5])]
    X = dask.array.concatenate([dask.array.from_delayed(part, (3000, 8), np.float32) for part in parts])
    with pytest.raises(ValueError, match="all partitions must have 8 columns, like the first; got 5"):
        KSums(12).fit(X)


def test_weights_of_one_are_no_weights(client, rows):
    model = KSums(12, random_state=3).fit(lazy(rows), sample_weight=np.ones(len(rows)))
    assert digest(model.labels_.compute()) == digest(one_machine(rows).labels_)


def test_bad_parameters_are_refused_before_rows_are_read(client, rows):
    X = lazy(rows).map_blocks(lambda block: 1 / 0, dtype=np.float32)  # would fail if it were computed
    with pytest.raises(ValueError, match="n_clusters"):
        KSums(n_clusters=0).fit(X)
    with pytest.raises(ValueError, match="max_memory is for one machine"):
        KSums(max_memory="1GB").fit(X)


def test_weights(client, rows, rng):
    weights = rng.uniform(0.5, 2.0, len(rows))
    model = KSums(12, random_state=3).fit(lazy(rows), sample_weight=weights)
    expected = ksums.KSums(12, random_state=3).fit(in_parts(rows), sample_weight=weights)
    assert digest(model.labels_.compute()) == digest(expected.labels_)
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        KSums(12).fit(lazy(rows), sample_weight=-weights)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(3000,\)"):
        KSums(12).fit(lazy(rows), sample_weight=weights[:5])


def test_clusters_that_would_be_empty(client):
    """Tiny clusters on many blocks: moves are taken back, and rounds that would rise are undone in part."""
    X = np.random.default_rng(0).integers(0, 4, (3000, 3)).astype(np.float64)
    model = KSums(50, random_state=0, tol=0, max_iter=25).fit(lazy(X))
    expected = ksums.KSums(50, random_state=0, tol=0, max_iter=25).fit(in_parts(X))
    labels = model.labels_.compute()
    assert digest(labels) == digest(expected.labels_)
    assert np.bincount(labels, minlength=50).min() > 0


def test_bad_input_is_refused(client, rows):
    with pytest.raises(TypeError, match="X must be a Dask array or data frame, or names of files; got ndarray"):
        KSums(12).fit(rows)
    with pytest.raises(ValueError, match="size_max is not offered for data in parts"):
        KSums(12, size_max=500).fit(lazy(rows))
    with pytest.raises(ValueError, match="should be >= n_clusters"):
        KSums(5000).fit(lazy(rows))
    rows[705, 3] = np.nan
    with pytest.raises(ValueError, match="contains NaN, first in row 705, column 3"):
        KSums(12).fit(lazy(rows))


def test_a_checkpoint_goes_on_elsewhere(client, rows, tmp_path):
    """Begun on a cluster, ended on one machine, and the other way round."""
    expected, path = one_machine(rows), tmp_path / "run.ckpt"

    def stop(record):
        return record.index == 5

    KSums(12, random_state=3, checkpoint=path, callbacks=[stop]).fit(lazy(rows))
    model = ksums.KSums(12, random_state=3, checkpoint=path).fit(in_parts(rows))
    assert digest(model.labels_) == digest(expected.labels_)
    path.unlink()
    ksums.KSums(12, random_state=3, checkpoint=path, callbacks=[stop]).fit(in_parts(rows))
    model = KSums(12, random_state=3, checkpoint=path).fit(lazy(rows))
    assert digest(model.labels_.compute()) == digest(expected.labels_)


def test_groups_hold_about_equally_many_rows():
    assert _divided([0, 1, 2, 3], [10, 10, 10, 10], 2) == [[0, 1], [2, 3]]
    assert _divided([0, 2], [5, 0, 5], 8) == [[0], [2]]
    assert _divided([0, 1, 2], [100, 1, 1], 3) == [[0], [1, 2]]


@pytest.mark.parametrize("workers", [1, 5])
def test_the_number_of_workers_changes_nothing(workers, rows):
    with (
        distributed.LocalCluster(
            n_workers=workers, processes=False, threads_per_worker=1, dashboard_address=":0"
        ) as own,
        distributed.Client(own) as client,
    ):
        model = KSums(12, random_state=3).fit(lazy(rows), client=client)
        assert digest(model.labels_.compute()) == digest(one_machine(rows).labels_)


@pytest.fixture(scope="module")
def processes():
    """A cluster whose workers can be killed; each is started again."""
    with (
        distributed.LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def kill_one(client):
    """Kill a worker a moment from now, in the middle of what is begun next."""
    victim = sorted(client.run(os.getpid).values())[0]
    threading.Thread(target=lambda: (time.sleep(0.02), os.kill(victim, signal.SIGKILL))).start()
    return victim


@pytest.mark.parametrize(("phase", "call"), [("sample", 1), ("assign", 1), ("step", 1), ("step", 4), ("measure", 1)])
def test_a_worker_is_killed(phase, call, processes, rows, monkeypatch):
    """A worker process dies in each phase of a fit; what it held is made again."""
    original, victims, calls = getattr(RemoteBlocks, phase), [], []

    def deadly(self, *arguments):
        calls.append(1)
        if len(calls) == call:
            victims.append(kill_one(processes))
        return original(self, *arguments)

    monkeypatch.setattr(RemoteBlocks, phase, deadly)
    model = KSums(12, random_state=3).fit(lazy(rows), client=processes)
    assert digest(processes.compute(model.labels_).result()) == digest(one_machine(rows).labels_)
    assert victims[0] not in processes.run(os.getpid).values()


def test_the_command_line_uses_a_cluster(processes, rows, tmp_path):
    (tmp_path / "in").mkdir()
    for at, part in enumerate(in_parts(rows)):
        np.save(tmp_path / "in" / f"{at}.npy", part)
    expected = ksums.KSums(4, random_state=0).fit(str(tmp_path / "in"))
    address = processes.scheduler.address
    code, _, errors = run_ksums(tmp_path, "fit", "in/*.npy", "-k", 4, "--dask", address, "--labels", "out")
    assert code == 0, errors
    found = [np.load(tmp_path / "out" / f"{at}.npy") for at in range(len(LENGTHS))]
    assert digest(np.concatenate(found)) == digest(expected.labels_)
    code, _, errors = run_ksums(tmp_path, "fit", "in/*.npy", "-k", 4, "--dask", address, "--max-memory", "1GB")
    assert code != 0
    assert "--max-memory is not offered with --dask" in errors


def test_a_model_is_saved_as_one_of_a_single_machine(client, rows, tmp_path):
    model = KSums(12, random_state=3).fit(lazy(rows))
    model.save(tmp_path / "model.safetensors")
    loaded = ksums.load(tmp_path / "model.safetensors")
    assert type(loaded) is ksums.KSums
    assert digest(loaded.labels_) == digest(model.labels_.compute())
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(lazy(rows)).compute())
