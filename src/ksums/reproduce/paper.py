"""What the paper prints, to be put beside ours."""

from __future__ import annotations

KS = (5, 10, 15, 20)

PAPERS_DATA = {
    "steps": "SIFT100K, 100,000 × 128",
    "significance": "SIFT100K, 100,000 × 128",
    "sequential": "SIFT100K, 100,000 × 128",
    "large_scale": "SIFT1M, 1,000,000 × 128; GloVe1M, 1.1 million × 100; MSD, 0.99 million × 60; SUSY, 5 million × 19",
    "large_scale_100": "the same; with k = 10,000 these are 100, 110, 99 and 500 samples per cluster",
    "documents": "UMD: 15 sets of 878 to 9,558 × 2,880 to 36,306",
}
"""Tab. 1. It prints 10⁴ for SIFT100K, which must be 10⁵."""

ENTROPY = {
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
"""Tab. 2(a, b): mean entropy over 15 document sets, for each of ``KS``."""
