"""
Words by edit distance
======================

Misspelt words have no coordinates, only distances: how many letters must be changed to turn one into another.
``PairwiseKSums`` needs no more than that.
"""

import matplotlib.pyplot as plt
import numpy as np

from ksums import PairwiseKSums

rng = np.random.default_rng(1)
right = ["necessary", "rhythm", "separate", "embarrass", "accommodate", "conscience"]


def misspelt(word):
    """Return the word with two random changes."""
    letters = list(word)
    for _ in range(2):
        at, letter = rng.integers(len(letters)), "abcdefghijklmnopqrstuvwxyz"[rng.integers(26)]
        letters[at : at + 1] = [[letter], [letters[at], letter], []][rng.integers(3)]
    return "".join(letters)


def edits(a, b):
    """Return Levenshtein's distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


words = [misspelt(word) for word in right for _ in range(15)]
model = PairwiseKSums(6, metric=edits, random_state=0).fit(words)
for r, medoid in enumerate(model.medoid_indices_):
    members = [words[i] for i in np.flatnonzero(model.labels_ == r)]
    print(f"{words[medoid]}: {', '.join(members[:5])} … ({len(members)} words)")

# %%
# The matrix of distances, with the words in the order of their clusters: the blocks on the diagonal are the clusters.

order = np.argsort(model.labels_, kind="stable")
distances = np.array([[edits(words[i], words[j]) for j in order] for i in order])
figure, ax = plt.subplots(figsize=(4.6, 4), layout="constrained")
picture = ax.imshow(distances, cmap="viridis")
ax.set(xlabel="words", ylabel="words", title="edit distances, sorted by cluster")
figure.colorbar(picture, ax=ax, label="edits")
plt.show()
