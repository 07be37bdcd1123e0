"""Read trees of operands that the bridge sends, columns, literals and expressions, and write them as text.

`spark_json` describes the trees.

Expressions become `predicate.expression`.

The trees are described in `spark_json`. Trees of Spark's own expressions have more fields than V2's: the
class of a function, the type of its results, its time zone with offsets, and whether a cast raises errors.

    {"fn": "DATE_TRUNC", "class": "TruncTimestamp", "type": "timestamp", "offsets": [[null, 0]],
     "args": [{"lit": "day", "type": "string"}, {"col": ["ts"]}]}
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

from parquetry.errors import ColumnNotFoundError, ParquetryError
from parquetry.identifiers import field_name
from parquetry.predicate import bind
from parquetry.predicate.expression import ColumnReference, Constant, ConstantList, Expression, FunctionCall
from parquetry.predicate.functions.table import FUNCTIONS
from parquetry.predicate.nodes import name_text
from parquetry.predicate.reading import char_padding
from parquetry.predicate.reading.equivalent_trees import Tree, equivalent, function_name
from parquetry.predicate.zones import UNKNOWN_ZONE, Zone
from parquetry.types import STRING, ColumnType, Value, parse_type, sql_literal, value_from_text

COMPARISONS = {"=": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
"""The comparisons by their signs in trees."""


class NotUnderstoodError(Exception):
    """A tree has a form that is not understood; the reason is for the report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


UNREADABLE = (
    NotUnderstoodError,
    ParquetryError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)
"""The errors of trees that have another form than expected."""


def column_of(tree: Any, columns: Mapping[str, ColumnType]) -> tuple[str, ColumnType]:
    """Return the column of a tree, which may be padded, and its type.

    Raises:
        NotUnderstoodError: the tree is no column of the table.
    """
    if "col" not in tree:
        padded = char_padding.padded_column(tree, columns)
        if padded is None:
            raise NotUnderstoodError("function on the column" if "fn" in tree else "a literal alone")
        tree = padded
    path = tree["col"]
    try:
        return bind.resolve(field_name(path), columns)
    except ParquetryError:
        reason = "unknown column" if len(path) == 1 else "nested field"
        raise NotUnderstoodError(reason) from None


def read_literal(tree: Any) -> tuple[Value, ColumnType]:
    """Return the value of a literal's tree, and its type. Any error means that it is not understood."""
    text, name = tree["lit"], tree.get("type", "string")
    if text is None:
        return None, parse_type(name)
    type, read = literal_reader(name)
    return read(str(text)), type


def literal_reader(name: str) -> tuple[ColumnType, Callable[[str], Value]]:
    """Return the type of literals, and the function that reads one from text."""
    type = parse_type(name)
    if not type.keyed:
        raise NotUnderstoodError(f"literal of type {type}")
    if type.textual:
        return STRING, str
    if type.facts.value is int:
        return type, int
    if type.name == "binary":
        return type, bytes.fromhex
    if type.name == "decimal":
        return type, Decimal
    if type.name == "boolean":
        return type, lambda text: value_from_text(type, text.lower())
    return type, partial(value_from_text, type)


def operands(function: str, arguments: Sequence[Any]) -> list[Any]:
    """Return the operands of a chain of ANDs, or of ORs; pairs may be nested to any depth."""
    found = []
    waiting = list(reversed(arguments))
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping) and str(each.get("fn", "")).upper() == function:
            waiting += reversed(each.get("args", ()))
        else:
            found.append(each)
    return found


def names_in(tree: Any, columns: Mapping[str, ColumnType]) -> list[str]:
    """Return the names of a tree's columns and fields, from the left; a name may come more than once.

    Args:
        tree: of a condition or an expression.
        columns: the types by name. The name of a field that is none of these is its column's.
    """
    names = []
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, Mapping):
            continue
        if isinstance(each.get("col"), list) and each["col"]:
            names.append(_name_of(list(map(str, each["col"])), columns))
        elif "of" in each or "condition" in each:
            waiting.append(each.get("of", each.get("condition")))
        elif isinstance(each.get("args"), list):
            waiting += reversed(each["args"])
    return names


def _name_of(path: Sequence[str], columns: Mapping[str, ColumnType]) -> str:
    if len(path) > 1:
        with contextlib.suppress(ColumnNotFoundError):
            return bind.resolve(field_name(path), columns)[0]
    return path[0]


def tree_text(tree: Any) -> str:
    """Write a tree for people, even if parts of it are not understood."""
    if not isinstance(tree, Mapping):
        return str(tree)
    if "packed" in tree:
        return f"{tree_text(_operand_of(tree))} IN (…)"
    if isinstance(tree.get("values"), list):
        literals = ({"lit": text, "type": tree.get("type")} for text in tree["values"])
        return f"IN({', '.join(map(tree_text, (_operand_of(tree), *literals)))})"
    if isinstance(tree.get("col"), list):
        return ".".join(name_text(str(part)) for part in tree["col"]) or "?"
    if "lit" in tree:
        try:
            value, type = read_literal(tree)
            return sql_literal(type, value)
        except (NotUnderstoodError, ParquetryError, ValueError, TypeError, ArithmeticError):
            return str(tree["lit"])
    if isinstance(tree.get("sql"), str):
        return str(tree["sql"])
    function = str(tree.get("fn", "?"))
    arguments = tree.get("args")
    arguments = arguments if isinstance(arguments, list) else []
    if function == "CHAR_PADDED" and arguments:
        return tree_text(arguments[0])
    texts = [tree_text(argument) for argument in arguments]
    if len(texts) == 2 and not function.isidentifier():
        left, right = (
            f"({text})" if function not in COMPARISONS and _is_infix(argument) else text
            for argument, text in zip(arguments, texts, strict=True)
        )
        return f"{left} {function} {right}"
    if function == "CAST" and len(texts) == 1 and "type" in tree:
        return f"CAST({texts[0]} AS {tree['type']})"
    return f"{function}({', '.join(texts)})"


def _operand_of(tree: Mapping[str, Any]) -> Any:
    return tree["of"] if "of" in tree else {"col": tree.get("col")}


def _is_infix(tree: Any) -> bool:
    return (
        isinstance(tree, Mapping)
        and "fn" in tree
        and isinstance(tree.get("args"), list)
        and len(tree["args"]) == 2
        and not str(tree["fn"]).isidentifier()
    )


Literals: TypeAlias = Callable[[Tree], tuple[Value, ColumnType]]
"""A function that reads a literal's tree; it raises an error of any kind if it cannot."""

_STRUCTS = ("CREATENAMEDSTRUCT", "NAMED_STRUCT")
_RAISING = ("ANSI", None)


class ExpressionReader:
    """A reader of trees.

    Args:
        columns: the types of the table's columns by name.
        literal: reads literals.
    """

    def __init__(self, columns: Mapping[str, ColumnType], literal: Literals) -> None:
        self._columns = columns
        self._literal = literal

    def read(self, tree: Tree) -> Expression | None:
        """Return an expression, or None if a part of it is not understood.

        >>> from parquetry.predicate.reading.spark_json import read_literal
        >>> tree = {"fn": "+", "args": [{"col": ["ID"]}, {"lit": "1", "type": "int"}]}
        >>> found = ExpressionReader({"id": ColumnType("int")}, read_literal).read(tree)
        >>> found.args[0].name, found.type.name
        ('id', 'int')
        """
        if "values" in tree:
            return self._in_list(tree)
        if "col" in tree:
            return self._column(tree)
        if "lit" in tree:
            return Constant(*self._literal(tree))
        padded = char_padding.padded_column(tree, self._columns)
        if padded is not None:
            name, _ = bind.resolve(field_name(padded["col"]), self._columns)
            return ColumnReference(name, STRING)
        return self._call(equivalent(tree))

    def _column(self, tree: Tree) -> Expression | None:
        name, type = bind.resolve(field_name(tree["col"]), self._columns)
        # a char that is not padded is read with however many blanks
        return None if type.name == "char" else ColumnReference(name, type)

    def _in_list(self, tree: Tree) -> Expression | None:
        if "col" not in tree:
            return None
        operand = self._column(tree)
        literals = [self._literal({"lit": text, "type": tree["type"]}) for text in tree["values"]]
        return None if operand is None else _membership(operand, literals)

    def _call(self, tree: Tree) -> Expression | None:
        name = function_name(tree)
        arguments = tree.get("args", ())
        if name in ("IN", "INSET"):
            operand = self.read(arguments[0])
            if operand is None or any("lit" not in each for each in arguments[1:]):
                return None
            return _membership(operand, [self._literal(each) for each in arguments[1:]])
        if len(arguments) == 2 and all(function_name(each) in _STRUCTS for each in arguments):
            fields = [field for each in arguments for field in each["args"][1::2]]
            name, arguments = f"STRUCT {name}", fields
        if name not in FUNCTIONS:
            return None
        args = []
        for each in arguments:
            argument = self.read(each)
            if argument is None:
                return None
            args.append(argument)
        type = (
            parse_type(tree["type"]) if "type" in tree else FUNCTIONS[name].type([each.type for each in args])
        )
        zone = Zone.from_seconds(tree["offsets"]) if tree.get("offsets") else UNKNOWN_ZONE
        raises, detail = tree.get("mode") in _RAISING, str(tree.get("detail", ""))
        return FunctionCall(name, tuple(args), type, zone, raises, detail)


def _membership(operand: Expression, literals: list[tuple[Value, ColumnType]]) -> Expression | None:
    values = tuple(value for value, _ in literals if value is not None)
    types = {type for value, type in literals if value is not None}
    if len(types) > 1:
        return None
    type = next(iter(types), STRING)
    return FunctionCall(
        "IN", (operand, ConstantList(values, type, len(values) < len(literals))), ColumnType("boolean")
    )
