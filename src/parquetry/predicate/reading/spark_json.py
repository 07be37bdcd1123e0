"""Read conditions as the bridge sends them: Spark's V2 predicates as JSON trees.

    {"fn": "AND", "args": [{"fn": "=", "args": [{"col": ["a"]}, {"lit": "10", "type": "int"}]}, …]}

A column that equals one of several literals comes with one list of them, which may be long:

    {"fn": "IN", "col": ["a"], "type": "int", "values": ["10", "20", null]}

Runtime values of joins come packed (see `join_values`). For columns of type char see `char_padding`. A
literal's text is the value in Spark's InternalRow: days, microseconds, hexadecimal bytes, Java's numbers.
Forms without a name of their own, such as EXTRACT, come with their SQL text beside their arguments.

A condition that is not understood becomes `Opaque`, with the reason that the pruning report shows. It raises
no error, since Spark evaluates every condition on the rows where necessary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    truth_of,
)
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading import char_padding, join_values
from parquetry.predicate.reading.equivalent_trees import equivalent
from parquetry.predicate.reading.join_values import expand_boxes
from parquetry.predicate.reading.operand_trees import (
    COMPARISONS,
    UNREADABLE,
    ExpressionReader,
    NotUnderstoodError,
    column_of,
    literal_reader,
    names_in,
    operands,
    read_literal,
    tree_text,
)
from parquetry.types import ColumnType, Value

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
        found = _node(equivalent(tree), columns)
        if depth(found) <= MAX_CONDITION_DEPTH:
            return found
        reason = "nested too deeply"
    except NotUnderstoodError as unknown:
        reason = unknown.reason
    except RecursionError:
        reason = "nested too deeply"
    except (ParquetryError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        reason = f"literal not understood: {error}"
    try:
        text = tree_text(tree)
    except RecursionError:
        text = "…"
    names = tuple(dict.fromkeys(names_in(tree, columns)))
    formula = expression_from_json(tree, columns)
    if formula is not None and casts_text(formula):
        reason, formula = "the cast of a text may be an error", None
    return Opaque(text, names, reason, _implied(tree, columns), formula)


def _implied(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate | None:
    """Return the condition on a column that a comparison of its function with literals implies, or None."""
    try:
        function, (left, *others) = _function(tree), tree["args"]
        if function == "RLIKE":
            pattern = read_literal(others[0])[0]
            name, type = column_of(left, columns)
            return preimage.implied_by_expression(name, type, pattern) if isinstance(pattern, str) else None
        if function in COMPARISONS and "lit" in left:
            function, left, others = FLIPPED_OPERATORS[COMPARISONS[function]], others[0], [left]
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
        return preimage.implied(COMPARISONS[function], expression, value, type)
    except UNREADABLE:
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
    except UNREADABLE:
        return None


def _function(tree: Any) -> str:
    """Return the name of a tree's function in capitals."""
    name = str(tree["fn"]).upper()
    return "IN" if name == "INSET" else name


def _node(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate:
    if "of" in tree:
        return join_values.computed_set(tree, columns)
    if "values" in tree:
        return _in_list(tree, columns)
    if "packed" in tree:
        return join_values.column_set(tree, columns)
    if "col" in tree:
        name, type = column_of(tree, columns)
        if type.name != "boolean":
            raise NotUnderstoodError("a column that is no condition")
        return truth_of(name)
    if "lit" in tree:
        value, type = read_literal(tree)
        if value is not None and not isinstance(value, bool):
            raise NotUnderstoodError("a literal that is no condition")
        return BooleanConstant(value)
    function = _function(tree)
    arguments = tree.get("args", ())
    match function:
        case "AND":
            # Each side may be understood without the other.
            return And(tuple(from_json(argument, columns) for argument in operands(function, arguments)))
        case "OR":
            return Or(tuple(from_json(argument, columns) for argument in operands(function, arguments)))
        case "NOT":
            return Not(from_json(arguments[0], columns))
        case "ALWAYS_TRUE":
            return TRUE
        case "ALWAYS_FALSE":
            return FALSE
        case "BOOLEAN_EXPRESSION":
            return from_json(arguments[0], columns)
        case "IS_NULL" | "IS_NOT_NULL":
            null = IsNull(column_of(arguments[0], columns)[0])
            return null if function == "IS_NULL" else Not(null)
        case "IN":
            return _in(arguments, columns)
        case "BOXES":
            return from_json(expand_boxes(tree), columns)
        case "TUPLES":
            return join_values.tuples(arguments, columns)
    if function in COMPARISONS:
        return _comparison(COMPARISONS[function], arguments, columns)
    if function in _TEXT_TESTS:
        return _text_test(function, arguments, columns)
    raise NotUnderstoodError(f"function {function}")


def _comparison(op: str, arguments: Sequence[Any], columns: Mapping[str, ColumnType]) -> Predicate:
    left, right = arguments
    if "lit" in left and "lit" not in right:
        left, right, op = right, left, FLIPPED_OPERATORS[op]
    if "col" in left and "col" in right:
        raise NotUnderstoodError("comparison of two columns")
    if "lit" not in right:
        raise NotUnderstoodError("function on the column")
    name, type = column_of(left, columns)
    value, literal = read_literal(right)
    if not isinstance(value, str) or not _is_char(type, columns):
        return bind.comparison(op, name, type, value, literal)
    if "col" in left and char_padding.as_stored(name, type, columns):
        equal = op in ("=", "<=>") and char_padding.fits(type, value)
        implied = bind.comparison(op, name, type, value, literal) if equal else None
        text = tree_text({"fn": op, "args": [left, right]})
        return Opaque(text, (name,), char_padding.AS_STORED_REASON, implied)
    return char_padding.comparison(op, name, type, value)


def _in_list(tree: Any, columns: Mapping[str, ColumnType]) -> Predicate:
    name, type = column_of(tree, columns)
    texts = [text for text in tree["values"] if text is not None]
    has_null = len(texts) < len(tree["values"])
    if not texts:
        return bind.membership(name, type, (), type, has_null)
    literal, read = literal_reader(tree["type"])
    return _membership(tree, name, type, [read(text) for text in texts], literal, has_null, columns)


def _in(arguments: Sequence[Any], columns: Mapping[str, ColumnType]) -> Predicate:
    name, type = column_of(arguments[0], columns)
    if any("lit" not in argument for argument in arguments[1:]):
        raise NotUnderstoodError("IN over something else than literals")
    literals = [read_literal(argument) for argument in arguments[1:]]
    values = [value for value, _ in literals if value is not None]
    kinds = {literal for value, literal in literals if value is not None}
    if len(kinds) > 1:
        raise NotUnderstoodError("IN over literals of several types")
    literal = next(iter(kinds), type)
    tree = {"fn": "IN", "args": arguments}
    return _membership(tree, name, type, values, literal, len(values) < len(literals), columns)


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
        return Opaque(tree_text(tree), (name,), char_padding.AS_STORED_REASON, implied)
    equalities = [char_padding.comparison("=", name, type, str(value)) for value in values]
    return bind.any_equality(name, type, equalities, has_null)


def _is_char(type: ColumnType, columns: Mapping[str, ColumnType]) -> bool:
    """Return whether a column is compared with texts by Spark's rules for char."""
    return type.name == "char" and isinstance(columns, char_padding.SparkColumns)


def _text_test(function: str, arguments: Sequence[Any], columns: Mapping[str, ColumnType]) -> Predicate:
    name, type = column_of(arguments[0], columns)
    if "lit" not in arguments[1]:
        raise NotUnderstoodError("comparison of two columns")
    text, _ = read_literal(arguments[1])
    if text is None:
        return NULL
    if not type.textual or not isinstance(text, str):
        raise NotUnderstoodError(f"{function} on a column that is not text")
    if "col" in arguments[0] and char_padding.as_stored(name, type, columns):
        raise NotUnderstoodError(char_padding.AS_STORED_REASON)
    test = _TEXT_TESTS[function](name, text)
    return Like(test.column, test.pattern, test.escape, type)
