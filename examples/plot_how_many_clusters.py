"""
How many clusters?
==================

:func:`ksums.choosing.choose_k` scores a range of k in three ways, suggests one, and gives the reason.

- *Objective*: it always falls with k, so it says little on its own.
- *Silhouette*: how much nearer samples are to their own cluster than to the next one.
- *Stability*: whether models of different parts of the data agree, overall and in the weakest cluster. A real cluster
  is found again. A cluster that was cut in two arbitrarily is not.

The suggestion is the largest k for which every cluster is found again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from ksums import KSums, plots
from ksums.choosing import choose_k

# %%
# Generated data: one cluster in the middle of six others, with some overlap.

ring = np.linspace(0, 2 * np.pi, 6, endpoint=False)
centres = np.vstack([[0.0, 0.0], np.column_stack([np.cos(ring), np.sin(ring)]) * 6])
X, _ = make_blobs(2_000, centers=centres, cluster_std=1.3, random_state=0)
found = choose_k(X, range(2, 13))
print(found.reason)

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
plots.choice(found, ax=left)
plots.cluster_map(X, KSums(found.k, random_state=0).fit(X), ax=right)
plt.show()

# %%
# Real data: 13 chemical measurements of 178 wines from three growers. The columns have different units, so they are
# scaled first. Without scaling, the columns with the largest numbers would decide alone.

wines = StandardScaler().fit_transform(load_wine().data)
found = choose_k(wines, range(2, 9))
print(found.reason)

# %%

model = KSums(found.k, random_state=0).fit(wines)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
plots.choice(found, ax=left)
plots.silhouette(wines, model, ax=right)
plt.show()
