"""All tests recompute the invariants after every pass and use fixed seeds."""

import os
import shutil

os.environ["KSUMS_CHECK"] = "1"
if shutil.which("nvidia-smi") is None:  # no card: kernels run in the interpreter, which must be said before any import
    os.environ.setdefault("TRITON_INTERPRET", "1")

import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# A shell that starts the tests in the background makes them ignore SIGINT; the Ctrl-C tests need it.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("ksums", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("ksums")

SHARED = Path(__file__).parents[2] / "shared" / "data"
"""Real data sets lie in this folder, if they are on this machine."""


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def blobs(rng):
    """Five clear clusters of 60 samples in 6 dimensions."""
    centres = rng.standard_normal((5, 6)) * 10
    return np.repeat(centres, 60, axis=0) + rng.standard_normal((300, 6))


@pytest.fixture(scope="session")
def shared():
    """The folder of the real data sets; tests that use it are skipped without them."""
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not on this machine")
    return SHARED
