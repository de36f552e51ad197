"""Exported graphs give our labels."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ksums import BisectingKSums, KSums, SequentialKSums
from ksums.contrib.onnx import to_onnx

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

MODELS = [
    KSums(7, random_state=0),
    KSums(7, metric="cosine", random_state=0),
    KSums(7, objective="pairwise", random_state=0),
    BisectingKSums(7, random_state=0),
    SequentialKSums(7),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.metric}")
def test_the_graph_gives_our_labels(tmp_path, rng, model, offset, dtype):
    X = (rng.standard_normal((400, 5)) + offset).astype(dtype)
    model.fit(X)
    to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    kind = {"tensor(float)": np.float32, "tensor(double)": np.float64}[session.get_inputs()[0].type]
    (labels,) = session.run(None, {"X": X.astype(kind)})
    assert labels.dtype == np.int64
    agree = labels == model.predict(X)
    if offset and model.metric == "cosine":  # all directions nearly alike: the last digits decide
        assert agree.mean() > 0.9
    else:
        assert agree.all()


def test_scaling_is_in_the_graph(rng):
    X = (rng.standard_normal((400, 5)) * [1, 10, 100, 1, 1] + 50).astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), KSums(7, random_state=0)).fit(X)
    session = onnxruntime.InferenceSession(to_onnx(pipeline).SerializeToString(), providers=["CPUExecutionProvider"])
    assert (session.run(None, {"X": X})[0] == pipeline.predict(X)).all()
    with pytest.raises(TypeError, match="a pipeline of a StandardScaler and a model, is needed"):
        to_onnx(make_pipeline(MinMaxScaler(), KSums(7)))


def test_it_can_not_be_made_of_nothing(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(KSums(3), tmp_path / "a.onnx")
    waiting = SequentialKSums(3).partial_fit(np.ones((1, 2)))
    with pytest.raises(ValueError, match="clusters that are still empty"):
        to_onnx(waiting, tmp_path / "a.onnx")
    assert list(tmp_path.iterdir()) == []
