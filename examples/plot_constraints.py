"""
Delivery areas, depots and households
=====================================

Clusters that must keep to conditions: every van carries the same load, two depots are where they are, and the members
of a household get their parcels from the same van. All of it holds exactly.
"""

import matplotlib.pyplot as plt
import numpy as np

from ksums import KSums

rng = np.random.default_rng(4)
addresses = np.vstack([rng.normal(size=(n, 2)) * s + c for n, s, c in ((260, 0.8, (0, 0)), (120, 1.6, (4, 1)))])
depots = np.array([[-1.5, 1.5], [6.0, 2.5]])

free = KSums(8, random_state=0).fit(addresses)
even = KSums(8, size_max="balanced", random_state=0).fit(addresses)
fixed = KSums(8, size_max="balanced", fixed_centers=depots, random_state=0).fit(addresses)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharex=True, sharey=True)
titles = ("no conditions", "equal sizes", "equal sizes, two centres given")
for model, title, ax in zip((free, even, fixed), titles, axes, strict=True):
    ax.scatter(*addresses.T, c=model.labels_, cmap="turbo", s=7)
    ax.plot(*model.cluster_centers_.T, "k+", markersize=9)
    ax.set_title(f"{title}\nsizes {model.sizes_.min()} to {model.sizes_.max()}, E_m {model.distortion_:.2f}")
    ax.set_aspect("equal")
axes[2].plot(*depots.T, "s", color="black", markersize=7, fillstyle="none")
plt.show()

# %%
# Groups of rows that must share a cluster are one name for each row, here a household number; −1 is no household.

households = np.full(len(addresses), -1)
households[:40] = np.repeat(np.arange(10), 4)
together = KSums(8, size_min=40, size_max=55, random_state=0).fit(addresses, must_link=households)
print(all(len(set(together.labels_[households == h])) == 1 for h in range(10)), np.sort(together.sizes_))

# %%
# Tomorrow's addresses are assigned to the same areas, at most eight to each, as cheaply as that is possible.

tomorrow = rng.normal(size=(60, 2)) * 2 + [2, 0.5]
print(np.bincount(even.predict(tomorrow), minlength=8), np.bincount(even.assign(tomorrow, size_max=8), minlength=8))
