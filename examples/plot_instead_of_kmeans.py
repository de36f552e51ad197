"""
Replace k-means: change one line
================================

``KSums`` is a one-line replacement for scikit-learn's ``KMeans``, with the same attributes and methods. Here both
cluster scikit-learn's digits with ten different seeds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from ksums import KSums, plots

X, digits = load_digits(return_X_y=True)
k = 50
by_kmeans = [KMeans(k, random_state=seed).fit(X) for seed in range(10)]
by_ksums = [KSums(k, random_state=seed).fit(X) for seed in range(10)]

# %%
# Both minimise the same objective, the sum of squared distances of the samples to their cluster's centre
# (``inertia_``). A tick is one run, the dot is the median. The worst run of k-sums is better than the best run of
# k-means, so there is little reason to run it several times.

figure, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
plots.comparison({"KMeans": by_kmeans, "KSums": by_ksums}, measure="inertia", ax=ax)
ax.set_title(f"digits, n = {len(X):,}, d = {X.shape[1]}, k = {k}, ten seeds each")
plt.show()

# %%
# The same in numbers:

for name, models in (("KMeans", by_kmeans), ("KSums", by_ksums)):
    found = [model.inertia_ for model in models]
    print(f"{name}: {min(found):,.0f} to {max(found):,.0f}, median {np.median(found):,.0f}")

# %%
# The attributes and methods are those of ``KMeans``.

model = by_ksums[0]
print(model.cluster_centers_.shape, model.labels_.shape, model.predict(X[:3]), model.transform(X[:3]).shape)

# %%
# Each centre is the mean of similar images, so it can be shown as an image.

figure, axes = plt.subplots(5, 10, figsize=(7, 3.6), layout="constrained")
for ax, centre in zip(axes.ravel(), model.cluster_centers_, strict=True):
    ax.imshow(centre.reshape(8, 8), cmap="gray_r")
    ax.axis("off")
plt.show()
