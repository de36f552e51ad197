"""Options of ``ksums fit`` for constraints: clusters of equal size, linked rows, and rows with known labels."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ksums.cli.inputs import check_name
from ksums.cli.messages import plural
from ksums.io.table import joined


class RowConstraints(NamedTuple):
    """What a table says about rows."""

    arguments: dict[str, Any]
    """Arguments of ``KSums.fit``."""
    values: list[str] | None = None
    """The known labels, in the order of their clusters; None without a column of labels."""

    @property
    def in_words(self) -> str | None:
        """A line that says which cluster has which known label."""
        if not self.values:
            return None
        last = len(self.values) - 1
        return f"clusters 0 … {last} are: {joined(self.values)}" if last else f"cluster 0 is: {self.values[0]}"


def refuse_two_limits(balanced: bool, limits: Mapping[str, float | None]) -> None:
    """Refuse limits on the sizes next to ``--balanced``."""
    for option, value in limits.items():
        if balanced and value is not None:
            raise ValueError(
                f"--balanced and {option} exclude each other, because --balanced sets both limits; leave one of them "
                "out."
            )


def refuse_constraints(options: Mapping[str, Any], method: str, device: str | None) -> None:
    """Refuse those of the options that are given where only ``KSums`` on the CPU knows them."""
    from ksums import METHODS

    given = [option for option, value in options.items() if value not in (None, False)]
    if not given:
        return
    check_name("--method", method, METHODS)
    estimator: Any = METHODS[method].estimator
    if "must_link" not in inspect.signature(estimator.fit).parameters:
        raise ValueError(f"{given[0]} is not an option of --method {method}; use --method ksums.")
    if device not in (None, "cpu"):
        raise ValueError(f"{given[0]} is not offered with --device {device}; leave --device out to fit on the CPU.")


def row_constraints(texts: Mapping[str, Sequence[str]], n_clusters: int) -> RowConstraints:
    """The constraints in columns of text, by option; an empty text means that nothing is known about the row."""
    arguments: dict[str, Any] = {}
    if "--link-column" in texts:
        arguments["must_link"] = np.array(texts["--link-column"], object)
    if "--label-column" not in texts:
        return RowConstraints(arguments)
    labels = texts["--label-column"]
    values = _in_order(set(labels) - {""})
    if len(values) > n_clusters:
        raise ValueError(
            f"--label-column: the column has {len(values):,} different values, too many for "
            f"{plural(n_clusters, 'cluster')}; use -k {len(values)} or more."
        )
    if "--link-column" in texts:
        _refuse_conflicts(texts["--link-column"], labels)
    cluster_of = {value: at for at, value in enumerate(values)}
    arguments["fixed_labels"] = np.array([cluster_of.get(label, -1) for label in labels], np.int32)
    return RowConstraints(arguments, values)


def _refuse_conflicts(groups: Sequence[str], labels: Sequence[str]) -> None:
    """Refuse a group whose rows have different labels."""
    label_of: dict[str, str] = {}
    for group, label in zip(groups, labels, strict=True):
        if group and label and label_of.setdefault(group, label) != label:
            raise ValueError(
                f"--link-column and --label-column contradict each other: rows of the group {group!r} have the labels "
                f"{label_of[group]!r} and {label!r}; correct one of them, or leave it empty."
            )


def _in_order(values: Iterable[str]) -> list[str]:
    """Sorted as numbers if all values are numbers, otherwise as words."""
    words = sorted(values)
    try:
        return sorted(words, key=float)
    except ValueError:
        return words
