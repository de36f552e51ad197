"""What several tests need: states made by hand, and passes in a given order."""

import os
import subprocess
import sys
from pathlib import Path

from ksums import state as states
from ksums.drivers import driver_for, relaxed
from ksums.engines.exact import ExactEngine
from ksums.engines.reference import ReferenceEngine
from ksums.rows import prepare
from ksums.state import no_limits

ROOT = Path(__file__).parents[1]

RULES = [
    ("distortion", "paper"),
    ("distortion", "released"),
    ("distortion", "hartigan"),
    ("distortion", "online"),
    ("distortion", 1.7),
    ("pairwise", "auto"),
]

DIRECTION_RULES = [("distortion", "ikm"), ("distortion", "nearest")]  # of the baselines, for cosine
EVERY_RULE = [(*rule, metric) for rule in RULES for metric in ("l2", "cosine")]
EVERY_RULE += [(*rule, "cosine") for rule in DIRECTION_RULES]
ANNEALED = ("annealed", 5.5)  # a pass of annealing: large clusters are relaxed by 5.5, small ones by less
EVERY_RULE += [(objective, ANNEALED, metric) for objective in ("distortion", "pairwise") for metric in ("l2", "cosine")]


def driver_of(objective, metric, rule):
    if isinstance(rule, tuple):
        return relaxed(driver_for(objective, metric, rule[0]), rule[1])
    return driver_for(objective, metric, rule)


def engine_for(X, labels, k, *, objective="distortion", rule="hartigan", metric="l2", weights=None, limits=None,
               kernel=None, n_threads=1, reference=False):  # fmt: skip
    rows = prepare(X, metric, weights)
    state = states.build(rows, labels, k)
    driver = driver_of(objective, metric, rule)
    limits = limits or no_limits(k)
    if reference:
        return ReferenceEngine(rows, state, driver, limits)
    return ExactEngine(rows, state, driver, limits, n_threads, kernel)


def run_passes(engine, orders):
    """Labels after each pass, and the number of moves in each."""
    labels, moves = [], []
    for order in orders:
        moves.append(sum(engine.visit(order)))
        states.renew_sq_composites(engine.state)
        labels.append(engine.state.labels.copy())
    return labels, moves


def ksums(*arguments, **more):
    """A command under way, as a user starts it."""
    environment = {**os.environ, "KSUMS_CHECK": "0", "COLUMNS": "100"}
    return subprocess.Popen(
        [sys.executable, "-m", "ksums", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **more,
    )
