"""All experiments, one after the other; what was done before is not done again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tqdm import tqdm

from ksums.computing import computing
from ksums.reproduce.documents import Documents
from ksums.reproduce.experiment import Experiment, Result, Size, Unit, identity
from ksums.reproduce.large_scale import LargeScale
from ksums.reproduce.measured import comparable
from ksums.reproduce.sequential import Sequential
from ksums.reproduce.significance import Significance
from ksums.reproduce.steps import Steps
from ksums.reproduce.store import Store, read

_ALL: tuple[Experiment, ...] = (
    Steps(),
    Significance(),
    Sequential(),
    LargeScale("large_scale", 20),
    LargeScale("large_scale_100", 100),
    Documents(),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}


def run(out: Path, size: Size, names: Iterable[str], tell: Callable[[str], None]) -> None:
    """Do what is missing in the results in ``out``. All data is there before any work begins."""
    loaded, missing = {}, []
    for name in names:
        try:
            loaded[name] = EXPERIMENTS[name].data(size)
        except FileNotFoundError as error:
            missing.append(f"{name}: {error}")
    if missing:
        raise FileNotFoundError("\n".join(missing))
    stores = {
        name: Store(path_of(out, name), EXPERIMENTS[name].settings(size), [identity(part) for part in data])
        for name, data in loaded.items()
    }
    for name, data in loaded.items():
        experiment, store = EXPERIMENTS[name], stores[name]
        units = list(experiment.units(size, data))
        left = [unit for unit in units if unit[0] not in store.units]
        tell(f"{experiment.title}: {len(left)} of {len(units)} runs to do")
        if not left:
            continue
        experiment.warm_up(size, data)
        with tqdm(total=len(units), initial=len(units) - len(left), desc=name, unit="run", disable=None) as bar:
            for unit, result in _done(left, experiment.at_once):
                store.add(unit, result)
                bar.update()


def results(out: Path) -> dict[str, Result]:
    """What there is so far, by experiment, as far as all methods can be compared."""
    found = {name: read(path_of(out, name)) for name in EXPERIMENTS if path_of(out, name).exists()}
    found = {name: comparable(result, EXPERIMENTS[name].methods) for name, result in found.items()}
    return {name: result for name, result in found.items() if result["units"]}


def path_of(out: Path, name: str) -> Path:
    """The file of an experiment's results."""
    return out / "results" / f"{name}.json"


def _done(units: list[Unit], at_once: bool) -> Iterable[tuple[str, Result]]:
    if not at_once:
        for name, work in units:
            yield name, work()
        return
    with warnings.catch_warnings(), computing(None) as n_threads, ThreadPoolExecutor(n_threads) as pool:
        warnings.simplefilter("ignore")  # that clusters are copies of each other
        futures = {pool.submit(work): name for name, work in units}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:  # after an error or Ctrl-C those that have not begun are not wanted
            pool.shutdown(wait=True, cancel_futures=True)
