"""The README's sentence about the paper's experiments, from their results in docs/reproduction."""

from __future__ import annotations

from readme_parts import HERE

from ksums.reproduce.claim import verdict_summary
from ksums.reproduce.experiments import EXPERIMENTS
from ksums.reproduce.page import all_claims
from ksums.reproduce.run_all import load_outcomes


def reproduction() -> list[str]:
    """Say how many of the paper's claims hold."""
    outcomes = load_outcomes(EXPERIMENTS.values(), HERE.parent / "docs" / "reproduction")
    return [
        "`ksums reproduce` runs the paper's experiments again and checks what it claims. "
        f"{verdict_summary(all_claims(outcomes))} ([all of them](docs/reproduction/README.md))."
    ]
