"""After each pass: progress for a person and callbacks for a program. Both may be several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.callback import CallbackContext, FitCallback

from ksums.estimators.progress import progress_for
from ksums.planning.plan import CardPlan, PartitionPlan, Plan, ShardPlan, TreePlan


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
    """A ``fitting.listener.Listener`` that passes everything on; used as a context manager around the fit.

    To scikit-learn's callbacks a fit is a task with a subtask for each pass, or for each of several runs.
    """

    def __init__(
        self,
        estimator: Any,
        context: CallbackContext,
        data: dict[str, Any],
        functions: Sequence[Callable[..., Any]],
        attributes_of: Callable[[Any], dict[str, Any]],
        plan: CardPlan | PartitionPlan | Plan | ShardPlan | TreePlan,
    ) -> None:
        self.estimator, self.data, self.functions = estimator, data, functions
        self.attributes_of, self.plan = attributes_of, plan
        self.progress = progress_for(int(estimator.verbose), type(estimator).__name__, plan)
        self.fit_task = self.run_task = self.pass_task = context

    def __enter__(self) -> Listening:
        self._begin(self.fit_task)
        return self

    def __exit__(self, *error: Any) -> None:
        self.progress.close()
        if error[0] is None:
            self._end(self.fit_task)

    def show(self, words: str) -> None:
        self.progress.show(words)

    def wants_to_stop(self) -> bool:
        return False

    def run_begins(self) -> None:
        if self.plan.runs > 1:
            self.run_task = self.fit_task.subcontext(task_name="run", max_subtasks=self.plan.most_records)
            self._begin(self.run_task)

    def pass_begins(self) -> None:
        self.pass_task = self.run_task.subcontext(task_name="pass")
        self._begin(self.pass_task)

    def pass_ends(self, run: Any) -> bool:
        record = run.records[-1]
        self.progress.update(record)
        stop = self._end(self.pass_task, reconstruction_attributes=lambda: self.attributes_of(run))
        answers = [function(record) for function in self.functions]
        return stop or any(bool(answer) for answer in answers)

    def run_ends(self) -> bool:
        return self.run_task is not self.fit_task and self._end(self.run_task)

    def _begin(self, task: CallbackContext) -> None:
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def _end(self, task: CallbackContext, **more: Any) -> bool:
        return bool(task.call_on_fit_task_end(estimator=self.estimator, **self.data, **more))
