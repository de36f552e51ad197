"""Exported graphs predict the same labels as the models."""

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
"""One model of each kind is exported."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.metric}")
def test_the_graph_predicts_the_same_labels(tmp_path, rng, model, offset, dtype):
    X = (rng.standard_normal((400, 5)) + offset).astype(dtype)
    model.fit(X)
    to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    kind = {"tensor(float)": np.float32, "tensor(double)": np.float64}[session.get_inputs()[0].type]
    (labels,) = session.run(None, {"X": X.astype(kind)})
    assert labels.dtype == np.int64
    agree = labels == model.predict(X)
    if offset and model.metric == "cosine":  # All directions are nearly equal, so rounding decides.
        assert agree.mean() > 0.9
    else:
        assert agree.all()


def test_scaling_is_in_the_graph(rng):
    X = (rng.standard_normal((400, 5)) * [1, 10, 100, 1, 1] + 50).astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), KSums(7, random_state=0)).fit(X)
    session = onnxruntime.InferenceSession(to_onnx(pipeline).SerializeToString(), providers=["CPUExecutionProvider"])
    assert (session.run(None, {"X": X})[0] == pipeline.predict(X)).all()
    with pytest.raises(TypeError, match="expected a model, or a pipeline of a StandardScaler and a model"):
        to_onnx(make_pipeline(MinMaxScaler(), KSums(7)))


def test_unfitted_and_empty_models_are_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(KSums(3), tmp_path / "a.onnx")
    incomplete = SequentialKSums(3).partial_fit(np.ones((1, 2)))
    with pytest.raises(ValueError, match="a model with empty clusters cannot be exported"):
        to_onnx(incomplete, tmp_path / "a.onnx")
    assert list(tmp_path.iterdir()) == []
