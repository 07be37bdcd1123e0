"""Make conditions of boxes: rows of a build side whose values bound columns of the probe side together.

    f JOIN d ON f.day BETWEEN d.first AND d.last

    {"fn": "BOXES", "most": 100, "exact": true, "types": ["date", "date"], "rows": [["3", "5"], ["40", "41"]],
     "condition": day >= {"box": 0, "least": true} AND day <= {"box": 1, "least": false}}

    day >= 3 AND day <= 5 OR day >= 40 AND day <= 41

A row of the probe side can only match if the condition holds with the values of one row. There may be ten
thousand rows. Of more rows than `most`, neighbours become one box, from the least to the greatest of
each value: the rows come in order. If only one end is used, as in `f.day < d.last`, one box has all others.
The bridge sends rows that are not `exact` if it has kept only the least and the greatest of each value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parquetry.predicate.reading.operand_trees import read_literal
from parquetry.types import order_key

_FALSE: dict[str, Any] = {"fn": "ALWAYS_FALSE", "args": []}
_COMPARISONS = ("=", "<", "<=", ">", ">=")

_Row = Sequence[str | None]


def expand_boxes(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the condition that some box of a tree allows a row.

    Args:
        tree: the boxes as the bridge sends them.

    >>> condition = {"fn": "<", "args": [{"col": ["n"]}, {"box": 0, "least": False, "type": "int"}]}
    >>> tree = {"most": 100, "exact": True, "types": ["int"], "rows": [["3"], ["12"], [None]], "condition": condition}
    >>> expand_boxes(tree)
    {'fn': '<', 'args': [{'col': ['n']}, {'lit': '12', 'type': 'int'}]}
    """
    condition, types, rows = tree["condition"], tree["types"], tree["rows"]
    alternatives: list[dict[str, Any]] = []
    for group in _groups(condition, rows, tree["most"] if tree["exact"] else 1):
        one = _with_values(condition, _least_and_greatest(types, group))
        if one not in alternatives:
            alternatives.append(one)
    there = [each for each in alternatives if each != _FALSE]
    if not there:
        return _FALSE
    return there[0] if len(there) == 1 else {"fn": "OR", "args": there}


def _groups(condition: Any, rows: Sequence[_Row], most: int) -> list[Sequence[_Row]]:
    """Return the rows that become one box each. What needs no value holds without rows, too."""
    ends = {(each["box"], each["least"]) for each in _values_in(condition)}
    if not rows or len(ends) < 2:
        return [rows]
    size = -(-len(rows) // most)
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def _values_in(tree: Any) -> Iterator[Mapping[str, Any]]:
    if "box" in tree:
        yield tree
    for each in tree.get("args", ()):
        yield from _values_in(each)


def _least_and_greatest(types: Sequence[str], rows: Sequence[_Row]) -> list[tuple[str | None, str | None]]:
    """Return the least and the greatest of each value; None if it is NULL in all rows."""
    if len(rows) == 1:
        return [(text, text) for text in rows[0]]
    found: list[tuple[str | None, str | None]] = []
    for place, type in enumerate(types):
        texts = [row[place] for row in rows if row[place] is not None]
        keys = {text: order_key(read_literal({"lit": text, "type": type})[0]) for text in texts}
        found.append(
            (min(keys, key=keys.__getitem__), max(keys, key=keys.__getitem__)) if keys else (None, None)
        )
    return found


def _with_values(tree: Any, ends: Sequence[tuple[str | None, str | None]]) -> dict[str, Any]:
    """Return a condition with the values of a box. A comparison with NULL holds for no row, but for `<=>`."""
    if "box" in tree:
        return {"lit": ends[tree["box"]][0 if tree["least"] else 1], "type": tree["type"]}
    if "args" not in tree:
        return dict(tree)
    args = [_with_values(each, ends) for each in tree["args"]]
    function = str(tree.get("fn")).upper()
    if function in _COMPARISONS and any("lit" in each and each["lit"] is None for each in args):
        return _FALSE
    if function == "OR":
        args = [each for each in args if each != _FALSE] or [_FALSE]
    elif function == "AND":
        if _FALSE in args:
            return _FALSE
        args = _equalities(args)
    return args[0] if function in ("AND", "OR") and len(args) == 1 else {**tree, "args": args}


def _equalities(args: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the operands of an AND; `x >= 3` and `x <= 3` become `x = 3`."""
    match args:
        case [{"fn": ">=", "args": [low, {"lit": least}]}, {"fn": "<=", "args": [high, {"lit": most}]}] if (
            low == high and least == most
        ):
            return [{**args[0], "fn": "=", "class": "EqualTo"}]
    return args
