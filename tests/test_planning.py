"""What "auto" does, as a table: one line for each shape, the expected plan beside it. No data is needed for that."""

import numpy as np
import pytest

from ksums import Annealed, BisectingKSums, KSums, Plan, baselines
from ksums.planning import timing
from ksums.planning.engines import copies_rows, exact_kernel
from ksums.planning.flat import plan_flat
from ksums.planning.shape import Shape
from ksums.planning.starts import FLAT_INIT_NAMES
from ksums.planning.trees import split_start
from ksums.planning.words import first_relaxation


def plan(given, shape):
    return plan_flat(KSums(shape.k, **given).get_params(deep=False), shape)


def brief(found):
    """A plan as one line of figures."""
    if (samples := found.samples) is not None:
        middle = f", middle {samples.middle}" if samples.middle else ""
        rows = f"{samples.patches} of {samples.rows}" if samples.patches else samples.rows
        drawn = f"{samples.batches} × {samples.count} × {rows} ({brief(samples.plan)[7:]}){middle}"
        limit = f", {found.seconds:g} s" if np.isfinite(found.seconds) else ""
        return f"blocks, {drawn}, tol {found.stop.tol:g}{limit}"
    parts = [found.engine.name + (f" {found.engine.options['length']}" if found.engine.name == "neighbors" else "")]
    parts.append(found.start.name + (f" of {found.start.sample}" if found.start.sample else ""))
    passes = [work.annealing for work in found.rounds]
    if found.annealing is not None and passes[-1]:
        parts.append(f"anneal {'+'.join(map(str, np.diff([0, *passes])))} from {first_relaxation(found):.3g}")
    if found.search is not None:
        parts.append(f"search {'+'.join(f'{work.comparisons:.2g}' for work in found.rounds)}")
    parts.append(f"tol {found.stop.tol:g}")
    if found.polish is not None:
        parts.append(f"polish {found.polish}")
    if found.runs > 1:
        parts.append(f"{found.runs} runs")
    if np.isfinite(found.seconds):
        parts.append(f"{found.seconds:g} s")
    return ", ".join(parts)


SMALL, PLANE, MIDDLE = Shape(2_000, 4, 5), Shape(4_000, 2, 50), Shape(60_000, 100, 600)
MANY, HUGE, TEXTS = (
    Shape(200_000, 128, 1_000),
    Shape(341_479, 100, 10_000, "float32"),
    Shape(8_000, 20_000, 20, sparse=True),
)
LARGE, MAP, TOWNS = Shape(5_000_000, 16, 8, "float32"), Shape(3_000_000, 2, 50), Shape(15_000, 2, 20)

LOW, HIGH, COSINE, SEARCH = {"effort": "low"}, {"effort": "high"}, {"metric": "cosine"}, {"refine": "merge-split"}

PLANS = [
    # what the data is                 parameters                   the plan
    (SMALL, {}, "exact, k-means++, anneal 6 from 50, search 1.3e+06, tol 0"),
    (SMALL, LOW, "exact, k-means++, anneal 6 from 50, search 2e+05, tol 0"),
    (SMALL, HIGH, "exact, k-means++, anneal 6 from 50, search 1.9e+07, tol 0"),
    (SMALL, {"effort": 3.0}, "exact, k-means++, anneal 6 from 50, search inf, tol 0, 3 s"),
    (SMALL, {"time_budget": 2.0}, "exact, k-means++, anneal 6 from 50, search 1.3e+06, tol 0, 2 s"),
    (SMALL, {"refine": None}, "exact, k-means++, anneal 6 from 50, tol 0"),
    (SMALL, {"refine": None, "effort": "high"}, "exact, k-means++, anneal 6 from 50, tol 0, 4 runs"),
    (SMALL, {"rule": "hartigan"}, "exact, k-means++, tol 1e-05"),
    (SMALL, {"rule": "hartigan", "refine": "merge-split"}, "exact, k-means++, search 1.3e+06, tol 1e-05"),
    (SMALL, {"rule": "paper", "init": "random-labels"}, "exact, random-labels, tol 1e-05"),
    (SMALL, {"rule": Annealed(3.0, 9)}, "exact, k-means++, anneal 9 from 3, search 1.3e+06, tol 0"),
    (SMALL, {"max_iter": 10}, "exact, k-means++, anneal 4 from 50, search 1.3e+06, tol 0"),
    (SMALL, {"engine": "reference"}, "reference, k-means++, anneal 6 from 50, search 1.3e+06, tol 0"),
    (SMALL, {"n_init": 7}, "exact, k-means++, anneal 6 from 50, search 1.3e+06, tol 0, 7 runs"),
    (SMALL, {"tol": 0.5}, "exact, k-means++, anneal 6 from 50, search 1.3e+06, tol 0.5"),
    (SMALL, COSINE, "exact, k-means++, anneal 6 from 50, tol 0"),
    (SMALL, {"metric": "cosine", "effort": "high"}, "exact, k-means++, anneal 6 from 50, tol 0, 4 runs"),
    (SMALL, {**COSINE, "rule": "hartigan", "refine": "merge-split"}, "exact, k-means++, search 1.3e+06, tol 1e-05"),
    (SMALL, {"objective": "pairwise"}, "exact, k-means++, anneal 6 from 50, tol 0"),
    (SMALL, {"engine": "neighbors"}, "neighbors 128, two-level, anneal 10 from 6, tol 0.0002"),
    (SMALL, {"n_neighbors": 40}, "neighbors 40, two-level, anneal 10 from 6, tol 0.0002"),
    (SMALL, {"init": np.zeros(2_000, np.int32)}, "exact, labels, anneal 6 from 50, search 1.3e+06, tol 0"),
    (SMALL, {"init": np.zeros((5, 4))}, "exact, centres, anneal 6 from 50, search 1.3e+06, tol 0"),
    (PLANE, {}, "exact, k-means++, anneal 2 from 10, search 2.7e+06, tol 0"),
    (MIDDLE, {}, "exact, k-means++ of 6000, anneal 5+10+60 from 6.25, search 4.9e+07+4.9e+07+4.9e+07, tol 0"),
    (MIDDLE, LOW, "exact, k-means++ of 6000, anneal 1+2+15 from 6.25, search 9.6e+06+9.6e+06+9.6e+06, tol 0"),
    (MIDDLE, COSINE, "exact, k-means++ of 6000, anneal 40 from 12.5, tol 0"),
    (MANY, {}, "neighbors 128, two-level, anneal 10 from 6, tol 0.0002"),
    (MANY, SEARCH, "exact, k-means++ of 10000, anneal 5+10+60 from 12.5, search 2e+08+2e+08+2e+08, tol 0"),
    (MANY, {"engine": "exact", "refine": None}, "exact, k-means++ of 10000, anneal 40 from 25, tol 0"),
    (MANY, {"rule": "hartigan"}, "exact, k-means++ of 10000, tol 1e-05"),
    (HUGE, {}, "neighbors 128, two-level, anneal 10 from 4.27, tol 0.0002"),
    (HUGE, LOW, "neighbors 64, two-level, tol 0.002"),
    (HUGE, HIGH, "neighbors 512, two-level, anneal 25 from 4.27, tol 0.0002"),
    (HUGE, {"effort": 5.0}, "neighbors 64, two-level, anneal 100 from 4.27, tol 0.0002, 5 s"),
    (HUGE, {"polish": "pass"}, "neighbors 128, two-level, anneal 10 from 4.27, tol 0.0002, polish pass"),
    (HUGE, {"init": "k-means++"}, "neighbors 128, k-means++, anneal 10 from 4.27, tol 0.0002"),
    (HUGE, {"engine": "exact", "refine": None}, "exact, random-points of 100000, anneal 40 from 6, tol 0"),
    (TEXTS, {}, "exact, k-means++ of 5000, anneal 40 from 50, tol 0"),
    (TEXTS, COSINE, "exact, k-means++ of 5000, anneal 40 from 50, tol 0"),
    (TEXTS, {"metric": "cosine", "effort": "high"}, "exact, k-means++ of 5000, anneal 80 from 50, tol 0, 4 runs"),
    (Shape(50_000, 20_000, 3_000, sparse=True), {}, "exact, random-points of 30000, anneal 40 from 6, tol 0"),
    (LARGE, {},
     "blocks, 3 × 2 × 5000 (k-means++, anneal 30 from 78.1, search 6.2e+06, tol 0), middle 50000, tol 1e-06"),
    (LARGE, LOW,
     "blocks, 1 × 2 × 2500 (k-means++, anneal 30 from 39.1, search 3.3e+06, tol 0), middle 50000, tol 1e-06"),
    (LARGE, SEARCH, "exact, k-means++ of 5000, anneal 30 from 7.81e+04, search 5.8e+09, tol 0"),
    (LARGE, HIGH,
     "blocks, 4 × 4 × 10000 (k-means++ of 5000, anneal 30 from 156, search 2e+08, tol 0), middle 100000, tol 1e-06"),
    (LARGE, {"effort": 8.0},
     "blocks, 4 × 4 × 10000 (k-means++ of 5000, anneal 30 from 156, search inf, tol 0, 1 s), middle 100000, "
     "tol 1e-06, 8 s"),
    (MAP, {},
     "blocks, 1 × 2 × 5000 of 200000 (k-means++, anneal 2 from 12.5, search 5e+06, tol 0), middle 200000, tol 1e-06"),
    (MAP, HIGH,
     "blocks, 3 × 4 × 10000 of 200000 (k-means++ of 5000, anneal 2 from 25, search 1.7e+08, tol 0), middle 200000, "
     "tol 1e-06"),
    (TOWNS, {}, "blocks, 1 × 2 × 3750 of 15000 (k-means++, anneal 2 from 23.4, search 1.2e+07, tol 0), tol 1e-06"),
    (TOWNS, LOW, "blocks, 1 × 2 × 2048 of 15000 (k-means++, anneal 2 from 12.8, search 3.7e+06, tol 0), tol 1e-06"),
    (TOWNS, HIGH, "exact, k-means++ of 5000, anneal 2 from 93.8, search 1.1e+08, tol 0"),
    (LARGE, {"init": "random-points"},
     "blocks, 3 × 2 × 5000 (random-points, anneal 30 from 78.1, search 6.2e+06, tol 0), middle 50000, tol 1e-06"),
    (LARGE, {"init": np.zeros((8, 16))}, "exact, centres, anneal 30 from 7.81e+04, tol 0"),
    (LARGE, {"refine": None}, "exact, k-means++ of 5000, anneal 30 from 7.81e+04, tol 0"),
    (LARGE, {"rule": "hartigan"}, "exact, k-means++ of 5000, tol 1e-05"),
    (LARGE, COSINE, "exact, k-means++ of 5000, anneal 30 from 7.81e+04, tol 0"),
    (LARGE, {"engine": "exact"}, "exact, k-means++ of 5000, anneal 30 from 7.81e+04, tol 0"),
    (Shape(60_000, 784, 64, "float32"), {},
     "blocks, 2 × 4 × 12800 (k-means++ of 5000, anneal 40 from 25, search 2.2e+07, tol 0), tol 1e-06"),
    (Shape(200_000, 32, 256, "float32"), {},
     "blocks, 2 × 2 × 51200 (k-means++ of 5000, anneal 5+10+60 from 12.5, search 3.4e+07+3.4e+07+3.4e+07, "
     "tol 0), tol 1e-06"),
    (Shape(49_999, 8, 8), {}, "exact, k-means++ of 5000, anneal 14 from 781, search 3.5e+07, tol 0"),
    (SMALL, {"engine": "blocks"},
     "blocks, 3 × 4 × 1000 (k-means++, anneal 6 from 25, search 8.4e+05, tol 0), tol 1e-06"),
    (Shape(10, 1, 1), {}, "exact, k-means++, anneal 2 from 6, search 1.6e+06, tol 0"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "given", "expected"), PLANS, ids=[f"{at}" for at in range(len(PLANS))])
def test_plans(shape, given, expected):
    assert brief(plan(given, shape)) == expected


@pytest.mark.parametrize("init", FLAT_INIT_NAMES)
@pytest.mark.parametrize("shape", [SMALL, LARGE, HUGE], ids=["small", "large", "huge"])
def test_every_start_has_words(init, shape):
    found = plan({"init": init}, shape)
    assert f"'{init}'" not in repr(found)
    assert found.summary


@pytest.mark.parametrize(("shape", "given", "expected"), PLANS, ids=[f"{at}" for at in range(len(PLANS))])
def test_labels_never_depend_on_memory_or_threads(shape, given, expected):
    """A plan for a small machine is the same, except for whether the neighbour engine holds a copy."""
    small = Shape(**{**vars(shape), "memory": 1e6, "threads": 64})
    assert brief(plan(given, small)) == expected


def test_a_copy_is_made_if_there_is_room():
    assert copies_rows(HUGE)
    assert not copies_rows(Shape(10**7, 128, 10_000, "float32"))  # more than 1 GB
    assert not copies_rows(Shape(**{**vars(HUGE), "memory": 1e8}))


@pytest.mark.parametrize(
    ("k", "sparse", "vectors", "expected"),
    [(8, False, True, "rows"), (17, False, True, "panels"), (17, False, False, "columns"), (8, True, True, "sparse")],
)
def test_the_kernel_follows_from_the_shape(k, sparse, vectors, expected):
    assert exact_kernel(k, sparse, vectors) == expected


@pytest.mark.parametrize(
    ("init", "n", "in_memory", "expected"),
    [
        ("auto", 100, True, "two-seeds"),
        ("auto", 100, False, "k-means++"),
        ("auto", 20_001, True, "sample"),
        ("auto", 20_001, False, "sample"),
        ("k-means++", 20_001, True, "two-seeds"),
        ("random-labels", 100, True, "random-labels"),
    ],
)
def test_starts_of_splits(init, n, in_memory, expected):
    assert split_start(init, Shape(n, 3, 2), in_memory).name == expected


def test_time_is_shared_out():
    assert timing.passes_before_search(40, seconds=10, per_pass=0.5) == 6
    assert timing.passes_before_search(40, seconds=10, per_pass=60) == 1
    assert timing.longer_list(64, k=10_000, left=100, per_pass=0.1) == 1024
    assert timing.longer_list(64, k=10_000, left=3, per_pass=0.1) == 128
    assert timing.longer_list(64, k=50, left=100, per_pass=0.1) == 64
    assert timing.passes_with_lists(100, left=1.0, per_pass=0.1) == 10
    assert timing.passes_with_lists(100, left=0.5, per_pass=0.1) == 0  # too few to be worth it
    assert timing.more_passes_with_lists(3, 100, left=1.0, per_pass=0.1) == 13


# ------------------------------------------------------------------------------------------ what a user sees
def test_a_plan_is_what_the_fit_did(blobs):
    for given in ({}, {"engine": "neighbors"}, {"metric": "cosine", "effort": "high"}, {"rule": "paper"}):
        model = KSums(5, random_state=0, **given)
        planned = model.plan_for(blobs)
        assert not hasattr(model, "n_features_in_")  # nothing is remembered
        model.fit(blobs)
        assert model.plan_ == planned
        assert isinstance(model.plan_, Plan)
        stages = {record.stage for record in model.history_}
        assert ("merge-split" in stages) == (planned.search is not None)
        assert ("annealing" in stages) == (planned.annealing is not None)
        assert len(model.history_) <= planned.most_records


def test_rows_that_do_not_count_are_not_planned_for(blobs):
    weights = np.ones(len(blobs))
    weights[:100] = 0
    assert KSums(5).plan_for(blobs, sample_weight=weights).shape.n == 200
    blobs[:7] = 0
    assert KSums(5, metric="cosine").plan_for(blobs).shape.n == 293


def test_bad_input_is_refused_before_planning(blobs):
    with pytest.raises(ValueError, match="n_clusters must be an integer of at least 1"):
        KSums(0).plan_for(blobs)
    with pytest.raises(ValueError, match="n_samples=300 should be >= n_clusters=301"):
        KSums(301).plan_for(blobs)


def test_a_plan_with_samples_in_words():
    assert repr(plan({}, LARGE)).splitlines() == [
        "Plan for 5,000,000 × 16 rows (float32), 8 clusters",
        "  samples    2 of 5,000 rows (up to 6 if they disagree): k-means++ seeds, 30 annealing passes, merge–split "
        "search",
        "  middle     the best result continues on 50,000 rows",
        "  looks      up to 3 further samples, if there are rows far from their centres",
        "  passes     exact over all rows, block by block, until nothing moves (after 32 passes: until one gains less "
        "than 0.0001 %); at most 300 in all",
    ]
    assert plan({}, LARGE).summary == (
        "annealing and merge–split search on 2 samples of 5,000 rows, the best result continued on 50,000 rows, then "
        "exact passes over all rows, block by block, until nothing moves (after 32 passes: until one gains less than "
        "0.0001 %)"
    )


def test_a_plan_with_patches_in_words():
    assert repr(plan({}, MAP)).splitlines()[1:3] == [
        "  patches    5,000 of 200,000 rows, searched 2 times: k-means++ seeds, 2 annealing passes, merge–split search",
        "  middle     the best result continues on 200,000 rows",
    ]
    assert plan({}, MAP).summary.startswith(
        "annealing and merge–split search, 2 times, on 5,000 patches of 200,000 rows, the best result continued on "
        "200,000 rows, then"
    )


def test_a_plan_in_words():
    assert repr(plan({}, PLANE)).splitlines() == [
        "Plan for 4,000 × 2 rows (float64), 50 clusters",
        "  start      k-means++ seeds",
        "  annealing  2 passes, relaxation from 10 down to 1",
        "  search     merge–split, up to 2.7 million comparisons of a row with a cluster",
        "  passes     exact over all rows until nothing moves; at most 300 in all",
    ]
    assert plan({}, PLANE).summary == (
        "k-means++ seeds, 2 annealing passes, merge–split search, then exact passes over all rows until nothing moves"
    )
    assert repr(plan({"effort": 5.0, "polish": "assign"}, HUGE)).splitlines() == [
        "Plan for 341,479 × 100 rows (float32), 10,000 clusters",
        "  start      two-level start (100 coarse clusters of 20,000 sampled rows, then clusters inside each)",
        "  annealing  up to 100 passes, relaxation from 4.27 down to 1",
        "  passes     each row is compared with the 64 nearest clusters, until the objective falls by less than 0.02 "
        "%; at most 300 in all",
        "  polish     the nearest centre for every row",
        "  time       at most 5 s, so labels depend on the machine",
        "  note       neighbour lists, because there are 10,000 clusters",
    ]


def test_a_plan_says_why():
    assert plan({}, TEXTS).notes == ("no search, because the rows are sparse",)
    assert "too large" in plan({"engine": "exact"}, LARGE).notes[0]
    assert plan({}, MANY).notes == (
        "neighbour lists, because a pass over all 1,000 clusters would take 26 billion multiplications",
    )
    assert plan({"metric": "cosine", "effort": "high"}, SMALL).notes == (
        "no search, because it is not offered for this objective (cosine_distance)",
        "4 runs, because no search can mend a bad start",
    )


def test_plans_of_trees_and_baselines(blobs):
    tree = BisectingKSums(9, refine=3, n_init=2, random_state=0).fit(blobs)
    assert repr(tree.plan_).splitlines() == [
        "Plan for 300 × 6 rows (float64), 9 clusters",
        "  splits     8, the loosest cluster next",
        "  each split from k-means++ seeds (large clusters: a split of a sample), then exact passes over all rows "
        "until the objective falls by less than 0.001 %, the best of 2 tries",
        "  passes     up to 3 flat passes over all clusters at the end",
    ]
    assert tree.plan_.summary.startswith("8 splits of the loosest cluster, each from k-means++ seeds")
    assert baselines.MiniBatch(5).plan_for(blobs).summary == (
        "random rows as centres, then mini-batch passes over all rows (batch_size=1024) until the objective falls by "
        "less than 0.001 %"
    )
