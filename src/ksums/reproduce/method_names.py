"""The methods that the paper does not have, and the names of all methods on the page."""

from __future__ import annotations

PUBLISHED_CODE = "k-sums-Im (released)"
"""I_m as in the authors' published code, which differs from the printed formula."""
OURS = "ksums"
"""Our default."""
OURS_HIGH_EFFORT = "ksums, high effort"
"""Our method with ``effort="high"``."""

_FULL_NAMES = {
    "k-sums-Im": "k-sums-I_m (printed)",
    PUBLISHED_CODE: "k-sums-I_m (published code)",
    OURS: "ksums (default)",
    OURS_HIGH_EFFORT: "ksums (high effort)",
}


def full_name(method: str) -> str:
    """The name of a method on the page.

    >>> full_name("k-sums-Im"), full_name("bisecting k-sums-Is")
    ('k-sums-I_m (printed)', 'bisecting k-sums-I_s')
    """
    return _FULL_NAMES.get(method, method.replace("-Im", "-I_m").replace("-Is", "-I_s"))
