"""Arrays on a graphics card: recognised without importing torch, read without a copy, given back as their own kind."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn import get_config

_ON_CUDA = (2, 13)
"""DLPack's numbers for memory on a CUDA device."""
_READ_ONLY = 8
"""CUDA's flag for memory that the host may only read."""
_FROM_DLPACK = {"cupy": "cupy", "jax": "jax.dlpack", "jaxlib": "jax.dlpack"}
"""Where each library has its ``from_dlpack``."""


def is_on_card(X: Any) -> bool:
    """Whether an array is in the memory of a CUDA device."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack_device__"):
        return False
    try:
        return int(X.__dlpack_device__()[0]) in _ON_CUDA
    except (TypeError, ValueError, RuntimeError, BufferError):  # kinds of tensors without DLPack, such as sparse ones
        return str(getattr(X, "device", "")).startswith("cuda")


def load_torch() -> Any:
    """The module torch, or a way to get it."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise ImportError("Fits on a graphics card require torch and triton: pip install 'ksums[gpu]'.") from error


def as_tensor(X: Any) -> Any:
    """An array on a card as a torch tensor on the same memory."""
    torch = load_torch()
    return X.detach() if isinstance(X, torch.Tensor) else torch.from_dlpack(X)


def host_tensor(X: np.ndarray) -> Any:
    """A NumPy array as a torch tensor on the same memory, also if it must not be written to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return load_torch().from_numpy(X)


def for_numpy(X: Any) -> Any:
    """A tensor of the host as NumPy can read it: without gradients, bfloat16 as float32. Other arrays as they are."""
    if type(X).__module__.partition(".")[0] != "torch":
        return X
    X = X.detach()
    return X.float() if str(X.dtype) == "torch.bfloat16" else X


@contextmanager
def pinned(X: Any, read_only: bool = False) -> Iterator[None]:
    """Within this context a card reads a tensor of the host where it is, through the bus.

    ``read_only``: so is the memory, as that of a file that was opened with ``mmap_mode="r"``.
    """
    if X.is_cuda or X.is_pinned():
        yield
        return
    cudart = load_torch().cuda.cudart()
    error = cudart.cudaHostRegister(X.data_ptr(), X.numel() * X.element_size(), _READ_ONLY if read_only else 0)
    if int(error) != 0:
        raise RuntimeError(
            f"The {X.numel() * X.element_size() / 1e9:.1f} GB of X cannot be pinned, so that the card could read them "
            f"where they are (CUDA error {int(error)}); some memory maps cannot. Pass an array in memory, or leave "
            "device=None."
        )
    try:
        yield
    finally:
        load_torch().cuda.synchronize()  # kernels may still read it after an interruption
        cudart.cudaHostUnregister(X.data_ptr())


def kind_of(X: Any) -> Callable[[Any], Any]:
    """A function that turns tensors into arrays of the same library as X."""
    root = type(X).__module__.partition(".")[0]
    if root == "torch":
        return lambda tensor: tensor
    if root in _FROM_DLPACK:
        return importlib.import_module(_FROM_DLPACK[root]).from_dlpack
    raise TypeError(
        f"X is a {type(X).__module__}.{type(X).__name__} on a CUDA device; arrays of torch, CuPy and JAX are accepted "
        "there. Pass torch.from_dlpack(X) instead."
    )


def follower(X: Any) -> Callable[[np.ndarray], Any] | None:
    """What turns NumPy arrays into arrays of the library of X, in memory of the host.

    None where NumPy arrays are due: X is one, or a table, or scikit-learn's ``array_api_dispatch`` is off.
    """
    if isinstance(X, np.ndarray) or not get_config()["array_api_dispatch"]:
        return None
    if type(X).__module__.partition(".")[0] == "torch":
        return host_tensor
    space = getattr(X, "__array_namespace__", None)
    return None if space is None else space().asarray


def as_numpy(array: Any) -> np.ndarray:
    """An array of any kind, wherever it is, as a NumPy array."""
    if is_on_card(array):
        return as_tensor(array).cpu().numpy()
    return np.asarray(array)
