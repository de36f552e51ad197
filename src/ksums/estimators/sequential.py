"""``SequentialKSums``: the paper's online form as a scikit-learn estimator."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ksums.checking import data as checking
from ksums.checking import streams
from ksums.checking.parameters import check_parameters
from ksums.compute.arrays import Matrix
from ksums.compute.threads import computing
from ksums.estimators.base import CentreModel
from ksums.method.fitting.records import PassRecord
from ksums.method.state.state import ClusterState
from ksums.method.streams.stream import Stream
from ksums.rules.kinds import Rule, rule_for
from ksums.rules.objectives import objective_value


class Sequential(CentreModel):
    """What all one-pass methods share. A subclass has parameters and a rule."""

    half_life: float | None = None  # where it is not a parameter
    _stream: Stream

    def _rule(self) -> Rule:
        raise NotImplementedError

    # --------------------------------------------------------------------------------------- learning
    def fit(self, X, y=None, sample_weight=None):
        """Forget everything, then learn the rows of X, each once, in their order (with ``shuffle`` in random order).

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), default=None
        """
        check_parameters(self)
        X = checking.check_rows(self, X, reset=True)
        checking.check_enough_rows(self, X.shape[0], X.shape[0], int(self.n_clusters))
        self._learn(self._new_stream(X), X, sample_weight, self._order(X.shape[0]))
        opened = int(np.count_nonzero(self._stream.state.counts))
        if opened < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({opened}) found smaller than n_clusters ({self.n_clusters}): there "
                "were not enough distinct samples to open more. The others wait for partial_fit.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn the rows of X, each once, in their order. ``labels_`` are those of these rows.

        How a stream is cut into calls makes no difference to its labels.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), default=None
        """
        check_parameters(self)
        first = not hasattr(self, "_stream")
        X = checking.check_rows(self, X, reset=first)
        if not first:
            streams.check_same_stream(self, self._identity(), self._stream.identity)
        return self._learn(self._new_stream(X) if first else self._stream, X, sample_weight, None)

    def learn_one(self, x):
        """Learn one sample of shape (d,) and return its label. The same as ``partial_fit`` with one row."""
        row = streams.check_one(self, x)
        if hasattr(self, "_stream") and streams.is_plain_row(
            self, row
        ):  # other checks would take longer than learning it
            streams.check_same_stream(self, self._identity(), self._stream.identity)
            self._learn(self._stream, row, None, None)
        else:
            self.partial_fit(row)
        return int(self.labels_[0])

    def _order(self, n: int) -> np.ndarray | None:
        if not self.shuffle:
            return None
        if isinstance(self.random_state, np.random.Generator):
            return self.random_state.permutation(n)
        return check_random_state(self.random_state).permutation(n)

    def _identity(self) -> dict[str, Any]:
        """What cannot be changed in the middle of a stream."""
        return {
            "n_clusters": int(self.n_clusters),
            "objective": getattr(self, "objective", "distortion"),
            "metric": self.metric,
            "half_life": None if self.half_life is None else float(self.half_life),
        }

    def _new_stream(self, X: Matrix) -> Stream:
        return Stream(self._identity(), self._rule(), X.shape[1], sparse.issparse(X))

    def _learn(self, stream: Stream, X: Matrix, sample_weight, order: np.ndarray | None):
        started = time.perf_counter()
        weights = checking.check_weights(self, sample_weight, X.shape[0])
        with computing(self.n_threads):
            self.labels_, zero_rows = stream.learn(X, weights, order)
        checking.warn_of_zero_rows(zero_rows)
        self._stream, self._n_features_out = stream, len(stream.state.sizes)
        self._seconds = time.perf_counter() - started
        return self

    # -------------------------------------------------------------------------------------- forgetting
    def forget(self, X, labels, sample_weight=None, ages=None):
        """Take rows out again, as if they had never been learnt: sums, sizes and measures are those without them.

        The labels of other samples do not change. A cluster that loses its last sample is open to the next new one. So
        is, with a ``half_life``, one whose other samples are so old that they weigh nothing compared with the rest.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d)
            Rows that were learnt.
        labels : array-like of shape (n,)
            The labels they got.
        sample_weight : array-like of shape (n,), default=None
            The weights they had.
        ages : array-like of shape (n,), default=None
            With a ``half_life`` only: how many samples were learnt after each of them.
        """
        X = self._check_new(X)
        weights = checking.check_weights(self, sample_weight, X.shape[0])
        stream = self._stream
        streams.check_same_stream(self, self._identity(), stream.identity)
        own, ages = streams.check_forgotten(self, X.shape[0], len(stream.state.sizes), labels, ages)
        sums = stream.sums_of(X, own, weights, ages)
        streams.check_enough_to_forget(self, sums.counts, stream.state.counts)
        stream.take_out(sums)
        return self

    # -------------------------------------------------------------------------------------- attributes
    def __sklearn_is_fitted__(self):
        return hasattr(self, "_stream")

    @property
    def sizes_(self):
        """(k,) Samples in each cluster, or their weights, as the half-life counts them now; 0: not open yet."""
        return self._state().sizes / self._stream.present

    @property
    def composites_(self):
        """(k, d) Sums D_r of the clusters."""
        composites = np.ascontiguousarray(self._state().composites) / self._stream.present
        shift = self._stream.shift
        return composites if shift is None else composites + self.sizes_[:, None] * shift

    @property
    def cluster_centers_(self):
        """(k, d) Means of the clusters, D_r/n_r; NaN for one that is not open yet."""
        sizes = self._state().sizes[:, None]
        centres = np.full(self._state().composites.shape, np.nan)
        np.divide(self._state().composites, sizes, out=centres, where=sizes > 0)
        return centres if self._stream.shift is None else centres + self._stream.shift

    @property
    def distortion_(self):
        """E_m of all samples learnt and not forgotten, each in the cluster it joined."""
        return objective_value("distortion", self._opened())

    @property
    def pairwise_(self):
        """E_s of all samples learnt and not forgotten, each in the cluster it joined."""
        return objective_value("pairwise", self._opened()) / self._stream.present

    @property
    def inertia_(self):
        """The sum of squared distances: ``distortion_`` times the number of samples (or sum of weights)."""
        return self.distortion_ * float(self.sizes_.sum())

    @property
    def objective_(self):
        """What the choices minimise: E_m, E_s, or for I_m under cosine the mean cosine distance."""
        objective = self._rule().objective
        return self.pairwise_ if objective == "pairwise" else objective_value(objective, self._opened())

    @property
    def n_samples_seen_(self):
        """Samples learnt so far."""
        self._state()
        return self._stream.seen

    @property
    def n_iter_(self):
        """1: there is only one pass."""
        self._state()
        return 1

    @property
    def history_(self):
        """One record of everything learnt so far; its seconds are those of the last call."""
        sizes = self.sizes_
        return [
            PassRecord(
                index=1,
                objective=self.objective_,
                distortion=self.distortion_,
                pairwise=self.pairwise_,
                moves=self._stream.seen,
                smallest=float(sizes.min()),
                largest=float(sizes.max()),
                seconds=self._seconds,
            )
        ]

    def _state(self) -> ClusterState:
        if not hasattr(self, "_stream"):
            raise AttributeError(f"this {type(self).__name__} has learnt nothing yet")
        return self._stream.state

    def _opened(self) -> ClusterState:
        """The state of the clusters that are open."""
        state = self._state()
        return state.of_clusters(state.counts > 0)

    # ----------------------------------------------------------------------------------- after fitting
    def _opened_clusters(self) -> np.ndarray:
        opened = np.flatnonzero(self._stream.state.counts)
        streams.check_any_opened(self, len(opened))
        return opened

    def _nearest(self, X: Matrix, ids: np.ndarray, centres: np.ndarray) -> np.ndarray:
        opened = self._opened_clusters()
        return opened.astype(np.int32)[super()._nearest(X, ids, centres[opened])]

    def _distances(self, X: Matrix, centres: np.ndarray) -> np.ndarray:
        opened = self._opened_clusters()
        known = super()._distances(X, centres[opened])
        distances = np.full((X.shape[0], len(centres)), np.inf, known.dtype)
        distances[:, opened] = known
        return distances


class SequentialKSums(Sequential):
    """Sequential k-sums: each sample joins a cluster when it arrives, and is not visited again.

    The first k distinct samples open the clusters. A later sample x goes where it costs least if it joined: for I_m
    ``|n x − D|² / (n + 1)²``, for I_s the sum of its squared distances to the members. Then D += x. Memory does not
    grow with the stream. Everything is computed in float64.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.

    objective : {"distortion", "pairwise"}, default="distortion"
        I_m or I_s, as in :class:`KSums`.

    metric : {"l2", "cosine"}, default="l2"
        As in :class:`KSums`.

    half_life : float, default=None
        For streams that drift: a sample that came ``half_life`` samples ago counts half. A cluster that gets no samples
        for many half-lives fades until it costs less to join than any other, and restarts with the next sample. So
        choose a half-life of many times k. None: all samples count the same.

    shuffle : bool, default=False
        Whether ``fit`` takes the rows in random order. ``partial_fit`` takes them as they come.

    n_threads : int, default=None
        Most threads to use, as in :class:`KSums`.

    random_state : int, RandomState, Generator or None, default=None
        Seed of the order that ``shuffle`` makes.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Clusters of the rows learnt by the last call.
    cluster_centers_ : ndarray of shape (k, d)
        Means of the clusters; NaN for a cluster that no sample has opened yet.
    composites_, sizes_ : ndarray of shape (k, d) and (k,)
        Sums and numbers of samples (or weights; with a half-life, as they count now).
    distortion_, pairwise_, inertia_, objective_ : float
        E_m and E_s of all samples learnt and not forgotten, each in the cluster it joined.
    n_samples_seen_ : int
        Samples learnt so far.
    history_ : list of one PassRecord

    Examples
    --------
    >>> import numpy as np
    >>> from ksums import SequentialKSums
    >>> model = SequentialKSums(n_clusters=2)
    >>> model.partial_fit(np.array([[0.0], [10.0], [1.0]])).labels_
    array([0, 1, 0], dtype=int32)
    >>> model.learn_one([11.0])
    1
    >>> model.cluster_centers_.ravel().tolist()
    [0.5, 10.5]
    >>> model.forget([[1.0]], [0]).cluster_centers_.ravel().tolist()
    [0.0, 10.5]
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        objective="distortion",
        metric="l2",
        half_life=None,
        shuffle=False,
        n_threads=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.objective = objective
        self.metric = metric
        self.half_life = half_life
        self.shuffle = shuffle
        self.n_threads = n_threads
        self.random_state = random_state

    def _rule(self) -> Rule:
        return rule_for(self.objective, self.metric, "paper")
