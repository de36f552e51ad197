"""Listeners: they are notified of what happens in a fit."""

from __future__ import annotations

from typing import Any, Protocol


class Listener(Protocol):
    """Is notified of what happens and may stop it: the last two methods return whether to stop.

    ``run`` has ``records``, ``labels`` and ``k``: a ``run.Run``, or its like for trees.
    """

    def show(self, words: str) -> None:
        """Tell a person what is going on between two passes; called from any thread."""

    def wants_to_stop(self) -> bool:
        """Asked in the middle of long work; called from any thread."""

    def run_begins(self) -> None: ...
    def pass_begins(self) -> None: ...
    def pass_ends(self, run: Any) -> bool: ...
    def run_ends(self) -> bool: ...


class Silence:
    """A listener that ignores everything and stops nothing."""

    def show(self, words: str) -> None:
        pass

    def wants_to_stop(self) -> bool:
        return False

    def run_begins(self) -> None:
        pass

    def pass_begins(self) -> None:
        pass

    def pass_ends(self, run: Any) -> bool:
        return False

    def run_ends(self) -> bool:
        return False


class OfSample(Silence):
    """Listens to the fit of a sample on behalf of the fit that needs it: shows how far it is, and stops nothing."""

    def __init__(self, outer: Listener, words: str) -> None:
        self.outer, self.words = outer, words

    def pass_ends(self, run: Any) -> bool:
        record = run.records[-1]
        self.outer.show(f"{self.words}, {record.stage} {record.index}")
        return False
