"""Check whether a change of the code changes results: compare digests of some hundreds of fits.

    python benchmarks/same_labels.py record labels.json      # before the change
    python benchmarks/same_labels.py compare labels.json     # after it: lists every fit that differs

The script uses only the public interface, so it runs on both versions. Digests cover the labels, the composites bit for
bit, and the moves, stages and objectives of all passes. They depend on the CPU (vector width, BLAS), so both versions
must run on the same machine. For each fit that differs, the script names the parts that differ, such as ``labels``, or
only ``measures`` if just the last digits of a measure changed.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

import ksums
from ksums import METHODS, Annealed, BisectingKSums, KSums, SequentialKSums

Case = tuple[str, Callable[[], Any]]
"""A case is a name and a function that returns a fitted model."""


# ------------------------------------------------------------------------------------------ data
def blobs(n: int, d: int, k: int, seed: int, dtype: str = "float64") -> np.ndarray:
    """Return Gaussian clusters of unequal size that overlap somewhat."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((k, d)) * 3
    labels = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
    X = centres[labels] + rng.standard_normal((n, d))
    return (X * 20 + 128).clip(0, 255).astype(dtype) if dtype == "uint8" else X.astype(dtype)


def documents(n: int, d: int, seed: int) -> sparse.csr_array:
    """Return sparse counts of terms in texts with topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(d, 0.05), 6)
    counts = np.array([rng.multinomial(30, topics[at % 6]) for at in range(n)], np.float64)
    return sparse.csr_array(counts)


DENSE = {
    "blobs64": lambda: blobs(700, 6, 7, 1),
    "blobs32": lambda: blobs(900, 20, 9, 2, "float32"),
    "plane": lambda: blobs(1200, 2, 30, 3),
    "bytes": lambda: blobs(600, 12, 6, 4, "uint8"),
    "digits": lambda: load_digits().data,
    "copies": lambda: np.repeat(blobs(60, 4, 5, 5), 8, axis=0),
    "far": lambda: blobs(500, 5, 4, 6) + 1e6,
}
"""Each dense data set has a name and a function that makes it."""


def weights_of(X: Any, seed: int = 9) -> np.ndarray:
    """Return weights for the rows of X, some of them 0."""
    weights = np.random.default_rng(seed).integers(0, 4, X.shape[0]).astype(np.float64)
    weights[:50] += 0.5
    return weights


# ------------------------------------------------------------------------------------------ cases
def case(name: str, make: Callable[[], Any], X: Any, **fit: Any) -> Case:
    """Return a case that fits a new model to X."""
    return name, lambda: make().fit(X, **fit)


def flat_cases() -> Iterator[Case]:
    data = {name: load() for name, load in DENSE.items()} | {"docs": documents(500, 300, 7)}
    rules = ("auto", "paper", "released", "hartigan", "online", 1.5, Annealed(4, 8))
    for (name, X), objective, metric, rule in itertools.product(
        data.items(), ("distortion", "pairwise"), ("l2", "cosine"), rules
    ):
        if objective == "pairwise" and rule in ("released", "hartigan", "online"):
            continue
        about = f"flat|{name}|{objective}|{metric}|{rule}"
        parameters = {"objective": objective, "metric": metric, "rule": rule, "random_state": 3, "max_iter": 60}
        yield case(about, lambda p=parameters: KSums(8, **p), X)
        if rule in ("auto", "paper") and name in ("blobs64", "blobs32", "docs", "plane"):
            yield case(f"{about}|weights", lambda p=parameters: KSums(8, **p), X, sample_weight=weights_of(X))
            low, high = X.shape[0] // 10, X.shape[0] // 6
            limited = {**parameters, "size_min": low, "size_max": high, "max_iter": 12}
            yield case(f"{about}|limits", lambda p=limited: KSums(8, **p), X)
            yield case(f"{about}|limits|n_init", lambda p=limited: KSums(8, n_init=2, **p), X)
        if rule == "auto" and name in ("blobs32", "plane", "docs"):
            for effort in ("low", "high"):
                yield case(f"{about}|{effort}", lambda p=parameters, e=effort: KSums(8, effort=e, **p), X)
            yield case(f"{about}|reference", lambda p=parameters: KSums(8, engine="reference", **p), X)
            yield case(f"{about}|one thread", lambda p=parameters: KSums(40, n_threads=1, **p), X)
            yield case(f"{about}|two threads", lambda p=parameters: KSums(40, n_threads=2, **p), X)


def start_cases() -> Iterator[Case]:
    X, docs = DENSE["blobs32"](), documents(500, 300, 7)
    rng = np.random.default_rng(0)
    for init in ("auto", "random-labels", "k-means++", "random-points", "two-level"):
        for k in (1, 2, 17, 60):
            yield case(f"start|{init}|{k}", lambda i=init, k=k: KSums(k, init=i, random_state=1, max_iter=20), X)
            for metric in ("cosine",):
                yield case(
                    f"start|{init}|{k}|{metric}",
                    lambda i=init, k=k, m=metric: KSums(k, init=i, metric=m, random_state=1, max_iter=20),
                    X,
                )
        if init != "two-level":
            yield case(f"start|{init}|sparse", lambda i=init: KSums(9, init=i, random_state=1, max_iter=20), docs)
    labels = rng.integers(0, 12, len(X))
    centres = X[rng.choice(len(X), 12, replace=False)]
    for metric in ("l2", "cosine"):
        yield case(f"start|labels|{metric}", lambda m=metric: KSums(12, init=labels, metric=m, random_state=1), X)
        yield case(f"start|centres|{metric}", lambda m=metric: KSums(12, init=centres, metric=m, random_state=1), X)
    yield case(
        "start|two-level|limits",
        lambda: KSums(30, init="two-level", size_min=20, size_max=40, random_state=1, max_iter=8),
        X,
    )
    yield case(
        "start|k-means++|limits|weights",
        lambda: KSums(9, init="k-means++", size_max=220, random_state=1, max_iter=8),
        X,
        sample_weight=weights_of(X),
    )


def list_cases() -> Iterator[Case]:
    X = blobs(6000, 16, 200, 11, "float32")
    for objective, metric, effort in itertools.product(
        ("distortion", "pairwise"), ("l2", "cosine"), ("low", "default", "high")
    ):
        yield case(
            f"lists|{objective}|{metric}|{effort}",
            lambda o=objective, m=metric, e=effort: KSums(
                150, engine="neighbors", objective=o, metric=m, effort=e, random_state=2
            ),
            X,
        )
    for rule in ("paper", "released", "hartigan", "online"):
        yield case(
            f"lists|{rule}", lambda r=rule: KSums(150, engine="neighbors", rule=r, random_state=2, max_iter=20), X
        )
    more = {
        "weights": ({}, {"sample_weight": weights_of(X)}),
        "limits": ({"size_min": 20, "size_max": 60, "max_iter": 15}, {}),
        "short": ({"n_neighbors": 24}, {}),
        "polish": ({"polish": "pass"}, {}),
        "assign": ({"polish": "assign"}, {}),
        "one thread": ({"n_threads": 1}, {}),
        "k-means++": ({"init": "k-means++"}, {}),
        "n_init": ({"n_init": 2}, {}),
    }
    for name, (parameters, fit) in more.items():
        yield case(f"lists|{name}", lambda p=parameters: KSums(150, engine="neighbors", random_state=2, **p), X, **fit)
    wide = blobs(9000, 24, 300, 12)
    yield case("lists|auto|2000", lambda: KSums(2000, random_state=2), wide)
    yield case("lists|auto|2000|low", lambda: KSums(2000, random_state=2, effort="low"), wide)
    yield case("lists|auto|cosine|2500", lambda: KSums(2500, metric="cosine", random_state=2), wide.astype(np.float32))


def large_cases() -> Iterator[Case]:
    X = blobs(12000, 20, 60, 13, "float32")
    yield case("large|three rounds", lambda: KSums(120, random_state=2), X)
    yield case("large|three rounds|low", lambda: KSums(120, random_state=2, effort="low"), X)
    yield case("large|merge-split by name", lambda: KSums(40, refine="merge-split", rule="hartigan", random_state=2), X)
    yield case(
        "large|merge-split, cosine",
        lambda: KSums(30, refine="merge-split", rule="hartigan", metric="cosine", random_state=2),
        X,
    )
    yield case("large|no search", lambda: KSums(30, refine=None, random_state=2), X)
    yield case("large|no search|high", lambda: KSums(30, refine=None, effort="high", random_state=2), X)
    yield case("large|k=1100", lambda: KSums(1100, random_state=2, effort="low"), X)
    yield case("large|plane", lambda: KSums(100, random_state=2), blobs(8000, 2, 80, 14))
    yield case(
        "large|search under limits", lambda: KSums(20, size_min=300, size_max=900, random_state=2, max_iter=20), X
    )
    yield case("large|column", lambda: KSums(30, random_state=2), blobs(3000, 1, 30, 15))


def tree_cases() -> Iterator[Case]:
    X, docs, wide = DENSE["blobs32"](), documents(500, 300, 7), blobs(25_000, 8, 40, 16, "float32")
    for objective, metric, strategy in itertools.product(
        ("distortion", "pairwise"), ("l2", "cosine"), ("loosest", "largest")
    ):
        p = {"objective": objective, "metric": metric, "strategy": strategy, "random_state": 4}
        about = f"tree|{objective}|{metric}|{strategy}"
        yield case(f"{about}|dense", lambda p=p: BisectingKSums(40, **p), X)
        yield case(f"{about}|sparse", lambda p=p: BisectingKSums(20, **p), docs)
        yield case(f"{about}|refine", lambda p=p: BisectingKSums(20, refine=8, **p), X)
        yield case(f"{about}|weights", lambda p=p: BisectingKSums(20, **p), X, sample_weight=weights_of(X))
    for rule in ("paper", "released", "hartigan", "online", 1.5):
        yield case(f"tree|{rule}", lambda r=rule: BisectingKSums(30, rule=r, random_state=4), X)
    for init in ("random-labels", "k-means++", "random-points"):
        yield case(f"tree|{init}", lambda i=init: BisectingKSums(30, init=i, n_init=2, random_state=4), X)
    yield case("tree|large", lambda: BisectingKSums(12, random_state=4), wide)
    yield case("tree|large|cosine", lambda: BisectingKSums(12, metric="cosine", random_state=4), wide)
    yield case("tree|large|sparse", lambda: BisectingKSums(6, random_state=4), sparse.csr_array(np.maximum(wide, 0)))
    yield case("tree|wide", lambda: BisectingKSums(5, random_state=4), blobs(22_000, 210, 6, 17, "float32"))
    yield case("tree|copies", lambda: BisectingKSums(100, random_state=4), DENSE["copies"]())


def stream_cases() -> Iterator[Case]:
    X, docs = DENSE["blobs32"](), documents(500, 300, 7)
    for objective, metric, half_life in itertools.product(("distortion", "pairwise"), ("l2", "cosine"), (None, 150)):
        p = {"objective": objective, "metric": metric, "half_life": half_life, "random_state": 5, "shuffle": True}
        about = f"stream|{objective}|{metric}|{half_life}"
        yield case(about, lambda p=p: SequentialKSums(12, **p), X)
        yield case(f"{about}|sparse", lambda p=p: SequentialKSums(12, **p), docs)
        yield case(f"{about}|weights", lambda p=p: SequentialKSums(12, **p), X, sample_weight=weights_of(X) + 0.1)


def method_cases() -> Iterator[Case]:
    X, docs = DENSE["blobs64"](), documents(500, 300, 7)
    for name, method in METHODS.items():
        for metric in method.metrics:
            yield case(f"method|{name}|{metric}", lambda m=method, d=metric: m(9, d, random_state=6), X)
            yield case(f"method|{name}|{metric}|sparse", lambda m=method, d=metric: m(9, d, random_state=6), docs)
            yield case(
                f"method|{name}|{metric}|weights",
                lambda m=method, d=metric: m(9, d, random_state=6),
                X,
                sample_weight=weights_of(X) + 0.25,
            )


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for part in (flat_cases, start_cases, list_cases, large_cases, tree_cases, stream_cases, method_cases):
        yield from part()


# ------------------------------------------------------------------------------------------ digests
def digest(*parts: Any) -> str:
    """Return a short digest of arrays and other values."""
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        found.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return found.hexdigest()


def facts_of(model: Any, X: Any) -> dict[str, str]:
    """Return digests of the results of a fit, one for each kind of result."""
    records = [
        (record.stage, record.moves, record.trials, record.kept, record.objective, record.comparisons)
        for record in model.history_
    ]
    return {
        "labels": digest(np.asarray(model.labels_, np.int32)),
        "predicted": digest(np.asarray(model.predict(X), np.int32)),
        "composites": digest(np.ascontiguousarray(model.composites_)),
        "records": digest(records),
        "measures": digest(float(model.distortion_), float(model.pairwise_), float(model.objective_)),
    }


def run(only: str | None) -> dict[str, dict[str, str]]:
    """Run all fits whose name contains ``only``, and return their digests."""
    found: dict[str, dict[str, str]] = {}
    started = time.perf_counter()
    for name, fit in cases():
        if only is not None and only not in name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = fit()
            except ValueError as error:
                found[name] = {"error": digest(type(error).__name__)}
                continue
        X = _data_of(fit)
        found[name] = facts_of(model, X)
    print(f"{len(found)} fits, {time.perf_counter() - started:.0f} s, ksums {ksums.__version__}", file=sys.stderr)
    return found


def _data_of(fit: Callable[[], Any]) -> Any:
    """Return the rows that a case fits, which are in its closure."""
    names = fit.__code__.co_freevars
    return dict(zip(names, (cell.cell_contents for cell in fit.__closure__ or ()), strict=True))["X"]


def compare(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]], only: str | None) -> int:
    """Print every fit that differs; return 1 if labels or errors differ, or a fit is missing, else 0."""
    expected = {name: facts for name, facts in before.items() if only is None or only in name}
    changed = 0
    for name in [*expected, *(new for new in after if new not in expected)]:
        old, new = expected.get(name), after.get(name)
        if old is None or new is None:
            print(f"{name}: only {'after' if old is None else 'before'}")
            changed += 1
        elif old != new:
            parts = [part for part in {**old, **new} if old.get(part) != new.get(part)]
            print(f"{name}: {', '.join(parts)}")
            changed += "labels" in parts or "error" in parts
    same = sum(expected.get(name) == after.get(name) for name in expected)
    print(f"{same} of {len(expected)} fits have the same digests; the labels of {changed} differ")
    return int(changed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path, help="the JSON file of the digests")
    parser.add_argument("--only", help="run only fits whose name contains this text")
    arguments = parser.parse_args()
    found = run(arguments.only)
    if arguments.action == "record":
        arguments.file.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        return 0
    return compare(json.loads(arguments.file.read_text("utf-8")), found, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
