"""Read conditions as the bridge sends them: Spark's V2 predicates as JSON trees.

    {"fn": "AND", "args": [{"fn": "=", "args": [{"col": ["a"]}, {"lit": "10", "type": "int"}]}, …]}

A column that equals one of several literals comes with one list of them, which may be long:

    {"fn": "IN", "col": ["a"], "type": "int", "values": ["10", "20", null]}

Runtime values of joins come packed (see `packed_values`). For columns of type char see `char_padding`. A
literal's text is the value in Spark's InternalRow: days, microseconds, hexadecimal bytes, Java's numbers.
Forms without a name of their own, such as EXTRACT, come with their SQL text beside their arguments.

A condition that is not understood becomes `Opaque`, with the reason that the pruning report shows. It raises
no error, since Spark evaluates every condition on the rows where necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from parquetry.errors import ParquetryError
from parquetry.predicate import bind, like
from parquetry.predicate.expression import Expression
from parquetry.predicate.filter import Filter
from parquetry.predicate.functions import preimage
from parquetry.predicate.functions.casts import casts_text
from parquetry.predicate.nodes import (
    FALSE,
    FLIPPED_OPERATORS,
    MAX_CONDITION_DEPTH,
    NULL,
    TRUE,
    And,
    BooleanConstant,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    depth,
    name_text,
    truth_of,
)
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading import char_padding
from parquetry.predicate.reading.expressions import ExpressionReader
from parquetry.predicate.reading.packed_values import packed_column, packed_values
from parquetry.types import STORED_BITS, STRING, ColumnType, Value, parse_type, sql_literal, value_from_text

_COMPARISONS = {"=": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_TEXT_TESTS = {"STARTS_WITH": like.starts_with, "ENDS_WITH": like.ends_with, "CONTAINS": like.contains}


def filter_from_json(tree: Any, columns: Mapping[str, ColumnType]) -> Filter:
    """Read a filter.

    Args:
        tree: the parsed JSON of one predicate.
        columns: the table's columns by name; names in the tree may be written in any case.

    Returns:
        The filter, with `Opaque` for each condition that is not understood.
    """
    return Filter(normalise(from_json(tree, columns)))


def from_json(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate:
    """Read a condition, bound to the columns but not normalised; see `filter_from_json`.

    Args:
        tree: the parsed JSON of one predicate.
        columns: the table's columns by name; names in the tree may be written in any case.

    Returns:
        The condition, with `Opaque` for each part that is not understood.

    >>> tree = {'fn': '>', 'args': [{'lit': '10', 'type': 'int'}, {'col': ['A']}]}
    >>> str(from_json(tree, {'a': ColumnType('int')}))
    'a < 10'
    """
    try:
        found = _node(tree, columns)
        if depth(found) <= MAX_CONDITION_DEPTH:
            return found
        reason = "nested too deeply"
    except _NotUnderstoodError as unknown:
        reason = unknown.reason
    except RecursionError:
        reason = "nested too deeply"
    except (ParquetryError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        reason = f"literal not understood: {error}"
    try:
        text = _text(tree)
    except RecursionError:
        text = "…"
    names = tuple(dict.fromkeys(_names(tree)))
    formula = expression_from_json(tree, columns)
    if formula is not None and casts_text(formula):
        reason, formula = "the cast of a text may be an error", None
    return Opaque(text, names, reason, _implied(tree, columns), formula)


def _implied(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate | None:
    """Return the condition on a column that a comparison of its function with literals implies, or None."""
    try:
        function, (left, *others) = _function(tree), tree["args"]
        if function in _COMPARISONS and "lit" in left:
            function, left, others = FLIPPED_OPERATORS[_COMPARISONS[function]], others[0], [left]
        if "fn" not in left or any("lit" not in other for other in others):
            return None
        literals = [read_literal(other) for other in others]
        value, type = literals[0]
        if function in ("=", "<=>") and isinstance(value, str):
            begins = char_padding.begins_like(left, value, columns)
            if begins is not None:
                return begins
        expression = ExpressionReader(columns, read_literal).read(left)
        if expression is None:
            return None
        if function == "IN":
            return preimage.implied_by_any(expression, [each for each in literals if each[0] is not None])
        return preimage.implied(_COMPARISONS[function], expression, value, type)
    except _UNREADABLE:
        return None


def expression_from_json(tree: Any, columns: Mapping[str, ColumnType]) -> Expression | None:
    """Read an expression, such as a condition or a sort key, for statistics to judge.

    Args:
        tree: the parsed JSON.
        columns: the table's columns by name; names in the tree may be written in any case.

    Returns:
        The expression, or None if a part of it is not known.
    """
    try:
        return ExpressionReader(columns, read_literal).read(tree)
    except _UNREADABLE:
        return None


def _function(tree: Any) -> str:
    """Return the name of a tree's function in capitals."""
    name = str(tree["fn"]).upper()
    return "IN" if name == "INSET" else name


class _NotUnderstoodError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_UNREADABLE = (
    _NotUnderstoodError,
    ParquetryError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)
"""The errors of trees that have another form than expected."""


def _node(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate:
    if "values" in tree:
        return _in_list(tree, columns)
    if "packed" in tree:
        return _in_packed(tree, columns)
    if "col" in tree:
        name, type = _column(tree, columns)
        if type.name != "boolean":
            raise _NotUnderstoodError("a column that is no condition")
        return truth_of(name)
    if "lit" in tree:
        value, type = read_literal(tree)
        if value is not None and not isinstance(value, bool):
            raise _NotUnderstoodError("a literal that is no condition")
        return BooleanConstant(value)
    function = _function(tree)
    arguments = tree.get("args", ())
    match function:
        case "AND":
            # Each side may be understood without the other.
            return And(tuple(from_json(argument, columns) for argument in _joined(function, arguments)))
        case "OR":
            return Or(tuple(from_json(argument, columns) for argument in _joined(function, arguments)))
        case "NOT":
            return Not(from_json(arguments[0], columns))
        case "ALWAYS_TRUE":
            return TRUE
        case "ALWAYS_FALSE":
            return FALSE
        case "BOOLEAN_EXPRESSION":
            return from_json(arguments[0], columns)
        case "IS_NULL" | "IS_NOT_NULL":
            null = IsNull(_column(arguments[0], columns)[0])
            return null if function == "IS_NULL" else Not(null)
        case "IN":
            return _in(arguments, columns)
        case "TUPLES":
            return _tuples(arguments, columns)
    if function in _COMPARISONS:
        return _comparison(_COMPARISONS[function], arguments, columns)
    if function in _TEXT_TESTS:
        return _text_test(function, arguments, columns)
    raise _NotUnderstoodError(f"function {function}")


def _comparison(op: str, arguments: Sequence[Any], columns: Mapping[str, ColumnType]) -> Predicate:
    left, right = arguments
    if "lit" in left and "lit" not in right:
        left, right, op = right, left, FLIPPED_OPERATORS[op]
    if "col" in left and "col" in right:
        raise _NotUnderstoodError("comparison of two columns")
    if "lit" not in right:
        raise _NotUnderstoodError("function on the column")
    name, type = _column(left, columns)
    value, literal = read_literal(right)
    if not isinstance(value, str) or not _is_char(type, columns):
        return bind.comparison(op, name, type, value, literal)
    if "col" in left and char_padding.as_stored(name, type, columns):
        equal = op in ("=", "<=>") and char_padding.fits(type, value)
        implied = bind.comparison(op, name, type, value, literal) if equal else None
        text = _text({"fn": op, "args": [left, right]})
        return Opaque(text, (name,), char_padding.AS_STORED_REASON, implied)
    return char_padding.comparison(op, name, type, value)


def _in_list(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate:
    name, type = _column(tree, columns)
    texts = [text for text in tree["values"] if text is not None]
    has_null = len(texts) < len(tree["values"])
    if not texts:
        return bind.membership(name, type, (), type, has_null)
    literal, read = _reader(tree["type"])
    return _membership(tree, name, type, [read(text) for text in texts], literal, has_null, columns)


def _in_packed(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate:
    name, type = _column(tree, columns)
    literal = _reader(tree["type"])[0]
    return bind.membership(name, type, packed_values(literal, tree), literal, has_null=bool(tree.get("null")))


def _in(arguments: Sequence[Any], columns: Mapping[str, ColumnType]) -> Predicate:
    name, type = _column(arguments[0], columns)
    if any("lit" not in argument for argument in arguments[1:]):
        raise _NotUnderstoodError("IN over something else than literals")
    literals = [read_literal(argument) for argument in arguments[1:]]
    values = [value for value, _ in literals if value is not None]
    kinds = {literal for value, literal in literals if value is not None}
    if len(kinds) > 1:
        raise _NotUnderstoodError("IN over literals of several types")
    literal = next(iter(kinds), type)
    tree = {"fn": "IN", "args": arguments}
    return _membership(tree, name, type, values, literal, len(values) < len(literals), columns)


def _tuples(arguments: Sequence[Any], columns: Mapping[str, ColumnType]) -> Predicate:
    """Read tuples of a join, whose values come by columns; a key compared by `<=>` may have NULL."""
    if not arguments:
        return FALSE  # there are none
    names = [_column(tree, columns) for tree in arguments]
    readers = [_reader(tree["type"]) for tree in arguments]
    values = [
        packed_column(literal, tree, read) for tree, (literal, read) in zip(arguments, readers, strict=True)
    ]
    by_nulls: dict[tuple[int, ...], list[tuple[Value, ...]]] = {}
    for row in dict.fromkeys(zip(*values, strict=True)):
        nulls = tuple(place for place, value in enumerate(row) if value is None) if None in row else ()
        by_nulls.setdefault(nulls, []).append(tuple(value for value in row if value is not None))
    parts: list[Predicate] = []
    for nulls, rows in by_nulls.items():
        there = [place for place in range(len(names)) if place not in nulls]
        parts.append(And(tuple(IsNull(names[place][0]) for place in nulls)) if nulls else TRUE)
        if there:
            types = [readers[place][0] for place in there]
            full = bind.tuple_membership([names[place] for place in there], rows, types)
            parts[-1] = And((parts[-1], full)) if nulls else full
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _membership(
    tree: Mapping[str, Any],
    name: str,
    type: ColumnType,
    values: Sequence[Value],
    literal: ColumnType,
    has_null: bool,
    columns: Mapping[str, ColumnType],
) -> Predicate:
    if not values or not literal.textual or not _is_char(type, columns):
        return bind.membership(name, type, values, literal, has_null)
    padded = "col" not in tree and "col" not in tree["args"][0]
    if not padded and char_padding.as_stored(name, type, columns):
        fit = all(char_padding.fits(type, str(value)) for value in values)
        implied = bind.membership(name, type, values, literal, has_null) if fit else None
        return Opaque(_text(tree), (name,), char_padding.AS_STORED_REASON, implied)
    equalities = [char_padding.comparison("=", name, type, str(value)) for value in values]
    return bind.any_equality(name, type, equalities, has_null)


def _is_char(type: ColumnType, columns: Mapping[str, ColumnType]) -> bool:
    """Return whether a column is compared with texts by Spark's rules for char."""
    return type.name == "char" and isinstance(columns, char_padding.SparkColumns)


def _text_test(function: str, arguments: Sequence[Any], columns: Mapping[str, ColumnType]) -> Predicate:
    name, type = _column(arguments[0], columns)
    if "lit" not in arguments[1]:
        raise _NotUnderstoodError("comparison of two columns")
    text, _ = read_literal(arguments[1])
    if text is None:
        return NULL
    if not type.textual or not isinstance(text, str):
        raise _NotUnderstoodError(f"{function} on a column that is not text")
    if "col" in arguments[0] and char_padding.as_stored(name, type, columns):
        raise _NotUnderstoodError(char_padding.AS_STORED_REASON)
    found = _TEXT_TESTS[function](name, text)
    return Like(found.column, found.pattern, found.escape, type)


def _column(tree: Any, columns: Mapping[str, ColumnType]) -> tuple[str, ColumnType]:
    if "col" not in tree:
        padded = char_padding.padded_column(tree, columns)
        if padded is None:
            raise _NotUnderstoodError("function on the column" if "fn" in tree else "a literal alone")
        tree = padded
    path = tree["col"]
    if len(path) != 1:
        raise _NotUnderstoodError("nested field")
    try:
        name, type = bind.resolve(path[0], columns)
    except ParquetryError:
        raise _NotUnderstoodError("unknown column") from None
    return name, type


def read_literal(tree: Any) -> tuple[Value, ColumnType]:
    """Return the value of a literal's tree, and its type. Any error means that it is not understood."""
    text, name = tree["lit"], tree.get("type", "string")
    if text is None:
        return None, parse_type(name)
    type, read = _reader(name)
    return read(str(text)), type


def _reader(name: str) -> tuple[ColumnType, Callable[[str], Value]]:
    """Return the type of literals, and the function that reads one from text."""
    type = parse_type(name)
    if not type.keyed:
        raise _NotUnderstoodError(f"literal of type {type}")
    if type.textual:
        return STRING, str
    if type.name in STORED_BITS:
        return type, int
    if type.name == "binary":
        return type, bytes.fromhex
    if type.name == "decimal":
        return type, Decimal
    if type.name == "boolean":
        return type, lambda text: value_from_text(type, text.lower())
    return type, partial(value_from_text, type)


def _joined(function: str, arguments: Sequence[Any]) -> list[Any]:
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


def _names(tree: Any) -> list[str]:
    names = []
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, Mapping):
            continue
        if isinstance(each.get("col"), list) and each["col"]:
            names.append(str(each["col"][0]))
        elif isinstance(each.get("args"), list):
            waiting += reversed(each["args"])
    return names


def _text(tree: Any) -> str:
    """Write a tree for people, even if parts of it are not understood."""
    if not isinstance(tree, Mapping):
        return str(tree)
    if "packed" in tree:
        return f"{_text({'col': tree.get('col')})} IN (…)"
    if isinstance(tree.get("values"), list):
        literals = ({"lit": text, "type": tree.get("type")} for text in tree["values"])
        return f"IN({', '.join(map(_text, ({'col': tree.get('col')}, *literals)))})"
    if isinstance(tree.get("col"), list):
        return ".".join(name_text(str(part)) for part in tree["col"]) or "?"
    if "lit" in tree:
        try:
            value, type = read_literal(tree)
            return sql_literal(type, value)
        except (_NotUnderstoodError, ParquetryError, ValueError, TypeError, ArithmeticError):
            return str(tree["lit"])
    if isinstance(tree.get("sql"), str):
        return str(tree["sql"])
    function = str(tree.get("fn", "?"))
    arguments = tree.get("args")
    arguments = arguments if isinstance(arguments, list) else []
    if function == "CHAR_PADDED" and arguments:
        return _text(arguments[0])
    texts = [_text(argument) for argument in arguments]
    if len(texts) == 2 and not function.isidentifier():
        left, right = (
            f"({text})" if function not in _COMPARISONS and _is_infix(argument) else text
            for argument, text in zip(arguments, texts, strict=True)
        )
        return f"{left} {function} {right}"
    if function == "CAST" and len(texts) == 1 and "type" in tree:
        return f"CAST({texts[0]} AS {tree['type']})"
    return f"{function}({', '.join(texts)})"


def _is_infix(tree: Any) -> bool:
    return (
        isinstance(tree, Mapping)
        and "fn" in tree
        and isinstance(tree.get("args"), list)
        and len(tree["args"]) == 2
        and not str(tree["fn"]).isidentifier()
    )
