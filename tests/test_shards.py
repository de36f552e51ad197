"""Data in parts: the same labels from files, arrays and functions, with any memory and threads, killed or not."""

import itertools
import json
import pkgutil
import warnings

import numpy as np
import pytest
from helpers import digest, killed_and_resumed, rule_of
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from ksums import Annealed, BisectingKSums, FitInterrupted, KSums
from ksums.io import open_source, write_vecs
from ksums.method.data.rows import prepare
from ksums.method.fitting.checkpoint import CheckpointFile
from ksums.method.shards.blocks import places_of
from ksums.method.shards.kept import KeptEngines
from ksums.method.shards.local import LocalBlocks
from ksums.method.shards.orders import Order
from ksums.method.shards.start import drawn, sample_counts
from ksums.method.shards.sums import Sums, Units, changes, clusters_of
from ksums.method.state.state import build_state
from ksums.planning import shards as planning
from ksums.planning.plan import EnginePlan


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of some hundred rows and samples of a few hundred, so that tests are quick."""
    monkeypatch.setattr(planning, "_BLOCK_BYTES", 16_000)
    monkeypatch.setattr(planning, "_LEAST_SAMPLE", 300)
    monkeypatch.setattr(planning, "_ROWS_PER_CLUSTER", 40)


@pytest.fixture
def parts(rng):
    """Three parts of different lengths."""
    X, _ = make_blobs(4000, 8, centers=20, cluster_std=2.0, random_state=1)
    X = X.astype(np.float32)
    return [X[:1500], X[1500:1800], X[1800:]]


def fitted(data, k=12, **parameters):
    return KSums(k, **{"random_state": 3, **parameters}).fit(data)


# -------------------------------------------------------------------------------------------- blocks and samples
def test_blocks_cover_all_rows_and_cross_no_part():
    places = places_of([10, 0, 7, 1], 4)
    assert [(place.part, place.rows.start, place.rows.stop) for place in places] == [
        (0, 0, 3), (0, 3, 6), (0, 6, 10), (2, 0, 3), (2, 3, 7), (3, 0, 1),
    ]  # fmt: skip
    assert [place.first for place in places] == [0, 3, 6, 10, 13, 17]
    assert max(place.length for place in places) <= 4


def test_the_sample_is_divided_in_proportion():
    counts = sample_counts([100, 50, 1, 0, 49], 20)
    assert counts == [10, 5, 0, 0, 5]
    ids = drawn(100, 10, seed=1, block=0)
    assert len(set(ids)) == 10
    assert (np.diff(ids) > 0).all()
    assert not np.array_equal(ids, drawn(100, 10, seed=1, block=1))


# -------------------------------------------------------------------------------------------- sums
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whole_sums_are_those_of_the_state(dtype, weighted, rng):
    X = (rng.standard_normal((500, 5)) * [1, 10, 0.1, 3, 1]).astype(dtype)
    rows = prepare(X, "l2", rng.uniform(0.5, 2, 500) if weighted else None)
    labels = rng.integers(0, 7, 500).astype(np.int32)
    units = Units.for_rows(500, 200.0, 2.0, 20_000.0)
    sums = Sums.zero(7, 5)
    sums.add(rows, rows.active, labels, units)
    found, expected = clusters_of(sums, units), build_state(rows, labels, 7)
    for one, two in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-8)


def test_sums_do_not_depend_on_the_order(rng):
    rows = prepare(rng.standard_normal((400, 6)).astype(np.float32) * 100, "l2")
    labels, units = rng.integers(0, 5, 400).astype(np.int32), Units.for_rows(400, 1e4, 1.0, 1e8)
    whole = Sums.zero(5, 6)
    whole.add(rows, rows.active, labels, units)
    total = Sums.zero(5, 6)
    for ids in np.array_split(rng.permutation(400), 13)[::-1]:
        part = Sums.zero(5, 6)
        part.add(rows, ids, labels[ids], units)
        total = part.plus(total)
    for one, two in zip(whole, total, strict=True):
        np.testing.assert_array_equal(one, two)


def test_changes_bring_one_state_to_the_next(rng):
    rows = prepare(rng.standard_normal((300, 4)), "l2")
    before, after = (rng.integers(0, 6, 300).astype(np.int32) for _ in range(2))
    units = Units.for_rows(300, 10.0, 1.0, 100.0)
    first, second = Sums.zero(6, 4), Sums.zero(6, 4)
    first.add(rows, rows.active, before, units)
    second.add(rows, rows.active, after, units)
    for one, two in zip(first.plus(changes(rows, before, after, 6, units)), second, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n", [2, 1000, 10**9, 2**38])
def test_no_sum_overflows(n):
    units = Units.for_rows(n, 3.7, 1e12, 5e-9)
    for unit, largest in zip(units, (3.7, 1e12, 5e-9), strict=True):
        assert n * largest * unit < 2**62
        assert largest * unit >= 2**20


# -------------------------------------------------------------------------------------------- same labels
def as_npy(parts, folder):
    for at, X in enumerate(parts):
        np.save(folder / f"{at}.npy", X)
    return str(folder / "*.npy")


def as_parquet(parts, folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for at, X in enumerate(parts):
        columns = {f"c{t}": X[:, t] for t in range(X.shape[1])}
        parquet.write_table(pyarrow.table(columns), folder / f"{at}.parquet", row_group_size=333)
    return folder


def as_lists(parts, folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for at, X in enumerate(parts):
        lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.ravel()), X.shape[1])
        table = pyarrow.table({"id": np.arange(len(X)), "emb": lists})
        parquet.write_table(table, folder / f"{at}.parquet", row_group_size=401)
    return open_source(str(folder / "*.parquet"), columns=["emb"])


def as_arrow(parts, folder):
    pyarrow = pytest.importorskip("pyarrow")
    for at, X in enumerate(parts):
        table = pyarrow.table({f"c{t}": X[:, t] for t in range(X.shape[1])})
        with pyarrow.ipc.new_file(folder / f"{at}.arrow", table.schema) as file:
            file.write_table(table, max_chunksize=250)
    return [str(folder / f"{at}.arrow") for at in range(len(parts))]


def as_vecs(parts, folder):
    for at, X in enumerate(parts):
        write_vecs(folder / f"{at}.fvecs", X)
    return folder


@pytest.mark.parametrize(
    "form",
    [
        as_npy,
        as_parquet,
        as_lists,
        as_arrow,
        as_vecs,
        lambda parts, _: lambda: iter(parts),
        lambda parts, _: tuple(parts),
    ],
)
def test_same_labels_from_any_form(form, parts, tmp_path, small_blocks):
    assert digest(fitted(form(parts, tmp_path)).labels_) == digest(fitted(parts).labels_)


@pytest.mark.parametrize("options", [{"n_threads": 1}, {"n_threads": 2}, {"max_memory": "1MB"}, {"max_memory": 10**12}])
def test_same_labels_for_any_memory_and_threads(options, parts, tmp_path, small_blocks):
    data = as_npy(parts, tmp_path)
    assert digest(fitted(data, **options).labels_) == digest(fitted(data).labels_)


def test_labels_in_a_file_are_the_same(parts, small_blocks, monkeypatch):
    expected = fitted(parts)
    monkeypatch.setattr(planning, "_SHARE_OF_LABELS", 0.0)
    found = fitted(parts, max_memory="1MB")
    assert isinstance(found.labels_, np.memmap)
    assert digest(found.labels_) == digest(expected.labels_)


@pytest.mark.parametrize("k", [4, 30])
def test_the_plain_engine_gives_the_same_labels(k, parts, small_blocks):
    parts = [X.astype(np.float64) for X in parts]
    exact, reference = (fitted(parts, k, engine=engine) for engine in ("exact", "reference"))
    assert digest(exact.labels_) == digest(reference.labels_)


@pytest.mark.parametrize("k", [4, 30])
def test_bounds_save_work_and_change_nothing(k, parts, small_blocks, monkeypatch):
    """Engines that remember their bounds give the labels of engines that do not, with fewer comparisons."""
    kept = fitted(parts, k)
    assert kept.plan_.engine.name == "blocks"
    monkeypatch.setattr(KeptEngines, "give_back", lambda *_: None)
    forgotten = fitted(parts, k)
    assert digest(kept.labels_) == digest(forgotten.labels_)
    assert kept.history_[-1].comparisons < 0.7 * forgotten.history_[-1].comparisons


def test_engines_are_kept_while_there_is_room(parts, small_blocks):
    kept = KeptEngines(room=1.0)
    rows, labels = prepare(parts[0], "l2"), np.arange(len(parts[0]), dtype=np.int32) % 5
    state = build_state(rows, labels, 5)
    order = Order(state, Units.for_rows(1500, 100.0, 1.0, 1e4), rule_of("distortion", "l2", "hartigan"),
                  EnginePlan("blocks"), (0, 0))  # fmt: skip
    for room, count in ((1.0, 0), (1e9, 1)):
        kept.room = room
        engine = kept.take(3, rows, state, order)
        kept.give_back(3, engine)
        assert len(kept._engines) == count
    assert kept.room == 1e9 - engine.bytes_of_bounds()
    assert kept.take(3, rows, state, order) is engine
    assert kept.room == 1e9
    kept.give_back(3, engine)
    other = state._replace(labels=np.roll(state.labels, 1))
    assert kept.take(3, rows, other, order) is not engine


# -------------------------------------------------------------------------------------------- the result
@pytest.mark.parametrize(
    "options", [{}, {"metric": "cosine"}, {"rule": "hartigan"}, {"engine": "neighbors"}, {"objective": "pairwise"}]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_attributes_match_the_labels(weighted, options, parts, small_blocks, rng):
    X = np.concatenate(parts)
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    model = KSums(12, random_state=0, **options).fit(parts, sample_weight=weights)
    whole = KSums(12, random_state=0, **options)
    measured = whole._attributes_of(X, weights, _Run(model.labels_), model.plan_)
    for name in ("cluster_centers_", "sizes_", "composites_"):
        np.testing.assert_allclose(getattr(model, name), measured[name], rtol=1e-5, atol=1e-4)
    for name in ("distortion_", "pairwise_", "inertia_", "objective_"):
        assert getattr(model, name) == pytest.approx(measured[name], rel=1e-6)
    assert model.history_[-1].objective == pytest.approx(model.objective_, rel=1e-4)
    assert np.bincount(model.labels_, minlength=12).min() > 0
    assert (model.predict(X) == model.labels_).mean() > 0.9


class _Run:
    def __init__(self, labels):
        self.labels, self.k, self.records, self.converged = labels, 12, [], True


def test_prediction_of_parts(parts, tmp_path, small_blocks):
    model = fitted(parts)
    expected = model.predict(np.concatenate(parts))
    np.testing.assert_array_equal(model.predict(as_npy(parts, tmp_path)), expected)
    np.testing.assert_array_equal(model.predict(parts), expected)
    with pytest.raises(ValueError, match="array 0 has 3 columns; the model needs 8"):
        model.predict([parts[0][:, :3]])


def test_it_ends_as_low_as_a_fit_in_memory(parts, monkeypatch):
    """Here the sample is half of the rows, and blocks have 500."""
    monkeypatch.setattr(planning, "_BLOCK_BYTES", 16_000)
    monkeypatch.setattr(planning, "_LEAST_SAMPLE", 2000)
    monkeypatch.setattr(planning, "_ROWS_PER_CLUSTER", 40)
    X = np.concatenate(parts)
    for k in (5, 20, 60):
        values = [fitted(parts, k, random_state=seed).distortion_ for seed in range(3)]
        assert np.mean(values) < 1.01 * KSums(k, random_state=0).fit(X).distortion_


@pytest.mark.parametrize("by_content", [False, True])
@pytest.mark.parametrize("count", [1, 2, 10, 100])
def test_pairwise_ends_near_a_fit_in_memory(count, by_content, monkeypatch):
    monkeypatch.setattr(planning, "_LEAST_SAMPLE", 800)
    monkeypatch.setattr(planning, "_ROWS_PER_CLUSTER", 100)
    X, _ = make_blobs(6000, 8, centers=20, cluster_std=2.0, random_state=1)
    parts = np.array_split(X[np.argsort(X[:, 0])] if by_content else X, count)
    found, expected = (
        np.mean([KSums(8, objective="pairwise", random_state=seed).fit(data).pairwise_ for seed in range(4)])
        for data in (parts, X)
    )
    assert found < 1.03 * expected


def test_a_round_in_turns_goes_on_from_any_of_them(parts, tmp_path, small_blocks, monkeypatch):
    expected, path = fitted(parts, objective="pairwise"), tmp_path / "run.ckpt"
    original, calls = LocalBlocks.keep, []

    def interrupted(self, stride):
        original(self, stride)
        calls.append(1)
        if len(calls) == 12:
            raise KeyboardInterrupt

    monkeypatch.setattr(LocalBlocks, "keep", interrupted)
    with pytest.warns(FitInterrupted):
        fitted(parts, objective="pairwise", checkpoint=path)
    assert len(calls) > 5 * expected.plan_.turns / 2
    assert digest(fitted(parts, objective="pairwise", checkpoint=path).labels_) == digest(expected.labels_)


def test_rounds_at_p_1_never_rise_and_no_cluster_is_empty(small_blocks):
    """Tiny clusters in many blocks: all of them would leave the same cluster at the same time."""
    X = np.random.default_rng(0).integers(0, 4, (600, 3)).astype(np.float64)
    parts = np.array_split(X, 60)
    for seed in range(5):
        model = KSums(50, random_state=seed, tol=0, max_iter=40).fit(parts)
        values = [record.objective for record in model.history_ if record.stage == "pass"]
        assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(values))
        assert np.bincount(model.labels_, minlength=50).min() > 0


@pytest.mark.parametrize("order", ["sorted", "uneven"])
def test_blocks_need_not_be_alike(order, parts, small_blocks):
    X = np.concatenate(parts)
    alike = fitted(np.array_split(X, 8)).distortion_
    by_content, uneven = np.array_split(X[np.argsort(X[:, 0])], 8), np.split(X, [5, 2000, 2001, 3900, 3950])
    other = by_content if order == "sorted" else uneven
    assert fitted(other).distortion_ < 1.03 * alike


def test_rows_of_zeros_and_of_no_weight(parts, small_blocks):
    parts[0][:7] = 0.0
    with pytest.warns(UserWarning, match="7 rows are all zeros"):
        model = fitted(parts, metric="cosine")
    assert (model.labels_[:7] == 0).all()
    weights = np.ones(4000)
    weights[::2] = 0.0
    model = KSums(12, random_state=0).fit(parts, sample_weight=weights)
    assert model.sizes_.sum() == 2000


def test_empty_parts_are_skipped(parts, small_blocks):
    empty = np.empty((0, 8), np.float32)
    assert digest(fitted([parts[0], empty, *parts[1:], empty]).labels_) == digest(fitted(parts).labels_)


@pytest.mark.parametrize("engine", ["auto", "exact", "neighbors"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_blocks_without_active_rows(engine, metric, parts, small_blocks):
    """Files whose rows all weigh nothing or, under cosine, are all zeros; and a part of a single row."""
    parts = [*parts[:2], parts[2][:1], parts[2][1:]]
    weights = np.ones(4000)
    weights[1500:1801] = 0.0
    if metric == "cosine":
        parts[1][:] = 0.0
    model = KSums(12, random_state=0, engine=engine, metric=metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(parts, sample_weight=weights)
    assert model.sizes_.sum() == 3699
    assert model.sizes_.min() > 0
    if metric == "l2":  # a row without weight gets a label, too
        assert len(np.unique(model.labels_[1500:1801])) > 5


def test_samples_are_drawn_from_rows_that_count(parts, small_blocks):
    weights = np.zeros(4000)
    weights[::40] = 1.0
    model = KSums(12, random_state=0).fit(parts, sample_weight=weights)
    assert model.sizes_.sum() == 100
    with pytest.raises(ValueError, match=r"weights from 1e-06 to 1e\+12 are too far apart for data in parts"):
        KSums(12).fit(parts, sample_weight=np.where(weights > 0, 1e12, 1e-6))


def test_many_empty_clusters_cost_one_scan(small_blocks, monkeypatch):
    X = np.repeat(np.arange(30.0), 20)[:, None]
    calls, counts = [], LocalBlocks.counts
    monkeypatch.setattr(LocalBlocks, "counts", lambda self: calls.append(1) or counts(self))
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(30\)"):
        model = KSums(50, random_state=0).fit([X[:300], X[300:]])
    assert np.bincount(model.labels_, minlength=50).min() > 0
    assert len(calls) <= 1


# -------------------------------------------------------------------------------------------- Ctrl-C
MOMENTS = [
    ("ksums.method.shards.local.with_lists", 3),
    ("ksums.method.shards.local.make_pass", 11),
    ("ksums.method.shards.rounds.objective_of", 4),
    ("ksums.method.shards.local.LocalBlocks.keep", 3),
    ("ksums.method.shards.run.ShardRun._record", 4),
    ("ksums.method.shards.run.ShardRun._is_over", 4),
    ("ksums.method.shards.checkpoint.save", 4),
]
"""What is interrupted, and in which call."""


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(("name", "call"), MOMENTS, ids=[name.rpartition(".")[2] for name, _ in MOMENTS])
def test_ctrl_c_at_any_moment(name, call, before, parts, tmp_path, small_blocks, monkeypatch):
    """Labels and sums are those of the same round, and a resumed fit ends as if nothing had happened."""
    place, _, attribute = name.rpartition(".")
    owner = pkgutil.resolve_name(place)
    original, calls, path = getattr(owner, attribute), [], tmp_path / "run.ckpt"

    def interrupted(*arguments, **more):
        calls.append(1)
        if before and len(calls) == call:
            raise KeyboardInterrupt
        found = original(*arguments, **more)
        if not before and len(calls) == call:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(CheckpointFile, "is_due", lambda self: True)
    monkeypatch.setattr(owner, attribute, interrupted)
    with pytest.warns(FitInterrupted):
        stopped = fitted(parts, checkpoint=path)
    monkeypatch.setattr(owner, attribute, original)
    X = np.concatenate(parts).astype(np.float64)
    sums = np.array([X[stopped.labels_ == r].sum(axis=0) for r in range(12)])
    np.testing.assert_allclose(stopped.composites_, sums, rtol=1e-6, atol=1e-3)
    assert len(np.unique(stopped.labels_)) == 12
    resumed, expected = fitted(parts, checkpoint=path), fitted(parts)
    assert digest(resumed.labels_) == digest(expected.labels_)


def test_ctrl_c_in_the_sample_is_not_swallowed(parts, tmp_path, small_blocks, monkeypatch):
    def interrupt(self, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ksums.method.fitting.run.Run.one_pass", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted(parts, checkpoint=tmp_path / "run.ckpt")
    assert not (tmp_path / "run.ckpt").exists()


# -------------------------------------------------------------------------------------------- checkpoints
class _KilledError(Exception):
    pass


@pytest.mark.parametrize("after", [1, 2, 7, 12])
def test_a_killed_fit_goes_on_with_the_same_labels(after, parts, tmp_path, small_blocks):
    expected = fitted(parts)

    def kill(record):
        if record.index == after:
            raise _KilledError

    path = tmp_path / "run.ckpt"
    with pytest.raises(_KilledError):
        fitted(parts, checkpoint=path, callbacks=[kill])
    model = fitted(parts, checkpoint=path, n_threads=1, max_memory="2MB")
    assert digest(model.labels_) == digest(expected.labels_)
    assert [record.moves for record in model.history_] == [record.moves for record in expected.history_]
    again = fitted(parts, checkpoint=path)  # the fit is done: nothing is left to do
    assert digest(again.labels_) == digest(expected.labels_)


def test_without_a_seed_the_checkpoint_has_it(parts, tmp_path, small_blocks):
    path = tmp_path / "run.ckpt"
    first = KSums(12, checkpoint=path).fit(parts)
    assert digest(KSums(12, checkpoint=path).fit(parts).labels_) == digest(first.labels_)


@pytest.mark.parametrize(
    ("change", "word"),
    [({"n_clusters": 13}, "n_clusters"), ({"random_state": 4}, "seeds"), ({"metric": "cosine"}, "metric")],
)
def test_other_parameters_are_refused(change, word, parts, tmp_path, small_blocks):
    path = tmp_path / "run.ckpt"
    fitted(parts, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"run.ckpt belongs to a fit with {word}=.*Use another file"):
        KSums(**{"n_clusters": 12, "random_state": 3, "checkpoint": path, **change}).fit(parts)
    assert path.read_bytes() == before


def test_other_data_is_refused(parts, tmp_path, small_blocks):
    path = tmp_path / "run.ckpt"
    fitted(parts, checkpoint=path)
    parts[1][3, 3] += 1
    with pytest.raises(ValueError, match="belongs to a fit with data="):
        fitted(parts, checkpoint=path)
    parts[1][3, 3] -= 1
    parts[2][[5, 7]] = parts[2][[7, 5]]  # the same values in another order
    with pytest.raises(ValueError, match="belongs to a fit with data="):
        fitted(parts, checkpoint=path)
    (tmp_path / "other").write_text("no checkpoint")
    with pytest.raises(ValueError, match="is not a checkpoint of ksums"):
        fitted(parts, checkpoint=tmp_path / "other")


def test_kill_9_at_any_moment(tmp_path):
    """A process is killed again and again; the labels are those of a fit that was never killed."""
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((6000, 8)).astype(np.float32))
    program = """
import sys, hashlib
from ksums import KSums
from ksums.planning import shards
shards._BLOCK_BYTES, shards._LEAST_SAMPLE, shards._ROWS_PER_CLUSTER = 16_000, 300, 40
model = KSums(20, random_state=0, checkpoint=sys.argv[2] or None).fit(sys.argv[1])
print(hashlib.sha256(model.labels_.tobytes()).hexdigest())
"""
    expected, found = killed_and_resumed(program, tmp_path / "*.npy", tmp_path)
    assert found == expected


# -------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size_max": 500}, "size_max is not offered for data in parts"),
        ({"polish": "pass"}, "polish is not offered|polish='pass'"),
        ({"init": np.zeros((12, 8))}, "init must be a name"),
        ({"max_memory": "1KB"}, "max_memory must be at least"),
        ({"max_memory": "much"}, "max_memory must be a number of bytes > 0, a size such as '2GB', or None"),
        ({"checkpoint": 3}, "checkpoint must be the name of a file, or None"),
    ],
)
def test_what_is_not_offered_is_said(options, message, parts):
    with pytest.raises(ValueError, match=message):
        fitted(parts, **options)


def test_an_array_is_not_data_in_parts(parts):
    with pytest.raises(ValueError, match=r"max_memory is for data in parts; pass fit\(\[X\]\)"):
        fitted(parts[0], max_memory="1GB")
    with pytest.raises(TypeError, match="Data in several files or arrays is for KSums"):
        BisectingKSums(3).fit("rows.npy")


def test_bad_sources_are_refused(parts, tmp_path):
    with pytest.raises(ValueError, match="array 1 has 3 columns, but array 0 has 8"):
        fitted([parts[0], parts[1][:, :3]])
    with pytest.raises(FileNotFoundError, match="No file matches"):
        fitted(str(tmp_path / "*.npy"))
    with pytest.raises(FileNotFoundError, match="has no files that can be read"):
        fitted(tmp_path)
    with pytest.raises(ValueError, match="has no rows"):
        fitted([np.empty((0, 3))])
    parts[2][5, 4] = np.nan
    with pytest.raises(ValueError, match="contains NaN, first in row 1805, column 4"):
        fitted(parts)


def test_arrays_in_files_of_any_layout(parts, tmp_path, small_blocks):
    np.save(tmp_path / "a.npy", np.asfortranarray(parts[0]))
    np.save(tmp_path / "b.npy", parts[1].astype(">f4"))
    np.save(tmp_path / "c.npy", parts[2])
    source = open_source(tmp_path, columns=[1, 3])
    for part, X in zip(source.parts, parts, strict=True):
        np.testing.assert_array_equal(part.read(slice(5, 99)), X[5:99][:, [1, 3]])
    assert digest(fitted(tmp_path).labels_) == digest(fitted(parts).labels_)
    (tmp_path / "c.npy").write_bytes((tmp_path / "c.npy").read_bytes()[:-9000])
    with pytest.raises(ValueError, match="has become shorter since it was opened"):
        source.parts[2].read(slice(1000, 2200))


def test_a_function_must_yield_the_same_arrays(parts, small_blocks):
    calls = []

    def changing():
        calls.append(1)
        return iter([parts[0], parts[1] if len(calls) == 1 else parts[2]])

    with pytest.raises(ValueError, match="must yield the same arrays each time"):
        fitted(changing)


def test_a_function_that_yields_one_generator_is_refused(parts, small_blocks):
    generator = (part for part in parts)
    with pytest.raises(ValueError, match="must yield the same arrays each time"):
        fitted(lambda: generator)


def test_a_function_may_use_its_array_again(parts, small_blocks):
    """It fills the same memory with the rows of the next part, while the last one is still at work."""
    room = np.empty((2200, 8), np.float32)

    def refilled():
        for part in parts:
            room[: len(part)] = part
            yield room[: len(part)]

    assert digest(fitted(refilled, max_memory="1MB").labels_) == digest(fitted(parts).labels_)


def test_one_row_group_is_held_at_a_time(parts, tmp_path):
    as_parquet(parts, tmp_path)
    source = open_source(tmp_path)
    for part in source.parts:
        part.read(slice(0, part.rows))
    assert not any(isinstance(value, np.ndarray) for part in source.parts for value in vars(part).values()
                   if value is not part.starts)  # fmt: skip


def test_no_more_rounds_than_max_iter(parts, small_blocks):
    for options in ({"max_iter": 5}, {"max_iter": 6, "tol": 0.0}, {"max_iter": 1}):
        assert fitted(parts, **options).n_iter_ <= options["max_iter"]
    plan = fitted(parts, rule=Annealed(start=5.0, passes=4)).plan_
    assert plan.relaxations == (5.0, 4.0, 3.0, 2.0)


def test_the_plan_is_readable(parts, small_blocks):
    plan = str(fitted(parts).plan_)
    assert "blocks     9 of at most 500 rows" in plan
    assert "annealing  10 rounds, relaxation from" in plan
    assert json.dumps(plan)
