"""Read a filter's text, as Hive's and Spark's users type it, into a condition bound to a table's columns.

The grammar is here and not sqlglot's, whose parser is too kind: it takes `p = 1 q` for an alias and
`; DROP TABLE t` for a second statement, where a filter that decides which partitions to drop has to be
understood to its last character.

    condition  = NOT condition | condition AND condition | condition OR condition | ( condition ) | comparison
    comparison = operand (= == <=> != <> < <= > >=) operand | operand [NOT] BETWEEN operand AND operand
               | column [NOT] IN (literal, …) | (column, …) [NOT] IN ((literal, …), …)
               | column [NOT] LIKE 'pattern' [ESCAPE 'c'] | column IS [NOT] NULL | boolean column
    literal    = 'text' | "text" | number | TRUE | FALSE | NULL | X'…'
               | DATE '…' | TIMESTAMP '…' | TIMESTAMP_NTZ '…'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from parquetry.errors import ColumnNotFoundError, FilterError, ValueTypeError
from parquetry.predicate import bind
from parquetry.predicate.evaluate import compare
from parquetry.predicate.like import misplaced_escape
from parquetry.predicate.nodes import (
    FLIPPED,
    NULL,
    And,
    Column,
    Constant,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    all_of,
    any_of,
)
from parquetry.predicate.tokens import Token, is_name, tokenise
from parquetry.types import BOOLEAN, STRING, ColumnType, Value, parse_type, value_from_text

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
_TIMES = {
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}

_T = TypeVar("_T")


def parse_filter(text: str, columns: Mapping[str, ColumnType], zone: str = "UTC") -> Predicate:
    """Read a filter.

    Args:
        text: the filter; names and keywords in any case.
        columns: the types of the columns that the filter may use, by name.
        zone: the time zone in which timestamps without one were written.

    Returns:
        the condition, its literals of their columns' types.

    Raises:
        FilterError: the text is no filter, or does not fit the columns; the message marks the place.

    >>> int_ = ColumnType('int')
    >>> types = {'year': int_, 'month': int_}
    >>> str(parse_filter("year = 2015 and 1 <= Month and month not in (7, '08')", types))
    'year = 2015 AND month >= 1 AND month NOT IN (7, 8)'
    """
    parser = _Parser(text, columns, zone)
    try:
        return parser.filter()
    except RecursionError:
        raise FilterError(
            "the filter is nested too deeply: write it with fewer parentheses", text, 0
        ) from None


@dataclass(frozen=True, slots=True)
class _Name:
    name: str
    type: ColumnType
    start: int


@dataclass(frozen=True, slots=True)
class _Literal:
    value: Value
    type: ColumnType
    start: int
    text: str = ""


class _Parser:
    """One pass over the tokens of a filter, by recursive descent."""

    def __init__(self, text: str, columns: Mapping[str, ColumnType], zone: str) -> None:
        self._text = text
        self._columns = columns
        self._zone = zone
        self._tokens = tokenise(text)
        self._at = 0

    def filter(self) -> Predicate:
        if self._next.kind == "END":
            raise self._error("the filter is empty: leave it out to select everything")
        result = self._condition(self._or())
        if self._next.kind != "END":
            raise self._error(f"{self._shown} is not expected here: join conditions with AND or OR")
        return result

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    @property
    def _shown(self) -> str:
        return "the end" if self._next.kind == "END" else repr(self._next.text)

    def _error(self, message: str, place: int | None = None) -> FilterError:
        return FilterError(message, self._text, self._next.start if place is None else place)

    def _take(self, *words: str) -> str | None:
        """Take the next token if it is one of these words or signs."""
        word = self._next.word
        if word not in words or not word:
            return None
        self._at += 1
        return word

    def _expect(self, word: str, why: str) -> None:
        if self._take(word) is None:
            raise self._error(f"{self._shown} is not expected here: {why}")

    def _placed(self, place: int, make: Callable[[], _T]) -> _T:
        try:
            return make()
        except (ValueTypeError, ColumnNotFoundError) as error:
            raise self._error(error.message, place) from None

    # Conditions. An operand in parentheses is an operand still, so each level may give either.

    def _or(self) -> Predicate | _Name | _Literal:
        first = self._and()
        if self._next.word != "or":
            return first
        children = [self._condition(first)]
        while self._take("or"):
            children.append(self._condition(self._and()))
        return any_of(
            part for child in children for part in (child.children if isinstance(child, Or) else (child,))
        )

    def _and(self) -> Predicate | _Name | _Literal:
        first = self._not()
        if self._next.word != "and":
            return first
        children = [self._condition(first)]
        while self._take("and"):
            children.append(self._condition(self._not()))
        return all_of(
            part for child in children for part in (child.children if isinstance(child, And) else (child,))
        )

    def _not(self) -> Predicate | _Name | _Literal:
        if self._take("not", "!"):
            return Not(self._condition(self._not()))
        return self._comparison()

    def _condition(self, found: Predicate | _Name | _Literal) -> Predicate:
        if isinstance(found, _Name):
            name = found.name
            return self._placed(found.start, lambda: bind.bind(Column(name), self._columns))
        if isinstance(found, _Literal):
            if found.value is None or isinstance(found.value, bool):
                return Constant(found.value)
            raise self._error("a condition is missing here: compare the literal with a column", found.start)
        return found

    def _comparison(self) -> Predicate | _Name | _Literal:
        names = self._tuple()
        if names is not None:
            return self._tuple_in(names)
        left = self._operand()
        if not isinstance(left, _Name | _Literal):
            return left
        operator = _OPERATORS.get(self._next.text) if self._next.word else None
        if operator is not None:
            self._at += 1
            return self._compare(left, operator, self._value())
        if self._take("is"):
            negated = self._take("not") is not None
            self._expect("null", "write IS NULL or IS NOT NULL")
            null = IsNull(left.name) if isinstance(left, _Name) else Constant(left.value is None)
            return Not(null) if negated else null
        negated = self._next.word == "not" and self._tokens[self._at + 1].word in ("in", "like", "between")
        self._at += negated
        kind = self._take("in", "like", "between")
        if kind is None:
            return left
        if kind == "between":
            low = self._value()
            self._expect("and", "write BETWEEN low AND high")
            result: Predicate = And(
                (self._compare(left, ">=", low), self._compare(left, "<=", self._value()))
            )
        elif not isinstance(left, _Name):
            raise self._error(f"{kind.upper()} asks for a column on its left", left.start)
        else:
            result = self._in(left) if kind == "in" else self._like(left)
        return Not(result) if negated else result

    def _compare(self, left: _Name | _Literal, operator: str, right: _Name | _Literal) -> Predicate:
        if isinstance(left, _Literal):
            if isinstance(right, _Literal):
                return self._constant(left, operator, right)
            left, operator, right = right, FLIPPED[operator], left
        if isinstance(right, _Name):
            raise self._error(
                "two columns cannot be compared here: compare a column with a literal", right.start
            )
        return self._bound(left, operator, right)

    def _bound(self, column: _Name, operator: str, literal: _Literal) -> Predicate:
        value, type = literal.value, literal.type
        if column.type.name == "timestamp_ntz" and type.name == "timestamp":
            # Written as TIMESTAMP '…' for want of patience, and meant as the column's own clock.
            value, type = value_from_text(column.type, literal.text), column.type
        return self._placed(
            literal.start,
            lambda: bind.comparison(operator, column.name, column.type, value, type, self._zone),
        )

    def _constant(self, left: _Literal, operator: str, right: _Literal) -> Predicate:
        if left.value is None or right.value is None or left.type == right.type:
            return Constant(compare(operator, left.value, right.value))
        raise self._error("two literals of different types cannot be compared", right.start)

    def _in(self, column: _Name) -> Predicate:
        literals = self._list(self._literal, "a literal")
        equalities = [self._bound(column, "=", literal) for literal in literals if literal.value is not None]
        if not equalities:
            return NULL
        return bind.any_equality(column.name, column.type, equalities, len(equalities) < len(literals))

    def _tuple(self) -> list[_Name] | None:
        """Read `(a, b)`; None, and nothing is read, if the next tokens are something else."""
        start = self._at
        if not self._take("("):
            return None
        if not (is_name(self._next) and self._tokens[self._at + 1].word == ","):
            self._at = start
            return None
        names = [self._name()]
        while self._take(","):
            names.append(self._name())
        self._expect(")", "close the list of columns")
        return names

    def _tuple_in(self, names: list[_Name]) -> Predicate:
        negated = self._take("not") is not None
        self._expect("in", "several columns are compared by (a, b) IN ((1, 2), (3, 4))")
        rows = self._list(lambda: self._row(names), "a row of literals")
        result = bind.any_tuple([(name.name, name.type) for name in names], rows)
        return Not(result) if negated else result

    def _row(self, names: list[_Name]) -> list[Predicate]:
        start = self._next.start
        literals = self._list(self._literal, "a literal")
        if len(literals) != len(names):
            raise self._error(f"a row of {len(names)} literals is needed here, one for each column", start)
        return [self._bound(name, "=", literal) for name, literal in zip(names, literals, strict=True)]

    def _list(self, item: Callable[[], _T], what: str) -> list[_T]:
        self._expect("(", "write a list in parentheses")
        if self._next.word == ")":
            raise self._error(f"the list is empty: write {what}")
        items = [item()]
        while self._take(","):
            items.append(item())
        self._expect(")", "close the list, or separate with commas")
        return items

    def _like(self, column: _Name) -> Predicate:
        place = self._next.start
        pattern = self._literal()
        escape = _Literal("\\", STRING, place, "\\")
        if self._take("escape"):
            escape = self._literal()
            if not isinstance(escape.value, str) or len(escape.value) != 1:
                raise self._error("ESCAPE takes one character in quotes", escape.start)
        if pattern.value is None:
            return NULL
        if not isinstance(pattern.value, str) or pattern.type != STRING:
            raise self._error("LIKE takes a pattern in quotes", place)
        if misplaced_escape(pattern.value, str(escape.value)) is not None:
            raise self._error(f"the escape {escape.text} stands before %, _ or itself only", place)
        found = Like(column.name, pattern.value, str(escape.value))
        return self._placed(column.start, lambda: bind.bind(found, self._columns))

    # Operands.

    def _operand(self) -> Predicate | _Name | _Literal:
        if self._take("("):
            inside = self._or()
            self._expect(")", "close the parenthesis, or join conditions with AND or OR")
            return inside
        return self._value()

    def _value(self) -> _Name | _Literal:
        if self._take("("):
            inside = self._value()
            self._expect(")", "close the parenthesis")
            return inside
        return self._name() if self._at_name() else self._literal()

    def _at_name(self) -> bool:
        token, following = self._next, self._tokens[self._at + 1] if self._next.kind != "END" else self._next
        # `date` is a column unless a text follows it.
        return is_name(token) and not (token.word in _TIMES and following.kind == "STRING")

    def _name(self) -> _Name:
        token = self._next
        if not self._at_name():
            raise self._error(f"{self._shown} is not expected here: write a column")
        self._at += 1
        if self._next.kind == "DOT":
            raise self._error("fields within a column cannot be compared here: write the column's name alone")
        name, type = self._placed(token.start, lambda: bind.resolve(token.text, self._columns))
        return _Name(name, type, token.start)

    def _literal(self) -> _Literal:
        token = self._next
        start = token.start
        if token.word in ("-", "+"):
            self._at += 1
            if self._next.kind != "NUMBER":
                raise self._error(f"{self._shown} is not expected here: write a number after the sign")
            number = self._literal().value
            assert isinstance(number, Decimal)
            return _Literal(-number if token.word == "-" else number, bind.NUMBER, start)
        self._at += token.kind != "END"
        if token.quoted:
            return _Literal(token.text, STRING, start, token.text)
        if token.kind == "NUMBER":
            return _Literal(Decimal(token.text), bind.NUMBER, start)
        if token.kind == "HEX_STRING" and self._text[start] in "xX":
            data = self._placed(start, lambda: _bytes(token.text))
            return _Literal(data, ColumnType("binary"), start)
        if token.word == "null":
            return _Literal(None, STRING, start)
        if token.word in ("true", "false"):
            return _Literal(token.word == "true", BOOLEAN, start)
        if token.word in _TIMES and self._next.kind == "STRING":
            type = parse_type(_TIMES[token.word])
            text = self._next
            self._at += 1
            value = self._placed(text.start, lambda: value_from_text(type, text.text, self._zone))
            return _Literal(value, type, text.start, text.text)
        self._at -= token.kind != "END"
        raise self._error(f"{self._shown} is not expected here: write a literal, texts in quotes")


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueTypeError(f"value X'{text}' is not made of pairs of hexadecimal digits") from None
