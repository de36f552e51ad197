"""
Instead of k-means: one line
============================

``KSums`` takes the place of scikit-learn's ``KMeans``, with the same attributes and methods. Here both cluster the
digits of scikit-learn ten times, from ten different starts.
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
# Both bring down the same number, the sum of squared distances of the samples to their own centre (``inertia_``). A
# tick is a run, the dot their median. The worst run of k-sums is better than the best of k-means, so there is little
# reason to run it several times and take the best.

figure, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
plots.comparison({"KMeans": by_kmeans, "KSums": by_ksums}, measure="inertia", ax=ax)
ax.set_title(f"digits, n = {len(X):,}, d = {X.shape[1]}, k = {k}, ten seeds each")
plt.show()

# %%
# As figures:

for name, models in (("KMeans", by_kmeans), ("KSums", by_ksums)):
    found = [model.inertia_ for model in models]
    print(f"{name}: {min(found):,.0f} to {max(found):,.0f}, median {np.median(found):,.0f}")

# %%
# Everything else is where it was.

model = by_ksums[0]
print(model.cluster_centers_.shape, model.labels_.shape, model.predict(X[:3]), model.transform(X[:3]).shape)

# %%
# The centres are images, too: means of the images that look alike.

figure, axes = plt.subplots(5, 10, figsize=(7, 3.6), layout="constrained")
for ax, centre in zip(axes.ravel(), model.cluster_centers_, strict=True):
    ax.imshow(centre.reshape(8, 8), cmap="gray_r")
    ax.axis("off")
plt.show()
