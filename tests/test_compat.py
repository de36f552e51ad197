"""Private names of other libraries (``compute/compat.py``); a failing test names the one that changed."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin

from ksums.compute import compat


def test_numba_compiles_without_reference_counts():
    from numba import njit

    @njit(**compat.NO_REFERENCE_COUNTS)
    def first(values):
        return values[0]

    assert first(np.arange(3.0)) == 0
    assert not first.overloads[first.signatures[0]].library.get_llvm_str().count("NRT_incref"), "the _nrt flag is gone"


def test_numba_has_building_blocks_for_llvm_code():
    cgutils = compat.numba_code_generation()
    for name in ("alloca_once", "for_range", "for_range_slice", "get_or_insert_function", "unpack_tuple"):
        assert hasattr(cgutils, name), f"numba.core.cgutils has no {name}"


def test_numba_reports_compilations():
    from numba import njit

    class Counter(compat.numba_listener()):
        started = ended = 0

        def on_start(self, event):
            self.started += 1

        def on_end(self, event):
            self.ended += 1

    counter = Counter()
    with compat.listening_to_numba(counter):
        assert njit(lambda x: x + 1)(1) == 2
    assert counter.started == counter.ended > 0, "numba.core.event no longer reports compilations"


def test_numba_calls_system_functions():
    from numba import njit

    sched_yield = compat.numba_external_function("sched_yield")

    @njit
    def yield_core():
        return sched_yield()

    assert yield_core() == 0


def test_numba_names_its_cache_folder():
    from ksums.method.data.sum_kernels import add_rows

    assert "sum_kernels" not in compat.numba_cache_folder(add_rows)  # It is a folder, not a file.
    assert compat.numba_cache_folder(add_rows)


class Estimator(CallbackSupportMixin, BaseEstimator):
    """An estimator without parameters."""


class Callback:
    """A callback that follows scikit-learn's protocol and does nothing."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, *arguments, **more):
        pass

    def on_fit_task_end(self, *arguments, **more):
        pass


def test_scikit_learn_accepts_callbacks_for_one_fit():
    ours, theirs = Callback(), Callback()
    estimator = Estimator().set_callbacks(theirs)
    with compat._with_callbacks(estimator, [ours]):
        assert estimator._skl_callbacks == [theirs, ours], "set_callbacks no longer uses _skl_callbacks"
    assert estimator._skl_callbacks == [theirs]
    context = compat.callback_context(estimator, [ours], 3)
    assert context.max_subtasks == 3
    assert estimator._skl_callbacks == [theirs]


def test_scikit_learn_forgets_callbacks_of_one_fit():
    estimator = Estimator()
    compat.callback_context(estimator, [Callback()], 1)
    assert not hasattr(estimator, "_skl_callbacks")


def test_typer_has_a_class_for_usage_errors():
    import typer

    usage_error = compat.typer_usage_error()
    assert usage_error.__name__ == "UsageError", "typer.BadParameter has another base class"
    app = typer.Typer()
    app.command()(lambda: None)
    with pytest.raises(usage_error):
        app(["--no-such-option"], standalone_mode=False)
