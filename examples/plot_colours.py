"""
Reduce the colours of a picture
===============================

This example reduces a photograph with tens of thousands of colours to sixteen. The cluster centres of the pixels are
the palette, and the distortion is the mean squared error of the picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from ksums import KSums

picture = load_sample_image("flower.jpg")[::2, ::2]
pixels = picture.reshape(-1, 3).astype(np.float32)
k = 16
print(f"{len(pixels):,} pixels, {len(np.unique(pixels, axis=0)):,} colours, to be reduced to {k}")

# %%

kmeans = KMeans(k, random_state=0).fit(pixels)
ksums = KSums(k, random_state=0).fit(pixels)
errors = {"KMeans": kmeans.inertia_ / len(pixels), "KSums": ksums.distortion_}

figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.7), layout="constrained")
axes[0].imshow(picture)
axes[0].set_title("original")
for ax, (name, error), model in zip(axes[1:], errors.items(), (kmeans, ksums), strict=True):
    ax.imshow(model.cluster_centers_.astype(np.uint8)[model.labels_].reshape(picture.shape))
    ax.set_title(f"{name}: squared error {error:.1f}")
for ax in axes:
    ax.axis("off")
plt.show()

# %%
# The palette, sorted by frequency.

order = np.argsort(-ksums.sizes_)
figure, ax = plt.subplots(figsize=(7, 0.8), layout="constrained")
ax.imshow(ksums.cluster_centers_[order][None].astype(np.uint8), aspect="auto")
ax.axis("off")
plt.show()
