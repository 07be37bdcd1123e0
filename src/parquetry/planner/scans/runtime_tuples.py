"""Values of several keys from one runtime filter: tuples, or a set for each key if tuples prune no better.

    {"fn": "TUPLES", "count": 8, "args": [{"col": ["day"], "type": "date", "packed": …}, {"col": ["y"], "type": "int", "packed": …}]}

The n-th values of all columns are one tuple. If there are more tuples than the bridge sends of a set, it
sends an AND of one set for each column. If there are none, it sends no columns.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from math import prod
from typing import Any

from parquetry.predicate import raw_values
from parquetry.prune import LIMITS

TUPLES = "TUPLES"


def split_tuples(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the conditions to plan by, joined by AND.

    An AND becomes its parts. Tuples become one set for each column where tuples prune no better. Any other
    tree stays.

    Args:
        tree: a condition as the bridge sends it.
    """
    if tree.get("fn") == "AND":
        return [part for each in tree["args"] for part in split_tuples(each)]
    if tree.get("fn") != TUPLES:
        return [tree]
    if tree["count"] > LIMITS.tuples or _independent(tree):
        return [_column_set(column) for column in tree["args"]]
    return [tree]


def distinct_tuples(tree: Mapping[str, Any]) -> int:
    """Return how many different tuples a tree has: a build side may give one several times.

    >>> from base64 import b64encode
    >>> column = {"values": ["x", "x", "y"]}
    >>> distinct_tuples({"count": 3, "args": [column, column]})
    2
    >>> distinct_tuples({"count": 3, "args": [{**column, "nulls": b64encode(bytes([0, 1, 1])).decode()}]})
    3
    """
    if not tree["count"]:
        return 0
    columns = []
    for column in tree["args"]:
        flags = b64decode(column["nulls"]) if "nulls" in column else bytes(tree["count"])
        columns.append(list(zip(raw_values(column), flags, strict=True)))
    return len(set(zip(*columns, strict=True)))


def _independent(tree: Mapping[str, Any]) -> bool:
    """Return whether every combination of the columns' values is a tuple, so that the sets mean the same."""
    if not tree["count"] or any("nulls" in column for column in tree["args"]):
        return False
    return bool(prod(len(set(raw_values(column))) for column in tree["args"]) == distinct_tuples(tree))


def _column_set(column: dict[str, Any]) -> dict[str, Any]:
    values = {"fn": "IN", **column}
    if "nulls" not in column:
        return values
    return {"fn": "OR", "args": [values, {"fn": "IS_NULL", "args": [{"col": column["col"]}]}]}
