"""
A tree of clusters
==================

``BisectingKSums`` (Algorithm 2 of the paper) splits one cluster after another in two. Its time grows with log k instead
of k, and one fit gives the labels for every smaller number of clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ksums import BisectingKSums, plots

X, digits = load_digits(return_X_y=True)
tree = BisectingKSums(24, random_state=0).fit(X)

# %%
# Each leaf is named after its most frequent digit. The height is the sum of squares within a node.

shown = [str(np.bincount(digits[tree.labels_ == r]).argmax()) for r in range(24)]
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
plots.dendrogram(tree, names=shown, ax=ax)
ax.set_xlabel("most frequent digit of the cluster")
plt.show()

# %%
# Cut the tree to get the labels for 2 to 24 clusters without fitting again. Each clustering refines the one before.

ks = range(2, 25)
share = []
for k in ks:
    labels = tree.cut(k)
    share.append(sum(np.bincount(digits[labels == r]).max() for r in range(k)) / len(digits))
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(ks, share, "o-")
ax.set(xlabel="number of clusters", ylabel="images with the most frequent\ndigit of their cluster", ylim=(0, 1))
ax.grid(alpha=0.3)
plt.show()
