"""Checkpoints of fits of one array: whatever kills a fit, and whenever, it ends with the labels of one in one go.

``test_shards.py`` and ``test_dask.py`` have the same for data in parts.
"""

import signal
import time

import numpy as np
import pytest
from helpers import killed_and_resumed
from scipy import sparse
from sklearn.datasets import make_blobs

from ksums import FitInterrupted, KSums
from ksums.method.fitting.checkpoint import CheckpointFile
from ksums.method.fitting.resuming import FitCheckpoint
from ksums.planning import samples


@pytest.fixture
def rows():
    return make_blobs(1500, 8, centers=20, cluster_std=3.0, random_state=1)[0].astype(np.float32)


def sparse_rows(X):
    return sparse.csr_array(np.where(X > 3, X, 0).astype(np.float64))


FITS = {
    "exact, annealing and search": {"n_clusters": 30},
    "rows kernel": {"n_clusters": 6},
    "three rounds of search": {"n_clusters": 30, "effort": "high"},
    "no search": {"n_clusters": 12, "refine": None},
    "hartigan": {"n_clusters": 12, "rule": "hartigan", "init": "random-labels", "refine": None},
    "released, which never settles": {"n_clusters": 12, "rule": "released", "max_iter": 25},
    "cosine": {"n_clusters": 12, "metric": "cosine"},
    "pairwise, several runs": {"n_clusters": 12, "objective": "pairwise", "n_init": 3},
    "size limits": {"n_clusters": 10, "size_min": 140, "size_max": 160},
    "lists": {"n_clusters": 60, "engine": "neighbors", "n_neighbors": 12},
    "lists, then a polish": {"n_clusters": 60, "engine": "neighbors", "n_neighbors": 12, "polish": "pass"},
    "lists, then nearest centres": {"n_clusters": 60, "engine": "neighbors", "n_neighbors": 12, "polish": "assign"},
    "blocks": {"n_clusters": 20, "engine": "blocks"},
    "reference": {"n_clusters": 5, "engine": "reference", "refine": None},
    "sparse": {"n_clusters": 8, "make": sparse_rows},
    "weights": {"n_clusters": 12, "weighted": True},
    "given labels": {"n_clusters": 12, "init": np.arange(1500) % 12},
}


class KilledError(Exception):
    """Stands for kill −9 between two passes."""


def model_of(options, rows, rng):
    """Return the estimator of a case, its rows and weights."""
    own = {name: value for name, value in options.items() if name not in ("make", "weighted")}
    X = options.get("make", lambda X: X)(rows)
    return KSums(random_state=0, **own), X, rng.uniform(0.5, 2.0, len(rows)) if options.get("weighted") else None


def summary(model):
    return [(record.stage, record.moves, record.objective) for record in model.history_]


@pytest.mark.parametrize("options", FITS.values(), ids=FITS.keys())
def test_a_fit_killed_after_every_pass_ends_with_the_same_labels(options, rows, rng, tmp_path, monkeypatch):
    """The process dies each time the file has been written: after every pass, every search and every run."""
    monkeypatch.setattr(CheckpointFile, "is_due", lambda self: True)
    model, X, weights = model_of(options, rows, rng)
    expected = model.fit(X, sample_weight=weights)
    labels, records, composites = expected.labels_, summary(expected), expected.composites_
    model.set_params(checkpoint=tmp_path / "run.ckpt")
    write, kills = CheckpointFile.write, 0

    def write_and_die(self, *arguments):
        write(self, *arguments)
        raise KilledError

    with monkeypatch.context() as deadly:
        deadly.setattr(CheckpointFile, "write", write_and_die)
        while kills < 400:
            try:
                model.fit(X, sample_weight=weights)
                break
            except KilledError:
                kills += 1
    stages = [stage for stage, _, _ in records]
    if "assign" in stages:  # what follows under constraints is repeated as a whole
        stages = stages[: stages.index("assign")]
    assert kills >= len(stages) - stages.count("merge-split")
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.composites_, composites)
    assert summary(model) == records
    assert model.converged_ == expected.converged_
    again = model.fit(X, sample_weight=weights)  # the fit is done, and stays as it is
    np.testing.assert_array_equal(again.labels_, labels)


def test_the_start_from_samples_is_kept(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "LEAST_ROWS", 1000)
    path = tmp_path / "run.ckpt"
    expected = KSums(10, random_state=0).fit(rows)
    assert expected.plan_.samples is not None
    with pytest.raises(KilledError):
        KSums(10, random_state=0, checkpoint=path, callbacks=[_killer(2)]).fit(rows)
    monkeypatch.setattr("ksums.method.fitting.run.SampleSearch", None)  # it is not needed any more
    found = KSums(10, random_state=0, checkpoint=path).fit(rows)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def _killer(index):
    def kill(record):
        if record.index == index:
            raise KilledError

    return kill


def test_a_fit_that_was_stopped_goes_on(rows, tmp_path):
    path, expected = tmp_path / "run.ckpt", KSums(30, random_state=0).fit(rows)
    stopped = KSums(30, random_state=0, checkpoint=path, callbacks=[lambda record: record.index == 7]).fit(rows)
    assert len(stopped.history_) == 7
    found = KSums(30, random_state=0, checkpoint=path, n_threads=1).fit(rows)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    seconds = [record.seconds for record in found.history_]
    assert seconds == sorted(seconds)


def test_without_a_seed_the_file_has_it(rows, tmp_path):
    path = tmp_path / "run.ckpt"
    first = KSums(30, checkpoint=path, callbacks=[lambda record: record.index == 3]).fit(rows)
    assert len(first.history_) == 3
    second = KSums(30, checkpoint=path).fit(rows)
    third = KSums(30, checkpoint=path).fit(rows)
    np.testing.assert_array_equal(second.labels_, third.labels_)
    assert summary(second)[:3] == summary(first)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"n_clusters": 13}, "n_clusters='12'"),
        ({"random_state": 1}, "seeds="),
        ({"effort": "high"}, "effort=\"'default'\""),
        ({"init": np.arange(1500) % 12}, "init='auto'"),
    ],
)
def test_other_parameters_are_refused(change, word, rows, tmp_path):
    path = tmp_path / "run.ckpt"
    KSums(12, random_state=0, checkpoint=path).fit(rows)
    before = path.read_bytes()
    other = KSums(12, random_state=0, checkpoint=path).set_params(**change)
    with pytest.raises(ValueError, match=rf"run.ckpt belongs to a fit with {word}.*Use another file"):
        other.fit(rows)
    assert path.read_bytes() == before


def test_other_rows_and_weights_are_refused(rows, tmp_path):
    model = KSums(12, random_state=0, checkpoint=tmp_path / "run.ckpt").fit(rows)
    with pytest.raises(ValueError, match="belongs to a fit with shape="):
        model.fit(rows[1:])
    with pytest.raises(ValueError, match="belongs to a fit with data="):
        model.fit(rows, sample_weight=np.full(len(rows), 2.0))
    rows[700, 3] += 1e-3
    with pytest.raises(ValueError, match="belongs to a fit with data="):
        model.fit(rows)


@pytest.mark.parametrize("limit", [{"effort": 0.1}, {"time_budget": 10}])
def test_work_by_the_clock_is_refused(limit, rows, tmp_path):
    with pytest.raises(ValueError, match="checkpoint requires work that does not depend on the clock"):
        KSums(12, checkpoint=tmp_path / "run.ckpt", **limit).fit(rows)
    assert not list(tmp_path.iterdir())


def test_writing_takes_a_small_share_of_the_time(tmp_path):
    file = CheckpointFile(tmp_path / "run.ckpt", {})
    assert file.is_due()
    began = time.perf_counter()
    file.write({}, {"labels": np.zeros(2_000_000, np.int32)})
    took = time.perf_counter() - began
    assert not file.is_due()
    assert file._next - began >= 15 * took


def test_ctrl_c_leaves_a_file_to_go_on_from(rows, tmp_path):
    path, expected = tmp_path / "run.ckpt", KSums(30, random_state=0).fit(rows)

    def interrupt(record):
        if record.index == 9:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(FitInterrupted):
        KSums(30, random_state=0, checkpoint=path, callbacks=[interrupt]).fit(rows)
    found = KSums(30, random_state=0, checkpoint=path).fit(rows)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_kill_9_at_any_moment(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((8000, 8)).astype(np.float32))
    program = """
import sys, hashlib, numpy
from ksums import KSums
model = KSums(40, random_state=0, n_init=3, checkpoint=sys.argv[2] or None).fit(numpy.load(sys.argv[1]))
print(hashlib.sha256(model.labels_.tobytes()).hexdigest())
"""
    expected, found = killed_and_resumed(program, tmp_path / "rows.npy", tmp_path)
    assert found == expected


def test_nothing_is_read_for_a_fit_without_a_checkpoint(rows, monkeypatch):
    monkeypatch.setattr(FitCheckpoint, "load", None)
    monkeypatch.setattr("ksums.estimators.checkpoints.digest_of", None)
    KSums(5, random_state=0).fit(rows)
