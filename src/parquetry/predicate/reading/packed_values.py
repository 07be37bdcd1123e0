"""Unpack many values of one type from few bytes; the bridge sends runtime values of joins in this form.

    {"fn": "IN", "col": ["k"], "type": "bigint", "packed": <3 × 8 bytes in base64>}
    {"fn": "IN", "col": ["s"], "type": "string", "packed": <the bytes of all, in base64>, "lengths": <4 bytes for each>}

A hundred thousand values take a megabyte. No JSON value is decoded for each of them. Types that are neither
numbers of at most 64 bits nor made of bytes are sent as texts.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from parquetry.types import ColumnType, Value


def raw_values(tree: Mapping[str, Any]) -> list[Any]:
    """Return one column of tuples, in the tuples' order, as it was sent: bits of numbers, bytes, or texts.

    Args:
        tree: has `packed`, and `lengths` for a type made of bytes; or `values`, which are texts.

    >>> raw_values({"packed": base64.b64encode(np.array([7, 3, 7], "<i8").tobytes()).decode()})
    [7, 3, 7]
    """
    if "values" in tree:
        return list(tree["values"])
    data = base64.b64decode(tree["packed"])
    if "lengths" not in tree:
        numbers: list[int] = np.frombuffer(data, "<i8").tolist()
        return numbers
    lengths = np.frombuffer(base64.b64decode(tree["lengths"]), "<i4").tolist()
    return [data[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]


def packed_column(type: ColumnType, tree: Mapping[str, Any], read: Callable[[str], Value]) -> list[Value]:
    """Return the values of one column of tuples, in the tuples' order; None is NULL.

    Args:
        type: the type of the values.
        tree: see `raw_values`; it may have `nulls`, a byte for each value, which is 1 if the value stands for
            NULL.
        read: converts a text to a value.
    """
    raw = raw_values(tree)
    if "values" in tree:
        values: list[Value] = [None if text is None else read(text) for text in raw]
    elif "lengths" in tree:
        values = raw if type.name == "binary" else [part.decode() for part in raw]
    else:
        values = np.array(raw, np.int64).view("<f8").tolist() if type.floating else raw
    if "nulls" in tree:
        flags = base64.b64decode(tree["nulls"])
        values = [None if flag else value for value, flag in zip(values, flags, strict=True)]
    return values


def packed_values(type: ColumnType, tree: Mapping[str, Any]) -> list[Value]:
    """Return the values, sorted and unique; NULL is not among them.

    Args:
        type: the type of the values.
        tree: has `packed`, and `lengths` for a type made of bytes. Numbers are little-endian: integers, days
            and microseconds have 64 bits, floats are doubles.

    >>> tree = {"packed": base64.b64encode(np.array([7, 3, 7], "<i8").tobytes()).decode()}
    >>> packed_values(ColumnType("date"), tree)
    [3, 7]
    """
    data = base64.b64decode(tree["packed"])
    if "lengths" not in tree:
        numbers = np.sort(np.frombuffer(data, "<f8" if type.floating else "<i8"))
        fresh = numbers[1:] != numbers[:-1]  # takes a tenth of the time of np.unique
        found: list[Value] = numbers[np.concatenate(([True], fresh))].tolist() if len(numbers) else []
        return found
    lengths = np.frombuffer(base64.b64decode(tree["lengths"]), "<i4").tolist()
    parts = {data[start:end] for start, end in pairwise(accumulate(lengths, initial=0))}
    return [*sorted(parts)] if type.name == "binary" else [*sorted(part.decode() for part in parts)]
