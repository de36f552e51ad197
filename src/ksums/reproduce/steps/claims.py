"""The claims about Fig. 2."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.claim import NO_NUMBER, Claim, verdict_by_count
from ksums.reproduce.measured import Runs
from ksums.reproduce.method_names import PUBLISHED_CODE
from ksums.reproduce.store import Results
from ksums.reproduce.wording import percent_range

_SLOWER = 0.75
"""A fall is considerably slower than another if it is less than this fraction of it."""


def judge(results: Results) -> list[Claim]:
    """All claims."""
    runs = Runs(results)
    return [
        _im_raises_e_m(runs, "k-sums-Im", "as printed", is_headline=True),
        _im_raises_e_m(runs, PUBLISHED_CODE, "published code", is_headline=False),
        _is_never_raises_e_s(runs),
        _is_lowers_e_m_slowly(runs),
    ]


def _im_raises_e_m(runs: Runs, method: str, version: str, is_headline: bool) -> Claim:
    raising, falls, passes = _raising_moves(runs, method, "E_m"), *_falling_passes(runs, method, "E_m")
    share = f"{percent_range(raising)} of the moves raise E_m"
    return Claim(
        "Fig. 2a, b",
        f"Driven by I_m ({version}), E_m falls overall, but single steps raise it.",
        f"bumps in the enlarged part; {NO_NUMBER}",
        f"{share}; it falls in {falls} of {passes} passes",
        verdict_by_count(int(raising.min() > 0) + int(falls == passes), 2),
        headline=share if is_headline else "",
    )


def _is_never_raises_e_s(runs: Runs) -> Claim:
    raising, falls, passes = _raising_moves(runs, "k-sums-Is", "E_s"), *_falling_passes(runs, "k-sums-Is", "E_s")
    share = f"{percent_range(raising)} of the moves raise E_s"
    return Claim(
        "Fig. 2c",
        "Driven by I_s, no step raises E_s.",
        "no bumps",
        f"{share}; it falls in {falls} of {passes} passes",
        verdict_by_count(int(raising.max() == 0) + int(falls == passes), 2),
        headline=share,
    )


def _is_lowers_e_m_slowly(runs: Runs) -> Claim:
    slow, fast = _fall_of_e_m(runs, "k-sums-Is"), _fall_of_e_m(runs, "k-sums-Im")
    ours = f"E_m falls by {percent_range(slow)} in these passes; driven by I_m, by {percent_range(fast)}"
    return Claim(
        "Fig. 2d",
        "Driven by I_s, E_m falls too, but considerably more slowly than driven by I_m.",
        NO_NUMBER,
        ours,
        verdict_by_count(int(slow.min() > 0) + int(slow.max() < _SLOWER * fast.min()), 2),
        headline=ours,
    )


def _raising_moves(runs: Runs, method: str, measure: str) -> np.ndarray:
    """(runs,) The fraction of moves that raise a measure."""
    fractions = []
    for unit in runs.by_method[method]:
        raising = sum(entry[measure]["raised"] for entry in unit["passes"])
        fractions.append(raising / max(1, sum(entry["moves"] for entry in unit["passes"])))
    return np.array(fractions)


def _falling_passes(runs: Runs, method: str, measure: str) -> tuple[int, int]:
    """The number of passes in which a measure falls, and the number of all passes."""
    passes = [entry[measure] for unit in runs.by_method[method] for entry in unit["passes"]]
    return sum(entry["last"] < entry["first"] for entry in passes), len(passes)


def _fall_of_e_m(runs: Runs, method: str) -> np.ndarray:
    """(runs,) The relative fall of E_m over all measured passes."""
    ends = [(u["passes"][0]["E_m"]["first"], u["passes"][-1]["E_m"]["last"]) for u in runs.by_method[method]]
    return np.array([1 - last / first for first, last in ends])
