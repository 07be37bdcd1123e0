"""Ranges of functions that take a part of a text: up to a delimiter, without blanks, or a position in it.

RTRIM, SUBSTRING_INDEX and the first item of SPLIT keep a beginning of their text. So a result is never above
its text. It may be below the least text, though, where the rest may begin with a delimiter or a blank:

    code                             from a-10 to a.20
    substring_index(code, '-', 1)    from a to a.20

Texts that are no UTF-8 become others in SPLIT: there only characters of ASCII limit a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Rule
from parquetry.predicate.functions.text.order import (
    TextPart,
    after_all,
    ascii_beginning,
    common_beginning,
    of_text,
)
from parquetry.predicate.functions.values import UNKNOWN, Range

BEGINNINGS = frozenset(
    (
        "LEFT",
        "SUBSTRING",
        "SUBSTR",
        "RTRIM",
        "STRINGTRIMRIGHT",
        "SUBSTRINGINDEX",
        "SPLITITEM",
        "REGEXPEXTRACT",
    )
)
"""The functions whose results may be beginnings of their first argument; `kept_beginning` says which are."""


def keeps_bytes(call: FunctionCall) -> bool:
    """Return whether a function of `BEGINNINGS` keeps bytes that are no text; others make U+FFFD of them."""
    return call.function not in ("SPLITITEM", "REGEXPEXTRACT")


def kept_beginning(call: FunctionCall, result: str) -> str | None:
    """Return what a text begins with if a function keeps a beginning of it that is `result`, or None.

    >>> from parquetry.predicate.expression import ColumnReference, Constant
    >>> from parquetry.types import STRING, ColumnType
    >>> left = (ColumnReference("c", STRING), Constant(2, ColumnType("int")))
    >>> kept_beginning(FunctionCall("LEFT", left), "abc"), kept_beginning(FunctionCall("UPPER", left[:1]), "A")
    ('ab', None)
    """
    if call.function not in BEGINNINGS:
        return None
    if call.function in ("LEFT", "SUBSTRING", "SUBSTR"):
        length = first_characters(call)
        return None if length is None else result[:length]
    if call.function in ("RTRIM", "STRINGTRIMRIGHT"):
        return result if isinstance(_blanks(call), str) else None
    if call.function == "REGEXPEXTRACT":
        return _before_group(call, result)
    delimiter, count = call.constant(1), call.constant(2)
    if not isinstance(delimiter, str) or not delimiter or not isinstance(count, int) or count < 1:
        return None
    if call.function == "SPLITITEM":
        return ascii_beginning(result) if count == 1 else None
    return result


_FIRST_GROUP = re.compile(r"""
    \^ ((?: \\[^a-zA-Z0-9] | [^\\^$.|?*+()\[\]{}] )*)                    # texts before the group
    \( (?!\?) (?: \\. | \[ (?: \\. | [^\[\]\\&] )+ \] | [^()\[\]\\] )* \)   # the group, without groups in it
    (?![*+?{])
    """, re.VERBOSE)  # fmt: skip


def _before_group(call: FunctionCall, result: str) -> str | None:
    r"""Return what a text begins with if the first group of an expression at its start is `result`.

    >>> from parquetry.predicate.expression import ColumnReference, Constant
    >>> from parquetry.types import STRING, ColumnType
    >>> arguments = (ColumnReference("c", STRING), Constant(r"^a\.(\d+)", STRING), Constant(1, ColumnType("int")))
    >>> _before_group(FunctionCall("REGEXPEXTRACT", arguments), "12")
    'a.12'
    """
    before = _text_before_group(call)
    return None if before is None or not result or "\ufffd" in result else before + result


def _text_before_group(call: FunctionCall) -> str | None:
    """Return the text that a matching text begins with, up to the first group, or None if it is not known."""
    pattern = call.constant(1)
    found = _FIRST_GROUP.match(pattern) if isinstance(pattern, str) and call.constant(2) == 1 else None
    if found is None or "\ufffd" in found[1]:
        return None
    return re.sub(r"\\(.)", r"\1", found[1])


def _extracted(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    """Return the range of the first group of an expression; it is empty in a text that begins otherwise."""
    before = _text_before_group(call)
    if before is None:
        return UNKNOWN
    common = low if low == high else "" if high is None else common_beginning(low, high)
    begins = common.startswith(before) or (low != high and before.startswith(common))
    return Range("", None if begins else "", each.nulls)


def first_characters(call: FunctionCall) -> int | None:
    """Return how many of a text's first characters LEFT or SUBSTRING takes, or None if they are not first."""
    start = 1 if call.function == "LEFT" else call.constant(1)
    length = call.constant(1 if call.function == "LEFT" else 2)
    if start not in (0, 1) or not isinstance(length, int):
        return None
    return max(length, 0)


_MOST_CHARACTERS = 1000
"""Characters of a least text that are tried one by one; the rest of a long text would change little."""


def _least_beginning(low: str, high: str | None, stops: Iterable[str]) -> str:
    """Return a beginning of the least text that is not above any text's part before a stop.

    >>> _least_beginning("a-10", "a.20", ["-"]), _least_beginning("user10", "user20", ["@"])
    ('a', 'user1')
    """
    shared = len(low) if high is None else len(common_beginning(low, high))
    for length in range(min(len(low), _MOST_CHARACTERS)):
        for stop in stops:
            fits = high is None or length > shared or stop <= high[length : length + len(stop)]
            if fits and stop >= low[length : length + len(stop)]:
                return low[:length]
    return low[:_MOST_CHARACTERS]


def _blanks(call: FunctionCall) -> str | None:
    """Return the characters that TRIM and its kin remove, or None if they are no constant."""
    blanks = call.constant(1) if len(call.args) > 1 else " "
    return blanks if isinstance(blanks, str) else None


def _trim(left: bool, right: bool) -> TextPart:
    def part(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
        blanks = _blanks(call)
        if blanks is None:
            return UNKNOWN
        if low == high:
            text = low.lstrip(blanks) if left and blanks else low
            text = text.rstrip(blanks) if right and blanks else text
            return Range(text, text, each.nulls)
        if not blanks.isascii():
            return UNKNOWN  # Spark removes the first byte of such a character, too, if that stands alone
        if left:
            # what follows the blanks that all texts begin with keeps the order of the texts
            common = "" if high is None else common_beginning(low, high)
            begun = len(common) - len(common.lstrip(blanks)) if blanks else 0
            low, high = low[begun:], None if high is None else high[begun:]
            if any(_may_begin(low, high, blank) for blank in blanks):
                return Range("", None, each.nulls)
        return Range(_least_beginning(low, high, blanks) if right else low, high, each.nulls)

    return part


def _may_begin(low: str, high: str | None, beginning: str) -> bool:
    """Return whether a text between two texts may have a beginning."""
    length = len(beginning)
    return low[:length] <= beginning and (high is None or beginning <= high[:length])


def _before_delimiter(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    delimiter, count = call.constant(1), call.constant(2)
    if not isinstance(delimiter, str) or not isinstance(count, int) or count < 1 or not delimiter:
        return UNKNOWN
    if count > 1 and len(delimiter) > 1:
        return UNKNOWN  # Spark counts delimiters that overlap
    common = low if high is None else common_beginning(low, high)
    items = common.split(delimiter)
    if low == high or (high is not None and len(items) > count):
        text = delimiter.join(items[:count])
        return Range(text, text, each.nulls)
    return Range(_least_beginning(low, high, [delimiter]), high, each.nulls)


def _split_part(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    """Return the range of an item of a text that is split; all texts have the delimiters that they share."""
    delimiter, position = call.constant(1), call.constant(2)
    if not isinstance(delimiter, str) or not delimiter or "\ufffd" in delimiter:
        return UNKNOWN
    common = "" if high is None else common_beginning(low, high)
    items = common.split(delimiter)
    if not isinstance(position, int) or not 1 <= position <= len(items):
        return UNKNOWN
    if position < len(items) or low == high:
        return Range(items[position - 1], items[position - 1], each.nulls)
    before = len(common) - len(items[-1])
    low, high = low[before:], None if high is None else high[before:]
    most = None if high is None else ascii_beginning(high)
    return Range(
        ascii_beginning(_least_beginning(low, high, [delimiter])),
        most if most is None or most == high else after_all(most),
        each.nulls,
    )


def _position(low: str, high: str | None, nulls: int, of: object) -> Range | tuple[Range, ...]:
    """Return the range of the position of a constant in a text; it is 1 in a text that begins with it."""
    if not isinstance(of, str) or not of:
        return UNKNOWN
    if low == high:
        return Range(low.find(of) + 1, low.find(of) + 1, nulls)
    if high is not None and common_beginning(low, high).startswith(of):
        return Range(1, 1, nulls)
    if _may_begin(low, high, of):
        return Range(0, None, nulls)
    return Range(0, 0, nulls), Range(2, None, nulls)


def _instr(call: FunctionCall, each: Range, low: str, high: str | None) -> Range | tuple[Range, ...]:
    return _position(low, high, each.nulls, call.constant(1))


def _locate(call: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
    """Return the range of LOCATE, which has the text behind the constant."""
    if len(call.args) != 3 or call.constant(2) != 1:
        return UNKNOWN
    turned = FunctionCall(call.function, (call.args[1], call.args[0]), call.type)
    return INSTR(turned, (ranges[1], ranges[0]))


def listed_items(call: FunctionCall) -> list[str] | None:
    """Return the items of FIND_IN_SET's list in their order, or None if it is no constant."""
    found = call.constant(1)
    return found.split(",") if isinstance(found, str) else None


def _find_in_set(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    items = listed_items(call)
    if items is None:
        return UNKNOWN
    places = [items.index(item) + 1 for item in items if low <= item and (high is None or item <= high)]
    if low == high:
        return Range(*((places[0], places[0]) if places else (0, 0)), each.nulls)
    return Range(0, max(places, default=0), each.nulls)


TRIM, LTRIM, RTRIM = (
    of_text(_trim(left, right)) for left, right in ((True, True), (True, False), (False, True))
)
SUBSTRING_INDEX: Rule = of_text(_before_delimiter)
SPLIT_PART: Rule = of_text(_split_part)
INSTR: Rule = of_text(_instr)
LOCATE: Rule = _locate
FIND_IN_SET: Rule = of_text(_find_in_set)
EXTRACT_GROUP: Rule = of_text(_extracted)
