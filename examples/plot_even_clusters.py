"""
Clusters with size limits
=========================

``size_min`` and ``size_max`` are hard limits on the size of each cluster. Use them for districts, for batches of work,
or for index cells that answer equally fast. Rows are assigned to centres at the least cost within the limits; then
single rows move, and rows that cannot move alone change places, as long as the result improves.
"""

import matplotlib.pyplot as plt
import numpy as np

from ksums import KSums, plots

rng = np.random.default_rng(1)
towns = np.vstack([rng.normal(size=(n, 2)) * 0.7 + rng.uniform(-6, 6, 2) for n in (900, 500, 300, 200, 100)])

free = KSums(12, random_state=0).fit(towns)
even = KSums(12, size_min=160, size_max=175, random_state=0).fit(towns)

figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained", height_ratios=[2, 1])
for model, name, above, below in zip((free, even), ("no limits", "160 to 175"), *axes, strict=True):
    above.scatter(*towns.T, c=model.labels_, cmap="turbo", s=4)
    above.plot(*model.cluster_centers_.T, "k+", markersize=9)
    above.set_title(f"{name}: E_m {model.distortion_:.3f}")
    plots.sizes(model, ax=below)
plt.show()

# %%
# The sizes respect the limits. The price is a higher distortion.

print(np.sort(free.sizes_))
print(np.sort(even.sizes_))

# %%
# With sample weights, the limits apply to the sum of the weights in each cluster, here to the number of inhabitants.

inhabitants = rng.integers(1, 20, len(towns))
districts = KSums(12, size_max=1.05 * inhabitants.sum() / 12, random_state=0).fit(towns, sample_weight=inhabitants)
print(np.sort(districts.sizes_))
