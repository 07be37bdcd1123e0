"""Translate a residual into a condition on the bytes of fields, which a store can test where the rows are.

A field's bytes sort in the order of its values, so comparisons become comparisons of bytes, as in `execute`.
NULL has its own bytes, at one end of the order.

The condition is TRUE for every row that satisfies the residual, and perhaps for others. Parts without a
translation are left out, and so are parts that would take a server too long for each row. The reader tests
rows again.

LIKE becomes a range of bytes, and for most patterns an expression.

A text's field is a marker, the text's bytes with 00 and 01 escaped, and 00. In descending order all bytes are
inverted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from parquetry.key_schema import KeyField, KeySchema
from parquetry.keys import VALUE_MARKER, escape, successor
from parquetry.predicate import (
    And,
    BooleanConstant,
    Compare,
    Filter,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    Rest,
    TupleIn,
    disjoin,
    equalities_as_in,
    head,
    parts_of,
)
from parquetry.scan.plan import KeyScan
from parquetry.store import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Condition,
    FieldCompare,
    FieldIn,
    FieldMatches,
    Operator,
    all_of,
    any_of,
)
from parquetry.types import Value

MAX_VALUES = 400
"""Values of one IN in a condition; a longer IN becomes a range from its least to its greatest value."""
MAX_VALUE_BYTES = 1 << 16
"""Bytes of one IN's values together; a larger IN becomes a range."""
MAX_COMPARISONS = 80
"""Comparisons in a condition: each costs HBase 0.2 to 0.4 µs a row, reading a row here some 15 µs."""
VALUES_PER_COMPARISON = 8
"""Values of an IN that cost as much as one comparison."""

_FIELD_TURNED: dict[str, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FIELD_SAME: dict[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">="}


def field_condition(residual: Filter, schema: KeySchema) -> Condition | None:
    """Return the condition that a store can test for a residual.

    Args:
        residual: the condition.
        schema: the schema of the keys.

    Returns:
        A condition that is TRUE wherever the residual is, or None if there is none worth testing.

    Raises:
        ColumnNotFoundError: the residual is about a column that the key does not have.

    >>> from parquetry.types import parse_type
    >>> int_ = parse_type('int')
    >>> schema = KeySchema.from_columns([('p', int_), ('q', int_)])
    >>> print(field_condition(Filter(Compare('>=', 'q', 5, int_)), schema))
    FieldCompare(position=1, op='>=', value=b'\\x01\\x80\\x00\\x00\\x05')
    """
    condition = _affordable(_Translation(schema).translate(residual.node))
    return None if condition in (TRUE, FALSE) else condition


def scans_condition(scans: Sequence[KeyScan], schema: KeySchema) -> Condition | None:
    """Return the condition that a store can test on the rows of several ranges read together.

    Args:
        scans: the ranges with their residuals.
        schema: the schema of the keys.

    Returns:
        A condition that is TRUE wherever the residual of the row's range is, or None if there is none.
    """
    residuals: dict[int, Filter] = {}
    for scan in scans:
        if scan.residual is None or len(residuals) > MAX_COMPARISONS:
            return None
        residuals[id(scan.residual)] = scan.residual
    return field_condition(Filter(disjoin(residual.node for residual in residuals.values())), schema)


class _Translation:
    """Translates conditions to conditions on fields; these have no NULL, since only TRUE matters."""

    def __init__(self, schema: KeySchema) -> None:
        self._schema = schema

    def translate(self, node: Predicate) -> Condition:
        """Translate a part of a filter; a part without a translation becomes TRUE."""
        match node:
            case And(children):
                return all_of(map(self.translate, children))
            case Or(children):
                return any_of(map(self.translate, equalities_as_in(children)))
            case BooleanConstant(truth):
                return TRUE if truth else FALSE
            case Compare(op, column, value):
                return self._comparison(op, column, value)
            case IsNull(column):
                return self._compare(column, "=", None)
            case Not(IsNull(column)):
                return self._compare(column, "!=", None)
            case In(column, values):
                return self._contained(column, values)
            case Not(In(column, values)):
                return self._other(column, values)
            case Like(column) if self._schema.field(column).type.textual:
                return self._text_field(column).like(node)
            case Not(Like(column) as like) if self._schema.field(column).type.textual:
                return self._text_field(column).unlike(like)
            case TupleIn():
                return self._tuples(node)
            case Not(TupleIn(names, rows)):
                return all_of(self._other_than(names, row) for row in rows[:MAX_COMPARISONS])
        return TRUE

    def _text_field(self, column: str) -> TextField:
        return TextField(self._schema.position(column), self._schema.field(column))

    def _compare(self, column: str, op: Operator, value: Value) -> Condition:
        return FieldCompare(self._schema.position(column), op, self._schema.field(column).encode(value))

    def _comparison(self, op: str, column: str, value: Value) -> Condition:
        if op in ("=", "<=>"):
            return self._compare(column, "=", value)
        not_null = self._compare(column, "!=", None)
        if op == "!=":
            return all_of((not_null, self._compare(column, "!=", value)))
        down = self._schema.field(column).descending
        comparison = self._compare(column, (_FIELD_TURNED if down else _FIELD_SAME)[op], value)
        # NULL has the least bytes in ascending order and the greatest in descending order, so `<` must
        # exclude it.
        return all_of((not_null, comparison)) if op in ("<", "<=") else comparison

    def _contained(self, column: str, values: Sequence[Value]) -> Condition:
        position = self._schema.position(column)
        encoded = sorted(set(map(self._schema.field(column).encode, values)))
        if len(encoded) == 1:
            return FieldCompare(position, "=", encoded[0])
        if len(encoded) <= MAX_VALUES and sum(map(len, encoded)) <= MAX_VALUE_BYTES:
            return FieldIn(position, tuple(encoded))
        return AllOf((FieldCompare(position, ">=", encoded[0]), FieldCompare(position, "<=", encoded[-1])))

    def _other(self, column: str, values: Sequence[Value]) -> Condition:
        encoded = tuple(map(self._schema.field(column).encode, (None, *values[:MAX_VALUES])))
        if sum(map(len, encoded)) > MAX_VALUE_BYTES:
            return self._compare(column, "!=", None)
        return FieldIn(self._schema.position(column), encoded, within=False)

    def _tuples(self, node: TupleIn) -> Condition:
        rows = [row for row in node.rows if None not in row]  # a row with a NULL equals nothing
        if len(rows) * len(node.columns) > MAX_COMPARISONS:
            columns = zip(node.columns, zip(*rows, strict=True), strict=True)
            return all_of(self._contained(column, values) for column, values in columns)
        return any_of(
            all_of(self._compare(column, "=", value) for column, value in zip(node.columns, row, strict=True))
            for row in rows
        )

    def _other_than(self, names: Sequence[str], row: Sequence[Value]) -> Condition:
        pairs = zip(names, row, strict=True)
        return any_of(self._comparison("!=", name, value) for name, value in pairs if value is not None)


def _affordable(condition: Condition) -> Condition:
    """Drop parts until comparisons are few enough: the longest parts of an AND, or any other condition."""
    budget = MAX_COMPARISONS
    if _comparisons(condition) <= budget:
        return condition
    kept = []
    for child in sorted(condition.children, key=_comparisons) if isinstance(condition, AllOf) else ():
        budget -= _comparisons(child)
        if budget < 0:
            break
        kept.append(child)
    return all_of(kept)


def _comparisons(condition: Condition) -> int:
    match condition:
        case AllOf(children) | AnyOf(children):
            return sum(map(_comparisons, children))
        case FieldIn(_, values):
            return 1 + len(values) // VALUES_PER_COMPARISON
    return 1


MAX_RUNS, MAX_WILDCARDS = 7, 50
"""Runs (texts or wildcards) and wildcards in a pattern for the store; the client matches longer ones."""

_ESCAPE, _END = b"\x01", b"\x00"
_Runs = list[tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class TextField:
    """The field of a column of text.

    Attributes:
        position: the field's position in the key, from 0.
        field: the column's field.
    """

    position: int
    field: KeyField

    def like(self, node: Like) -> Condition:
        """Return a condition that is TRUE wherever LIKE is."""
        text, rest = head(node.pattern, node.escape)
        if rest is Rest.NOTHING:
            return FieldCompare(self.position, "=", self.field.encode(text)) if self._fits(text) else FALSE
        start, end = self._prefix(text)
        within = all_of((FieldCompare(self.position, ">=", start), FieldCompare(self.position, "<", end)))
        runs = _runs(node)
        if rest is Rest.ANYTHING or _laborious(runs):
            return within
        return all_of((within, FieldMatches(self.position, self._expression(runs))))

    def unlike(self, node: Like) -> Condition:
        """Return a condition that is TRUE wherever NOT LIKE is."""
        text, rest = head(node.pattern, node.escape)
        not_null = FieldCompare(self.position, "!=", self.field.null)
        if rest is Rest.NOTHING:
            other = FieldCompare(self.position, "!=", self.field.encode(text))
            return all_of((not_null, other)) if self._fits(text) else not_null
        if rest is Rest.ANYTHING:
            start, end = self._prefix(text)
            before, after = FieldCompare(self.position, "<", start), FieldCompare(self.position, ">=", end)
            return all_of((not_null, any_of((before, after)))) if text else FALSE
        runs = _runs(node)
        # For less plain patterns, the expression also matches fields of texts that do not match.
        plain = all("_" not in run if wild else min(run) > "\x02" for wild, run in runs)
        if not plain or _laborious(runs):
            return not_null
        return all_of((not_null, FieldMatches(self.position, self._expression(runs), matches=False)))

    def _fits(self, text: str) -> bool:
        return self.field.type.name != "char" or len(text) == self.field.type.length  # LIKE sees the padding

    def _prefix(self, text: str) -> tuple[bytes, bytes]:
        """Return the bounds of the fields whose texts begin with a text; NULL is outside."""
        start = self.field.prefix(text)
        end = successor(start)
        assert end is not None  # the marker has a successor in both orders
        return start, end

    def _expression(self, runs: _Runs) -> str:
        """Write a pattern as a regular expression for the fields of texts that match the pattern.

        A character is a byte and its continuation bytes, possibly after an escape byte.
        """
        continuing = r"\x40-\x7f" if self.field.descending else r"\x80-\xbf"
        any_one = rf"(?:{self._literal(_ESCAPE)}?[^{continuing}][{continuing}]*)"
        segments = [r"(?s)\A" + self._literal(VALUE_MARKER)]
        for wild, characters in runs:
            if wild:
                ones = characters.count("_")
                segments[-1] += f"{any_one}{{{ones}}}" if ones else ""
                segments += [""] * ("%" in characters)
            else:
                segments[-1] += self._literal(escape(characters.encode("utf-8", "surrogatepass")))
        end = self._literal(_END)  # this byte occurs only at the end
        first, *others = segments
        if not others:
            return first + end
        # The first place where a segment matches leaves the most text for the segments behind it: no second
        # try is needed.
        return first + "".join(f"(?>.*?{one})" for one in others[:-1]) + f".*{others[-1]}{end}"

    def _literal(self, data: bytes) -> str:
        return "".join(f"\\x{byte:02x}" for byte in self.field.apply_direction(data))


def _runs(node: Like) -> _Runs:
    """Split a pattern into runs of wildcards and runs of text."""
    return [
        (wild, "".join(character for character, _ in run))
        for wild, run in groupby(parts_of(node.pattern, node.escape), key=lambda part: part[1])
    ]


def _laborious(runs: Sequence[tuple[bool, str]]) -> bool:
    return len(runs) > MAX_RUNS or sum(len(run) for wild, run in runs if wild) > MAX_WILDCARDS
