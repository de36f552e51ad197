"""How many clusters."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from ksums.choosing import Score, _suggestion, choose_k
from ksums.interruption import FitInterrupted


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_clear_clusters_are_found(blobs, metric, as_sparse):
    X = sparse.csr_array(blobs) if as_sparse else blobs
    told = []
    choice = choose_k(X, [3, 4, 5, 6, 7], metric=metric, tell=told.append)
    assert choice.k == 5
    assert choice.scores == told
    assert choice.scores[2].stability == 1.0
    objectives = [score.objective for score in choice.scores]
    assert objectives == sorted(objectives, reverse=True)


def test_the_same_seed_gives_the_same_choice(blobs):
    assert choose_k(blobs, [2, 5], random_state=3) == choose_k(blobs, [2, 5], random_state=3)


def test_where_there_are_no_clusters_it_says_so(rng):
    choice = choose_k(rng.standard_normal((200, 20)), [8, 9])
    assert "the data may have no clear clusters" in choice.reason


@pytest.mark.parametrize("ks", [[], [1, 2], [2, 300]])
def test_bad_ranges_are_refused(blobs, ks):
    with pytest.raises(ValueError, match="ks must be numbers of clusters from 2 to 209 for 300 rows; got"):
        choose_k(blobs, ks)


def test_the_suggestion_says_why():
    scores = [Score(2, 9.0, 0.6, 0.7, 0.5), Score(3, 5.0, 0.5, 1.0, 1.0), Score(4, 4.0, 0.4, 0.97, 0.9)]
    k, reason = _suggestion(scores)
    assert k == 3
    assert "also stable: 4" in reason
    assert "k = 2 has a higher silhouette (0.600) but is less stable (0.70)" in reason
    assert _suggestion([Score(2, 1.0, np.nan, 1.0, 1.0)])[0] == 2


def test_chance_may_be_beaten_by_none():
    """An adjusted Rand index below 0 is worse than chance; there is still a best one."""
    k, reason = _suggestion([Score(2, 1.0, 0.1, -0.2, -0.3), Score(3, 0.9, 0.1, -0.1, -0.3)])
    assert k == 3
    assert "no other number is about as stable" in reason
    assert "higher silhouette" not in reason


def test_frames_and_too_few_rows(blobs):
    pd = pytest.importorskip("pandas")
    assert choose_k(pd.DataFrame(blobs), [4, 5]) == choose_k(blobs, [4, 5])
    with pytest.raises(ValueError, match="X has 3 rows; to choose between numbers of clusters, 5 are needed"):
        choose_k(blobs[:3], [2])


def test_ctrl_c_ends_it(blobs, monkeypatch):
    """A fit that was cut short would get a score as if it were whole."""
    from ksums import choosing

    def interrupted(self, X):
        warnings.warn("interrupted", FitInterrupted, stacklevel=2)
        return self

    monkeypatch.setattr(choosing.KSums, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        choose_k(blobs, [4, 5])
