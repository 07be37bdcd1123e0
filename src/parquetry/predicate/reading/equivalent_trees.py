r"""Write trees of Spark's expressions in equivalent forms, which have a rule of their own.

| expression                                      | equivalent form                                     |
|-------------------------------------------------|-----------------------------------------------------|
| `5 IN (a, b)`                                   | `a = 5 OR b = 5`                                    |
| `array_contains(array(a, b), 5)`                | `a = 5 OR b = 5`                                    |
| `arrays_overlap(array(a, b), array(1, 2))`      | `a IN (1, 2) OR b IN (1, 2)`                        |
| `array_position(array('x', 'y'), c)`            | `CASE WHEN c IS NULL THEN NULL WHEN c = 'x' THEN 1 …` |
| `split(c, '\\.')[1]`, `element_at(split(…), 2)` | `split_part(c, '.', 2)`                             |

They are TRUE, FALSE and NULL for the same rows. A user's function of the same name is another class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

from parquetry.predicate.regular_expression import only_text

Tree: TypeAlias = Mapping[str, Any]

MAX_PAIRS = 100
"""Comparisons of one form; a form that needs more stays as it is."""
SPLIT_ITEM = "SPLITITEM"
"""The function of a text, a delimiter and a position from 1 on that returns an item of the split text."""

_FIRST_POSITIONS = {"GETARRAYITEM": 0, "ELEMENTAT": 1}
_BOOLEAN, _BIGINT = {"type": "boolean"}, {"type": "bigint"}


def function_name(tree: Tree) -> str:
    """Return the name of a function: by its class, as a user's function may have the name of Spark's.

    >>> function_name({"fn": "||", "class": "Concat"}), function_name({"fn": "year", "class": "MyYear"})
    ('||', 'MYYEAR')
    """
    name, of_class = str(tree.get("fn", "")).upper(), str(tree.get("class", "")).upper()
    return of_class if of_class and name.replace("_", "").isalnum() else name


def equivalent(tree: Tree) -> Tree:
    """Return the form of an expression that has a rule, or the tree itself.

    >>> equivalent({"fn": "IN", "args": [{"lit": "5", "type": "int"}, {"col": ["a"]}]})["fn"]
    '='
    """
    name, arguments = function_name(tree), tree.get("args")
    if not isinstance(arguments, Sequence) or len(arguments) < 2:
        return tree
    match name:
        case "IN":
            literals = all("lit" in item for item in arguments[1:])
            found = None if literals else _any_equal(arguments[1:], arguments[:1])
        case "ARRAYCONTAINS":
            found = _any_equal(_items(arguments[0]), arguments[1:])
        case "ARRAYSOVERLAP":
            found = _overlap(_items(arguments[0]), _items(arguments[1]))
        case "ARRAYPOSITION":
            found = _array_position(_items(arguments[0]), arguments[1])
        case "GETARRAYITEM" | "ELEMENTAT":
            found = _split_item(arguments[0], arguments[1], _FIRST_POSITIONS[name])
        case _:
            return tree
    return tree if found is None else found


def _items(tree: Tree) -> Sequence[Tree]:
    """Return the items of an array, or nothing if they are not known one by one."""
    items: Sequence[Tree] = tree.get("args", ()) if function_name(tree) == "CREATEARRAY" else ()
    return items


def _any_equal(items: Sequence[Tree], values: Sequence[Tree]) -> Tree | None:
    """Return the condition that one of some items is one of some values."""
    if len(values) == 1 and items and all("lit" in item for item in items):
        return {"fn": "IN", "args": [*values, *items], **_BOOLEAN}
    if not 0 < len(items) * len(values) <= MAX_PAIRS:
        return None
    return _any([{"fn": "=", "args": [*pair], **_BOOLEAN} for pair in product(items, values)])


def _overlap(one: Sequence[Tree], other: Sequence[Tree]) -> Tree | None:
    if not one or not other:
        return None
    literal = [all("lit" in item for item in items) for items in (one, other)]
    if literal == [False, False]:
        return _any_equal(one, other)
    items, literals = (other, one) if literal[0] else (one, other)
    return _any([{"fn": "IN", "args": [item, *literals], **_BOOLEAN} for item in items])


def _any(conditions: Sequence[Tree]) -> Tree:
    return conditions[0] if len(conditions) == 1 else {"fn": "OR", "args": conditions, **_BOOLEAN}


def _array_position(items: Sequence[Tree], value: Tree) -> Tree | None:
    if not 0 < len(items) <= MAX_PAIRS:
        return None
    branches: list[Tree] = [{"fn": "IS_NULL", "args": [value], **_BOOLEAN}, {"lit": None, **_BIGINT}]
    for place, item in enumerate(items, 1):
        branches += [{"fn": "=", "args": [value, item], **_BOOLEAN}, {"lit": str(place), **_BIGINT}]
    return {"fn": "CASE_WHEN", "args": [*branches, {"lit": "0", **_BIGINT}], **_BIGINT}


def _split_item(array: Tree, position: Tree, first: int) -> Tree | None:
    name, arguments = function_name(array), array.get("args", ())
    if name not in ("STRINGSPLIT", "STRINGSPLITSQL") or "lit" not in position or "lit" not in arguments[1]:
        return None
    text, delimiter, *limit = arguments
    if name == "STRINGSPLIT":
        only = only_text(str(delimiter["lit"]))
        if only is None or any(int(each["lit"]) > 0 for each in limit):
            return None
        delimiter = {"lit": only, "type": "string"}
    place = {"lit": str(int(position["lit"]) + 1 - first), "type": "int"}
    return {"fn": SPLIT_ITEM, "args": [text, delimiter, place], "type": "string"}
