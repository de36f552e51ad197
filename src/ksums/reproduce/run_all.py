"""Runs experiments one after the other, without repeating what an earlier run has done, and loads their results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tqdm import tqdm

from ksums.compute.threads import computing
from ksums.reproduce.experiment import Experiment, Outcome, RunOptions, Unit, fingerprint
from ksums.reproduce.measured import complete_rounds
from ksums.reproduce.store import Record, Store, read_results, results_path


def run_all(
    experiments: Iterable[Experiment], options: RunOptions, out: Path, say: Callable[[str], object] = lambda text: None
) -> None:
    """Run all units that have no result in ``out`` yet. All data is loaded before the first unit runs."""
    loaded, missing = [], []
    for experiment in experiments:
        try:
            loaded.append((experiment, experiment.data(options)))
        except FileNotFoundError as error:
            missing.append(f"{experiment.name}: {error}")
    if missing:
        raise FileNotFoundError("\n".join(missing))
    stores = [
        Store(results_path(out, experiment.name), experiment.settings(options), [fingerprint(part) for part in data])
        for experiment, data in loaded
    ]
    for (experiment, data), store in zip(loaded, stores, strict=True):
        units = list(experiment.units(options, data))
        left = [unit for unit in units if unit.name not in store.units]
        say(f"{experiment.title} ({experiment.where}): {len(left)} of {len(units)} runs to do")
        if not left:
            continue
        experiment.warm_up(options, data)
        done = len(units) - len(left)
        with tqdm(total=len(units), initial=done, desc=experiment.name, unit="run", disable=None) as bar:
            for name, result in _run(left, experiment.parallel):
                store.add(name, result)
                bar.update()


def load_outcomes(experiments: Iterable[Experiment], out: Path) -> list[Outcome]:
    """The stored results of the experiments that have some; seeds that not every method has run are left out."""
    outcomes = []
    for experiment in experiments:
        path = results_path(out, experiment.name)
        if path.exists():
            results = complete_rounds(read_results(path), experiment.methods)
            if results["units"]:
                outcomes.append(Outcome(experiment, results))
    return outcomes


def _run(units: list[Unit], parallel: bool) -> Iterable[tuple[str, Record]]:
    """Run units and yield each result as soon as it is there."""
    if not parallel:
        for unit in units:
            yield unit.name, unit.work()
        return
    with warnings.catch_warnings(), computing(None) as n_threads, ThreadPoolExecutor(n_threads) as pool:
        warnings.simplefilter("ignore")  # Duplicate clusters are expected here and need no warning.
        futures = {pool.submit(unit.work): unit.name for unit in units}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:  # After an error or Ctrl-C, units that have not started are cancelled.
            pool.shutdown(wait=True, cancel_futures=True)
