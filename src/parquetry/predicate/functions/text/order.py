"""Ranges of functions of texts. Texts sort by their characters, as UTF-8 does.

All texts between two texts begin with what both begin with. So UPPER, or a substring from the third character
on, is known as far as that beginning goes. A first part of a text, `substr(c, 1, 5)`, keeps the order.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TypeAlias

from parquetry.predicate.expression import Constant, FunctionCall
from parquetry.predicate.functions.monotone import Rule, is_kind
from parquetry.predicate.functions.values import UNKNOWN, OutOfRangeError, Range, ends_of, strict, void
from parquetry.predicate.like import Rest, head, matcher
from parquetry.predicate.regular_expression import beginnings

_GREATEST = "\U0010ffff"


def beginning_range(beginning: str, nulls: int) -> Range:
    """Return the range of all texts with a beginning."""
    return Range(beginning, after_all(beginning), nulls)


def common_beginning(one: str, other: str) -> str:
    """Return what two texts begin with.

    >>> common_beginning("abc", "abd")
    'ab'
    """
    pairs = enumerate(zip(one, other, strict=False))
    length = next((position for position, (here, there) in pairs if here != there), min(len(one), len(other)))
    return one[:length]


def ascii_beginning(text: str) -> str:
    """Return the part of a text before its first character that is not of ASCII.

    >>> ascii_beginning("café")
    'caf'
    """
    return text[: next((place for place, each in enumerate(text) if not each.isascii()), len(text))]


def after_all(beginning: str) -> str | None:
    """Return a text that is above all texts with a beginning, or None if there is none.

    >>> after_all("ab")
    'ac'
    """
    kept = beginning.rstrip(_GREATEST)
    if not kept:
        return None
    return kept[:-1] + ("\ue000" if kept[-1] == "\ud7ff" else chr(ord(kept[-1]) + 1))


TextPart: TypeAlias = Callable[[FunctionCall, Range, str, str | None], Range | tuple[Range, ...]]
"""A function from a call, the range of its text, the least and the greatest text to the range of results."""


def of_text(part: TextPart, *, padded: bool = True) -> Rule:
    """Return the rule of a function of a text and constants, which is NULL for NULL alone.

    Args:
        part: the range of its results.
        padded: whether the text may be a char, which has blanks at its end.
    """

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
        if any(each.void for each in ranges):
            return void(ranges)
        each, type = ranges[0], call.args[0].type
        if each.fails or type is None or not (type.textual if padded else type.unpadded):
            return UNKNOWN
        try:
            low, high = ends_of(type, each)
        except OutOfRangeError:
            return UNKNOWN
        return part(call, each, low, high)

    return rule


def _common(call: FunctionCall, position: int, each: Range) -> str:
    """Return what all texts of a range begin with.

    Raises:
        OutOfRangeError: they are no texts.
    """
    type = call.args[position].type
    if type is None or not type.textual or not is_kind(call.type, "string", "boolean", "int"):
        raise OutOfRangeError
    low, high = ends_of(type, each)
    return "" if high is None else common_beginning(low, high)


def _substring(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    if any(each.void for each in ranges):
        return void(ranges)
    each, start = ranges[0], call.constant(1)
    length = call.constant(2) if len(call.args) > 2 else 1 << 31
    if each.fails or not isinstance(start, int) or not isinstance(length, int) or start < 0:
        return UNKNOWN
    try:
        common = _common(call, 0, each)
        low, high = ends_of(call.args[0].type, each)
    except OutOfRangeError:
        return UNKNOWN
    length, start = max(length, 0), max(start, 1) - 1
    if start > len(common):
        return Range("", None, each.nulls)
    # all texts have the same characters before the part, so the parts are in the order of the texts
    end = start + length
    return Range(low[start:end], None if high is None else high[start:end], each.nulls)


def _first_characters(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    text, length = call.args
    one = Constant(1, length.type) if length.type is not None else length
    as_substring = FunctionCall(call.function, (text, one, length), call.type)
    return _substring(as_substring, (ranges[0], Range(1, 1, 0), ranges[1]))


_BEFORE_LETTERS = re.compile("[\0-@]*")
"""Characters before the letters: UPPER and LOWER keep them, and make no other character one of them."""
_BLOCKS = {True: ("a", "{"), False: ("A", "[")}
"""Where the characters begin whose order UPPER (True) or LOWER keeps among each other."""


def _letter_case(upper: bool) -> Rule:
    """Return the rule of UPPER or LOWER: of ASCII, each character is changed by itself, in all locales."""

    def changed(text: str) -> str:
        return text.upper() if upper else text.lower()

    def block(character: str) -> int:
        return bisect_right(_BLOCKS[upper], character)

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range:
        (each,) = ranges
        if each.void or each.fails:
            return each
        try:
            common = _common(call, 0, each)
        except OutOfRangeError:
            return UNKNOWN
        known = ascii_beginning(common)
        if each.low is not None and each.low == each.high == known:
            return Range(changed(known), changed(known), each.nulls)
        if len(known) < len(common) or each.high is None:
            return beginning_range(changed(known[:-1] if len(known) < len(common) else known), each.nulls)
        # the texts differ in the next character first, and then where letters begin
        low, high = (text[len(known) :] for text in (each.low or "", each.high))
        if not high.isascii() or block(low[:1]) != block(high[:1]):
            return beginning_range(changed(known), each.nulls)
        ends = [changed(known + text[:1]) + _before_letters(text[1:]) for text in (low, high)]
        whole = len(ends[1]) == len(each.high)
        return Range(ends[0], ends[1] if whole else after_all(ends[1]), each.nulls)

    return rule


def _before_letters(text: str) -> str:
    found = _BEFORE_LETTERS.match(text)
    assert found is not None
    return found[0]


def _concat(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    """Join texts: after constants, the first other one keeps its order if nothing follows it."""
    if any(each.void for each in ranges):
        return void(ranges)
    if any(each.fails for each in ranges) or not is_kind(call.type, "string"):
        return UNKNOWN
    before, nulls = "", strict(ranges)
    for position, (argument, each) in enumerate(zip(call.args, ranges, strict=True)):
        if argument.type is None or not argument.type.textual:
            return UNKNOWN
        low, high = ends_of(argument.type, each)
        if low == high:
            before += low
            continue
        if position == len(ranges) - 1:
            return Range(before + low, None if high is None else before + high, nulls)
        # what follows may make a shorter text the greater one
        return Range(
            before + low, None if high is None else after_all(before + common_beginning(low, high)), nulls
        )
    return Range(before, before, nulls)


def _length(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    (each,) = ranges
    if each.void or each.fails:
        return each
    try:
        least = len(_common(call, 0, each))
    except OutOfRangeError:
        return UNKNOWN
    single = each.low is not None and each.low == each.high
    return Range(least, least if single else None, each.nulls)


def _begins(text: str, position: int, rest: Rest) -> Rule:
    """Return the rule of a test that a text begins with another one; `rest` is what else it tests."""

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range:
        each = ranges[position]
        if each.void:
            return void(ranges)
        if each.fails:
            return UNKNOWN
        try:
            common = _common(call, position, each)
            low, high = ends_of(call.args[position].type, each)
        except OutOfRangeError:
            return UNKNOWN
        if rest is Rest.NOTHING:
            may = low <= text and (high is None or text <= high)
            return Range(low == high == text, may, each.nulls)
        may = low[: len(text)] <= text and (high is None or text <= high[: len(text)])
        return Range(rest is Rest.ANYTHING and common.startswith(text), may, each.nulls)

    return rule


def _like(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    pattern = call.constant(1)
    if not isinstance(pattern, str):
        return UNKNOWN
    escape = call.detail or "\\"
    text, rest = head(pattern, escape)
    only, type = ranges[0].low, call.args[0].type
    is_known = isinstance(only, str) and only == ranges[0].high and not ranges[0].fails
    if rest is Rest.MORE and is_known and type is not None and type.unpadded:  # a char may lack its blanks
        found = matcher(pattern, escape)(only)
        return Range(found, found, ranges[0].nulls)
    return _as_range(_begins(text, 0, rest)(call, ranges))


def _matches(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    """Return the range of RLIKE: its texts begin as the expression does."""
    pattern = call.constant(1)
    found = beginnings(pattern) if isinstance(pattern, str) else None
    if found is None:
        return UNKNOWN
    if found.ignores_case:
        ranges = [_as_range(LOWER(call, ranges[:1])), *ranges[1:]]
    rest = Rest.ANYTHING if found.exact else Rest.MORE
    parts = [_as_range(_begins(text, 0, rest)(call, ranges)) for text in found.texts]
    if parts[0].void or parts[0].fails:
        return parts[0]
    return Range(any(each.low for each in parts), any(each.high for each in parts), parts[0].nulls)


def _starts_with(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    beginning = call.constant(1)
    if not isinstance(beginning, str):
        return UNKNOWN
    return _as_range(_begins(beginning, 0, Rest.ANYTHING)(call, ranges))


def _as_range(found: Range | tuple[Range, ...]) -> Range:
    assert isinstance(found, Range)
    return found


SUBSTRING: Rule = _substring
FIRST_CHARACTERS: Rule = _first_characters
UPPER, LOWER = _letter_case(upper=True), _letter_case(upper=False)
CONCAT: Rule = _concat
LENGTH: Rule = _length
LIKE: Rule = _like
MATCHES: Rule = _matches
STARTS_WITH: Rule = _starts_with
