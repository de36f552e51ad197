"""Models as files."""

import json
import pickle

import joblib
import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy import sparse

import ksums
from ksums import Annealed, BisectingKSums, KSums, SequentialKSums, baselines, saving

MODELS = [
    KSums(5, random_state=0),
    KSums(5, objective="pairwise", metric="cosine", random_state=0),
    KSums(5, rule=Annealed(start=3.0, passes=4), random_state=np.random.default_rng(0)),
    BisectingKSums(5, random_state=0),
    SequentialKSums(5, half_life=50.0),
    *(getattr(baselines, name)(5) for name in baselines.__all__),
]


def fitted(model, X):
    if "random_state" in model.get_params() and model.random_state is None:
        model.set_params(random_state=0)
    return model.fit(X)


def same(one, other) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other) and one.dtype == other.dtype
    return one == other


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}")
def test_a_model_comes_back_as_it_was(tmp_path, blobs, model):
    model = fitted(model, blobs)
    model.save(tmp_path / "model")
    back = ksums.load(tmp_path / "model")
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.predict(blobs), model.predict(blobs))
    np.testing.assert_array_equal(back.transform(blobs[:9]), model.transform(blobs[:9]))
    for name in ("labels_", "cluster_centers_", "composites_", "sizes_", "distortion_", "objective_", "history_"):
        assert same(getattr(back, name), getattr(model, name)), name
    kept = {name: value for name, value in model.get_params().items() if isinstance(value, int | float | str)}
    assert {name: back.get_params()[name] for name in kept} == kept
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_tree_can_be_cut_after_loading(tmp_path, blobs):
    model = BisectingKSums(5, random_state=0).fit(blobs)
    model.save(tmp_path / "model")
    back = ksums.load(tmp_path / "model")
    for k in range(1, 6):
        np.testing.assert_array_equal(back.cut(k), model.cut(k))
    np.testing.assert_array_equal(back.linkage(), model.linkage())
    np.testing.assert_array_equal(back.predict(blobs, by="tree"), model.predict(blobs, by="tree"))


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("first", [3, 200])
def test_a_stream_goes_on_after_loading(tmp_path, blobs, rng, as_sparse, first):
    X = rng.permutation(blobs)
    X = sparse.csr_array(X) if as_sparse else X
    model = SequentialKSums(5, half_life=40.0).partial_fit(X[:first])
    model.save(tmp_path / "model")
    back = ksums.load(tmp_path / "model")
    for stream in (model, back):
        stream.partial_fit(X[first:])
    assert same(back.labels_, model.labels_)
    assert same(back.composites_, model.composites_)


def test_names_of_features_and_given_centres_are_kept(tmp_path, blobs):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs, columns=list("abcdef"))
    model = KSums(5, init=blobs[:5], random_state=0).fit(frame)
    model.save(tmp_path / "model")
    back = ksums.load(tmp_path / "model")
    assert back.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(back.init, blobs[:5])
    np.testing.assert_array_equal(back.predict(frame), model.predict(frame))


def test_what_is_called_back_is_left_out(tmp_path, blobs):
    KSums(5, callbacks=[print], max_iter=1, random_state=0).set_params(callbacks=None).fit(blobs).save(tmp_path / "a")
    assert ksums.load(tmp_path / "a").callbacks is None


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
def test_a_file_that_was_cut_off_is_refused(model_file, length):
    model_file.write_bytes(model_file.read_bytes()[:length])
    with pytest.raises(ValueError, match="damaged, or no model"):
        ksums.load(model_file)


def test_other_files_are_refused(tmp_path, model_file):
    save_file({"a": np.ones(3)}, tmp_path / "other")
    with pytest.raises(ValueError, match="is no model of ksums"):
        ksums.load(tmp_path / "other")
    (tmp_path / "pickle").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ValueError, match="no model of ksums"):
        ksums.load(tmp_path / "pickle")
    with pytest.raises(ValueError, match="is a folder"):
        ksums.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ksums.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("change", "words"), [({"schema": 99}, "Install a newer ksums"), ({"class": "Other"}, "the class 'Other'")]
)
def test_models_of_another_version_are_refused(tmp_path, model_file, change, words):
    facts, arrays = saving.read(model_file)
    text = json.dumps(facts | change)
    save_file(arrays, tmp_path / "new", {"ksums": text, "digest": saving._digest(text, arrays)})
    with pytest.raises(ValueError, match=words):
        ksums.load(tmp_path / "new")


def test_the_fingerprint_tells_data_apart(blobs):
    one, again = (KSums(5, random_state=seed).fit(blobs) for seed in (0, 1))
    other = KSums(5, random_state=0).fit(blobs + 1)
    assert saving.fingerprint(one) == saving.fingerprint(again) != saving.fingerprint(other)


def test_pickle_and_joblib_work_too(tmp_path, blobs):
    model = BisectingKSums(5, random_state=0).fit(blobs)
    joblib.dump(model, tmp_path / "a")
    for back in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "a")):
        np.testing.assert_array_equal(back.predict(blobs), model.predict(blobs))
