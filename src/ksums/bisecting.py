"""Algorithm 2: cluster after cluster is split in two by k-sums, until there are k."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field, replace

import numpy as np

from ksums import checks
from ksums import state as states
from ksums.engines import exact_engine, nearest_centres
from ksums.fitting import fit_once
from ksums.history import PassRecord
from ksums.plan import Listener, Plan, Run, Silence
from ksums.rows import Rows, part_of
from ksums.seeding import centres_of, fill_empty, first_labels, two_seeds
from ksums.state import ClusterState
from ksums.tree import leaves_of, share_of_objective

_SAMPLE = 10_000  # rows that a cluster of more than twice as many is first split by,
_TRIES = 4  # the best of so many times, which costs less than one pass over all


class _Leaves:
    """The clusters so far. Each node of the tree owns a run of ``members``, and figures in the units of the data."""

    def __init__(self, rows: Rows, k: int) -> None:
        whole = states.build(rows, np.zeros(rows.n, np.int32), 1)
        self.rows, self.members = rows, rows.pulling.copy()
        self.bounds = [(0, len(self.members))]
        self.sizes, self.squares = [float(whole.sizes[0])], [float(_squares(whole)[0]) * rows.measure_unit]
        self.splits: list[int] = []
        self.nodes = [0]  # of each cluster
        self.cluster_sizes = np.full(k, self.sizes[0])
        self.label_of = [0]  # of each node

    def ids(self, node: int) -> np.ndarray:
        first, last = self.bounds[node]
        return self.members[first:last]

    def divide(self, node: int, halves: np.ndarray, state: ClusterState) -> tuple[int, int]:
        """Make two nodes of one, which become clusters; ``halves`` says where each of its members goes."""
        first, last = self.bounds[node]
        ids, middle = self.ids(node), first + int(np.count_nonzero(halves == 0))
        self.members[first:last] = np.concatenate([ids[halves == 0], ids[halves == 1]])
        self.bounds += [(first, middle), (middle, last)]
        self.sizes += state.sizes.tolist()
        self.squares += (_squares(state) * self.rows.measure_unit).tolist()
        left, right = len(self.bounds) - 2, len(self.bounds) - 1
        label = self.label_of[node]
        self.label_of += [label, len(self.nodes)]
        self.nodes[label] = left
        self.nodes.append(right)
        self.cluster_sizes[[label, self.label_of[right]]] = state.sizes
        self.splits.append(node)  # last: what is not followed by this has not happened
        return left, right

    def drop_what_is_half_done(self) -> None:
        """After an interruption anywhere: back to the splits that were finished."""
        splits = np.array(self.splits, np.int64)
        made = 2 * len(splits) + 1
        for figures in (self.bounds, self.sizes, self.squares, self.label_of):
            del figures[made:]
        self.nodes = leaves_of(splits).tolist()

    def labels(self) -> np.ndarray:
        """(n,) Rows without pull keep the label 0."""
        labels = np.zeros(self.rows.n, np.int32)
        for label, node in enumerate(self.nodes):
            labels[self.ids(node)] = label
        return labels

    def share(self, objective: str, node: int) -> float:
        return float(share_of_objective(objective, self.sizes[node], self.squares[node]))


@dataclass
class BisectingRun:
    """What ``fitting.Run`` is to a flat fit: a record for each split, then one for each flat pass."""

    leaves: _Leaves
    measures: dict[str, float]  # of the clusters so far, by name
    records: list[PassRecord] = field(default_factory=list)
    refined: Run | None = None
    converged: bool = False
    interrupted: bool = False

    @property
    def k(self) -> int:
        return len(self.leaves.nodes)

    @property
    def labels(self) -> np.ndarray:
        return self.leaves.labels() if self.refined is None else self.refined.labels

    @property
    def splits(self) -> np.ndarray:
        return np.array(self.leaves.splits, np.int64)


def grow(
    rows: Rows,
    plan: Plan,
    k: int,
    strategy: str,
    n_init: int,
    seed: int,
    listener: Listener,
    refine: int,
) -> BisectingRun:
    """Algorithm 2 with ``plan`` for each split, the best of ``n_init``; then up to ``refine`` flat passes.

    The random numbers of a split depend on the seed and the node alone. Interrupted by Ctrl-C, or stopped by the
    listener, it returns the tree so far.
    """
    started, leaves = time.perf_counter(), _Leaves(rows, k)
    names = {"distortion", "pairwise", plan.driver.objective}
    run = BisectingRun(leaves, {name: leaves.share(name, 0) / leaves.sizes[0] for name in names})
    queue: list[tuple] = []
    _push(queue, leaves, 0, plan, strategy)
    try:
        listener.run_begins()
        stop = False
        while run.k < k and not stop:
            copies, _, _, node = heapq.heappop(queue)
            part = part_of(rows, leaves.ids(node))
            if not copies and not _separable(part):
                _push(queue, leaves, node, plan, strategy, copies=True)  # its turn comes when all others are split
                continue
            listener.pass_begins()
            halves, state, moves = _halve(part) if copies else _split(part, plan, n_init, [seed, node])
            for child in leaves.divide(node, halves, state):
                if leaves.bounds[child][1] - leaves.bounds[child][0] > 1:
                    _push(queue, leaves, child, plan, strategy, copies)
            _record(run, plan, moves, started)
            stop = listener.pass_ends(run)
        if k == 1:  # nothing to split; yet every fit leaves a record
            listener.pass_begins()
            _record(run, plan, 0, started)
            stop = listener.pass_ends(run)
        run.converged = run.k == k
        if refine and run.converged and not stop:
            flat = replace(plan, k=k, init=run.labels, max_iter=refine)
            run.refined = fit_once(rows, flat, np.random.default_rng(seed), _Refining(run, listener, started))
            run.interrupted = run.refined.interrupted
            run.converged = not run.interrupted
        listener.run_ends()
    except KeyboardInterrupt:
        run.interrupted, run.converged = True, False
        leaves.drop_what_is_half_done()
    if checks.switched_on() and not run.interrupted:
        _check(run)
    return run


def _squares(state: ClusterState) -> np.ndarray:
    """Σ|x − C|² of each cluster."""
    return np.maximum(state.norm_sums - state.sq_composites / state.sizes, 0.0)


def _push(queue: list[tuple], leaves: _Leaves, node: int, plan: Plan, strategy: str, copies: bool = False) -> None:
    """Enqueue a cluster: the largest or loosest first, of equal ones the one with the lowest label."""
    urgency = leaves.sizes[node] if strategy == "largest" else leaves.share(plan.driver.objective, node)
    heapq.heappush(queue, (copies, -urgency, leaves.label_of[node], node))


def _separable(part: Rows) -> bool:
    """Whether the rows of a cluster are not all copies of one; directions that agree to the last digits are."""
    slack = 8 * float(np.finfo(part.dtype).eps) if part.cosine else 0.0
    first = part.read(np.zeros(1, np.int64))
    for ids in (part.pulling[-1:], *part.blocks_of(part.pulling)):  # nearly always the last one settles it
        block = part.read(ids)
        if part.is_sparse:
            terms = first.indices
            if (np.diff(block.indptr) != len(terms)).any():
                return True
            if len(terms) == 0:  # rows of zeros, all of them
                continue
            if (block.indices.reshape(-1, len(terms)) != terms).any():
                return True
            block, values = block.data.reshape(-1, len(terms)), first.data
        else:
            values = first[0]
        if block.size and float(np.abs(block - values).max()) > slack:
            return True
    return False


def _halve(part: Rows) -> tuple[np.ndarray, ClusterState, int]:
    """Copies of one row, divided anyhow."""
    halves = (np.arange(part.n) * 2 // part.n).astype(np.int32)
    return halves, states.build(part, halves, 2), 0


def _split(part: Rows, plan: Plan, n_init: int, seeds: list[int]) -> tuple[np.ndarray, ClusterState, int]:
    """Algorithm 1 with two clusters: halves, their state, and the number of moves. The best of several runs."""
    rng = np.random.default_rng(seeds)
    tries = [_split_once(part, plan, rng) for _ in range(n_init)]
    _, state, moves = min(tries, key=lambda one: one[0])
    return state.labels, state, moves


def _split_once(part: Rows, plan: Plan, rng: np.random.Generator) -> tuple[float, ClusterState, int]:
    """The objective, the state and the number of moves of one run."""
    if isinstance(plan.init, str) and plan.init == "auto" and part.n > 2 * _SAMPLE:
        plan = replace(plan, init=_labels_from_a_sample(part, plan, rng))
    if plan.make_engine is exact_engine and part.ids is None and not part.is_sparse:
        from ksums.engines.resident import settle  # Numba is loaded by the first fit, not by the import

        if isinstance(plan.init, str) and plan.init in ("auto", "k-means++"):
            labels = two_seeds(part.X, part.sq_norms, part.weights_of(part.pulling), rng)
            fill_empty(labels, part.pulling, 2, rng)
        else:
            labels = first_labels(plan.init, part, 2, plan.metric, None, rng, plan.n_threads)
        done = settle(part, labels, 2, plan.driver, plan.max_iter, plan.tol, rng)
        return done.objective, done.state, done.moves
    run = fit_once(part, plan, rng, Silence())
    if run.interrupted:
        raise KeyboardInterrupt
    state = run.state if run.best_labels is None else states.build(part, run.best_labels, 2)
    return run.best, state, sum(record.moves for record in run.records)


def _labels_from_a_sample(part: Rows, plan: Plan, rng: np.random.Generator) -> np.ndarray:
    """First labels of a large cluster: a sample of it is split, and all go to the nearer of the two centres."""
    sample = np.sort(rng.choice(part.n, _SAMPLE, replace=False))
    labels = np.zeros(part.n, np.int32)
    few = part_of(part, sample)
    _, best, _ = min((_split_once(few, plan, rng) for _ in range(_TRIES)), key=lambda one: one[0])
    labels[sample] = best.labels
    state = states.build(replace(part, pulling=sample), labels, 2)
    centres = centres_of(state.composites, state.sizes, plan.metric == "cosine")
    return nearest_centres(part, part.pulling, *centres, plan.n_threads)


def _record(run: BisectingRun, plan: Plan, moves: int, started: float) -> None:
    """E_m and E_s with one more cluster: only the one that was split and the two it became make a difference."""
    leaves = run.leaves
    if leaves.splits:
        left, right = len(leaves.sizes) - 2, len(leaves.sizes) - 1
        for name in run.measures:
            parent, one, other = (leaves.share(name, node) for node in (leaves.splits[-1], left, right))
            run.measures[name] = max(0.0, run.measures[name] - (parent - one - other) / leaves.sizes[0])
    sizes = leaves.cluster_sizes[: run.k]
    run.records.append(
        PassRecord(
            index=len(run.records) + 1,
            objective=run.measures[plan.driver.objective],
            distortion=run.measures["distortion"],
            pairwise=run.measures["pairwise"],
            moves=moves,
            smallest=float(sizes.min()),
            largest=float(sizes.max()),
            seconds=time.perf_counter() - started,
        )
    )


class _Refining(Silence):
    """Appends the records of the flat passes to those of the splits, and passes them on."""

    def __init__(self, run: BisectingRun, listener: Listener, started: float) -> None:
        self.run, self.listener = run, listener
        self.grown, self.late = len(run.records), time.perf_counter() - started

    def pass_begins(self) -> None:
        self.listener.pass_begins()

    def pass_ends(self, run: Run) -> bool:
        last = run.records[-1]
        self.run.refined = run
        self.run.records.append(replace(last, index=self.grown + last.index, seconds=self.late + last.seconds))
        return self.listener.pass_ends(self.run)


def _check(run: BisectingRun) -> None:
    """Raise AssertionError where sizes or measures are not those of the labels."""
    leaves = run.leaves
    rows, measured = leaves.rows, states.build(leaves.rows, leaves.labels(), run.k)
    assert np.allclose(measured.sizes, [leaves.sizes[node] for node in leaves.nodes]), "sizes are not of the labels"
    slack = 1e-9 if rows.dtype == np.float64 else 1e-4
    for name, of in (("distortion", states.distortion), ("pairwise", states.pairwise)):
        whole = leaves.share(name, 0) / leaves.sizes[0]
        difference = of(measured) * rows.measure_unit - run.measures[name]
        assert abs(difference) <= slack * whole, f"{name} is not that of the labels"
