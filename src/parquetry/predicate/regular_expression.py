r"""Find what all texts begin with that a regular expression is found in.

The expressions are Java's, and Spark's RLIKE looks for one anywhere in a text. So a beginning is known only
if each alternative begins with an anchor, `^` or `\A`:

| expression         | beginnings       | why                                                             |
|--------------------|------------------|-----------------------------------------------------------------|
| `^user_1`          | `user_1`, exact  | it is found in each text that begins so                         |
| `^ab*`, `^ab?c`    | `a`              | there may be no `b`                                             |
| `^a.c`             | `a`              | `.` is any character                                            |
| `^(ab\|cd)e`       | `abe`, `cde`     | each alternative of a group                                     |
| `^a\|b`            | none             | `b` has no anchor                                               |
| `(?i)^ab`          | `ab`, of letters of either case | only letters of ASCII, as in Java                |
| `(?m)^a`, `(?x)^a` | none             | `^` is after line breaks, too; blanks mean nothing              |

The parser gives up at what it does not know, such as `[^-]`. Then the part before it remains, unless the
expression has alternatives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

MAX_BEGINNINGS = 200
"""Beginnings of one expression; a part that makes more of them counts as any text."""
_MAX_LENGTH = 20_000
"""Characters of an expression; thousands of alternatives would take seconds to read."""
_MAX_DEPTH = 50
"""Groups within groups; the parser recurses for each."""

_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_NO_TEXT = "\ufffd"
"""Bytes that are no text look like this character to an expression, so it tells nothing of the bytes."""
_FLAGS = re.compile(r"\(\?([is]+)\)")
_GROUP = re.compile(r"\?(?::|>|=|!|<=|<!|<[A-Za-z][A-Za-z0-9]*>)")
_PLAIN_CLASS = re.compile(r"([^\[\]\\&^][^\[\]\\&]*)\]")
_REPETITION = re.compile(r"\{([0-9]+)(?:,[0-9]*)?\}")
_PROPERTY = re.compile(r"\{[^{}]*\}|[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Beginnings:
    """The beginnings of all texts that an expression is found in.

    Attributes:
        texts: the beginnings, sorted; none begins with another one, and none is empty.
        exact: whether the expression is found in each text that begins so.
        ignores_case: whether letters of ASCII match in either case; then the beginnings are in lower case.
    """

    texts: tuple[str, ...]
    exact: bool
    ignores_case: bool = False


@lru_cache(maxsize=1024)
def beginnings(pattern: str) -> Beginnings | None:
    r"""Return the beginnings of all texts that an expression is found in, or None if they are not known.

    >>> beginnings(r"^a\.b+"), beginnings("^(x|y)1$").texts, beginnings("^a|b")
    (Beginnings(texts=('a.b',), exact=True, ignores_case=False), ('x1', 'y1'), None)
    """
    flags = _FLAGS.match(pattern)
    ignores_case = flags is not None and "i" in flags[1]
    rest = pattern[flags.end() :] if flags else pattern
    states = _parse(rest, _PartialMatch())
    if not states or not all(state.anchored for state in states):
        return None
    exact = all(state.exact for state in states) and not ignores_case
    texts = {state.text for state in states}
    if ignores_case:
        texts = {"".join(re.findall("^[\0-\x7f]*", text)).lower() for text in texts}
    shortest = sorted(text for text in texts if not any(text[:end] in texts for end in range(len(text))))
    if shortest[0] == "" or len(shortest) > MAX_BEGINNINGS:
        return None
    return Beginnings(tuple(shortest), exact, ignores_case)


@lru_cache(maxsize=1024)
def only_text(pattern: str) -> str | None:
    r"""Return the only text that an expression matches, or None if there is none, or there are several.

    >>> only_text("-"), only_text(r"\|"), only_text("[.]"), only_text(r"\s")
    ('-', '|', '.', None)
    """
    states = _parse(pattern, _PartialMatch())
    if len(states) != 1 or states[0] != _PartialMatch(states[0].text):
        return None
    return states[0].text


class _PartialMatch(NamedTuple):
    """One way to match an expression up to a position.

    Attributes:
        text: what the matched text begins with.
        open: whether more characters may follow `text` before the position.
        exact: whether each text that begins so is matched up to the position.
        anchored: whether the match begins where the text begins.
    """

    text: str = ""
    open: bool = False
    exact: bool = True
    anchored: bool = False

    def with_text(self, text: str) -> _PartialMatch:
        return self._replace(exact=False) if self.open else self._replace(text=self.text + text)

    def with_test(self) -> _PartialMatch:
        """Return the state after something that is no text of its own, such as `$`."""
        return self._replace(exact=False)

    def with_any(self) -> _PartialMatch:
        return self._replace(open=True, exact=False)

    def with_anchor(self) -> _PartialMatch:
        return self.with_test() if self.open or self.text else self._replace(anchored=True)


class _UnknownPartError(Exception):
    """The parser does not know a part of an expression."""


def _parse(pattern: str, start: _PartialMatch) -> list[_PartialMatch]:
    """Return the states after an expression, or an empty list if the parser does not know enough of it."""
    if len(pattern) > _MAX_LENGTH:
        return []
    plain = _without_quotes(pattern)
    parser = _ExpressionParser(plain)
    try:
        states = parser.alternatives([start])
        if parser.at < len(plain):
            raise _UnknownPartError
    except _UnknownPartError:
        # What follows is not known, but belongs to the only alternative.
        return [] if "|" in plain else [state.with_any() for state in parser.before]
    return states


def _without_quotes(pattern: str) -> str:
    r"""Write the characters between `\Q` and `\E` with escapes, as Java does before it parses."""
    found = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\.|[^\\]|\\\Z", re.DOTALL).finditer(pattern)
    return "".join(
        re.sub(r"([\0-\x7f])(?<![A-Za-z0-9])", r"\\\1", each[1]) if each[1] is not None else each[0]
        for each in found
    )


class _ExpressionParser:
    """A parser of an expression, which follows all ways to match it.

    Attributes:
        at: the position in the expression.
        before: the states before the part outside of all groups that is read now.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._depth = 0
        self.at = 0
        self.before: list[_PartialMatch] = []

    def alternatives(self, states: list[_PartialMatch]) -> list[_PartialMatch]:
        """Read alternatives up to a closing parenthesis or the end."""
        found: dict[_PartialMatch, None] = {}
        while True:
            found.update(dict.fromkeys(self._sequence(states)))
            if not self._take("|"):
                return list(found)

    def _sequence(self, states: list[_PartialMatch]) -> list[_PartialMatch]:
        while self.at < len(self._pattern) and self._pattern[self.at] not in "|)":
            if self._depth == 0:
                self.before = states
            states = self._part(states)
        return states

    def _part(self, states: list[_PartialMatch]) -> list[_PartialMatch]:
        """Read one part with its quantifier."""
        after = self._atom(states)
        least = self._least_repetition()
        if least == 0:
            return [state._replace(open=True) for state in states]
        if len(after) > MAX_BEGINNINGS:
            return [state.with_any() for state in states]
        if least is None:
            return after
        return [state._replace(open=True, exact=state.exact and least == 1) for state in after]

    def _least_repetition(self) -> int | None:
        """Read a quantifier; return its least number of repetitions, or None if there is none."""
        if self._take("*") or self._take("?"):
            least = 0
        elif self._take("+"):
            least = 1
        elif self._next() == "{":
            least = int(self._match(_REPETITION)[1])
        else:
            return None
        _ = self._take("?") or self._take("+")
        return least

    def _atom(self, states: list[_PartialMatch]) -> list[_PartialMatch]:
        character = self._read_character()
        match character:
            case "^":
                return [state.with_anchor() for state in states]
            case "$":
                return [state.with_test() for state in states]
            case ".":
                return [state.with_any() for state in states]
            case "[":
                return self._class(states)
            case "(":
                return self._group(states)
            case "\\":
                return self._escape(states)
            case "*" | "+" | "?" | "{":
                raise _UnknownPartError
        return self._literal(states, character)

    def _literal(self, states: list[_PartialMatch], *characters: str) -> list[_PartialMatch]:
        if _NO_TEXT in characters:
            return [state.with_any() for state in states]
        return list(dict.fromkeys(state.with_text(each) for state in states for each in characters))

    def _class(self, states: list[_PartialMatch]) -> list[_PartialMatch]:
        """Read a class of a few characters, such as `[a-c.]`."""
        text = self._match(_PLAIN_CLASS)[1]
        found: set[str] = set()
        place = 0
        while place < len(text):
            last = place + 2 if text[place + 1 : place + 2] == "-" and place + 2 < len(text) else place
            first_code, last_code = ord(text[place]), ord(text[last])
            if last_code - first_code > MAX_BEGINNINGS:
                return [state.with_any() for state in states]
            found.update(map(chr, range(first_code, last_code + 1)))
            place = last + 1
        if not found:
            raise _UnknownPartError
        return self._literal(states, *sorted(found))

    def _group(self, states: list[_PartialMatch]) -> list[_PartialMatch]:
        kind = self._match(_GROUP)[0] if self._next() == "?" else ""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _UnknownPartError
        looks = kind in ("?=", "?!", "?<=", "?<!")
        after = self.alternatives([_PartialMatch()] if looks else states)
        if not self._take(")"):
            raise _UnknownPartError
        self._depth -= 1
        if looks:
            return [state.with_test() for state in states]
        # once matched, the group of `(?>a|ab)c` does not try its other alternatives
        return [state.with_test() for state in after] if kind == "?>" else after

    def _escape(self, states: list[_PartialMatch]) -> list[_PartialMatch]:
        character = self._read_character()
        if character in _CONTROLS:
            return self._literal(states, _CONTROLS[character])
        if character == "A":
            return [state.with_anchor() for state in states]
        if character in "bBzZ" and self._next() != "{":
            return [state.with_test() for state in states]
        if character in "pP":
            self._match(_PROPERTY)
        elif character not in "dDwWsShHvVRX":
            if character.isascii() and character.isalnum():
                raise _UnknownPartError
            return self._literal(states, character)
        return [state.with_any() for state in states]

    def _next(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _take(self, character: str) -> bool:
        taken = self._next() == character
        self.at += taken
        return taken

    def _read_character(self) -> str:
        if self.at >= len(self._pattern):
            raise _UnknownPartError
        self.at += 1
        return self._pattern[self.at - 1]

    def _match(self, expression: re.Pattern[str]) -> re.Match[str]:
        found = expression.match(self._pattern, self.at)
        if found is None:
            raise _UnknownPartError
        self.at = found.end()
        return found
