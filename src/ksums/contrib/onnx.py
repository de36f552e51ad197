"""``predict`` of a fitted model as an ONNX graph, for use without Python. Requires onnx (``pip install onnx``)::

    label = argmin_r  |C_r|² − 2 x·C_r          (under cosine: argmax_r  x·C_r / |C_r|)

The mean of the centres is subtracted from x and C, so that float32 does not lose digits far from 0.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ksums.compute.tensors import as_numpy
from ksums.io import atomic_write
from ksums.models.scaling import parts_of

if TYPE_CHECKING:
    from onnx import ModelProto

_OPSET, _IR_VERSION = 17, 8
"""Versions of the format: old ones, so that most ONNX runtimes can read the graph, which needs nothing newer."""


def to_onnx(model: Any, path: str | Path | None = None) -> ModelProto:
    """Export ``predict`` as a graph with the input ``X`` (n, d) and the output ``labels`` (n,), the nearest centres.

    Parameters
    ----------
    model : fitted model, or a pipeline of a StandardScaler and a model
        Flat, bisecting or sequential. The scaling becomes part of the graph.
    path : str or Path, default=None
        Also write the graph to this file, completely or not at all.

    Returns
    -------
    onnx.ModelProto
        The input is float32, or float64 if the model was fitted to float64 data; the output is int64.
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx requires onnx, which is not installed: pip install onnx.") from error
    scaler, model = parts_of(model)
    check_is_fitted(model)
    if not hasattr(model, "cluster_centers_"):
        raise TypeError(
            f"to_onnx is for models with centres of numbers; a {type(model).__name__} compares categories, gaps or "
            "distances, which its graph does not know. Use ksums.save, or joblib."
        )
    if hasattr(model, "cell_counts_"):
        warnings.warn(
            "the model was fitted to rows with missing cells; its graph gives labels for complete rows only.",
            UserWarning,
            stacklevel=2,
        )
    centres = as_numpy(model.cluster_centers_)
    kind, dtype = (TensorProto.FLOAT, np.float32) if centres.dtype == np.float32 else (TensorProto.DOUBLE, np.float64)
    centres = centres.astype(np.float64)
    if not np.isfinite(centres).all():
        raise ValueError("a model with empty clusters cannot be exported; let it learn more rows first.")
    if model.metric == "cosine":
        lengths = np.linalg.norm(centres, axis=1)
        centres, shift = centres / np.where(lengths > 0, lengths, 1.0)[:, None], np.zeros(centres.shape[1])
        squares = np.zeros(len(centres))
    else:
        shift = centres.mean(axis=0)
        centres = centres - shift
        squares = np.square(centres).sum(axis=1)
    constants = {"shift": shift, "minus_twice_centres": -2.0 * centres.T, "squares": squares}
    scaling, rows = [], "X"
    if scaler is not None:
        for operation, value in (("Sub", scaler.mean_), ("Div", scaler.scale_)):
            if value is not None:
                constants[name := f"scaling_{operation}"] = np.asarray(value, np.float64)
                scaling.append(helper.make_node(operation, [rows, name], [f"scaled_{operation}"]))
                rows = f"scaled_{operation}"
    graph = helper.make_graph(
        [
            *scaling,
            helper.make_node("Sub", [rows, "shift"], ["shifted"]),
            helper.make_node("MatMul", ["shifted", "minus_twice_centres"], ["products"]),
            helper.make_node("Add", ["products", "squares"], ["scores"]),
            helper.make_node("ArgMin", ["scores"], ["labels"], axis=1, keepdims=0),
        ],
        "ksums_predict",
        [helper.make_tensor_value_info("X", kind, ["n", centres.shape[1]])],
        [helper.make_tensor_value_info("labels", TensorProto.INT64, ["n"])],
        [numpy_helper.from_array(value.astype(dtype), name) for name, value in constants.items()],
    )
    exported = helper.make_model(
        graph, producer_name="ksums", opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION
    )
    checker.check_model(exported)
    if path is not None:
        with atomic_write(path) as file:
            file.write(exported.SerializeToString())
    return exported
