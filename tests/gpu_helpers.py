"""What the tests of graphics cards share: rows, cards in a known state, and models that were fitted by the twin."""

import numpy as np
import torch

from ksums import KSums
from ksums.estimators.on_card import Placed, fit_tensor
from ksums.method.engines.gpu.card import Card, layout_for, new_candidates, new_clusters, new_state
from ksums.method.engines.gpu.passes import Options, Passes
from ksums.method.engines.gpu.rows import new_table, read_rows, scrambled
from ksums.method.engines.gpu.twin import Twin
from ksums.rules.kinds import LENGTH, PAIRS, SQUARES

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def data(n, d, dtype=torch.float32, seed=0, groups=4):
    """Rows in a few groups that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0 * rng.integers(groups, size=(n, 1))
    return torch.tensor(X).to(dtype).to(DEVICE)


def weights_for(n, seed=1):
    return torch.tensor(np.random.default_rng(seed).uniform(0.2, 3.0, n), device=DEVICE)


def kind_for(cosine, pairs):
    """The kind of rule on a card."""
    return PAIRS if pairs else LENGTH if cosine else SQUARES


def a_card(operations, X, k, *, split=False, cosine=False, pairs=False, weights=None):
    """A card with rows in place, and labels 0 … k−1 in turn."""
    rows = read_rows(X, weights, cosine, operations)
    layout = layout_for(
        rows.n, X.shape[1], k, kind=kind_for(cosine, pairs), directed=cosine, sigma=rows.sigma, split=split,
        weighted=weights is not None, squares=rows.squares,
    )  # fmt: skip
    table = new_table(rows, layout, scrambled(operations, rows.n, 3, DEVICE), 0)
    operations.lower_rows(table, layout)
    card = Card(layout, table, new_state(layout, DEVICE), new_clusters(layout, DEVICE), new_candidates(layout, DEVICE))
    card.state.labels.copy_(torch.arange(rows.n, device=DEVICE) % k)
    operations.add_by_cluster(table, layout, card.state)
    return card


def passes_for(operations, X, k, *, split=False, cosine=False, pairs=False, weights=None, **options):
    """Passes over all rows, in three blocks unless said otherwise, without labels."""
    rows = read_rows(X, weights, cosine, operations)
    layout = layout_for(
        rows.n, X.shape[1], k, kind=kind_for(cosine, pairs), directed=cosine, sigma=rows.sigma, split=split,
        weighted=weights is not None, squares=rows.squares,
    )  # fmt: skip
    order = scrambled(operations, rows.n, 3, DEVICE)
    return Passes(operations, rows, layout, order, Options(**{"blocks": 3, **options}))


def make_passes(operations, card, relaxations):
    """Passes in two blocks, then moves made apart."""
    n, k = card.layout.n, card.layout.k
    half = -(-n // 2)
    places = torch.arange(n, device=DEVICE, dtype=torch.int32)
    for p in relaxations:
        card.clusters.relaxation.fill_(p)
        order = torch.sort(card.state.labels + places // half * k, stable=True).indices
        for first in range(0, n, half):
            operations.refresh(card)
            operations.propose(card, order, first, min(half, n - first))
            operations.decide(card, min(half, n - first))
    operations.refresh(card)
    operations.propose(card, torch.sort(card.state.labels, stable=True).indices, 0, n)
    for number in range(2):
        if number:
            operations.refresh(card, reset=False)
        operations.decide(card, n, apart=True)
    return card


def placed(X, chunk=0):
    """Rows where they are; results remain tensors."""
    return Placed(X, DEVICE, chunk, lambda tensor: tensor)


def fitted(X, k, weights=None, graphs=False, operations=None, chunk=0, **parameters):
    """A model that was fitted to a tensor by the twin."""
    model = KSums(k, random_state=parameters.pop("random_state", 0), **parameters)
    model.n_features_in_ = X.shape[1]
    fit_tensor(model, placed(X, chunk), weights, operations or Twin(), graphs)
    return model
