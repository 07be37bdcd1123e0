"""Translate LIKE into a condition on a field's bytes: a range, and for most patterns an expression.

A text's field is a marker, the text's bytes with 00 and 01 escaped, and 00. In descending order all bytes are
inverted.
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
