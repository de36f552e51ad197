"""Choosing the number of clusters."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from ksums.choosing import Score, _suggestion, _weakest_share, choose_k
from ksums.estimators.interruption import FitInterrupted


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_clear_clusters_are_found(blobs, metric, as_sparse):
    X = sparse.csr_array(blobs) if as_sparse else blobs
    scores = []
    choice = choose_k(X, [3, 4, 5, 6, 7], metric=metric, on_score=scores.append)
    assert choice.k == 5
    assert choice.scores == scores
    assert choice.scores[2].stability == 1.0
    objectives = [score.objective for score in choice.scores]
    assert objectives == sorted(objectives, reverse=True)


def test_a_seed_fixes_the_choice(blobs):
    assert choose_k(blobs, [2, 5], random_state=3) == choose_k(blobs, [2, 5], random_state=3)


def test_data_without_clusters_is_reported(rng):
    choice = choose_k(rng.standard_normal((200, 20)), [8, 9])
    assert "the data may have no clear clusters" in choice.reason


@pytest.mark.parametrize("ks", [[], [1, 2], [2, 300]])
def test_bad_ranges_are_refused(blobs, ks):
    with pytest.raises(ValueError, match="ks must be numbers of clusters from 2 to 209 for 300 rows; got"):
        choose_k(blobs, ks)


def test_the_suggestion_has_a_reason():
    scores = [Score(2, 9.0, 0.6, 0.9, 0.9), Score(3, 5.0, 0.5, 1.0, 0.85), Score(4, 4.0, 0.4, 0.97, 0.5)]
    k, reason = _suggestion(scores)
    assert k == 3
    assert "also found again: 2;" in reason
    assert "85% of the pairs of rows stay together (80% are required)" in reason
    assert "k = 2 has the highest silhouette, 0.600 (k = 3: 0.500)" in reason
    assert "there may be more" not in reason
    assert "there may be more" in _suggestion(scores[:2])[1]
    assert _suggestion([Score(2, 1.0, np.nan, 1.0, 1.0)])[0] == 2


def test_the_weakest_cluster():
    """Of the 6 pairs in a cluster of 4 rows, 3 stay together if one row leaves, and 2 if two rows leave together."""
    assert _weakest_share(np.array([[4.0, 0.0], [0.0, 9.0]])) == 1.0
    assert _weakest_share(np.array([[3.0, 1.0], [0.0, 9.0]])) == 0.5
    assert _weakest_share(np.array([[2.0, 2.0], [0.0, 9.0], [1.0, 0.0]])) == pytest.approx(1 / 3)
    assert _weakest_share(np.array([[1.0, 0.0], [0.0, 1.0]])) == 1.0


def test_data_frames_and_too_few_rows(blobs):
    pd = pytest.importorskip("pandas")
    assert choose_k(pd.DataFrame(blobs), [4, 5]) == choose_k(blobs, [4, 5])
    with pytest.raises(ValueError, match="X has 3 rows; choosing a number of clusters requires at least 5"):
        choose_k(blobs[:3], [2])


def test_ctrl_c_stops_choosing(blobs, monkeypatch):
    """Otherwise a fit that was cut short would get a score as if it were complete."""
    from ksums import choosing

    def interrupted(self, X, sample_weight=None):
        warnings.warn("interrupted", FitInterrupted, stacklevel=2)
        return self

    monkeypatch.setattr(choosing.KSums, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        choose_k(blobs, [4, 5])
