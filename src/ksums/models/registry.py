"""The classes of models by name, so that a file can say which one it holds."""

from __future__ import annotations

_CLASSES: dict[str, type] = {}


def register(model_class: type) -> None:
    """Let files name a class of this package; others are not ours to load."""
    if model_class.__module__.startswith("ksums."):
        _CLASSES[model_class.__name__] = model_class


def class_called(name: str) -> type | None:
    """The class of that name, if there is one."""
    return _CLASSES.get(name)
