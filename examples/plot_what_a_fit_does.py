"""
What a fit does, pass by pass
=============================

Every method records each pass over the samples. This example compares the paper's rule and two baselines with the
default of ``KSums``, which has three parts:

- *annealing* passes, in which a sample may also move if the objective rises a little;
- a *merge–split search*, which dissolves one cluster and splits another if that lowers the objective;
- exact passes, until no sample moves.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from ksums import METHODS, history_frame, plots

X, _ = load_digits(return_X_y=True)
names = ("k-means++", "Hartigan", "k-sums-Im", "ksums")
models = {name: METHODS[name](50, random_state=0).fit(X) for name in names}

# %%
# The plan of a fit says what it did.

print(models["ksums"].plan_)

# %%
# The objective after each pass. The dots are the search, which starts from the best result of annealing.

ax = plots.objective(models)
ax.set_title("digits, n = 1,797, k = 50, one seed")
ax.set_ylim(385, 450)
plt.show()

# %%
# The same over time.

ax = plots.objective(models, by="seconds")
ax.set_title("digits, n = 1,797, k = 50, one seed")
ax.set_ylim(385, 450)
plt.show()

# %%
# The records as a table: the stage, the objective, how many samples moved, and how many trials of the search were kept.

print(history_frame(models["ksums"])[["stage", "objective", "moves", "trials", "kept"]].tail(8))

# %%
# The final results. ``effort`` sets the amount of annealing and search: ``"low"``, ``"default"``, ``"high"``, or a
# number of seconds.

for name, model in models.items():
    print(f"{name:>10}: E_m {model.distortion_:.2f} after {model.n_iter_} passes")
