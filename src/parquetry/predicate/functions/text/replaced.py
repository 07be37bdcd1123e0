"""Ranges of functions that replace characters in a text, pad it, or join texts with a separator.

All texts between two texts begin with what both begin with. What such a function makes of this beginning,
all results begin with. Behind it, characters that are not replaced keep their order:

    code                       from ORD-2026-000120 to ORD-2026-000139
    replace(code, '-', '')     from ORD2026000120, and below ORD202600014
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from parquetry.predicate.expression import Constant, Expression, FunctionCall
from parquetry.predicate.functions.monotone import Rule
from parquetry.predicate.functions.text.order import (
    CONCAT,
    after_all,
    ascii_beginning,
    beginning_range,
    common_beginning,
    of_text,
)
from parquetry.predicate.functions.values import NO_NULL, UNKNOWN, Range, strict
from parquetry.predicate.regular_expression import only_text
from parquetry.types import STRING


def _image(
    each: Range, low: str, high: str | None, changed: Callable[[str], str | None], replaced: Iterable[str]
) -> Range:
    """Return the range of the images of texts between two texts.

    Behind the common beginning only characters of ASCII count, as texts that are no UTF-8 become others.

    Args:
        each: the range of the texts.
        low: the least text.
        high: the greatest text, or None.
        changed: the image of a beginning that all texts have, or None if it is not known: what follows may
            change it.
        replaced: the first characters of what is replaced.
    """
    common = "" if high is None else common_beginning(low, high)
    image = changed(common)
    if image is None:
        return Range("", None, each.nulls)
    if high is None or len(common) == len(high):
        return beginning_range(image, each.nulls)
    unsafe, rest = max(replaced, default=""), ascii_beginning(low[len(common) :])
    following = high[len(common)]
    if not rest or not following.isascii() or any(rest[0] <= one <= following for one in replaced):
        return Range(image + _not_replaced(rest, unsafe), after_all(image), each.nulls)
    # the character behind the common beginning is not replaced in any text
    least = image + rest[0] + _not_replaced(rest[1:], unsafe)
    return Range(least, after_all(image + following), each.nulls)


def _not_replaced(text: str, unsafe: str) -> str:
    """Return what a text begins with up to a character that is not above the greatest replaced one.

    In its place a greater text may have a replaced character, whose image may be less.
    """
    return text[: next((place for place, one in enumerate(text) if one <= unsafe), len(text))]


def _replace(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    search, by = call.constant(1), call.constant(2) if len(call.args) > 2 else ""
    if not isinstance(search, str) or not isinstance(by, str):
        return UNKNOWN
    return _replaced(each, low, high, search, by)


def _replaced(each: Range, low: str, high: str | None, search: str, by: str) -> Range:
    if not search:
        return each
    if not _is_text(search):
        return UNKNOWN
    if low == high:
        image = low.replace(search, by)
        return Range(image, image, each.nulls)

    def changed(common: str) -> str | None:
        rest = common.split(search)[-1]  # from the left, as Spark searches: of `aaa`, `aa` leaves `a`
        begun = any(rest.endswith(search[:length]) for length in range(1, len(search)))
        return None if begun else common.replace(search, by)

    return _image(each, low, high, changed, search[0])


def _is_text(text: str) -> bool:
    """Return whether Spark finds a text where Python does: a text that is no UTF-8 has other bytes."""
    return "\ufffd" not in text


def _translate(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    source, target = call.constant(1), call.constant(2)
    if not isinstance(source, str) or not isinstance(target, str) or "\0" in target:
        return UNKNOWN  # Spark removes characters that are translated to a NUL
    if not (_is_text(source) and _is_text(target)):
        return UNKNOWN
    table: dict[int, str] = {}
    for place, character in enumerate(source):
        table.setdefault(ord(character), target[place : place + 1])
    if low == high:
        return Range(low.translate(table), low.translate(table), each.nulls)
    return _image(each, low, high, lambda common: common.translate(table), source)


_LITERAL_START = re.compile(r"([^\\^$.|?*+()\[\]{}])(?![?*{])")
"""A regular expression that begins with a character which each match begins with."""


def _replace_expression(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    """Return the range of REGEXP_REPLACE, where each match begins with a known character."""
    pattern, by = call.constant(1), call.constant(2)
    if not isinstance(pattern, str) or not isinstance(by, str) or not _is_text(pattern):
        return UNKNOWN
    if len(call.args) > 3 and call.constant(3) != 1:
        return UNKNOWN
    if pattern.startswith("^"):
        return _replaced_at_start(each, low, high, only_text(pattern[1:]), by)
    literal = only_text(pattern)
    if literal and "$" not in by and "\\" not in by:
        return _replaced(each, low, high, literal, by)
    start = _LITERAL_START.match(pattern)
    if start is None or "|" in pattern:
        return UNKNOWN
    first = start[1]
    if low == high:
        return Range(low, low, each.nulls) if first not in low else Range("", None, each.nulls)
    return _image(each, low, high, lambda common: None if first in common else common, first)


def _replaced_at_start(each: Range, low: str, high: str | None, literal: str | None, by: str) -> Range:
    """Return the range of texts whose beginning is replaced, if it is a literal one."""
    if not literal or "$" in by or "\\" in by:
        return UNKNOWN

    def changed(common: str) -> str | None:
        if common.startswith(literal):
            return by + common[len(literal) :]
        return None if low != high and literal.startswith(common) else common

    if low == high:
        image = changed(low)
        return Range(image, image, each.nulls)
    return _image(each, low, high, changed, ())


_MOST_PADDING = 10_000
"""Characters of padding that are written out here."""


def _padding(call: FunctionCall, text: str) -> str | None:
    """Return the padding that LPAD and RPAD add to a text, or None if they are no constants."""
    length, pad = call.constant(1), call.constant(2) if len(call.args) > 2 else " "
    if not isinstance(length, int) or not isinstance(pad, str) or not _is_text(pad + text):
        return None
    missing = max(length - len(text), 0)
    if missing > _MOST_PADDING:
        return None
    return (pad * missing)[:missing]


def _pad_left(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    length, padding = call.constant(1), _padding(call, low)
    if not isinstance(length, int) or padding is None:
        return UNKNOWN
    if low == high:
        only = padding + low[: max(length, 0)]
        return Range(only, only, each.nulls)
    return Range("", None, each.nulls)


def _pad_right(call: FunctionCall, each: Range, low: str, high: str | None) -> Range:
    length, padding = call.constant(1), _padding(call, low)
    if not isinstance(length, int) or padding is None:
        return UNKNOWN
    length = max(length, 0)
    if low == high:
        only = low[:length] + padding
        return Range(only, only, each.nulls)
    common = "" if high is None else common_beginning(low, high)
    if high is None or len(common) >= length or len(low) == len(common):
        return Range(low[:length], after_all(common[:length]), each.nulls)
    return Range(low[:length], after_all(high[: len(common) + 1]), each.nulls)


def _concat_with(call: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
    """Return the range of CONCAT_WS, which leaves out NULL."""
    separator = call.constant(0)
    if not isinstance(separator, str):
        return UNKNOWN
    arguments: list[Expression] = []
    known: list[Range] = []
    for argument, each in zip(call.args[1:], ranges[1:], strict=True):
        if each.fails or argument.type is None or not argument.type.unpadded:
            return UNKNOWN
        if each.nulls != NO_NULL:
            return _beginning_of(arguments, known, call)
        if arguments:
            arguments.append(Constant(separator, STRING))
            known.append(Range(separator, separator, NO_NULL))
        arguments.append(argument)
        known.append(each)
    if not arguments:
        return Range("", "", NO_NULL)
    return CONCAT(FunctionCall("CONCAT", tuple(arguments), STRING), known)


def _beginning_of(arguments: Sequence[Expression], known: Sequence[Range], call: FunctionCall) -> Range:
    """Return the range of texts that begin with the first arguments, up to one that may be NULL."""
    if not arguments:
        return Range("", None, NO_NULL)
    found = CONCAT(FunctionCall("CONCAT", tuple(arguments), call.type), known)
    assert isinstance(found, Range)
    low, high = found.low, found.high
    if low is None or high is None:
        return Range(low, None, strict(known))
    return Range(low, after_all(common_beginning(low, high)), strict(known))


REPLACE: Rule = of_text(_replace, padded=False)
TRANSLATE: Rule = of_text(_translate, padded=False)
REPLACE_EXPRESSION: Rule = of_text(_replace_expression, padded=False)
PAD_LEFT: Rule = of_text(_pad_left, padded=False)
PAD_RIGHT: Rule = of_text(_pad_right, padded=False)
CONCAT_WITH: Rule = _concat_with
