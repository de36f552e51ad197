"""Every kind of rule is described and has a plain and a compiled form that agree; failures name what is missing."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import join_costs, stay_cost

from ksums.compute.jit import kernel
from ksums.method.data.rows import prepare
from ksums.method.engines.compiled import clusters_for, empty_scan
from ksums.method.engines.kernels.direct import row_work
from ksums.method.engines.kernels.moves import refresh_all
from ksums.method.state.limits import no_limits
from ksums.method.state.state import build_state, reallocate
from ksums.rules import compiled, kinds
from ksums.rules.kinds import EXPONENTS, KINDS, RULE_NAMES, Kind, Rule, rule_for
from ksums.rules.objectives import OBJECTIVES, objective_value, within_clusters, within_from_squares
from ksums.rules.plain import gain_factors, plain_form

EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
"""A test with this mark runs once for each kind."""
EXPONENTS_TRIED = [(1.0, 1.0), (2.0, 2.0), (3.7, 3.7), (2.0, 0.5)]
"""Each pair is the exponents p and q of a rule."""
N, D, K = 120, 5, 7
"""The data has N samples of D dimensions in K clusters."""
SIZES = (3, 5, 8, 12, 20, 30, 42)
"""The clusters have these sizes: a term with the size that one form forgets must change the order of the costs."""


@kernel
def _stay(clusters, src, sq_norm, weight, product):
    return compiled.cost_to_beat(clusters, src, sq_norm, weight, product)


@kernel
def _join(clusters, dst, sq_norm, weight, product):
    return compiled.join_cost(clusters, dst, sq_norm, weight, product)


@kernel
def _scan(clusters, sq_norm, weight, work):
    compiled.score_all(clusters, sq_norm, weight, work.products, work.scores)


@kernel
def _finish(clusters, r, weights, sq_norms, scores):
    compiled.finish_score(clusters, r, weights, sq_norms, 0, scores)


@kernel
def _value(clusters):
    return compiled.objective_value(clusters)


def problem(kind, rng, weighted):
    """Return rows, a state, and the weights of all rows."""
    weights = rng.uniform(0.5, 3, N) if weighted else None
    rows = prepare(rng.standard_normal((N, D)), "cosine" if kind.directions else "l2", weights)
    labels = np.repeat(np.arange(K), SIZES)[rng.permutation(N)]
    return rows, build_state(rows, labels, K), rows.weights_of(np.arange(N))


def clusters_of(rule, rows, state):
    return clusters_for(rows, state, empty_scan(rows, state), rule, no_limits(K))


def compiled_costs(rule, rows, state, i):
    """Return the stay cost less the rounding margin, the join costs, and the scores of both scans for sample i."""
    clusters = clusters_of(rule, rows, state)
    scan = clusters.scan
    refresh_all(clusters)
    x, weight = rows.read(np.array([i]))[0], rows.weights_of(np.array([i]))[0]
    sq_norm, products, src = rows.sq_norms[i], state.composites @ x, state.labels[i]
    work = row_work(K, rows.dtype)
    work.products[:K] = products
    _scan(clusters, sq_norm, weight, work)
    finished = products[:, None].copy()
    if clusters.rule.affine:
        finished = (scan.a * sq_norm - scan.b * products + scan.c)[:, None]
    for r in range(K):
        _finish(clusters, r, np.array([weight]), np.array([sq_norm]), finished[r])
    return (
        _stay(clusters, src, sq_norm, weight, products[src]),
        np.array([_join(clusters, r, sq_norm, weight, products[r]) for r in range(K)]),
        work.scores[:K].copy(),
        finished[:, 0],
    )


# ------------------------------------------------------------------------------------------ descriptions
@EVERY_KIND
def test_every_kind_is_described(kind):
    assert kind.stay
    assert kind.join
    assert kind.objective in OBJECTIVES
    assert [other.code for other in KINDS].count(kind.code) == 1
    assert getattr(compiled, kind.name) == kind.code, f"rules/compiled.py has no constant {kind.name}"
    assert kind.name in kinds.__doc__
    assert kind.name in compiled.__doc__


def test_a_kind_without_a_plain_form_is_refused(monkeypatch):
    """The import of ``rules/plain.py`` fails for a kind that is described but has no plain form."""
    import importlib

    from ksums.rules import plain

    new = Kind("NEW", 9, "stay", "join", "distortion", affine=True, affine_with_weights=True, exact=True)
    monkeypatch.setattr(kinds, "KINDS", (*KINDS, new))
    with pytest.raises(ImportError, match=r"no plain form .* for: NEW"):
        importlib.reload(plain)
    monkeypatch.undo()
    importlib.reload(plain)


def test_an_incomplete_plain_form_is_refused():
    from ksums.rules.plain import PlainForm

    class Incomplete(PlainForm):
        def stay_cost(self, *arguments):
            return 0.0

    with pytest.raises(TypeError, match=r"abstract method.*block_costs.*coefficients.*join_costs.*rounding_margin"):
        Incomplete()


def test_a_kind_without_kernels_moves_no_sample(rng):
    """A missing branch returns NaN, not the costs of another kind."""
    rows, state, _ = problem(kinds.SQUARES, rng, weighted=False)
    unknown = replace(kinds.SQUARES, code=99, affine=False)
    stay, *others = compiled_costs(Rule(unknown, 1.0, 1.0), rows, state, 0)
    assert np.isnan(stay)
    for costs in others:
        assert np.isnan(costs).all()


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("name", [*RULE_NAMES, "annealed", "nearest", "lloyd", "ikm", 1.5])
def test_every_name_has_a_rule(name, metric):
    rule = rule_for("distortion", metric, name)
    assert rule.kind in KINDS
    if name in EXPONENTS and not (name == "paper" and metric == "cosine"):
        assert (rule.p, rule.q) == EXPONENTS[name]
    assert rule_for("pairwise", metric, name).kind is kinds.PAIRS


# ------------------------------------------------------------------------------------------ the two forms
@EVERY_KIND
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(("p", "q"), EXPONENTS_TRIED)
def test_plain_and_compiled_costs_agree(kind, p, q, weighted, rng):
    """Both forms sort clusters in the same order, which decides every move; all scans agree with them."""
    rows, state, weights = problem(kind, rng, weighted)
    rule = Rule(kind, p, q, relaxation_per_size=0.2)
    for i in range(20):
        x, src = rows.read(np.array([i]))[0], state.labels[i]
        stay, join, scanned, finished = compiled_costs(rule, rows, state, i)
        assert np.isfinite(stay), f"{kind.name}: stay_bound in rules/compiled.py"
        assert np.isfinite(join).all(), f"{kind.name}: join_cost in rules/compiled.py"
        others = np.arange(K) != src
        plain_join = join_costs(rule, x, weights[i], state)[others]
        np.testing.assert_array_equal(np.argsort(join[others]), np.argsort(plain_join))
        plain_stay = stay_cost(rule, x, weights[i], state, src)
        np.testing.assert_array_equal(join[others] < stay, plain_join < plain_stay)
        np.testing.assert_allclose(scanned[others], join[others], rtol=1e-9, atol=1e-9, err_msg="refresh, score_all")
        np.testing.assert_allclose(finished[others], join[others], rtol=1e-9, atol=1e-9, err_msg="finish_score")


@EVERY_KIND
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(("p", "q"), EXPONENTS_TRIED)
def test_the_costs_of_a_block_equal_those_of_its_samples(kind, p, q, weighted, rng):
    rows, state, weights = problem(kind, rng, weighted)
    rule, block = Rule(kind, p, q, relaxation_per_size=0.2), rows.read(np.arange(N))
    products = block @ state.composites.T
    stay, join = plain_form(rule).block_costs(rule, products, rows.sq_norms, weights, state.labels, state)
    for i in range(N):
        assert stay[i] == pytest.approx(stay_cost(rule, block[i], weights[i], state, state.labels[i]))
        others = np.arange(K) != state.labels[i]
        np.testing.assert_allclose(join[i][others], join_costs(rule, block[i], weights[i], state)[others])


@EVERY_KIND
def test_exactly_the_affine_kinds_are_marked_as_affine(kind, rng):
    """The join cost of a cluster, as a function of x·D, lies on a line for samples of equal norm and weight."""
    _, state, _ = problem(kind, rng, weighted=False)
    direction, across = np.linalg.qr(rng.standard_normal((D, 2)))[0].T
    state.composites[:] = direction * np.linalg.norm(state.composites, axis=1)[:, None]
    angles = np.array([0.3, 0.9, 1.4])
    samples = np.cos(angles)[:, None] * direction + np.sin(angles)[:, None] * across
    rule = Rule(kind, 1.0, 1.0)
    costs = np.array([join_costs(rule, x, 1.0, state) for x in samples])
    slopes = np.diff(costs, axis=0) / np.diff(np.cos(angles))[:, None]
    assert np.allclose(slopes[0], slopes[1]) == kind.affine


@EVERY_KIND
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_only_the_profit_of_an_exact_kind_is_the_decrease_of_the_objective(kind, weighted, rng):
    rows, state, weights = problem(kind, rng, weighted)
    rule, exact = Rule(kind, 1.0, 1.0), True
    for i in range(20):
        x, src, dst = rows.read(np.array([i]))[0], state.labels[i], (state.labels[i] + 1) % K
        profit = stay_cost(rule, x, weights[i], state, src) - join_costs(rule, x, weights[i], state)[dst]
        before = objective_value(rule.objective, state)
        reallocate(state, i, x, weights[i], src, dst)
        decrease = weights.sum() * (before - objective_value(rule.objective, state))
        exact &= bool(np.isclose(decrease, gain_factors(rule, weights[i]) * profit, rtol=1e-6, atol=1e-9))
    assert exact == kind.exact


@EVERY_KIND
def test_the_nearest_clusters_are_those_a_centre_would_join(kind, rng):
    """The coefficients of neighbour lists sort clusters as the join costs of a centre do."""
    _, state, _ = problem(kind, rng, weighted=False)
    sizes = np.sqrt(state.sq_composites) if kind.directions else state.sizes
    centres = state.composites / sizes[:, None]
    a, b, c = plain_form(Rule(kind)).coefficients(state)
    rule = rule_for("distortion", "cosine", "nearest") if kind.directions else Rule(kind, 1.0, 1.0)
    for centre in centres:
        scores = a * (centre @ centre) - b * (centres @ centre) + c
        expected = join_costs(rule, centre, 1e-9, state)
        np.testing.assert_array_equal(np.argsort(scores), np.argsort(expected))


# ------------------------------------------------------------------------------------------ objectives
@EVERY_KIND
def test_the_compiled_objective_equals_the_plain_one(kind, rng):
    rows, state, _ = problem(kind, rng, weighted=True)
    rule = Rule(kind, 1.0, 1.0)
    value = _value(clusters_of(rule, rows, state))
    assert value == pytest.approx(objective_value(rule.objective, state)), f"{kind.name}: objective_value"


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_clusters_add_up_to_the_objective(objective, rng):
    rows = prepare(rng.standard_normal((N, D)), "cosine")
    state = build_state(rows, np.arange(N) % K, K)
    within = within_clusters(objective, state)
    assert within.sum() / N == pytest.approx(objective_value(objective, state))
    squares = within_clusters("distortion", state)
    np.testing.assert_allclose(within_from_squares(objective, state.sizes, squares), within)


def test_an_unknown_objective_is_refused(rng):
    rows = prepare(rng.standard_normal((N, D)), "l2")
    state = build_state(rows, np.arange(N) % K, K)
    with pytest.raises(ValueError, match="objective must be one of distortion, pairwise, cosine_distance; got 'sum'"):
        objective_value("sum", state)
