"""Models are saved and loaded; damaged files and other files are refused."""

import json
import pickle

import joblib
import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import ksums
from ksums import Annealed, BisectingKSums, KSums, SequentialKSums, baselines
from ksums.models import files

MODELS = [
    KSums(5, random_state=0),
    KSums(5, objective="pairwise", metric="cosine", random_state=0),
    KSums(5, rule=Annealed(start=3.0, passes=4), random_state=np.random.default_rng(0)),
    BisectingKSums(5, random_state=0),
    SequentialKSums(5, half_life=50.0),
    *(getattr(baselines, name)(5) for name in baselines.__all__),
]
"""One model of each kind is saved and loaded."""


def fitted(model, X):
    if "random_state" in model.get_params() and model.random_state is None:
        model.set_params(random_state=0)
    return model.fit(X)


def same(one, other) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other) and one.dtype == other.dtype
    return one == other


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}")
def test_a_loaded_model_equals_the_saved_one(tmp_path, blobs, model):
    model = fitted(model, blobs)
    model.save(tmp_path / "model")
    loaded = ksums.load(tmp_path / "model")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(blobs), model.predict(blobs))
    np.testing.assert_array_equal(loaded.transform(blobs[:9]), model.transform(blobs[:9]))
    for name in ("labels_", "cluster_centers_", "composites_", "sizes_", "distortion_", "objective_", "history_"):
        assert same(getattr(loaded, name), getattr(model, name)), name
    plain = {name: value for name, value in model.get_params().items() if isinstance(value, int | float | str)}
    assert {name: loaded.get_params()[name] for name in plain} == plain
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_tree_can_be_cut_after_loading(tmp_path, blobs):
    model = BisectingKSums(5, random_state=0).fit(blobs)
    model.save(tmp_path / "model")
    loaded = ksums.load(tmp_path / "model")
    for k in range(1, 6):
        np.testing.assert_array_equal(loaded.cut(k), model.cut(k))
    np.testing.assert_array_equal(loaded.linkage(), model.linkage())
    np.testing.assert_array_equal(loaded.predict(blobs, by="tree"), model.predict(blobs, by="tree"))


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("first", [3, 200])
def test_a_stream_continues_after_loading(tmp_path, blobs, rng, as_sparse, first):
    X = rng.permutation(blobs)
    X = sparse.csr_array(X) if as_sparse else X
    model = SequentialKSums(5, half_life=40.0).partial_fit(X[:first])
    model.save(tmp_path / "model")
    loaded = ksums.load(tmp_path / "model")
    for stream in (model, loaded):
        stream.partial_fit(X[first:])
    assert same(loaded.labels_, model.labels_)
    assert same(loaded.composites_, model.composites_)


def test_feature_names_and_initial_centres_are_saved(tmp_path, blobs):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs, columns=list("abcdef"))
    model = KSums(5, init=blobs[:5], random_state=0).fit(frame)
    model.save(tmp_path / "model")
    loaded = ksums.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(loaded.init, blobs[:5])
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "constraints",
    [
        {"size_max": "balanced"},
        {"size_min": [10, 20, 30, 40, 50], "size_max": 100},
        {"size_min": np.float64(20.0), "size_max": (60, 60, 60.5, 90, np.inf)},
        {"fixed_centers": np.eye(6)[:2] * 10},
        {"fixed_centers": sparse.csr_array(np.eye(6)[:2]), "metric": "cosine", "size_max": 80},
        {"fixed_centers": [[1] * 6]},
    ],
    ids=lambda constraints: "-".join(constraints),
)
def test_constraints_are_saved(tmp_path, blobs, constraints):
    model = KSums(5, random_state=0, **constraints).fit(blobs)
    model.save(tmp_path / "model")
    loaded = ksums.load(tmp_path / "model")
    for name, value in constraints.items():
        given = value.toarray() if sparse.issparse(value) else value
        np.testing.assert_array_equal(getattr(loaded, name), given)
    for name in ("labels_", "cluster_centers_", "sizes_", "distortion_", "objective_", "history_", "plan_"):
        assert same(getattr(loaded, name), getattr(model, name)), name
    assert loaded.plan_.constrained.kinds == model.plan_.constrained.kinds
    np.testing.assert_array_equal(loaded.predict(blobs), model.predict(blobs))
    np.testing.assert_array_equal(loaded.fit(blobs).labels_, model.labels_)


def test_links_and_fixed_rows_leave_their_kinds(tmp_path, blobs):
    model = KSums(5, random_state=0).fit(blobs, cannot_link=[[0, 1]], fixed_labels=[-1] * 299 + [2])
    model.save(tmp_path / "model")
    loaded = ksums.load(tmp_path / "model")
    assert loaded.plan_ == model.plan_
    assert len(loaded.plan_.constrained.kinds) == 2
    assert same(loaded.labels_, model.labels_)


def test_callbacks_are_not_saved(tmp_path, blobs):
    model = KSums(5, callbacks=[lambda record: None], random_state=0).fit(blobs)
    model.save(tmp_path / "a")
    assert ksums.load(tmp_path / "a").callbacks is None
    assert model.callbacks is not None


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        KSums(5).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def model_file(tmp_path, blobs):
    KSums(5, random_state=0).fit(blobs).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("at", [0, 4, 100, -1, -500])
def test_a_damaged_file_is_refused(model_file, at):
    content = bytearray(model_file.read_bytes())
    content[at] ^= 0x10
    model_file.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        ksums.load(model_file)


@pytest.mark.parametrize("length", [0, 5, 200, -1])
def test_a_truncated_file_is_refused(model_file, length):
    model_file.write_bytes(model_file.read_bytes()[:length])
    with pytest.raises(ValueError, match="damaged, or not a ksums model"):
        ksums.load(model_file)


def test_other_files_are_refused(tmp_path, model_file):
    save_file({"a": np.ones(3)}, tmp_path / "other")
    with pytest.raises(ValueError, match="is a safetensors file, but not a ksums model"):
        ksums.load(tmp_path / "other")
    (tmp_path / "pickle").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ValueError, match="not a ksums model"):
        ksums.load(tmp_path / "pickle")
    with pytest.raises(ValueError, match="is a folder"):
        ksums.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ksums.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("change", "words"), [({"schema": 99}, "Install a newer ksums"), ({"class": "Other"}, "the class 'Other'")]
)
def test_models_of_another_version_are_refused(tmp_path, model_file, change, words):
    facts, arrays = files.read(model_file)
    text = json.dumps(facts | change)
    save_file(arrays, tmp_path / "new", {"ksums": text, "digest": files._digest(text, arrays)})
    with pytest.raises(ValueError, match=words):
        ksums.load(tmp_path / "new")


def test_the_fingerprint_identifies_the_data(blobs):
    """It does not depend on the clustering, and works for data with mean 0."""
    blobs -= blobs.mean(axis=0)
    one = files.fingerprint(KSums(5, random_state=0).fit(blobs))
    given = KSums(4, fixed_centers=blobs[:2] + 1, random_state=0)
    for model in (
        KSums(3, random_state=1),
        BisectingKSums(9),
        SequentialKSums(4),
        KSums(5, objective="pairwise"),
        given,
    ):
        assert files.fingerprint(model.fit(blobs)) == pytest.approx(one, abs=1e-9)
    assert one["spread"] == pytest.approx(np.sqrt(np.square(blobs).sum(axis=1).mean()))
    for other in (blobs + 1, blobs * 1.001, blobs[:-1]):
        assert files.fingerprint(KSums(5, random_state=0).fit(other)) != pytest.approx(one, abs=1e-9)


def test_initial_centres_of_any_type_are_saved(tmp_path, blobs):
    for init in (blobs[:5].tolist(), blobs[:5].astype(">f8"), blobs[:5].astype(np.longdouble)):
        KSums(5, init=init, random_state=0).fit(blobs).save(tmp_path / "a")
        np.testing.assert_array_equal(ksums.load(tmp_path / "a").init, blobs[:5])


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_scaler_is_saved(tmp_path, blobs, as_sparse):
    X = sparse.csr_array(blobs) if as_sparse else blobs * np.arange(1, 7)
    pipeline = make_pipeline(StandardScaler(with_mean=not as_sparse), KSums(5, random_state=0)).fit(X)
    ksums.save(pipeline, tmp_path / "a")
    loaded = ksums.load(tmp_path / "a")
    np.testing.assert_array_equal(loaded.predict(X), pipeline.predict(X))
    np.testing.assert_array_equal(loaded[-1].labels_, pipeline[-1].labels_)
    with pytest.raises(TypeError, match="expected a model, or a pipeline of a StandardScaler and a model"):
        ksums.save(make_pipeline(MinMaxScaler(), KSums(5)), tmp_path / "b")
    with pytest.raises(TypeError, match="only ksums models can be saved; got MinMaxScaler"):
        ksums.save(MinMaxScaler(), tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_pickle_joblib_and_skops_work_too(tmp_path, blobs):
    skops = pytest.importorskip("skops.io")
    for model in (KSums(5, random_state=0), BisectingKSums(5, random_state=0), SequentialKSums(5)):
        model.fit(blobs)
        joblib.dump(model, tmp_path / "a")
        skops.dump(model, tmp_path / "b")
        ours = skops.get_untrusted_types(file=tmp_path / "b")
        assert all(name.startswith(("ksums.", "numpy.", "sklearn.")) for name in ours)
        copies = (
            pickle.loads(pickle.dumps(model)),
            joblib.load(tmp_path / "a"),
            skops.load(tmp_path / "b", trusted=ours),
        )
        for loaded in copies:
            np.testing.assert_array_equal(loaded.predict(blobs), model.predict(blobs))
            assert loaded.history_ == model.history_
