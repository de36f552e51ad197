"""
An HTML report about the clusters
=================================

``write_report`` writes one HTML file that opens offline. It shows what was run, the objective after each pass, the
sizes, a map, and for each cluster what distinguishes it and which rows are typical. In a notebook, ``show_report``
shows it in place, as here. Hover over the map; click on a column header to sort, or on a cluster to see it alone.
"""

from sklearn.datasets import load_iris

from ksums import KSums
from ksums.report import show_report

iris = load_iris()
model = KSums(3, random_state=0).fit(iris.data)
names = [f"{iris.target_names[species]} {number}" for number, species in enumerate(iris.target)]
show_report(model, iris.data, names=names, features=iris.feature_names, title="Irises")

# %%
# ``ksums.plots`` draws the figures of the report, and others, one by one.

import matplotlib.pyplot as plt

from ksums import plots

figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
plots.cluster_map(iris.data, model, ax=axes[0, 0])
plots.silhouette(iris.data, model, ax=axes[0, 1])
plots.objective(model, ax=axes[1, 0])
plots.sizes(model, ax=axes[1, 1])
plt.show()
