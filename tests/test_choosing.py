"""How many clusters."""

import numpy as np
import pytest
from scipy import sparse

from ksums.choosing import Score, _suggestion, choose_k


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
    with pytest.raises(ValueError, match="ks must be numbers of clusters from 2 to 209 for 300 rows"):
        choose_k(blobs, ks)


def test_the_suggestion_says_why():
    scores = [Score(2, 9.0, 0.6, 0.7, 0.5), Score(3, 5.0, 0.5, 1.0, 1.0), Score(4, 4.0, 0.4, 0.97, 0.9)]
    k, reason = _suggestion(scores)
    assert k == 3
    assert "also stable: 4" in reason
    assert "k = 2 has a higher silhouette (0.600) but is less stable (0.70)" in reason
    assert _suggestion([Score(2, 1.0, np.nan, 1.0, 1.0)])[0] == 2
