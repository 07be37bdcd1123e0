"""The calls that are answered, by their names; each module of this package registers its own.

An answer is a function of the warehouse and of the call's arguments. It returns what the call returns: text,
numbers, dicts for records, and a `Stream` for a list that may be long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

from parquetry.hive.warehouse import HiveWarehouse

Arguments: TypeAlias = Mapping[str, Any]
CallFunction: TypeAlias = Callable[[HiveWarehouse, Arguments], Any]

_SUBJECTS = (
    *("harmless", "names", "notifications", "partition_names", "partitions", "statistics", "tables"),
    "transactions",
)
_calls: dict[str, CallFunction] = {}


def answers(*names: str) -> Callable[[CallFunction], CallFunction]:
    """Register a function as the answer to calls of these names."""

    def register(function: CallFunction) -> CallFunction:
        for name in names:
            assert name not in _calls, f"two answers to {name}"
            _calls[name] = function
        return function

    return register


def answered_calls() -> Mapping[str, CallFunction]:
    """Return the answers of all modules, by the names of calls."""
    for subject in _SUBJECTS:
        import_module(f"parquetry.hive.calls.{subject}")
    return _calls
