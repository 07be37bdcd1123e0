"""Read the trees of expressions, such as the bridge sends them, into `predicate.expression`.

The trees are described in `spark_json`. Trees of Spark's own expressions have more fields than V2's: the
class of a function, the type of its results, its time zone with offsets, and whether a cast raises errors.

    {"fn": "DATE_TRUNC", "class": "TruncTimestamp", "type": "timestamp", "offsets": [[null, 0]],
     "args": [{"lit": "day", "type": "string"}, {"col": ["ts"]}]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from parquetry.predicate import bind
from parquetry.predicate.expression import ColumnReference, Constant, ConstantList, Expression, FunctionCall
from parquetry.predicate.functions.table import FUNCTIONS
from parquetry.predicate.reading import char_padding
from parquetry.predicate.zones import UNKNOWN_ZONE, Zone
from parquetry.types import STRING, ColumnType, Value, parse_type

Tree: TypeAlias = Mapping[str, Any]
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
            name, _ = bind.resolve(padded["col"][0], self._columns)
            return ColumnReference(name, STRING)
        return self._call(tree)

    def _column(self, tree: Tree) -> Expression | None:
        if len(tree["col"]) != 1:
            return None
        name, type = bind.resolve(tree["col"][0], self._columns)
        # a char that is not padded is read with however many blanks
        return None if type.name == "char" else ColumnReference(name, type)

    def _in_list(self, tree: Tree) -> Expression | None:
        if "col" not in tree:
            return None
        operand = self._column(tree)
        literals = [self._literal({"lit": text, "type": tree["type"]}) for text in tree["values"]]
        return None if operand is None else _membership(operand, literals)

    def _call(self, tree: Tree) -> Expression | None:
        name = _name(tree)
        arguments = tree.get("args", ())
        if name in ("IN", "INSET"):
            operand = self.read(arguments[0])
            if operand is None or any("lit" not in each for each in arguments[1:]):
                return None
            return _membership(operand, [self._literal(each) for each in arguments[1:]])
        if len(arguments) == 2 and all(_name(each) in _STRUCTS for each in arguments):
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


def _name(tree: Tree) -> str:
    """Return the name of a function in `FUNCTIONS`, or a name that is not there.

    A user's function may have the name of one of Spark's, so the class counts. Operators have signs.
    """
    name, of_class = str(tree.get("fn", "")).upper(), str(tree.get("class", "")).upper()
    return of_class if of_class and name.replace("_", "").isalnum() else name


def _membership(operand: Expression, literals: list[tuple[Value, ColumnType]]) -> Expression | None:
    values = tuple(value for value, _ in literals if value is not None)
    types = {type for value, type in literals if value is not None}
    if len(types) > 1:
        return None
    type = next(iter(types), STRING)
    return FunctionCall(
        "IN", (operand, ConstantList(values, type, len(values) < len(literals))), ColumnType("boolean")
    )
