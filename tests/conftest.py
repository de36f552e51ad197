"""Invariants are recomputed after every pass in all tests; seeds are fixed."""

import os

os.environ["KSUMS_CHECK"] = "1"

import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started the tests in the background

settings.register_profile("ksums", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("ksums")

SHARED = Path(__file__).parents[2] / "shared" / "data"


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
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not on this machine")
    return SHARED
