"""What the paper prints in Tab. 2(a, b)."""

from __future__ import annotations

KS = (5, 10, 15, 20)
"""The numbers of clusters."""

PAPER_SETS = 15
"""The number of document sets."""

PAPER_ENTROPY = {
    "k-means": (0.539, 0.443, 0.402, 0.387),
    "k-means++": (0.550, 0.441, 0.403, 0.389),
    "Mini-Batch": (0.585, 0.488, 0.469, 0.475),
    "LVQ": (0.800, 0.761, 0.681, 0.674),
    "k-means#": (0.552, 0.442, 0.388, 0.368),
    "Hartigan": (0.451, 0.358, 0.331, 0.307),
    "IKM": (0.465, 0.401, 0.366, 0.358),
    "k-sums-Im": (0.452, 0.362, 0.330, 0.312),
    "k-sums-Is": (0.445, 0.357, 0.325, 0.308),
    "bisecting k-means": (0.532, 0.438, 0.410, 0.373),
    "bisecting k-means++": (0.507, 0.422, 0.400, 0.379),
    "bisecting k-means#": (0.514, 0.388, 0.353, 0.329),
    "bisecting IKM": (0.465, 0.390, 0.353, 0.330),
    "bisecting k-sums-Im": (0.449, 0.367, 0.335, 0.311),
    "bisecting k-sums-Is": (0.494, 0.408, 0.359, 0.345),
}
"""The mean entropy over all document sets, for each of ``KS``."""


def is_bisecting(method: str) -> bool:
    """Whether a method belongs to Tab. 2b rather than to Tab. 2a."""
    return method.startswith("bisecting ")
