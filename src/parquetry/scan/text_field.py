"""LIKE as a condition on the bytes of a field: a range, and where there is more in the pattern, an expression.

A text's field is a marker, the text's bytes with 00 and 01 escaped, and 00; all inverted in descending order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from parquetry.key_schema import KeyField
from parquetry.keys import VALUE_MARKER, escape, successor
from parquetry.predicate import Like, Rest, head, parts_of
from parquetry.store import FALSE, Condition, FieldCompare, FieldMatches, all_of, any_of

MAX_RUNS, MAX_WILDCARDS = 7, 50
"""Texts and wildcards in a pattern that is looked for; more are left to the client, as not worth the bytes."""

_ESCAPE, _END = b"\x01", b"\x00"
_Runs = list[tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class TextField:
    """The field of a column of text.

    Attributes:
        position: from 0.
        field: of the column.
    """

    position: int
    field: KeyField

    def like(self, node: Like) -> Condition:
        """Say where LIKE may be TRUE."""
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
        """Say where NOT LIKE may be TRUE."""
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
        # The expression is also found in fields that do not match, unless the pattern is as plain as this.
        plain = all("_" not in run if wild else min(run) > "\x02" for wild, run in runs)
        if not plain or _laborious(runs):
            return not_null
        return all_of((not_null, FieldMatches(self.position, self._expression(runs), matches=False)))

    def _fits(self, text: str) -> bool:
        return self.field.type.name != "char" or len(text) == self.field.type.length  # LIKE sees the padding

    def _prefix(self, text: str) -> tuple[bytes, bytes]:
        """Return where the fields begin whose texts begin with a text, and where they end; NULL is outside."""
        start = self.field.prefix(text)
        end = successor(start)
        assert end is not None  # the marker can be counted up in both orders
        return start, end

    def _expression(self, runs: _Runs) -> str:
        """Write a pattern as an expression that is found in the field of each text that matches.

        A character is a byte and those that continue it, perhaps behind an escape.
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
        end = self._literal(_END)  # which is in no other place
        first, *others = segments
        if not others:
            return first + end
        # What a segment's first place leaves is the most that there can be for those behind it: none is tried twice.
        return first + "".join(f"(?>.*?{one})" for one in others[:-1]) + f".*{others[-1]}{end}"

    def _literal(self, data: bytes) -> str:
        return "".join(f"\\x{byte:02x}" for byte in self.field.turned(data))


def _runs(node: Like) -> _Runs:
    """Give the parts of a pattern that are wildcards throughout, or texts."""
    return [
        (wild, "".join(character for character, _ in run))
        for wild, run in groupby(parts_of(node.pattern, node.escape), key=lambda part: part[1])
    ]


def _laborious(runs: Sequence[tuple[bool, str]]) -> bool:
    return len(runs) > MAX_RUNS or sum(len(run) for wild, run in runs if wild) > MAX_WILDCARDS
