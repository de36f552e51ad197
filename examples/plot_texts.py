"""
Texts by direction
==================

Texts of different length are alike if they use the same words in the same proportions: ``metric="cosine"`` looks at
the direction of a row only. The documents of this example are on every machine that runs it: the descriptions of the
functions of SciPy. Whether a clustering knows which module a function is from can be checked.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer

from ksums import KSums, metrics
from ksums.report import describe
from ksums.text import TfIdf

modules = ("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
           "stats")  # fmt: skip
names, texts, truth = [], [], []
for number, module in enumerate(modules):
    for name, thing in inspect.getmembers(importlib.import_module(f"scipy.{module}")):
        text = getattr(thing, "__doc__", None) or ""
        if callable(thing) and name != "test" and not name.startswith("_") and len(text) > 600:
            names.append(f"{module}.{name}")
            texts.append(text)
            truth.append(number)

# %%
# Counts of words become tf · ln(N/df), as in the paper: a word that every text has weighs nothing.

counts = CountVectorizer(token_pattern=r"[a-z]{3,}", stop_words="english", min_df=3)
X = TfIdf().fit_transform(counts.fit_transform(texts))
print(f"{X.shape[0]:,} texts, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} different ones in a text")

# %%
# The entropy says how mixed the clusters are: 0 if each has functions of one module only, 1 if it knows nothing of
# them. k-means is given the same rows. They are of unit length, so its distances compare directions, too.

k = 20
by_ksums = [KSums(k, metric="cosine", random_state=seed).fit(X) for seed in range(5)]
by_kmeans = [KMeans(k, random_state=seed).fit(X) for seed in range(5)]
for name, models in (("KMeans", by_kmeans), ("KSums", by_ksums)):
    entropy = np.mean([metrics.entropy(truth, model.labels_) for model in models])
    distance = np.mean([metrics.cosine_distance(X, model.labels_) for model in models])
    print(f"{name}: entropy {entropy:.3f}, mean cosine distance {distance:.4f} (five seeds)")

# %%
# What the clusters are about, by the words that are more frequent there than elsewhere.

model = by_ksums[0]
found = describe(model, X, features=counts.get_feature_names_out())
for cluster in found.clusters[:10]:
    words = ", ".join(word for word, _ in cluster.words)
    print(f"{cluster.size:>4.0f} texts: {words}; for instance {names[cluster.central[0]]}")

# %%
# Modules and clusters.

table = np.zeros((len(modules), k))
np.add.at(table, (truth, model.labels_), 1)
order = np.lexsort((-table.max(axis=0), table.argmax(axis=0)))
figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
image = ax.imshow(table[:, order] / table.sum(axis=0)[order], cmap="Blues", aspect="auto", vmin=0, vmax=1)
ax.set_yticks(range(len(modules)), modules)
ax.set_xticks(range(k), order)
ax.set(xlabel="cluster")
figure.colorbar(image, label="share of the cluster")
plt.show()
