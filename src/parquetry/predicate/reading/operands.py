"""Read the operands of a filter's text: names of columns and literals, token by token.

`parse` makes conditions from them. An error marks its position in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from parquetry.errors import ColumnNotFoundError, FilterError, ValueTypeError
from parquetry.identifiers import field_name, is_field
from parquetry.predicate import bind
from parquetry.sqltext import BARE, END_OF_TEXT, Token, is_name, tokenise
from parquetry.types import (
    BOOLEAN,
    STRING,
    TIME_NAMES,
    ColumnType,
    Value,
    negative,
    parse_type,
    value_from_text,
)

_ARITHMETIC_TOKENS = frozenset(
    ("PLUS", "DASH", "STAR", "SLASH", "MOD", "DPIPE", "DIV", "AMP", "PIPE", "CARET")
)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Name:
    """A column and its position in the text."""

    name: str
    type: ColumnType
    start: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal, its position, its quoted text, and whether it is a date or timestamp without quotes."""

    value: Value
    type: ColumnType
    start: int
    text: str = ""
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns that are compared together, `(a, b)` or `STRUCT(a, b)`, and their position in the text."""

    names: tuple[Name, ...]
    start: int


class Operands:
    """A reader of operands, at a position in a filter's tokens.

    Args:
        text: the filter.
        columns: the types of the columns that the filter may use, by name.
        zone: the time zone of timestamps without one.
    """

    def __init__(self, text: str, columns: Mapping[str, ColumnType], zone: str) -> None:
        self._text = text
        self._columns = columns
        self._zone = zone
        self._tokens = tokenise(text)
        self._at = 0

    @property
    def next(self) -> Token:
        """Return the next token."""
        return self._tokens[self._at]

    @property
    def shown(self) -> str:
        """Return the next token in the form that error messages show."""
        return "the end" if self.next.kind == END_OF_TEXT else repr(self.next.text)

    def error(self, message: str, start: int | None = None) -> FilterError:
        """Return an error that marks a position in the text, by default the next token's position."""
        return FilterError(message, self._text, self.next.start if start is None else start)

    def take(self, *words: str) -> str | None:
        """Take the next token if it is one of these words or signs."""
        word = self.next.word
        if word not in words or not word:
            return None
        self._at += 1
        return word

    def expect(self, word: str, why: str) -> None:
        """Read a required word; `why` ends the error message if another token is next."""
        if self.take(word) is None:
            raise self.error(f"{self.shown} is not expected here: {why}.")

    def locating_errors(self, start: int, make: Callable[[], _T]) -> _T:
        """Return the result of `make`; its errors about a value or a column get a position in the text."""
        try:
            return make()
        except (ValueTypeError, ColumnNotFoundError) as error:
            raise self.error(error.message, start) from None

    def operand(self) -> Name | Literal:
        """Read a column or a literal, in parentheses or not."""
        depth = 0
        while self.take("("):
            depth += 1
        value = self.name() if self.at_name() else self.literal()
        for _ in range(depth):
            self.expect(")", "close the parenthesis")
        return value

    def columns(self) -> Columns | None:
        """Read `(a, b)` or `STRUCT(a, b)`; if something else is next, read nothing and return None."""
        first, start = self._at, self.next.start
        struct = self.take_struct()
        if not self.take("("):
            return None
        if not struct and not (is_name(self.next) and self._token_behind_name().word == ","):
            self._at = first
            return None
        names = [self.name()]
        while self.take(","):
            names.append(self.name())
        self.expect(")", "close the list of columns")
        return Columns(tuple(names), start)

    def _token_behind_name(self) -> Token:
        """Return the token behind the name that is next, which may be a field's."""
        at = self._at + 1
        while self._tokens[at].kind == "DOT" and self._tokens[at + 1].kind != END_OF_TEXT:
            at += 2
        return self._tokens[at]

    def take_struct(self) -> bool:
        """Take the word STRUCT if a list follows it; otherwise it is the name of a column."""
        listed = self.next.kind != END_OF_TEXT and self._tokens[self._at + 1].word == "("
        return listed and self.take("struct") is not None

    def at_name(self) -> bool:
        """Return whether a column is next."""
        token, following = (
            self.next,
            self._tokens[self._at + 1] if self.next.kind != END_OF_TEXT else self.next,
        )
        # `date` is a column unless a text follows it.
        return is_name(token) and not (token.word in TIME_NAMES and following.kind == "STRING")

    def name(self) -> Name:
        """Read a column."""
        token = self.next
        if not self.at_name():
            raise self.error(f"{self.shown} is not expected here: write a column.")
        self._at += 1
        path = [token.text]
        if self.next.kind == "DOT" and not any(map(is_field, self._columns)):
            raise self.error("Fields within a column cannot be compared here: write the column's name alone.")
        while self.next.kind == "DOT":
            self._at += 1
            if not is_name(self.next):
                raise self.error(f"{self.shown} is not expected here: write the name of a field.")
            path.append(self.next.text)
            self._at += 1
        self._require_plain(token)
        name, type = self.locating_errors(token.start, lambda: bind.resolve(field_name(path), self._columns))
        return Name(name, type, token.start)

    def _require_plain(self, name: Token) -> None:
        """Refuse `year(day)` and `n % 7`, where the first name may be a column's name."""
        if self.next.word == "(":
            raise self.error(
                f"{name.text}(…) is not understood: a filter given as text knows no functions; compare a column with "
                "values, or ask with spark.sql, which knows them.",
                name.start,
            )
        self._require_no_arithmetic()

    def _require_no_arithmetic(self) -> None:
        if self.next.kind in _ARITHMETIC_TOKENS:
            raise self.error(
                f"{self.shown} is not understood: a filter given as text knows no arithmetic; compare a column with "
                "values, or ask with spark.sql, which knows it."
            )

    def literal(self) -> Literal:
        """Read a literal."""
        token = self.next
        start = token.start
        if token.word in ("-", "+"):
            self._at += 1
            if self.next.kind != "NUMBER":
                raise self.error(f"{self.shown} is not expected here: write a number after the sign.")
            number = self.literal().value
            assert isinstance(number, Decimal)
            return Literal(negative(number) if token.word == "-" else number, bind.NUMBER_TYPE, start)
        self._at += token.kind != END_OF_TEXT
        if token.quoted:
            return Literal(token.text, STRING, start, token.text)
        if token.kind == "NUMBER":
            self._require_no_arithmetic()
            return Literal(self.locating_errors(start, lambda: _number(token.text)), bind.NUMBER_TYPE, start)
        if token.kind == "HEX_STRING" and self._text[start] in "xX":
            data = self.locating_errors(start, lambda: _bytes(token.text))
            return Literal(data, ColumnType("binary"), start)
        if token.word == "null":
            return Literal(None, STRING, start)
        if token.word in ("true", "false"):
            return Literal(token.word == "true", BOOLEAN, start)
        if token.word in TIME_NAMES and self.next.kind == "STRING":
            self._at += 1
            return self._time(self._tokens[self._at - 1], TIME_NAMES[token.word])
        if token.kind in BARE:
            return self._time(token, BARE[token.kind], bare=True)
        if is_name(token):
            self._require_plain(token)
        self._at -= token.kind != END_OF_TEXT
        raise self.error(f"{self.shown} is not expected here: write a literal, texts in quotes.")

    def _time(self, text: Token, type_name: str, *, bare: bool = False) -> Literal:
        type = parse_type(type_name)
        value = self.locating_errors(text.start, lambda: value_from_text(type, text.text, self._zone))
        return Literal(value, type, text.start, text.text, bare)


def _number(text: str) -> Decimal:
    try:
        if text.isascii():
            return Decimal(text)
    except InvalidOperation:
        pass
    raise ValueTypeError(f"{text} is no number, or too large or too small for any column.")


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueTypeError(f"Value X'{text}' is not made of pairs of hexadecimal digits.") from None
