"""
Cells for vector search
=======================

An inverted file (IVF) compares a query only with the vectors in the nearest few cells. The cells are clusters, and
their quality decides how many of the true neighbours are found. :mod:`ksums.contrib.faiss` trains faiss indexes with
k-sums.
"""

import faiss
import matplotlib.pyplot as plt
import numpy as np

from ksums.contrib.faiss import train_ivf

rng = np.random.default_rng(0)
d, n = 32, 60_000
mixing = rng.normal(size=(d, d)) * np.linspace(2.0, 0.1, d)  # directions of very different variance, as in real vectors
X = (rng.normal(size=(n, d)) @ mixing + rng.normal(size=(200, d))[rng.integers(200, size=n)] * 2).astype(np.float32)
base, queries = X[:-1_000], X[-1_000:]

exact = faiss.IndexFlatL2(d)
exact.add(base)
truth = exact.search(queries, 10)[1]

# %%
# The same index, trained by faiss and by k-sums.

cells = 400
by_faiss = faiss.index_factory(d, f"IVF{cells},Flat")
by_faiss.train(base)
by_ksums = train_ivf(base, nlist=cells, random_state=0)
for index in (by_faiss, by_ksums):
    index.add(base)

# %%
# Recall for equal work. Queries visit large cells more often, so the axis shows the number of vectors compared instead
# of the number of cells.

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, index, style in (("trained by faiss", by_faiss, "s--"), ("trained by ksums", by_ksums, "o-")):
    recalls, compared = [], []
    for nprobe in (1, 2, 4, 8, 16):
        index.nprobe = nprobe
        found = index.search(queries, 10)[1]
        recalls.append(np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, truth, strict=True)]))
        visited = index.quantizer.search(queries, nprobe)[1]
        sizes = np.array([index.invlists.list_size(r) for r in range(cells)])
        compared.append(sizes[visited].sum(axis=1).mean() / len(base))
        print(f"{name}, nprobe {nprobe:>2}: recall@10 {recalls[-1]:.3f}, vectors compared {compared[-1]:.2%}")
    ax.plot(np.array(compared) * 100, recalls, style, label=name)
ax.set_xscale("log")
ax.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
ax.minorticks_off()
ax.set(xlabel="vectors compared (% of all)", ylabel="recall@10")
ax.grid(alpha=0.3, which="both")
ax.legend()
plt.show()
