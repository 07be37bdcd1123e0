"""Read a filter's text, as Hive's and Spark's users type it, into a filter over a table's columns.

The grammar is our own, since sqlglot's parser accepts too much: it reads `p = 1 q` as an alias and
`; DROP TABLE t` as a second statement. A filter may decide which partitions to drop, so each of its
characters must be understood.    condition  = NOT condition | condition AND condition | condition OR
condition | ( condition ) | comparison
               | condition IS [NOT] TRUE | condition IS [NOT] FALSE

    comparison = operand (= == <=> != <> < <= > >=) operand | operand [NOT] BETWEEN operand AND operand
               | column [NOT] IN (literal, …) | columns [NOT] IN (row, …)
               | column [NOT] LIKE 'pattern' [ESCAPE 'c'] | column IS [NOT] NULL | boolean column

    columns    = (column, …) | STRUCT(column, …)

    row        = (literal, …) | [CONST] STRUCT(literal, …)

    literal    = 'text' | "text" | number | TRUE | FALSE | NULL | X'…'
               | DATE '…' | TIMESTAMP '…' | TIMESTAMP_NTZ '…' | 2024-02-29 | 2024-02-29 12:34:56

This covers the grammar of Hive's own filters (`Filter.g`, and from version 4 on `PartitionFilter.g4`) with
one exception: adjacent texts (`'a' 'b'`) are refused, because a forgotten comma looks the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from parquetry.predicate import bind
from parquetry.predicate.evaluate import compare
from parquetry.predicate.filter import Filter
from parquetry.predicate.like import misplaced_escape
from parquetry.predicate.nodes import (
    FLIPPED_OPERATORS,
    MAX_CONDITION_DEPTH,
    NULL,
    And,
    BooleanConstant,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    all_of,
    any_of,
    depth,
    truth_of,
)
from parquetry.predicate.normalise import is_true, normalise
from parquetry.predicate.reading.operands import Columns, Literal, Name, Operands
from parquetry.sqltext import END_OF_TEXT
from parquetry.types import STRING, ColumnType, value_from_text

_OPERATORS = {
    "=": "=",
    "==": "=",
    "<=>": "<=>",
    "!=": "!=",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
_COMPARE_COLUMNS_HINT = "several columns are compared by (a, b) IN ((1, 2), (3, 4))"
_Operand: TypeAlias = Name | Literal | Columns
_T = TypeVar("_T")


def parse_filter(text: str, columns: Mapping[str, ColumnType], zone: str = "UTC") -> Filter:
    """Read a filter.

    Args:
        text: the filter; names and keywords in any case.
        columns: the types of the columns that the filter may use, by name.
        zone: the time zone of timestamps without one.

    Raises:
        FilterError: the text is not a filter, or does not fit the columns; the message marks the position.

    >>> int_ = ColumnType('int')
    >>> print(parse_filter("not (Month < 3 or year != 2015)", {'year': int_, 'month': int_}))
    month >= 3 AND year = 2015
    """
    return Filter(normalise(parse_condition(text, columns, zone)))


def parse_condition(text: str, columns: Mapping[str, ColumnType], zone: str = "UTC") -> Predicate:
    """Read a filter without normalising it; its literals get their columns' types. See `parse_filter`.

    Raises:
        FilterError: the text is not a filter, or does not fit the columns; the message marks the position.

    >>> int_ = ColumnType('int')
    >>> types = {'year': int_, 'month': int_}
    >>> str(parse_condition("year = 2015 and 1 <= Month and month not in (7, '08')", types))
    'year = 2015 AND month >= 1 AND month NOT IN (7, 8)'
    """
    return _Parser(text, columns, zone).filter()


@dataclass(slots=True)
class _Level:
    """The parts read so far of a condition, or of a condition in parentheses.

    Attributes:
        terms: the complete terms, joined by OR.
        factors: the factors of the current term, joined by AND.
        negations: the number of NOTs before the current factor.
    """

    terms: list[Predicate] = field(default_factory=list)
    factors: list[Predicate] = field(default_factory=list)
    negations: int = 0

    def all_factors(self) -> Predicate:
        """End a term."""
        factors, self.factors = self.factors, []
        return all_of(part for child in factors for part in _parts(child, And))

    def any_term(self) -> Predicate:
        """End the level."""
        return any_of(part for child in (*self.terms, self.all_factors()) for part in _parts(child, Or))


def _parts(node: Predicate, kind: type[And | Or]) -> tuple[Predicate, ...]:
    return node.children if isinstance(node, kind) else (node,)


class _Parser(Operands):
    """One pass over the tokens of a filter."""

    def __init__(self, text: str, columns: Mapping[str, ColumnType], zone: str) -> None:
        super().__init__(text, columns, zone)
        self._deepest = 0, 0
        """The greatest number of open parentheses, and its position in the text."""

    def filter(self) -> Predicate:
        if self.next.kind == END_OF_TEXT:
            raise self.error("The filter is empty: leave it out to select everything.")
        result = self._condition(self._whole())
        if self.next.kind != END_OF_TEXT:
            raise self.error(f"{self.shown} is not expected here: join conditions with AND or OR.")
        self._check_depth(result)
        return result

    def _check_depth(self, condition: Predicate) -> None:
        if depth(condition) > MAX_CONDITION_DEPTH:
            raise self.error(
                f"AND and OR are nested more than {MAX_CONDITION_DEPTH} deep: write it as several filters.",
                self._deepest[1],
            )

    # Conditions. An operand in parentheses is still an operand, so each level may return either.

    def _whole(self) -> Predicate | _Operand:
        """Read up to the end, or to an unmatched parenthesis; at any depth, without recursion."""
        levels = [_Level()]
        while True:
            if self.take("not", "!"):
                levels[-1].negations += 1
                continue
            columns = self.columns()
            if columns is None and self.take("("):
                levels.append(_Level())
                self._deepest = max(self._deepest, (len(levels), self.next.start))
                continue
            term = self._comparison(columns or self.operand())
            while not self._goes_on(levels[-1], term):
                term = self._ended(levels.pop(), term)
                if not levels:
                    return term
                self.expect(")", "close the parenthesis, or join conditions with AND or OR")
                term = self._truth(term) if isinstance(term, Predicate) else self._comparison(term)

    def _goes_on(self, level: _Level, term: Predicate | _Operand) -> bool:
        """Store a term, and return True, if AND or OR follows it."""
        word = self.take("and", "or")
        if word is None:
            return False
        level.factors.append(self._negated(level, term))
        if word == "or":
            level.terms.append(level.all_factors())
        return True

    def _ended(self, level: _Level, term: Predicate | _Operand) -> Predicate | _Operand:
        if not (level.terms or level.factors or level.negations):
            return term
        level.factors.append(self._negated(level, term))
        return level.any_term()

    def _negated(self, level: _Level, term: Predicate | _Operand) -> Predicate:
        condition = self._condition(term)
        level.negations, negations = 0, level.negations
        if negations % 2 == 0:
            return condition
        return condition.child if isinstance(condition, Not) else Not(condition)

    def _condition(self, term: Predicate | _Operand) -> Predicate:
        if isinstance(term, Name):
            if term.type.name != "boolean":
                raise self.error(
                    f"Column {term.name} of type {term.type} is no condition: compare it with a value.",
                    term.start,
                )
            return truth_of(term.name)
        if isinstance(term, Literal):
            if term.value is None or isinstance(term.value, bool):
                return BooleanConstant(term.value)
            raise self.error("A condition is missing here: compare the literal with a column.", term.start)
        if isinstance(term, Columns):
            raise self.error(f"Several columns are no condition: {_COMPARE_COLUMNS_HINT}.", term.start)
        return term

    def _truth(self, condition: Predicate) -> Predicate:
        """Read each IS [NOT] TRUE and IS [NOT] FALSE behind a condition."""
        while self.take("is"):
            negated = self.take("not") is not None
            if self.next.word not in ("true", "false"):
                raise self.error(f"{self.shown} is not expected here: write IS [NOT] TRUE or IS [NOT] FALSE.")
            condition = self._is(condition, negated)
        return condition

    def _is(self, condition: Predicate, negated: bool) -> Predicate:
        self._check_depth(condition)
        result = is_true(condition if self.take("true", "false") == "true" else Not(condition))
        return Not(result) if negated else result

    def _comparison(self, left: _Operand) -> Predicate | _Operand:
        """Read the comparison after an operand, if there is one.

        The operand may stand alone: as a condition, or in parentheses.
        """
        if isinstance(left, Columns) and self.next.word == ")":
            return left
        result = self._tuple_in(left) if isinstance(left, Columns) else self._compared(left)
        return self._truth(result) if isinstance(result, Predicate) else result

    def _compared(self, left: Name | Literal) -> Predicate | Name | Literal:
        operator = _OPERATORS.get(self.next.text) if self.next.word else None
        if operator is not None:
            self._at += 1
            return self._compare(left, operator, self.operand())
        if self.take("is"):
            negated = self.take("not") is not None
            if self.next.word in ("true", "false"):
                return self._is(self._condition(left), negated)
            self.expect("null", "write IS NULL or IS NOT NULL")
            null = IsNull(left.name) if isinstance(left, Name) else BooleanConstant(left.value is None)
            return Not(null) if negated else null
        negated = self.next.word == "not" and self._tokens[self._at + 1].word in ("in", "like", "between")
        self._at += negated
        kind = self.take("in", "like", "between")
        if kind is None:
            return left
        if kind == "between":
            low = self.operand()
            self.expect("and", "write BETWEEN low AND high")
            result: Predicate = And(
                (self._compare(left, ">=", low), self._compare(left, "<=", self.operand()))
            )
        elif not isinstance(left, Name):
            raise self.error(f"{kind.upper()} needs a column on its left.", left.start)
        else:
            result = self._in(left) if kind == "in" else self._like(left)
        return Not(result) if negated else result

    def _compare(self, left: Name | Literal, operator: str, right: Name | Literal) -> Predicate:
        if isinstance(left, Literal):
            if isinstance(right, Literal):
                return self._constant(left, operator, right)
            left, operator, right = right, FLIPPED_OPERATORS[operator], left
        if isinstance(right, Name):
            raise self.error(
                "Two columns cannot be compared here: compare a column with a literal.", right.start
            )
        return self._bound(left, operator, right)

    def _bound(self, column: Name, operator: str, literal: Literal) -> Predicate:
        value, type = literal.value, literal.type
        if literal.bare and column.type.textual:
            value, type = literal.text, STRING
        elif literal.bare and not column.type.temporal:
            raise self.error(
                f"{literal.text} without quotes is a {type}, and column {column.name} is of type {column.type}: write a "
                "value of that type; a filter given as text knows no arithmetic.",
                literal.start,
            )
        if column.type.name == "timestamp_ntz" and type.name == "timestamp":
            # Users write TIMESTAMP '…' also for a column of type timestamp_ntz, and mean a time without a
            # zone.
            value, type = value_from_text(column.type, literal.text), column.type
        return self.locating_errors(
            literal.start,
            lambda: bind.comparison(operator, column.name, column.type, value, type, self._zone),
        )

    def _constant(self, left: Literal, operator: str, right: Literal) -> Predicate:
        if left.value is None or right.value is None or left.type == right.type:
            return BooleanConstant(compare(operator, left.value, right.value))
        raise self.error("Two literals of different types cannot be compared.", right.start)

    def _in(self, column: Name) -> Predicate:
        literals = self._list(self.literal, "a literal")
        return _any_equality(column, [self._bound(column, "=", literal) for literal in literals])

    def _tuple_in(self, columns: Columns) -> Predicate:
        negated = self.take("not") is not None
        self.expect("in", _COMPARE_COLUMNS_HINT)
        names = columns.names
        rows = self._list(lambda: self._row(names), "a row of literals")
        if len(names) == 1:
            result = _any_equality(names[0], [part for (part,) in rows])
        else:
            result = bind.any_tuple([(name.name, name.type) for name in names], rows)
        return Not(result) if negated else result

    def _row(self, names: Sequence[Name]) -> list[Predicate]:
        start = self.next.start
        if self.take("const"):
            if not self.take_struct():
                raise self.error(f"{self.shown} is not expected here: write CONST STRUCT(1, 2).")
        else:
            self.take_struct()
        literals = self._list(self.literal, "a literal")
        if len(literals) != len(names):
            raise self.error(f"A row of {len(names)} literals is needed here, one for each column.", start)
        return [self._bound(name, "=", literal) for name, literal in zip(names, literals, strict=True)]

    def _list(self, item: Callable[[], _T], what: str) -> list[_T]:
        self.expect("(", "write a list in parentheses")
        if self.next.word == ")":
            raise self.error(f"The list is empty: write {what}.")
        items = [item()]
        while self.take(","):
            items.append(item())
        self.expect(")", "close the list, or separate with commas")
        return items

    def _like(self, column: Name) -> Predicate:
        start = self.next.start
        pattern = self.literal()
        escape = Literal("\\", STRING, start, "\\")
        if self.take("escape"):
            escape = self.literal()
            if not isinstance(escape.value, str) or len(escape.value) != 1:
                raise self.error("ESCAPE takes one character in quotes.", escape.start)
        if pattern.value is None:
            return NULL
        if not isinstance(pattern.value, str) or pattern.type != STRING:
            raise self.error("LIKE takes a pattern in quotes.", start)
        if misplaced_escape(pattern.value, str(escape.value)) is not None:
            raise self.error(f"The escape {escape.text} stands before %, _ or itself only.", start)
        node = Like(column.name, pattern.value, str(escape.value))
        return self.locating_errors(column.start, lambda: bind.bind(node, self._columns))


def _any_equality(column: Name, parts: Sequence[Predicate]) -> Predicate:
    """Make one IN from a column's equalities. An equality with NULL is NULL."""
    equalities = [part for part in parts if part != NULL]
    if not equalities:
        return NULL
    return bind.any_equality(column.name, column.type, equalities, len(equalities) < len(parts))
