"""
Thousands of clusters
=====================

Codebooks and vector indexes need thousands of centres. A pass over n samples and k clusters takes n·k comparisons.
``engine="neighbors"`` compares a sample only with the L clusters nearest to its own, which takes n·L. ``engine="auto"``
does this for k ≥ 2,000, and on large data for k ≥ 500.
"""

import matplotlib.pyplot as plt
import numpy as np

from ksums import KSums

rng = np.random.default_rng(0)
n, d = 40_000, 16
centres = rng.normal(size=(500, d)) * 2
X = (centres[rng.integers(500, size=n)] + rng.normal(size=(n, d))).astype(np.float32)

# %%
# Comparisons per pass, including those that make the lists. The dashed line is n·k.

ks = (500, 1_000, 2_000, 4_000)
fits = [KSums(k, engine="neighbors", random_state=0).fit(X) for k in ks]
made = [sum(record.comparisons for record in model.history_) / model.n_iter_ for model in fits]
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.loglog(ks, np.array(ks) * n, "k--", label="all clusters: n·k")
ax.loglog(ks, made, "o-", label='engine="neighbors"')
ax.set_xticks(ks, [f"{k:,}" for k in ks], minor=False)
ax.minorticks_off()
ax.set(xlabel="clusters", ylabel="comparisons per pass")
ax.grid(alpha=0.3)
ax.legend()
plt.show()

# %%
# What the lists cost in quality, for k = 1,000: all clusters, the default lists, and longer lists.

exact = KSums(1_000, engine="exact", random_state=0).fit(X)
high = KSums(1_000, engine="neighbors", effort="high", random_state=0).fit(X)
for name, model in (("all clusters", exact), ("default lists", fits[1]), ("longer lists", high)):
    comparisons = sum(record.comparisons for record in model.history_)
    print(f"{name:>13}: E_m {model.distortion_:.4f}, {comparisons / 1e9:.2f} billion comparisons in total")

# %%
# ``predict(search="graph")`` walks from centre to neighbouring centre. It sometimes finds only the second nearest.

walked, nearest = fits[-1].predict(X[:2_000], search="graph"), fits[-1].predict(X[:2_000])
print(f"{np.mean(walked == nearest):.1%} of the rows get their nearest centre")
