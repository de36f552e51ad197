"""
Two objectives
==============

``objective="distortion"`` (the paper's I_m) is the objective of k-means: squared distances to the cluster's centre. It
makes the spreads of the clusters more equal. ``objective="pairwise"`` (I_s) adds up the squared distances of all pairs
within a cluster. A large cluster has very many pairs, so the sizes become more equal.
"""

import matplotlib.pyplot as plt
import numpy as np

from ksums import KSums, plots

rng = np.random.default_rng(0)
large = rng.normal(size=(3_000, 2))
small = [rng.normal(size=(200, 2)) * 0.6 + centre for centre in ((7, 2.5), (7, -2.5))]
X = np.vstack([large, *small])

models = {objective: KSums(3, objective=objective, random_state=0).fit(X) for objective in ("distortion", "pairwise")}
figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained", height_ratios=[2, 1])
for (objective, model), above, below in zip(models.items(), *axes, strict=True):
    above.scatter(*X.T, c=model.labels_, cmap="turbo", s=4)
    above.set_aspect("equal")
    above.set_title(f'objective="{objective}"')
    plots.sizes(model, ax=below)
plt.show()

# %%
# Each model is the best by the objective that it minimised.

for objective, model in models.items():
    print(f"{objective:>10}: E_m {model.distortion_:.3f}, E_s {model.pairwise_:.1f}, sizes {np.sort(model.sizes_)}")
