"""The fitting loop: when it stops, what it keeps, and what it reports."""

import re
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning

from ksums import KSums, PassRecord, metrics
from ksums.method.starts.first_labels import first_labels
from ksums.method.state.state import reallocate


@pytest.fixture
def X(rng):
    return rng.standard_normal((400, 8))


def test_stops_when_no_sample_moves(X):
    model = KSums(20, rule="hartigan", tol=0, max_iter=500, random_state=0).fit(X)
    assert model.converged_
    assert model.history_[-1].moves == 0
    assert all(record.moves > 0 for record in model.history_[:-1])


def test_stops_when_progress_falls_below_tol(X):
    strict, loose = (KSums(20, tol=tol, max_iter=500, random_state=0).fit(X) for tol in (0, 1e-2))
    assert loose.converged_
    assert loose.n_iter_ < strict.n_iter_
    last, before = loose.history_[-1].objective, loose.history_[-2].objective
    assert before - last <= 1e-2 * before


def test_stops_after_max_iter(X):
    model = KSums(20, max_iter=2, random_state=0).fit(X)
    assert model.n_iter_ == 2
    assert not model.converged_


def test_stops_at_the_time_budget_within_a_pass(X):
    started = time.perf_counter()
    model = KSums(
        20, engine="reference", tol=0, rule="released", max_iter=10**6, time_budget=0.5, n_init=50, random_state=0
    ).fit(X)
    assert time.perf_counter() - started < 5
    assert not model.converged_
    assert len(set(model.labels_)) == 20


def test_keeps_the_best_pass_of_a_rule_that_can_raise_the_objective(X):
    model = KSums(20, rule=4.0, init="random-labels", tol=0, max_iter=40, random_state=0).fit(X)
    values = [record.objective for record in model.history_]
    assert any(later > earlier for earlier, later in pairwise(values))
    assert min(values) < values[-1]
    assert model.distortion_ == pytest.approx(min(values))
    assert model.distortion_ == pytest.approx(metrics.distortion(X, model.labels_))


def test_never_returns_worse_than_its_start(X):
    start = KSums(20, max_iter=500, tol=0, random_state=0).fit(X)
    again = KSums(20, rule=6.0, init=start.labels_, max_iter=1, random_state=0).fit(X)
    assert again.distortion_ <= start.distortion_ * (1 + 1e-12)


def test_keeps_the_best_of_several_runs(X):
    alone = [KSums(20, n_init=1, random_state=seed).fit(X).distortion_ for seed in range(3)]
    model = KSums(20, n_init=8, random_state=0).fit(X)
    assert model.distortion_ <= alone[0]
    assert model.distortion_ < max(alone)


def test_the_seed_decides_the_labels(X):
    one, same, other = (KSums(20, random_state=seed).fit(X).labels_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    generator = [KSums(20, random_state=np.random.default_rng(3)).fit(X).labels_ for _ in range(2)]
    np.testing.assert_array_equal(*generator)


# ---------------------------------------------------------------------------------------------- Ctrl-C
def test_ctrl_c_returns_the_best_so_far(X):
    def press_ctrl_c(record):
        if record.index == 3:
            signal.raise_signal(signal.SIGINT)

    model = KSums(20, callbacks=[press_ctrl_c], tol=0, max_iter=500, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 passes"):
        model.fit(X)
    assert model.n_iter_ == 3
    assert not model.converged_
    assert model.distortion_ == pytest.approx(model.history_[-1].distortion)
    np.testing.assert_array_equal(np.bincount(model.labels_), model.sizes_)


@pytest.mark.parametrize("engine", ["reference", "exact"])
def test_ctrl_c_in_the_middle_of_a_pass(engine, rng, monkeypatch):
    monkeypatch.setenv("KSUMS_CHECK", "0")
    X = rng.standard_normal((20000, 8))
    model = KSums(500, engine=engine, init="random-labels", rule=6.0, tol=0, max_iter=10**6, random_state=0)
    timer = threading.Timer(1.0, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    timer.start()
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X)
    assert (model.sizes_ > 0).all()
    assert model.distortion_ == pytest.approx(metrics.distortion(X, model.labels_))


def test_ctrl_c_in_a_later_run_keeps_the_earlier_ones(X, monkeypatch):
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return first_labels(*arguments)

    monkeypatch.setattr("ksums.method.fitting.run.first_labels", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KSums(20, n_init=3, random_state=0).fit(X)
    assert model.converged_
    assert len(calls) == 2


def test_ctrl_c_between_the_two_moves_of_an_exchange_keeps_the_limits(X, monkeypatch):
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 6:  # This is the second move of the third exchange, or a move back.
            raise KeyboardInterrupt
        reallocate(*arguments)

    monkeypatch.setattr("ksums.method.constrained.cycles.reallocate", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KSums(20, size_min=20, size_max=20, random_state=0).fit(X)
    assert model.sizes_.tolist() == [20] * 20


# ------------------------------------------------------------------------------------------- callbacks
def test_functions_get_each_record_and_can_stop_the_fit(X):
    records = []

    def stop_at_4(record):
        records.append(record)
        return record.index == 4

    model = KSums(20, callbacks=[stop_at_4], tol=0, max_iter=500, random_state=0).fit(X)
    assert model.n_iter_ == 4
    assert records == model.history_
    assert all(isinstance(record, PassRecord) for record in records)
    assert not model.converged_


class Recorder:
    """A callback that follows scikit-learn's protocol and records what it gets."""

    def __init__(self, stop_after=None):
        self.events, self.inertias, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if context.task_name == "pass":
            self.inertias.append(fitted_estimator.inertia_)
            assert fitted_estimator.predict(X).shape == (len(X),)
        return self.stop_after is not None and len(self.inertias) >= self.stop_after


@pytest.mark.parametrize("way", ["parameter", "set_callbacks"])
def test_callbacks_follow_scikit_learns_protocol(way, X):
    recorder = Recorder(stop_after=3)
    model = KSums(20, tol=0, max_iter=500, random_state=0)
    model.set_params(callbacks=[recorder]) if way == "parameter" else model.set_callbacks(recorder)
    model.fit(X)
    passes = ["begin pass", "end pass"] * 3
    assert recorder.events == ["setup", "begin fit", *passes, "end fit", "teardown"]
    assert recorder.inertias[-1] == pytest.approx(model.inertia_)
    assert recorder.inertias == sorted(recorder.inertias, reverse=True)


def test_each_run_is_a_task(X):
    recorder = Recorder()
    KSums(5, rule="hartigan", n_init=2, max_iter=2, tol=0, callbacks=[recorder], random_state=0).fit(X)
    run = ["begin run", *["begin pass", "end pass"] * 2, "end run"]
    assert recorder.events == ["setup", "begin fit", *run, *run, "end fit", "teardown"]


def test_a_callback_can_stop_between_runs(X):
    class StopAfterRun(Recorder):
        def on_fit_task_end(self, estimator, context):
            self.events.append(f"end {context.task_name}")
            return context.task_name == "run"

    recorder = StopAfterRun()
    KSums(5, n_init=3, max_iter=2, tol=0, callbacks=[recorder], random_state=0).fit(X)
    assert recorder.events.count("end run") == 1


def test_a_failing_callback_ends_the_fit_and_is_torn_down(X):
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise OSError("disk full")

    recorder = Failing()
    with pytest.raises(OSError, match="disk full"):
        KSums(5, callbacks=[recorder], random_state=0).fit(X)
    assert recorder.events[-1] == "teardown"


def test_scikit_learns_own_callbacks_work(X, capsys):
    monitor = ScoringMonitor(scoring=lambda estimator, X, y: estimator.score(X))
    model = KSums(5, rule="hartigan", max_iter=3, tol=0, random_state=0).set_callbacks(monitor, ProgressBar()).fit(X)
    scores = [row for row in monitor.get_logs(select="most_recent").data if row["task_name"] == "pass"]
    assert len(scores) == model.n_iter_
    assert "KSums" in capsys.readouterr().out


# -------------------------------------------------------------------------------------------- progress
def test_progress_is_plain_lines_without_a_terminal(X, capsys):
    """``verbose=2`` prints a line for each pass; ``verbose=1`` prints the first, the last, and one a second between."""
    model = KSums(5, rule="hartigan", verbose=2, max_iter=3, tol=0, random_state=0).fit(X)
    plan, *lines = capsys.readouterr().err.splitlines()
    assert plan == f"KSums: {model.plan_.summary}"
    assert len(lines) == model.n_iter_
    model.set_params(verbose=1).fit(X)
    _, *fewer = capsys.readouterr().err.splitlines()
    assert [line.split(" moves")[0] for line in fewer] == [line.split(" moves")[0] for line in (lines[0], lines[-1])]
    assert re.fullmatch(r"KSums: pass 1, objective [\d.]+, \d+ moves, [\d.]+ s", lines[0])


def test_progress_tells_what_is_done_under_constraints(X, capsys):
    model = KSums(5, size_max="balanced", verbose=2, random_state=0).fit(X)
    _, *lines = capsys.readouterr().err.splitlines()
    expected = {
        "assign": r"KSums: assigned under constraints, objective [\d.]+, \d+ moves, [\d.]+ s",
        "trial": r"KSums: trial under constraints, objective [\d.]+, (kept|undone), [\d.]+ s",
    }
    found = [(record.stage, line) for record, line in zip(model.history_, lines, strict=True)]
    assert expected.keys() <= {stage for stage, _ in found}
    assert all(re.fullmatch(expected[stage], line) for stage, line in found if stage in expected)


def test_progress_is_a_bar_on_a_terminal(X, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    KSums(5, rule="hartigan", verbose=1, n_init=2, max_iter=3, tol=0, random_state=0).fit(X)
    shown = capsys.readouterr().err
    assert "KSums" in shown
    assert "moves" in shown
    assert "3/3" in shown


def test_a_fit_is_silent_by_default(X, capsys):
    KSums(5, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")
