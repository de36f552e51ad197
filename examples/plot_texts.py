"""
Cluster texts
=============

Two texts of different length are similar if they use the same words in the same proportions. ``metric="cosine"``
therefore compares only the directions of the rows. The texts of this example are the docstrings of SciPy's functions,
and the module of each function is its known class.
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
# Word counts become tf · ln(N/df), as in the paper. A word that occurs in every text has weight 0.

counts = CountVectorizer(token_pattern=r"[a-z]{3,}", stop_words="english", min_df=3)
X = TfIdf().fit_transform(counts.fit_transform(texts))
print(f"{X.shape[0]:,} texts, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} distinct words per text")

# %%
# The entropy measures how mixed the clusters are: 0 if each holds functions of a single module, 1 if the clusters say
# nothing about the modules. k-means gets the same rows. They have unit length, so its distances compare directions too.

k = 20
by_ksums = [KSums(k, metric="cosine", random_state=seed).fit(X) for seed in range(5)]
by_kmeans = [KMeans(k, random_state=seed).fit(X) for seed in range(5)]
for name, models in (("KMeans", by_kmeans), ("KSums", by_ksums)):
    entropy = np.mean([metrics.entropy(truth, model.labels_) for model in models])
    distance = np.mean([metrics.cosine_distance(X, model.labels_) for model in models])
    print(f"{name}: entropy {entropy:.3f}, mean cosine distance {distance:.4f} (five seeds)")

# %%
# What the clusters are about: the words that are more frequent in a cluster than elsewhere.

model = by_ksums[0]
found = describe(model, X, features=counts.get_feature_names_out())
for cluster in found.clusters[:10]:
    words = ", ".join(word for word, _ in cluster.words)
    print(f"{cluster.size:>4.0f} texts: {words}; for example {names[cluster.central[0]]}")

# %%
# The share of each module in each cluster.

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
