"""Bad input is refused before any work, in one sentence that names the parameter and the way out."""

import numpy as np
import pytest
from scipy import sparse

from ksums import Annealed, KSums, metrics

X = np.random.default_rng(0).standard_normal((30, 4))
"""These rows are valid."""
WITH_NAN, WITH_INF = X.copy(), X.copy()
"""Each of these copies has one bad value."""
WITH_NAN[17, 2], WITH_INF[3, 1] = np.nan, -np.inf

PARAMETERS = [
    ({"n_clusters": 0}, "n_clusters must be an integer of at least 1; got 0"),
    ({"n_clusters": 2.5}, "n_clusters must be an integer"),
    ({"n_clusters": True}, "n_clusters must be an integer"),
    ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
    ({"objective": "sse"}, "objective must be one of 'distortion', 'pairwise'; got 'sse'"),
    ({"metric": "euclid"}, "metric must be one of 'l2', 'cosine'; got 'euclid'"),
    ({"rule": "lloyd"}, "rule must be one of .* a number p >= 0, .*; got 'lloyd'"),
    ({"rule": -1.0}, "rule must be"),
    ({"rule": np.nan}, "rule must be"),
    ({"rule": Annealed(start=0.5)}, r"rule must be .* with start >= 1 .*; got Annealed\(start=0.5"),
    ({"rule": Annealed(passes=-1)}, "rule must be .* passes >= 0"),
    ({"refine": "swap"}, "refine must be 'auto', 'merge-split' or None; got 'swap'"),
    ({"effort": "max"}, "effort must be one of 'low', 'default', 'high', or a number of seconds > 0; got 'max'"),
    ({"effort": 0}, "effort must be"),
    ({"effort": np.inf}, "effort must be"),
    ({"rule": "hartigan", "objective": "pairwise"}, "rule='hartigan' has no meaning for objective='pairwise'"),
    ({"init": "kmeans++"}, "init must be one of"),
    ({"init": np.zeros(29, int)}, r"labels of shape \(30,\) or centres of shape \(3, 4\); got shape \(29,\)"),
    ({"init": np.zeros((3, 5))}, r"got shape \(3, 5\)"),
    ({"init": np.full(30, 3)}, "integers 0 … 2; got 3 … 3"),
    ({"init": np.full(30, 0.5)}, "must hold integers"),
    ({"init": np.full((3, 4), np.nan)}, "init as centres must be finite"),
    ({"init": np.full((3, 4), 1e200)}, "init as centres must hold values up to 1e[+]140"),
    ({"init": np.full((3, 4), "a")}, "init as centres must hold numbers"),
    ({"n_init": 0}, "n_init must be"),
    ({"max_iter": 0}, "max_iter must be"),
    ({"tol": -1e-3}, "tol must be"),
    ({"time_budget": 0}, "time_budget must be"),
    ({"size_max": 9}, "size_max=9 times n_clusters=3, 27, is less than the 30 samples to place; use size_max >= 10"),
    ({"size_min": 11}, "size_min=11 times n_clusters=3, 33, is more than the 30 samples there are; use size_min <= 10"),
    ({"size_min": 8, "size_max": 7}, "size_min=8 is above size_max=7"),
    ({"size_max": 0}, "size_max must be"),
    ({"size_max": "even"}, "size_max must be a number > 0, one for each cluster, 'balanced', or None; got 'even'"),
    ({"engine": "fast"}, "engine must be one of 'auto', 'exact', 'blocks', 'neighbors', 'reference'; got 'fast'"),
    ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1 or None; got 0"),
    ({"n_neighbors": 8, "engine": "exact"}, "n_neighbors=8 is for engine='neighbors'"),
    ({"polish": "full"}, "polish must be 'pass', 'assign' or None; got 'full'"),
    ({"polish": "pass", "engine": "exact"}, "polish='pass' is a last check of all clusters"),
    ({"n_neighbors": 8, "refine": "merge-split"}, "n_neighbors=8 asks for passes over the nearest"),
    ({"polish": "assign", "objective": "pairwise"}, "polish='assign' gives each sample its nearest centre"),
    ({"polish": "assign", "size_max": 20}, "polish='assign' gives each sample its nearest centre"),
    ({"engine": "neighbors", "refine": "merge-split"}, "refine='merge-split' ends in passes over all clusters"),
    ({"n_threads": 0}, "n_threads must be"),
    ({"verbose": -1}, "verbose must be"),
    ({"callbacks": print}, "callbacks must be a list"),
    ({"callbacks": [3]}, "each of callbacks must be"),
]
"""Each entry is a bad choice of parameters and its message."""


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_bad_parameters_are_refused(parameters, message):
    model = KSums(**{"n_clusters": 3, **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert {name for name in vars(model) if name.endswith("_")} <= {"n_features_in_"}


DATA = [
    (WITH_NAN, ValueError, "contains NaN, first in row 17, column 2"),
    (WITH_NAN.astype(np.float16), ValueError, "contains NaN, first in row 17, column 2"),
    (sparse.csr_array(WITH_NAN), ValueError, "contains NaN, first in row 17, column 2"),
    (WITH_INF, ValueError, "contains infinity, first in row 3, column 1"),
    (X * 1e200, ValueError, "values up to .* whose squares leave the range of float64.*divide X by a constant"),
    (np.float32(X * 1e38), ValueError, "accepts float32 up to 1e[+]37"),
    (X[:, 0], ValueError, "Reshape your data"),
    (X[None], ValueError, "dim 3"),
    (X.astype(complex), ValueError, "Complex data not supported.*pass X.real"),
    (np.array([["a", "b"]] * 30), ValueError, "could not convert string to float|dtype='numeric'"),
    (X[:0], ValueError, "0 sample"),
    (X[:, :0], ValueError, "0 feature"),
    (None, ValueError, "None|Expected 2D array"),
]
"""Each entry is bad data, its error and its message."""


@pytest.mark.parametrize(("data", "error", "message"), DATA, ids=range(len(DATA)))
def test_bad_data_is_refused(data, error, message):
    model = KSums(3)
    with pytest.raises(error, match=message):
        model.fit(data)
    assert not hasattr(model, "labels_")


WEIGHTS = [
    (np.full(30, -1.0), "sample_weight must be finite and >= 0; got -1.0 in row 0"),
    (np.where(np.arange(30) == 4, np.nan, 1.0), "got nan in row 4"),
    (np.zeros(30), "all sample weights are zero"),
    (np.ones(29), "one weight for each of the 30 rows of X; got 29"),
    (np.ones((30, 2)), r"got shape \(30, 2\)"),
    (np.full(30, 1e-170), "must lie between 1e-12 and 1e[+]12; got 1e-170 … 1e-170. Multiply them by a constant"),
    (np.where(np.arange(30) == 4, 1e20, 1.0), "got 1 … 1e[+]20"),
    ((np.arange(30) < 2).astype(float), "only 2 of 30 rows have a weight above zero.*n_clusters=3"),
]
"""Each entry is a bad array of weights and its message."""


@pytest.mark.parametrize(("weights", "message"), WEIGHTS)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        KSums(3).fit(X, sample_weight=weights)


def test_weights_that_cannot_meet_size_max_are_refused():
    weights = np.ones(30)
    weights[0] = 20
    with pytest.raises(ValueError, match="a sample of weight 20 fits into no cluster of size_max=17"):
        KSums(3, size_max=17).fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="no labels within size_min and size_max were found"):
        KSums(2, size_max=9).fit(X[:3], sample_weight=[6, 6, 6])


@pytest.mark.filterwarnings("ignore:.*rows of X are all zeros:UserWarning")
def test_too_few_rows_with_a_direction_are_refused():
    few = X.copy()
    few[2:] = 0
    with pytest.raises(ValueError, match=r"only 2 of 30 rows.*under metric='cosine'"):
        KSums(3, metric="cosine").fit(few)


def test_rows_without_a_direction_are_refused_under_size_limits():
    some = X.copy()
    some[[4, 9]] = 0
    with pytest.raises(ValueError, match=r"2 rows of X are all zeros \(first row 4\).*drop these rows"):
        KSums(3, metric="cosine", size_max=20).fit(some)


def test_new_data_of_another_width_is_refused():
    model = KSums(3, random_state=0).fit(X)
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="X has 3 features, but KSums is expecting 4 features"):
            method(X[:, :3])
        with pytest.raises(ValueError, match="NaN"):
            method(WITH_NAN)


def test_new_data_that_would_overflow_is_refused():
    model = KSums(3, random_state=0).fit(np.float32(X))
    far = np.tile(np.float32([[9e36, -9e36]]), (5, 2))
    model.cluster_centers_ = np.repeat(np.float32([[1e3], [-1e3], [2e3]]), 4, axis=1)
    with pytest.raises(ValueError, match=r"row 0 is so far from the centres that float32 overflows"):
        model.predict(far)


def test_measures_refuse_bad_input():
    with pytest.raises(ValueError, match="metric must be"):
        metrics.distortion(X, np.zeros(30), metric="l1")
    with pytest.raises(ValueError, match="inconsistent"):
        metrics.pairwise(X, np.zeros(29))
    with pytest.raises(ValueError, match="divide X by a constant"):
        metrics.distortion(X * 1e200, np.zeros(30))
    with pytest.raises(ValueError, match="sample_weight must be"):
        metrics.pairwise(X, np.zeros(30), sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match="inconsistent"):
        metrics.entropy([1, 2], [1, 2, 3])
