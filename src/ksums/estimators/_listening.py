"""After each pass: progress for a person, callbacks for a program; both may be several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.callback import CallbackContext, FitCallback

from ksums.fitting import Run
from ksums.progress import progress_for


def check_callbacks(name: str, callbacks: Any) -> tuple[list[FitCallback], list[Callable[..., Any]]]:
    """The ``callbacks`` parameter, divided into scikit-learn's protocol and plain functions of a record."""
    if callbacks is None:
        return [], []
    if not isinstance(callbacks, Sequence):
        raise ValueError(f"{name}: callbacks must be a list of callbacks, or None; got {callbacks!r}.")
    protocol, functions = [], []
    for callback in callbacks:
        if isinstance(callback, FitCallback) and not isinstance(callback, type):
            protocol.append(callback)
        elif callable(callback) and not isinstance(callback, type):
            functions.append(callback)
        else:
            raise ValueError(
                f"{name}: each of callbacks must be a function of a PassRecord or follow scikit-learn's FitCallback "
                f"protocol; got {callback!r}."
            )
    return protocol, functions


class Listening:
    """Passes each pass on to everybody who listens; used as a context manager around the fit."""

    def __init__(
        self,
        estimator: Any,
        context: CallbackContext,
        data: dict[str, Any],
        functions: Sequence[Callable[..., Any]],
        attributes_of: Callable[[Run], dict[str, Any]],
    ) -> None:
        self.estimator, self.context, self.data, self.functions = estimator, context, data, functions
        self.attributes_of = attributes_of
        self.progress = progress_for(int(estimator.verbose), type(estimator).__name__, estimator.max_iter)
        self.run: Run | None = None
        self.run_context = context

    def __enter__(self) -> Listening:
        self.context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return self

    def __exit__(self, *error: Any) -> None:
        self.progress.close()
        if error[0] is None:
            self._end_run()
            self.context.call_on_fit_task_end(estimator=self.estimator, **self.data)

    def __call__(self, run: Run) -> bool:
        """After a pass: says whether anybody wants to stop."""
        if run is not self.run:
            self._end_run()
            self._begin_run(run)
        record = run.records[-1]
        self.progress.update(record)
        task = self.run_context.subcontext(task_name="pass")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        stop = task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=lambda: self.attributes_of(run), **self.data
        )
        answers = [function(record) for function in self.functions]
        return bool(stop) or any(bool(answer) for answer in answers)

    def _begin_run(self, run: Run) -> None:
        self.run = run
        if self.estimator.n_init > 1:
            self.run_context = self.context.subcontext(task_name="run", max_subtasks=self.estimator.max_iter)
            self.run_context.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def _end_run(self) -> None:
        if self.run is not None and self.run_context is not self.context:
            self.run_context.call_on_fit_task_end(estimator=self.estimator, **self.data)
