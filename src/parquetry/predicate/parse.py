"""Read a filter's text, as Hive's and Spark's users type it, into a filter over a table's columns.

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
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from parquetry.errors import ColumnNotFoundError, FilterError, ValueTypeError
from parquetry.predicate import bind
from parquetry.predicate.evaluate import compare
from parquetry.predicate.filter import Filter
from parquetry.predicate.like import misplaced_escape
from parquetry.predicate.nodes import (
    DEEPEST,
    FLIPPED,
    NULL,
    And,
    Constant,
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
from parquetry.predicate.normalise import normalise
from parquetry.predicate.tokens import END_OF_TEXT, Token, is_name, tokenise
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

_ARITHMETIC = frozenset(("PLUS", "DASH", "STAR", "SLASH", "MOD", "DPIPE", "DIV", "AMP", "PIPE", "CARET"))
_T = TypeVar("_T")


def parse_filter(text: str, columns: Mapping[str, ColumnType], zone: str = "UTC") -> Filter:
    """Read a filter.

    Args:
        text: the filter; names and keywords in any case.
        columns: the types of the columns that the filter may use, by name.
        zone: the time zone in which timestamps without one were written.

    Raises:
        FilterError: the text is no filter, or does not fit the columns; the message marks the place.

    >>> int_ = ColumnType('int')
    >>> print(parse_filter("not (Month < 3 or year != 2015)", {'year': int_, 'month': int_}))
    month >= 3 AND year = 2015
    """
    return Filter(normalise(parse_condition(text, columns, zone)))


def parse_condition(text: str, columns: Mapping[str, ColumnType], zone: str = "UTC") -> Predicate:
    """Read a filter as it is written, with its literals of their columns' types; see `parse_filter`.

    Raises:
        FilterError: the text is no filter, or does not fit the columns; the message marks the place.

    >>> int_ = ColumnType('int')
    >>> types = {'year': int_, 'month': int_}
    >>> str(parse_condition("year = 2015 and 1 <= Month and month not in (7, '08')", types))
    'year = 2015 AND month >= 1 AND month NOT IN (7, 8)'
    """
    return _Parser(text, columns, zone).filter()


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


@dataclass(slots=True)
class _Level:
    """What was read of a condition, or of one in parentheses.

    Attributes:
        terms: joined by OR.
        factors: joined by AND: those of the term that is being read.
        negations: of the factor that is being read.
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


class _Parser:
    """One pass over the tokens of a filter."""

    def __init__(self, text: str, columns: Mapping[str, ColumnType], zone: str) -> None:
        self._text = text
        self._columns = columns
        self._zone = zone
        self._tokens = tokenise(text)
        self._at = 0
        self._deepest = 0, 0
        """The most levels there were, and where."""

    def filter(self) -> Predicate:
        if self._next.kind == END_OF_TEXT:
            raise self._error("The filter is empty: leave it out to select everything.")
        result = self._condition(self._whole())
        if self._next.kind != END_OF_TEXT:
            raise self._error(f"{self._shown} is not expected here: join conditions with AND or OR.")
        if depth(result) > DEEPEST:
            raise self._error(
                f"AND and OR lie within each other more than {DEEPEST} deep: write it as several filters.",
                self._deepest[1],
            )
        return result

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    @property
    def _shown(self) -> str:
        return "the end" if self._next.kind == END_OF_TEXT else repr(self._next.text)

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
            raise self._error(f"{self._shown} is not expected here: {why}.")

    def _placed(self, place: int, make: Callable[[], _T]) -> _T:
        try:
            return make()
        except (ValueTypeError, ColumnNotFoundError) as error:
            raise self._error(error.message, place) from None

    # Conditions. An operand in parentheses is an operand still, so each level may give either.

    def _whole(self) -> Predicate | _Name | _Literal:
        """Read up to the end, or to a parenthesis that nothing opened; however deep, without recursion."""
        levels = [_Level()]
        while True:
            if self._take("not", "!"):
                levels[-1].negations += 1
                continue
            names = self._tuple()
            if names is None and self._take("("):
                levels.append(_Level())
                self._deepest = max(self._deepest, (len(levels), self._next.start))
                continue
            found = self._comparison(self._value()) if names is None else self._tuple_in(names)
            while not self._goes_on(levels[-1], found):
                found = self._ended(levels.pop(), found)
                if not levels:
                    return found
                self._expect(")", "close the parenthesis, or join conditions with AND or OR")
                if not isinstance(found, Predicate):
                    found = self._comparison(found)

    def _goes_on(self, level: _Level, found: Predicate | _Name | _Literal) -> bool:
        """Keep what was found, if another condition is joined to it."""
        word = self._take("and", "or")
        if word is None:
            return False
        level.factors.append(self._negated(level, found))
        if word == "or":
            level.terms.append(level.all_factors())
        return True

    def _ended(self, level: _Level, found: Predicate | _Name | _Literal) -> Predicate | _Name | _Literal:
        if not (level.terms or level.factors or level.negations):
            return found
        level.factors.append(self._negated(level, found))
        return level.any_term()

    def _negated(self, level: _Level, found: Predicate | _Name | _Literal) -> Predicate:
        condition = self._condition(found)
        level.negations, negations = 0, level.negations
        if negations % 2 == 0:
            return condition
        return condition.child if isinstance(condition, Not) else Not(condition)

    def _condition(self, found: Predicate | _Name | _Literal) -> Predicate:
        if isinstance(found, _Name):
            if found.type.name != "boolean":
                raise self._error(
                    f"Column {found.name} of type {found.type} is no condition: compare it with a value.",
                    found.start,
                )
            return truth_of(found.name)
        if isinstance(found, _Literal):
            if found.value is None or isinstance(found.value, bool):
                return Constant(found.value)
            raise self._error("A condition is missing here: compare the literal with a column.", found.start)
        return found

    def _comparison(self, left: _Name | _Literal) -> Predicate | _Name | _Literal:
        """Read what is said of an operand; it may be a condition by itself."""
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
            raise self._error(f"{kind.upper()} asks for a column on its left.", left.start)
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
                "Two columns cannot be compared here: compare a column with a literal.", right.start
            )
        return self._bound(left, operator, right)

    def _bound(self, column: _Name, operator: str, literal: _Literal) -> Predicate:
        value, type = literal.value, literal.type
        if column.type.name == "timestamp_ntz" and type.name == "timestamp":
            # People write TIMESTAMP '…' also for a column of type timestamp_ntz, and mean the clock of that column.
            value, type = value_from_text(column.type, literal.text), column.type
        return self._placed(
            literal.start,
            lambda: bind.comparison(operator, column.name, column.type, value, type, self._zone),
        )

    def _constant(self, left: _Literal, operator: str, right: _Literal) -> Predicate:
        if left.value is None or right.value is None or left.type == right.type:
            return Constant(compare(operator, left.value, right.value))
        raise self._error("Two literals of different types cannot be compared.", right.start)

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
            raise self._error(f"A row of {len(names)} literals is needed here, one for each column.", start)
        return [self._bound(name, "=", literal) for name, literal in zip(names, literals, strict=True)]

    def _list(self, item: Callable[[], _T], what: str) -> list[_T]:
        self._expect("(", "write a list in parentheses")
        if self._next.word == ")":
            raise self._error(f"The list is empty: write {what}.")
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
                raise self._error("ESCAPE takes one character in quotes.", escape.start)
        if pattern.value is None:
            return NULL
        if not isinstance(pattern.value, str) or pattern.type != STRING:
            raise self._error("LIKE takes a pattern in quotes.", place)
        if misplaced_escape(pattern.value, str(escape.value)) is not None:
            raise self._error(f"The escape {escape.text} stands before %, _ or itself only.", place)
        found = Like(column.name, pattern.value, str(escape.value))
        return self._placed(column.start, lambda: bind.bind(found, self._columns))

    # Operands.

    def _value(self) -> _Name | _Literal:
        depth = 0
        while self._take("("):
            depth += 1
        value = self._name() if self._at_name() else self._literal()
        for _ in range(depth):
            self._expect(")", "close the parenthesis")
        return value

    def _at_name(self) -> bool:
        token, following = (
            self._next,
            self._tokens[self._at + 1] if self._next.kind != END_OF_TEXT else self._next,
        )
        # `date` is a column unless a text follows it.
        return is_name(token) and not (token.word in _TIMES and following.kind == "STRING")

    def _name(self) -> _Name:
        token = self._next
        if not self._at_name():
            raise self._error(f"{self._shown} is not expected here: write a column.")
        self._at += 1
        if self._next.kind == "DOT":
            raise self._error(
                "Fields within a column cannot be compared here: write the column's name alone."
            )
        self._require_plain(token)
        name, type = self._placed(token.start, lambda: bind.resolve(token.text, self._columns))
        return _Name(name, type, token.start)

    def _require_plain(self, name: Token) -> None:
        """Refuse `year(day)` and `n % 7`, of which the name may well be that of a column."""
        if self._next.word == "(":
            raise self._error(
                f"{name.text}(…) is not understood: a filter given as text knows no functions; compare a column with "
                "values, or ask with spark.sql, which knows them.",
                name.start,
            )
        if self._next.kind in _ARITHMETIC:
            raise self._error(
                f"{self._shown} is not understood: a filter given as text knows no arithmetic; compare a column with "
                "values, or ask with spark.sql, which knows it."
            )

    def _literal(self) -> _Literal:
        token = self._next
        start = token.start
        if token.word in ("-", "+"):
            self._at += 1
            if self._next.kind != "NUMBER":
                raise self._error(f"{self._shown} is not expected here: write a number after the sign.")
            number = self._literal().value
            assert isinstance(number, Decimal)
            return _Literal(-number if token.word == "-" else number, bind.NUMBER, start)
        self._at += token.kind != END_OF_TEXT
        if token.quoted:
            return _Literal(token.text, STRING, start, token.text)
        if token.kind == "NUMBER":
            return _Literal(self._placed(start, lambda: _number(token.text)), bind.NUMBER, start)
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
        if is_name(token):
            self._require_plain(token)
        self._at -= token.kind != END_OF_TEXT
        raise self._error(f"{self._shown} is not expected here: write a literal, texts in quotes.")


def _number(text: str) -> Decimal:
    try:
        if text.isascii():
            return Decimal(text)
    except InvalidOperation:
        pass
    raise ValueTypeError(f"{text} is no number, or one too far from any that a column can hold.")


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueTypeError(f"Value X'{text}' is not made of pairs of hexadecimal digits.") from None
