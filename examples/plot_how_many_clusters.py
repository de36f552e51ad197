"""
How many clusters?
==================

:func:`ksums.choosing.choose_k` looks at a range of k from three sides, suggests one, and says why.

- The *objective* always falls with k; it alone tells little.
- The *silhouette*: how much nearer samples are to their own cluster than to the next one.
- The *stability*: whether models of different parts of the data label the same samples alike, in all and in the weakest
  cluster. A cluster that is there is found again; one that was cut in two at will is not.

Suggested is the largest k at which every cluster is found again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from ksums import KSums, plots
from ksums.choosing import choose_k

# %%
# Made-up data: one cluster in the middle of six, all a little blurred.

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
# Real data: 178 wines of three growers, 13 chemical measurements. They are in different units, so each is scaled to
# standard deviations first; without that the largest numbers decide alone.

wines = StandardScaler().fit_transform(load_wine().data)
found = choose_k(wines, range(2, 9))
print(found.reason)

# %%

model = KSums(found.k, random_state=0).fit(wines)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
plots.choice(found, ax=left)
plots.silhouette(wines, model, ax=right)
plt.show()
