"""
A page about the clusters
=========================

``write_report`` makes one HTML file that opens offline: what was run, the course of the objective, sizes, a map, and
for each cluster what is special about it, which rows are typical and which are not. In a notebook ``show_report``
shows it in place, as here. Point at the map; click on the head of a column or on a cluster.
"""

from sklearn.datasets import load_iris

from ksums import KSums
from ksums.report import show_report

iris = load_iris()
model = KSums(3, random_state=0).fit(iris.data)
names = [f"{iris.target_names[species]} {number}" for number, species in enumerate(iris.target)]
show_report(model, iris.data, names=names, features=iris.feature_names, title="Irises")

# %%
# The pictures of such a page are there one by one, too.

import matplotlib.pyplot as plt

from ksums import plots

figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
plots.cluster_map(iris.data, model, ax=axes[0, 0])
plots.silhouette(iris.data, model, ax=axes[0, 1])
plots.objective(model, ax=axes[1, 0])
plots.sizes(model, ax=axes[1, 1])
plt.show()
