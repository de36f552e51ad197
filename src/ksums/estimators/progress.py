"""What a person sees while a fit runs."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, Protocol, TextIO

from ksums.method.fitting.records import PassRecord
from ksums.planning.plan import CardPlan, PartitionPlan, Plan, ShardPlan, TreePlan


class Progress(Protocol):
    def update(self, record: PassRecord) -> None: ...
    def show(self, words: str) -> None: ...
    def close(self) -> None: ...


class _Silent:
    def update(self, record: PassRecord) -> None:
        pass

    def show(self, words: str) -> None:
        pass

    def close(self) -> None:
        pass


def _words_of(record: PassRecord) -> str:
    if record.stage == "samples":
        return f"samples searched, objective {record.objective:.6g}"
    if record.stage == "merge-split":
        return f"merge-split, objective {record.objective:.6g}, {record.kept} of {record.trials} trials kept"
    if record.stage == "assign":
        return f"assigned under constraints, objective {record.objective:.6g}, {_moves(record)}"
    if record.stage == "trial":
        return f"trial under constraints, objective {record.objective:.6g}, {'kept' if record.kept else 'undone'}"
    relaxation = f"relaxation {record.relaxation:.3g}, " if record.stage == "annealing" else ""
    return f"pass {record.index}, {relaxation}objective {record.objective:.6g}, {_moves(record)}"


class _Lines:
    """Plain lines for files and pipes: the first record, the last one, and in between one every ``pause`` seconds."""

    def __init__(self, title: str, stream: TextIO, pause: float) -> None:
        self.title, self.stream, self.pause = title, stream, pause
        self.last_line = -pause
        self.waiting: str | None = None

    def update(self, record: PassRecord) -> None:
        self.show(f"{_words_of(record)}, {record.seconds:.2f} s")

    def show(self, words: str) -> None:
        self.waiting = words
        if time.monotonic() - self.last_line >= self.pause:
            self._write()

    def _write(self) -> None:
        words, self.waiting = self.waiting, None
        if words is not None:
            print(f"{self.title}: {words}", file=self.stream, flush=True)
            self.last_line = time.monotonic()

    def close(self) -> None:
        self._write()


class _Bar:
    """A bar that grows with the passes, on a terminal or in a notebook. A fit may well end before it is full."""

    def __init__(self, title: str, passes: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm warns if a notebook has no widgets; its text bar is good enough
            from tqdm.auto import tqdm
        self.bar: Any = tqdm(total=passes, desc=title, unit="pass")

    def update(self, record: PassRecord) -> None:
        if record.index <= self.bar.n:  # the next run starts
            self.bar.reset()
        self.bar.set_postfix_str(_words_of(record), refresh=False)
        self.bar.update()

    def show(self, words: str) -> None:
        self.bar.set_postfix_str(words)

    def close(self) -> None:
        self.bar.close()


def progress_for(verbose: int, title: str, plan: CardPlan | PartitionPlan | Plan | ShardPlan | TreePlan) -> Progress:
    """0: nothing. 1: the plan, then a bar where a person looks, elsewhere a line every second. 2: a line each pass."""
    if not verbose:
        return _Silent()
    print(f"{title}: {plan.summary}", file=sys.stderr, flush=True)
    if verbose == 1 and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return _Bar(title, plan.most_records)
    return _Lines(title, sys.stderr, 1.0 if verbose == 1 else 0.0)


def _moves(record: PassRecord) -> str:
    return "1 move" if record.moves == 1 else f"{record.moves} moves"
