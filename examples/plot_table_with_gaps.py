"""
A survey with words and gaps
============================

A table as it comes: ages, towns, yes and no, dates, an identifier, and cells that nobody filled in. Nothing is encoded
or imputed first; a missing cell has no opinion.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ksums import TableKSums

rng = np.random.default_rng(0)
n = 600
habit = rng.integers(0, 3, n)
survey = pd.DataFrame(
    {
        "respondent_id": 10_000 + rng.permutation(n),
        "age": (28 + 17 * habit + rng.normal(0, 6, n)).round(),
        "rides": np.maximum(0, rng.normal([14, 3, 7], 2.0, (n, 3))[np.arange(n), habit]).round(),
        "transport": np.array(["bike", "car", "bus"])[np.where(rng.random(n) < 0.8, habit, rng.integers(0, 3, n))],
        "licence": rng.random(n) < np.array([0.4, 0.97, 0.6])[habit],
        "answered": pd.Timestamp("2026-03-01") + pd.to_timedelta(rng.integers(0, 60, n), unit="D"),
    }
)
for column, share in {"age": 0.1, "rides": 0.2, "transport": 0.15}.items():
    survey.loc[rng.random(n) < share, column] = None

model = TableKSums(3, ignore=["answered"], random_state=0).fit(survey)  # when they answered is of no interest
print(model.columns_)
print(*model.cluster_profiles_, sep="\n")

# %%
# Each cluster in the units of the table, and how its categories are shared out.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for r, profile in enumerate(model.cluster_profiles_):
    own = survey[model.labels_ == r]
    axes[0].scatter(own.age, own.rides + rng.normal(0, 0.15, len(own)), s=8, label=f"cluster {r}")
    shares = own.transport.value_counts(normalize=True).reindex(["bike", "bus", "car"], fill_value=0)
    axes[1].bar(np.arange(3) + 0.27 * (r - 1), shares, 0.25)
    axes[2].bar(r, profile.size, 0.6)
axes[0].set(xlabel="age", ylabel="rides in a month", title="rows that have both")
axes[0].legend(frameon=False, fontsize=8)
axes[1].set(xticks=range(3), xticklabels=["bike", "bus", "car"], ylabel="share", title="transport")
axes[2].set(xticks=range(3), xlabel="cluster", ylabel="rows", title="sizes")
plt.show()

# %%
# New answers, some of them incomplete, with a means of transport that nobody had before.

new = pd.DataFrame({"age": [25, None], "rides": [None, 2], "transport": ["ferry", "car"], "licence": [None, True]})
print(model.predict(new))
