"""The part of the README about the paper's experiments, from their results in docs/reproduction."""

from __future__ import annotations

from readme_parts import HERE

from ksums.reproduce.claims import claims
from ksums.reproduce.page import summary
from ksums.reproduce.run import results

FOLDER = HERE.parent / "docs" / "reproduction"
MAIN = ("has the lowest E_m from", "k-sums-I_s has the lowest E_s from", "shows the best results", "no step raises")


def reproduction() -> list[str]:
    found = claims(results(FOLDER))
    main = [claim for claim in found if any(words in claim.claim for words in MAIN)]
    return [
        "The paper's experiments, done again with `ksums reproduce` ([all of it](docs/reproduction/README.md)). "
        f"{summary(found)}. Among them:",
        "",
        *(f"- *{claim.claim}* ({claim.where}): **{claim.verdict}**. Ours: {claim.ours}." for claim in main),
    ]
