"""Compare texts as numbers or dates, for each partition, where Hive's result is certain.

Hive converts a text column that is compared with a number: `s = 10` compares doubles. Many texts are one
number (`10`, `010`, `1e1`), so no range of keys selects them. Partitions are tested one by one instead.

| text | as a double | why |
|---|---|---|
| `10`, `-2.50`, `007` | the number | all versions of Hive read it so |
| `today`, `2024-01-01`, `1,5` | NULL | Java reads no number from it, so Hive finds none |
| `1e3`, ` 7`, `5d`, `NaN` | not certain | Java reads these, and Hive's versions differ |

A partition whose text is not certain is selected, and the answer says that the client has to test it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from parquetry.hive.expressions.constants import date_from_text
from parquetry.hive.expressions.stream import UnreadExpressionError
from parquetry.predicate import And, Compare, Not, Opaque, Or, Predicate
from parquetry.predicate.evaluate import evaluate
from parquetry.types import STRING, ColumnType, Value

Truths: TypeAlias = frozenset[bool | None]
"""The truths that a condition may have for a partition: one, if it is certain."""
_ANY: Truths = frozenset((True, False, None))
_PLAIN = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_MAYBE = re.compile(
    r"""[\x00-\x20]*[+-]?(nan|infinity|(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|0x[0-9a-f.]*p[+-]?[0-9]+)[fd]?)[\x00-\x20]*""",
    re.ASCII | re.IGNORECASE,
)
"""The texts that Java reads as a number, and some more."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TYPES = {"number": ColumnType("double"), "date": ColumnType("date"), "text": STRING}
_LAST_PLAIN_CHARACTER = "\uffff"


@dataclass(frozen=True, slots=True)
class TextComparison(Opaque):
    """A comparison of a text column, or of its beginning, as another type.

    Attributes:
        op: the operator.
        value: a number, the days of a date, or a text.
        kind: `number`, `date` or `text`: what the column's text is compared as.
        beginning: how many characters are compared, or 0 for all.
    """

    op: str = "="
    value: Value = None
    kind: str = "number"
    beginning: int = 0

    def truths(self, row: Mapping[str, Value]) -> Truths:
        """Return which truths the comparison may have for a partition."""
        text = row[self.columns[0]]
        if text is None:
            return frozenset((self._compared(None),))
        if not isinstance(text, str) or (self.beginning and max(text, default="") > _LAST_PLAIN_CHARACTER):
            return _ANY
        seen = text[: self.beginning] if self.beginning else text
        try:
            return frozenset((self._compared(self._read(seen)),))
        except UnreadExpressionError:
            return _ANY

    def _compared(self, value: Value) -> bool | None:
        (name,) = self.columns
        return evaluate(Compare(self.op, name, self.value, _TYPES[self.kind]), {name: value})

    def _read(self, text: str) -> Value:
        if self.kind == "text":
            return text
        if self.kind == "date":
            if _DATE.fullmatch(text):
                return date_from_text(text)
            if any(character.isdigit() for character in text):
                raise UnreadExpressionError("a text may be a date")
            return None
        if _PLAIN.fullmatch(text):
            number = float(text)
            if number == 0 and text.startswith("-"):
                raise UnreadExpressionError("Hive's versions differ in whether -0.0 is 0.0")
            return number
        if _MAYBE.fullmatch(text):
            raise UnreadExpressionError("a text may be a number")
        return None


def possible_truths(node: Predicate, row: Mapping[str, Value]) -> Truths:
    """Return which truths a bound condition may have for a partition.

    >>> from parquetry.types import STRING
    >>> from parquetry.predicate import Compare
    >>> tens = TextComparison("s = 10", ("s",), "a text is compared as a number", value=10.0)
    >>> [sorted(map(str, possible_truths(tens, {"s": text}))) for text in ("010", "x", "1e1")]
    [['True'], ['None'], ['False', 'None', 'True']]
    """
    match node:
        case And(children):
            return _joined(children, row, False)
        case Or(children):
            return _joined(children, row, True)
        case Not(child):
            return frozenset(None if each is None else not each for each in possible_truths(child, row))
        case TextComparison():
            return node.truths(row)
        case Opaque(implied=implied):
            may = implied is None or True in possible_truths(implied, row)
            return _ANY if may else frozenset((False, None))
    return frozenset((evaluate(node, row),))


def _joined(children: tuple[Predicate, ...], row: Mapping[str, Value], decisive: bool) -> Truths:
    """Join the truths of the parts of AND, which FALSE decides, or of OR, which TRUE decides."""
    found: Truths = frozenset((not decisive,))
    for child in children:
        each = possible_truths(child, row)
        found = frozenset(
            decisive if decisive in (a, b) else None if None in (a, b) else not decisive
            for a in found
            for b in each
        )
        if found == {decisive}:
            break
    return found
