"""Fig. 2."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.claims.claim import Claim, percent, verdict
from ksums.reproduce.curves import RELEASED
from ksums.reproduce.experiment import Result
from ksums.reproduce.measured import Runs


def judge_steps(result: Result) -> list[Claim]:
    runs = Runs(result)

    def share(method: str, measure: str) -> tuple[np.ndarray, int, int]:
        """Of each run the share of moves that raise a measure; passes in which it fell, of all."""
        units = runs.by_method[method]
        raised = [
            sum(p[measure]["raised"] for p in unit["passes"]) / max(1, sum(p["moves"] for p in unit["passes"]))
            for unit in units
        ]
        fell = [p[measure]["last"] < p[measure]["first"] for unit in units for p in unit["passes"]]
        return np.array(raised), sum(fell), len(fell)

    def fall(method: str) -> np.ndarray:
        """Relative fall of E_m from the first of the passes to the last, of each run."""
        ends = [(u["passes"][0]["E_m"]["first"], u["passes"][-1]["E_m"]["last"]) for u in runs.by_method[method]]
        return np.array([1 - last / first for first, last in ends])

    rows = []
    for method, words in (("k-sums-Im", "as printed"), (RELEASED, "as in the published code")):
        raised, fell, of = share(method, "E_m")
        rows.append(
            Claim(
                "Fig. 2a, b",
                f"Driven by I_m ({words}), E_m falls in general, but single steps raise it.",
                "bumps in the zoom; no figure",
                f"{percent(raised)} of the moves raise E_m; it falls in {fell} of {of} passes",
                verdict(int(raised.min() > 0) + int(fell == of), 2),
            )
        )
    raised, fell, of = share("k-sums-Is", "E_s")
    rows.append(
        Claim(
            "Fig. 2c",
            "Driven by I_s, no step raises E_s.",
            "no bumps",
            f"{percent(raised)} of the moves raise E_s; it falls in {fell} of {of} passes",
            verdict(int(raised.max() == 0) + int(fell == of), 2),
        )
    )
    slow, fast = fall("k-sums-Is"), fall("k-sums-Im")
    rows.append(
        Claim(
            "Fig. 2d",
            "Driven by I_s, E_m falls too, but at a considerably slower pace than driven by I_m.",
            "no figure",
            f"E_m falls by {percent(slow)} in these passes, driven by I_m by {percent(fast)}",
            verdict(int(slow.min() > 0) + int(slow.max() < 0.75 * fast.min()), 2),
        )
    )
    return rows
