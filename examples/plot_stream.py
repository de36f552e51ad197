"""
A stream that drifts
====================

``SequentialKSums`` learns each sample once. With ``half_life``, old samples count less and less, so the clusters follow
a stream that changes. Without it, they are the means of all samples so far.
"""

import matplotlib.pyplot as plt
import numpy as np

from ksums import SequentialKSums

rng = np.random.default_rng(0)
n = 6_000
angle = np.linspace(0, np.pi, n)  # three sources move around a circle
source = rng.integers(3, size=n)
around = angle + 2 * np.pi / 3 * source
stream = np.column_stack([np.cos(around), np.sin(around)]) * 5 + rng.normal(size=(n, 2)) * 0.5

models = {"no half-life": SequentialKSums(3), "half_life=60": SequentialKSums(3, half_life=60)}
paths = {name: [] for name in models}
for chunk in np.split(stream, 60):  # the size of the chunks makes no difference
    for name, model in models.items():
        model.partial_fit(chunk)
        paths[name].append(model.cluster_centers_.copy())

# %%
# The paths of the centres, from the dot to the star.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained", sharey=True)
for ax, (name, path) in zip(axes, paths.items(), strict=True):
    ax.scatter(*stream.T, c=np.arange(n), cmap="Greys", s=3, alpha=0.6)
    for r in range(3):
        x, y = np.array(path)[:, r].T
        ax.plot(x, y, linewidth=2)
        ax.plot(x[0], y[0], "k.")
        ax.plot(x[-1], y[-1], "k*", markersize=12)
    ax.set_aspect("equal")
    ax.set_title(name)
plt.show()

# %%
# The mean distance of the three sources from the nearest centre at the end:

last = angle[-1] + 2 * np.pi / 3 * np.arange(3)
sources = np.column_stack([np.cos(last), np.sin(last)]) * 5
for name, model in models.items():
    distances = np.linalg.norm(sources[:, None] - model.cluster_centers_, axis=2).min(axis=1)
    print(f"{name:>12}: {distances.mean():.2f}")

# %%
# ``forget`` removes a sample. Sums and sizes are then the same as before.

model = SequentialKSums(3)
model.partial_fit(stream[:1_000])
before = model.cluster_centers_.copy()
label = model.learn_one(stream[1_000])
model.forget(stream[1_000:1_001], [label])
print(np.allclose(model.cluster_centers_, before))
