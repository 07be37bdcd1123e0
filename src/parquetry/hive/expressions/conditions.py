"""Turn an expression of Hive into a condition on partition columns.

Each part that is not certain becomes `Opaque`: any partition may satisfy it. So the condition is never TRUE
for fewer partitions than Hive's, and it is exact if it has no such part.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from parquetry.errors import ParquetryError
from parquetry.hive.expressions.comparisons import OPERATORS, compare, compared_type, equals_default_partition
from parquetry.hive.expressions.constants import ConstantValue, constant_value, untyped_constant
from parquetry.hive.expressions.objects import Boxed
from parquetry.hive.expressions.operands import Operand, find_column, read_operand
from parquetry.hive.expressions.stream import UnreadExpressionError
from parquetry.hive.expressions.texts import TextComparison, Truths, possible_truths
from parquetry.hive.expressions.tree import (
    MAX_NODES,
    CallNode,
    ColumnNode,
    ConstantNode,
    ExpressionNode,
    read_tree,
    text_of,
)
from parquetry.locations import DEFAULT_PARTITION
from parquetry.predicate import (
    NULL,
    And,
    BooleanConstant,
    Compare,
    Filter,
    IsNull,
    Like,
    Not,
    Opaque,
    Predicate,
    TupleIn,
    all_of,
    any_of,
    contains,
    is_true,
    opaque_parts,
    parts_of,
)
from parquetry.types import BOOLEAN, STRING, ColumnType, Value, parse_type

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BIGINT, _DOUBLE = ColumnType("bigint"), ColumnType("double")
_DEFECTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that no expression should cause; a client gets a right answer even so."""
_LOG = logging.getLogger("parquetry")


@dataclass(frozen=True, slots=True)
class PartitionExpression:
    """The condition of a client of Hive.

    Attributes:
        filter: TRUE for each partition that the client's expression selects.
        exact: whether it is TRUE for no other one. If not, tell the client `hasUnknownPartitions`.
        text: the expression, for people.
    """

    filter: Filter
    exact: bool
    text: str

    @property
    def is_tested(self) -> bool:
        """Whether partitions are to be tested one by one, with `possible_truths`, beside the filter."""
        return any(isinstance(part, TextComparison) for part in opaque_parts(self.filter.node))

    def truths(self, row: Mapping[str, Value]) -> Truths:
        """Return which truths the expression may have for a partition, by its values."""
        return possible_truths(self.filter.node, row)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why parts are not understood, each once."""
        return tuple(dict.fromkeys(part.reason for part in opaque_parts(self.filter.node)))


def read_partition_expression(
    blob: bytes,
    columns: Mapping[str, ColumnType],
    zone: str = "UTC",
    default_partition: str = DEFAULT_PARTITION,
) -> PartitionExpression | None:
    """Read the expression of a client of Hive that selects partitions.

    The bytes are Kryo's, of one of Hive's classes of expressions, as Hive 2, 3 and 4 send them
    (`get_partitions_by_expr`). They are read by a list of classes, and nothing in them is run.

    Args:
        blob: the bytes.
        columns: the types of the table's partition columns by name.
        zone: the time zone of clients: our `timestamp` is an instant, and theirs a clock.
        default_partition: the name of partitions of NULL, which the client tells.

    Returns:
        The condition, or None if it is not understood. All partitions are the right answer then, with
        `hasUnknownPartitions`; a line of the log has the reason.
    """
    try:
        return translate_expression(blob, columns, zone, default_partition)
    except (UnreadExpressionError, ParquetryError) as error:
        _LOG.info("An expression of Hive was not understood, so all partitions may match: %s", error)
    except _DEFECTS:
        _LOG.warning("An expression of Hive could not be read, so all partitions may match.", exc_info=True)
    return None


def translate_expression(
    blob: bytes, columns: Mapping[str, ColumnType], zone: str, default_partition: str
) -> PartitionExpression:
    """Read an expression as `read_partition_expression` does, or say why it is not understood.

    Raises:
        UnreadExpressionError: it is not understood.
        ParquetryError: it cannot be planned, since its parts are nested too deep.
    """
    tree, dialect = read_tree(bytes(blob))
    node = _Conditions(columns, zone, default_partition, dialect.kryo5).translate(tree)
    found = Filter.bind(node, columns, zone)
    return PartitionExpression(found, not opaque_parts(found.node), text_of(tree))


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The partition columns of conditions, and how their client sees them.

    Attributes:
        columns: the partition columns.
        zone: of timestamps.
        default_partition: the name of partitions of NULL.
        hive_4: whether the client is Hive 4. The bytes of Hive 2 and 3 do not differ, but Hive 2 takes the
            boolean `false` of a partition for true.
    """

    columns: Mapping[str, ColumnType]
    zone: str
    default_partition: str
    hive_4: bool

    def translate(self, node: ExpressionNode) -> Predicate:
        """Return the condition of a node; what is not certain becomes opaque."""
        match node:
            case CallNode("OPAnd", args) if args:
                return all_of(self.translate(each) for each in args)
            case CallNode("OPOr", args) if args:
                return any_of(self.translate(each) for each in args)
            case CallNode("OPNot", (child,)):
                return Not(self.translate(child))
        try:
            found = self._leaf(node)
            # bound here, so that a leaf that does not fit its column changes nothing of its neighbours
            if isinstance(found, Opaque) and found.implied is not None:
                return replace(found, implied=self._bound(found.implied))
            return self._bound(found)
        except UnreadExpressionError as error:
            reason = str(error)
        except ParquetryError as error:
            reason = f"not comparable: {error}"
        return Opaque(text_of(node), tuple(dict.fromkeys(_names(node, self.columns))), reason)

    def _bound(self, node: Predicate) -> Predicate:
        return Filter.bind(node, self.columns, self.zone).node

    def _leaf(self, node: ExpressionNode) -> Predicate:
        match node:
            case ColumnNode():
                name, type = find_column(node, self.columns)
                if type != BOOLEAN or not self.hive_4:
                    raise UnreadExpressionError("a column alone")
                return Compare("=", name, True, BOOLEAN)
            case ConstantNode(None) | CallNode("UDFToBoolean", (ConstantNode(None),)):
                return NULL
            case ConstantNode(Boxed("java.lang.Boolean", bool(value))):
                return BooleanConstant(value)
            case CallNode():
                rule, least, most = _RULES.get(node.function, (None, 0, 0))
                if rule is not None:
                    if not least <= len(node.args) <= most:
                        raise UnreadExpressionError(f"{node.function} with {len(node.args)} arguments")
                    return rule(self, node)
        raise UnreadExpressionError(
            f"function {node.function}" if isinstance(node, CallNode) else "a constant alone"
        )

    def _is_null(self, call: CallNode) -> Predicate:
        found = read_operand(call.args[0], self.columns)
        if found.parsed:
            raise UnreadExpressionError("texts that are no numbers are NULL")
        return IsNull(found.name)

    def _is_not_null(self, call: CallNode) -> Predicate:
        return Not(self._is_null(call))

    def _operand(self, node: ExpressionNode) -> Operand:
        found = read_operand(node, self.columns)
        if found.column == BOOLEAN and not self.hive_4:
            raise UnreadExpressionError("Hive 2 takes each boolean for true")
        return found

    def _constant(self, node: ExpressionNode) -> ConstantValue:
        found = constant_value(node)
        if found is None:
            raise UnreadExpressionError("a comparison with something else than a constant")
        return found

    def _comparison(self, call: CallNode) -> Predicate:
        left, right = call.args
        op = OPERATORS[call.function]
        value = constant_value(left)
        if value is not None:
            left, right, op = right, left, _FLIPPED.get(op, op)
        found = self._operand(left)
        value = self._constant(right)
        if equals_default_partition(value, self.default_partition):
            if op not in ("=", "!=", "<=>") or not isinstance(left, ColumnNode):
                raise UnreadExpressionError("a comparison with the name of partitions of NULL")
            return self._default_partition(op, found, call)
        return compare(op, found, value, _converted(call, 0, *call.args), self.zone)

    def _default_partition(self, op: str, found: Operand, call: CallNode) -> Predicate:
        """Compare a column with the name of partitions of NULL: since Hive 3, it means NULL."""
        if self.hive_4 or (op == "!=" and found.column.unpadded):
            return Not(IsNull(found.name)) if op == "!=" else IsNull(found.name)
        implied = None if op == "!=" else IsNull(found.name)
        return Opaque(
            text_of(call), (found.name,), "the name of partitions of NULL is a text for Hive 2", implied
        )

    def _is_distinct(self, call: CallNode) -> Predicate:
        return Not(self._comparison(CallNode("OPEqualNS", call.args, call.type, call.compared)))

    def _in(self, call: CallNode) -> Predicate:
        first, *others = call.args
        if isinstance(first, CallNode) and first.function == "Struct":
            return self._tuples(first, others)
        found = self._operand(first)
        return any_of([self._equal(found, self._constant(each), "=") for each in others])

    def _equal(self, found: Operand, value: ConstantValue, op: str) -> Predicate:
        """Compare a column with an element of a list, where Hive shows no type of the comparison."""
        if equals_default_partition(value, self.default_partition):
            raise UnreadExpressionError("a list with the name of partitions of NULL")
        return compare(op, found, value, _common_type(found, value), self.zone)

    def _tuples(self, first: CallNode, others: list[ExpressionNode]) -> Predicate:
        """Read `struct(a, b) IN (…)`, which is FALSE, not NULL, where a column is NULL."""
        found = [self._operand(each) for each in first.args]
        rows = []
        for each in others:
            values = self._struct(each)
            if len(values) != len(found) or not values:
                raise UnreadExpressionError("structs of different lengths")
            if any(left.type.name != right.type.name for left, right in zip(found, values, strict=True)):
                raise UnreadExpressionError(
                    "structs of different types, which Hive's versions compare otherwise"
                )
            parts = [self._equal(*pair, "=") for pair in zip(found, values, strict=True)]
            bound = [self._bound(part) for part in parts]
            if not all(isinstance(part, Compare) and part.op == "=" for part in bound):
                raise UnreadExpressionError("a struct with a value that its column cannot have")
            rows.append(tuple(part.value for part in bound if isinstance(part, Compare)))
        names, types = tuple(each.name for each in found), tuple(each.column for each in found)
        return And((*(Not(IsNull(name)) for name in names), TupleIn(names, tuple(rows), types)))

    def _struct(self, node: ExpressionNode) -> list[ConstantValue]:
        match node:
            case CallNode("Struct", args):
                return [self._constant(each) for each in args]
            case ConstantNode(list(values), type):
                return [untyped_constant(value) for value in values] if type == "struct" else []
        raise UnreadExpressionError("a struct that is no constant")

    def _between(self, call: CallNode) -> Predicate:
        inverted, middle, low, high = call.args
        if not isinstance(inverted, ConstantNode):
            raise UnreadExpressionError("BETWEEN has other parts")
        found, ends = self._operand(middle), [self._constant(low), self._constant(high)]
        if any(each.value is None or equals_default_partition(each, self.default_partition) for each in ends):
            raise UnreadExpressionError("BETWEEN with NULL")
        within = all_of(
            compare(op, found, each, _converted(call, place, middle, call.args[2 + place]), self.zone)
            for place, (op, each) in enumerate(zip((">=", "<="), ends, strict=True))
        )
        match inverted.value:
            case Boxed(_, True):
                return Not(within)
            case Boxed(_, False):
                return within
        raise UnreadExpressionError("BETWEEN has other parts")

    def _like(self, call: CallNode) -> Predicate:
        subject, pattern = call.args
        found, value = self._operand(subject), self._constant(pattern)
        if value.value is None:
            return NULL
        if not value.type.unpadded or not isinstance(value.value, str) or not found.whole:
            raise UnreadExpressionError("LIKE with something else than a text")
        column = found.column
        if not all(each.unpadded or each.integral or each.name == "date" for each in (column, found.type)):
            raise UnreadExpressionError(f"LIKE of a column of type {column}")
        text = _like_pattern(value.value)
        like = Like(found.name, text, "\\", column)
        if not column.textual or not any(wild for _, wild in parts_of(text, "\\")):
            return like
        if self.hive_4 or _SIMPLE_PATTERN.fullmatch(text):
            return like
        if "\\" in text or any(end in text for end in _LINE_ENDS):
            return Opaque(text_of(call), (found.name,), "LIKE of several lines", like)
        # up to Hive 3, other patterns are regular expressions whose wildcards match no end of a line
        return And((like, *(Not(contains(found.name, end)) for end in _LINE_ENDS)))

    def _truth(self, call: CallNode) -> Predicate:
        """Read `IS [NOT] TRUE` and `IS [NOT] FALSE`."""
        child = self.translate(call.args[0])
        if opaque_parts(child):
            raise UnreadExpressionError("the truth of what is not understood")
        found = is_true(child if call.function.endswith("True") else Not(child))
        return Not(found) if call.function.startswith("OPNot") else found


_SIMPLE_PATTERN = re.compile(r"%?[^%_\\]*%?")
"""Patterns for a text's beginning, end or content, which Hive matches without a regular expression."""
_LINE_ENDS = "\n\r\u0085\u2028\u2029"


def _like_pattern(pattern: str) -> str:
    r"""Return our pattern for one of Hive's. There, a `\` before no wildcard stands for itself.

    >>> print(_like_pattern(r'a\_b\c%'))
    a\_b\\c%
    """
    if r"\\" in pattern:
        raise UnreadExpressionError("LIKE with two escapes beside each other")
    parts = pattern.split("\\")
    return parts[0] + "".join(
        ("\\" if part[:1] in ("%", "_") and part else "\\\\") + part for part in parts[1:]
    )


def _converted(call: CallNode, place: int, left: ExpressionNode, right: ExpressionNode) -> ColumnType | None:
    """Return the common type of a comparison, or None if Hive converts neither side.

    Hive's planner sends copies of its functions, which do not say their common type. Hive finds it again from
    the types of both sides before it evaluates them.
    """
    if place >= len(call.compared):
        raise UnreadExpressionError(f"{call.function} is no comparison")
    name = call.compared[place]
    return parse_type(name) if name else compared_type(parse_type(left.type), parse_type(right.type))


def _common_type(found: Operand, value: ConstantValue) -> ColumnType | None:
    """Return the common type of a column and an element of a list, or None if Hive converts neither."""
    left, right = found.type, value.type
    if left.name == right.name or value.value is None:
        return None
    if left.integral and right.integral:
        return _BIGINT
    if left.textual and right.textual:
        return STRING
    if {left.name, right.name} == {"double", "decimal"}:
        return _DOUBLE
    if left.name == "date" and right.name == "string":
        return left
    raise UnreadExpressionError(f"a list of {right} for {left}")


def _names(node: ExpressionNode, columns: Mapping[str, ColumnType]) -> list[str]:
    """Name the columns that a node is about, as the table writes them; a stream may repeat nodes."""
    found: dict[str, None] = {}
    waiting, seen = [node], 0
    while waiting and seen < 10_000:
        each, seen = waiting.pop(), seen + 1
        if isinstance(each, CallNode):
            waiting += each.args
        elif isinstance(each, ColumnNode):
            found.setdefault(each.name.lower())
    return [name for name in columns if name.lower() in found]


_Rule = Callable[[_Conditions, CallNode], Predicate]
_RULES: dict[str, tuple[_Rule, int, int]] = {
    **dict.fromkeys(OPERATORS, (_Conditions._comparison, 2, 2)),
    "OPNotEqualNS": (_Conditions._is_distinct, 2, 2),
    "OPNull": (_Conditions._is_null, 1, 1),
    "OPNotNull": (_Conditions._is_not_null, 1, 1),
    "In": (_Conditions._in, 2, MAX_NODES),
    "Between": (_Conditions._between, 4, 4),
    **dict.fromkeys(("OPTrue", "OPFalse", "OPNotTrue", "OPNotFalse"), (_Conditions._truth, 1, 1)),
    "UDFLike": (_Conditions._like, 2, 2),
}
"""Functions that are conditions, each with the least and the greatest number of its arguments."""
