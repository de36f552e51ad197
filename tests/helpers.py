"""Helpers for several test files: engines on given labels, passes in a given order, and commands."""

import contextlib
import hashlib
import io
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from ksums.cli import main
from ksums.compute.threads import use_threads
from ksums.method.data.rows import prepare
from ksums.method.engines.exact import ExactEngine
from ksums.method.engines.reference import ReferenceEngine
from ksums.method.state.limits import no_limits
from ksums.method.state.state import build_state, renew_sq_composites
from ksums.rules.annealing import relaxed
from ksums.rules.kinds import RULE_NAMES, rule_for
from ksums.rules.plain import plain_form

ROOT = Path(__file__).parents[1]
"""The folder of the repository."""

RULES = [*(("distortion", name) for name in RULE_NAMES if name != "auto"), ("distortion", 1.7), ("pairwise", "auto")]
"""Each pair is an objective and a rule that both metrics accept."""

DIRECTION_RULES = [("distortion", "ikm"), ("distortion", "nearest")]
"""Baselines use these rules; they are for cosine only."""
ANNEALED = ("annealed", 5.5)
"""This is the rule of one annealing pass, which relaxes large clusters by 5.5 and small ones by less."""
EVERY_RULE = [
    *((*rule, metric) for rule in RULES for metric in ("l2", "cosine")),
    *((*rule, "cosine") for rule in DIRECTION_RULES),
    *((objective, ANNEALED, metric) for objective in ("distortion", "pairwise") for metric in ("l2", "cosine")),
]
"""Each entry is an objective, a rule and a metric; together they cover all rules that kernels must support."""


def rule_of(objective, metric, rule):
    """Return the rule with this name, or for a pair (name, relaxation) the relaxed rule."""
    if isinstance(rule, tuple):
        return relaxed(rule_for(objective, metric, rule[0]), rule[1])
    return rule_for(objective, metric, rule)


def stay_cost(rule, x, weight, state, src):
    return plain_form(rule).stay_cost(rule, x, weight, state, src)


def join_costs(rule, x, weight, state):
    return plain_form(rule).join_costs(rule, x, weight, state)


def engine_for(X, labels, k, *, objective="distortion", rule="hartigan", metric="l2", weights=None, limits=None,
               kernel=None, n_threads=1, reference=False):  # fmt: skip
    """Return an exact engine, or the reference engine, whose state has these labels."""
    rows = prepare(X, metric, weights)
    state = build_state(rows, labels, k)
    rule = rule_of(objective, metric, rule)
    limits = limits or no_limits(k)
    if reference:
        return ReferenceEngine(rows, state, rule, limits)
    with use_threads(n_threads):
        return ExactEngine(rows, state, rule, limits, kernel)


def run_passes(engine, orders):
    """Make one pass for each order; return the labels after each pass and its number of moves."""
    labels, moves = [], []
    for order in orders:
        moves.append(sum(engine.visit(order)))
        renew_sq_composites(engine.state)
        labels.append(engine.state.labels.copy())
    return labels, moves


def start_ksums(*arguments, **more):
    """Start ``ksums`` with these arguments in a new process, as a user does, and return the process."""
    environment = {**os.environ, "KSUMS_CHECK": "0", "COLUMNS": "100"}
    return subprocess.Popen(
        [sys.executable, "-m", "ksums", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **more,
    )


def digest(labels):
    """Return a name for labels."""
    return hashlib.sha256(np.ascontiguousarray(labels, np.int32).tobytes()).hexdigest()


def run_ksums(folder, *arguments, stdin=""):
    """Run a command in this process, as a new one is slow; return exit code, standard output and standard error."""
    output, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        mock.patch.object(sys, "argv", ["ksums", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return ended.value.code or 0, output.getvalue(), errors.getvalue()


def killed_and_resumed(program, data, folder):
    """Return what a program prints in one go, and what it prints after it was killed (−9) again and again.

    Its arguments are the data and the name of a checkpoint, which is empty for a fit without one.
    """
    command, path = [sys.executable, "-c", program, str(data)], folder / "run.ckpt"
    expected = subprocess.run([*command, ""], capture_output=True, text=True, check=True).stdout
    for pause in (0.0, 0.15, 0.3):
        process = subprocess.Popen([*command, str(path)], stdout=subprocess.DEVNULL)
        while not path.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(pause)
        process.kill()
        process.wait()
    found = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True).stdout
    return expected, found
