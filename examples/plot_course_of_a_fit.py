"""
What happens in a fit
=====================

Every method leaves a record of each pass over the samples. Here the paper's own rule and its baselines are put beside
what ``KSums`` does by default: some passes of *annealing*, in which samples also move where the objective rises a
little; a *merge–split search*, which dissolves one cluster and splits another where that pays; and passes of the
exact rule until no sample wants to move.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from ksums import METHODS, history_frame, plots

X, _ = load_digits(return_X_y=True)
names = ("k-means++", "Hartigan", "k-sums-Im", "ksums")
models = {name: METHODS[name](50, random_state=0).fit(X) for name in names}

# %%
# By pass. The dots are parts of the search; it goes on from the best that annealing has found.

ax = plots.objective(models)
ax.set_title("digits, n = 1,797, k = 50, one seed")
ax.set_ylim(385, 450)
plt.show()

# %%
# The same against the time.

ax = plots.objective(models, by="seconds")
ax.set_title("digits, n = 1,797, k = 50, one seed")
ax.set_ylim(385, 450)
plt.show()

# %%
# The records are a table, too: what was done, how many samples moved, what was gained.

print(history_frame(models["ksums"])[["stage", "objective", "moves", "trials", "kept"]].tail(8))

# %%
# What the methods ended with. ``effort`` says how much annealing and search there is: ``"low"``, ``"default"``,
# ``"high"``, or a number of seconds.

for name, model in models.items():
    print(f"{name:>10}: E_m {model.distortion_:.2f} after {model.n_iter_} passes")
