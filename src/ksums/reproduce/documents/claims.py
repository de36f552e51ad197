"""The claims about Tab. 2."""

from __future__ import annotations

import numpy as np

from ksums.datasets import DOCUMENTS
from ksums.reproduce.claim import Claim, verdict_by_count, verdict_if
from ksums.reproduce.documents.entropies import Entropies, entropies
from ksums.reproduce.documents.paper import KS, PAPER_ENTROPY, is_bisecting
from ksums.reproduce.method_names import full_name
from ksums.reproduce.store import Results
from ksums.reproduce.wording import listed

_CLOSE = 0.035
"""Entropies closer than this are close: the paper calls IKM and k-sums-I_m close, which differ by this much."""
_SAME = 0.02
"""Entropies closer than this agree: other seeds and two missing data sets can change a mean by this much."""
_DIRECT = [method for method in PAPER_ENTROPY if not is_bisecting(method)]
_BISECTING = [method for method in PAPER_ENTROPY if is_bisecting(method)]
_PAPER_MEAN = {method: float(np.mean(values)) for method, values in PAPER_ENTROPY.items()}


def judge(results: Results) -> list[Claim]:
    """All claims. The values themselves are compared only on the paper's own data."""
    table = entropies(results)
    claims = [
        _outperforms(table, "k-sums-Im"),
        _outperforms(table, "k-sums-Is"),
        _is_best_bisecting(table),
        _similar(
            table,
            "Tab. 2b",
            "Bisecting: k-sums-I_s performs like k-means#.",
            "bisecting k-sums-Is",
            "bisecting k-means#",
        ),
        _only_ikm_is_close(table),
        _similar(table, "Tab. 2a", "k-means# and Hartigan perform similarly.", "k-means#", "Hartigan"),
    ]
    if {part["name"] for part in results["data"]} <= set(DOCUMENTS):
        same = ("k-sums-Im", "k-sums-Is", "bisecting k-sums-Im", "bisecting k-sums-Is")
        claims += [_same_entropies(table, method) for method in same]
    return claims


def _clearly_beaten(table: dict[str, Entropies], method: str, others: list[str]) -> list[str]:
    """The methods that are worse by more than the seeds explain."""
    ours = table[method]
    return [
        other
        for other in others
        if ours.mean_best < table[other].mean_best - 2 * max(ours.seed_std, table[other].seed_std)
    ]


def _verdict(table: dict[str, Entropies], method: str, beaten: list[str], others: list[str], baseline: str) -> str:
    """In part: the lowest, but not clearly; or clearly better than the baseline only."""
    is_lowest = all(table[method].mean_best < table[other].mean_best for other in others)
    return verdict_if(beaten == others, in_part=is_lowest or baseline in beaten)


def _outperforms(table: dict[str, Entropies], method: str) -> Claim:
    others = [other for other in _DIRECT if not other.startswith("k-sums")]
    beaten = _clearly_beaten(table, method, others)
    mean = f"mean entropy {table[method].mean_best:.3f}"
    baselines = f"k-means {table['k-means'].mean_best:.3f}, IKM {table['IKM'].mean_best:.3f}"
    return Claim(
        "Tab. 2a",
        f"Direct: {full_name(method)} outperforms the other methods considerably.",
        f"mean entropy {_PAPER_MEAN[method]:.3f}; k-means {_PAPER_MEAN['k-means']:.3f}, IKM {_PAPER_MEAN['IKM']:.3f}",
        f"{mean} ± {table[method].seed_std:.3f}; {baselines}; clearly better than {listed(beaten)}",
        _verdict(table, method, beaten, others, "k-means"),
        headline=f"{mean}; {baselines}; clearly better than {len(beaten)} of {len(others)} methods",
    )


def _is_best_bisecting(table: dict[str, Entropies]) -> Claim:
    method = "bisecting k-sums-Im"
    others = [other for other in _BISECTING if other != method]
    beaten = _clearly_beaten(table, method, others)
    mean = f"mean entropy {table[method].mean_best:.3f}"
    return Claim(
        "Tab. 2b",
        "Bisecting: k-sums-I_m shows the best results.",
        f"mean entropy {_PAPER_MEAN[method]:.3f}, the lowest of six",
        f"{mean} ± {table[method].seed_std:.3f}; clearly better than {listed(beaten)}",
        _verdict(table, method, beaten, others, "bisecting k-means"),
        headline=f"{mean}; clearly better than {len(beaten)} of {len(others)} methods",
    )


def _similar(table: dict[str, Entropies], where: str, statement: str, one: str, other: str) -> Claim:
    return Claim(
        where,
        statement,
        f"{_PAPER_MEAN[one]:.3f} and {_PAPER_MEAN[other]:.3f}",
        f"{table[one].mean_best:.3f} and {table[other].mean_best:.3f}",
        verdict_if(abs(table[one].mean_best - table[other].mean_best) < _CLOSE),
    )


def _only_ikm_is_close(table: dict[str, Entropies]) -> Claim:
    def close(means: dict[str, float]) -> list[str]:
        others = [method for method in _DIRECT if not method.startswith("k-sums")]
        return [method for method in others if abs(means[method] - means["k-sums-Im"]) < _CLOSE]

    ours = close({method: row.mean_best for method, row in table.items()})
    return Claim(
        "Tab. 2",
        "IKM is the only method that comes close to k-sums.",
        f"within {_CLOSE} of k-sums-I_m in Tab. 2a: {listed(close(_PAPER_MEAN))}",
        f"within {_CLOSE} of k-sums-I_m: {listed(ours)}",
        verdict_if(ours == ["IKM"], in_part="IKM" in ours),
    )


def _same_entropies(table: dict[str, Entropies], method: str) -> Claim:
    differences = np.abs(np.array(table[method].best) - PAPER_ENTROPY[method])
    return Claim(
        "Tab. 2b" if is_bisecting(method) else "Tab. 2a",
        f"{full_name(method)} reaches these entropies at k = {', '.join(map(str, KS))}.",
        " ".join(f"{value:.3f}" for value in PAPER_ENTROPY[method]),
        " ".join(f"{value:.3f}" for value in table[method].best) + f" (± {table[method].seed_std:.3f} between seeds)",
        verdict_by_count(int(np.sum(differences < _SAME)), len(KS)),
    )
