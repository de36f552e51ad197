"""Random numbers inside the kernels: splitmix64, of which they need no more than that it is fast and mixes well."""

from __future__ import annotations

import numpy as np

from ksums.compute.jit import helper


@helper
def random_bits(
    seed,  # INOUT  (1,)  uint64
):
    """64 random bits."""
    seed[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = seed[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@helper
def random_below(
    count,  # IN
    seed,  # INOUT  (1,)  uint64
):
    """One of 0 … count − 1, for counts below 2³²."""
    return np.int64(((random_bits(seed) >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@helper
def random_share(
    seed,  # INOUT  (1,)  uint64
):
    """A number in [0, 1)."""
    return np.float64(random_bits(seed) >> np.uint64(11)) * 2.0**-53
