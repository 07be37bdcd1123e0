"""Many values of one type in few bytes, as the bridge sends those that a join finds at run time.

    {"fn": "IN", "col": ["k"], "type": "bigint", "packed": <3 × 8 bytes in base64>}
    {"fn": "IN", "col": ["s"], "type": "string", "packed": <the bytes of all, in base64>, "lengths": <4 bytes for each>}

A hundred thousand of them are a megabyte to read, and no object is made for each before it is one of Python's. Types that
are neither numbers of at most 64 bits nor made of bytes are sent as texts.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from parquetry.types import ColumnType, Value


def raw_values(tree: Mapping[str, Any]) -> list[Any]:
    """Return the values of one column of tuples, in the tuples' order, as they were sent: numbers' bits, bytes, or texts.

    Args:
        tree: with `packed`, and with `lengths` if its type is one of bytes; or with `values`, texts.

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
        type: theirs.
        tree: see `raw_values`; and with `nulls`, a byte for each value, which is 1 if the value stands for NULL.
        read: reads a value's text.
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
    """Return the values, each once and in order where they are numbers; NULL is not among them.

    Args:
        type: theirs.
        tree: with `packed`, and with `lengths` if it is a type of bytes. Numbers are little-endian: whole ones, days and
            microseconds have 64 bits, floats are doubles.

    >>> tree = {"packed": base64.b64encode(np.array([7, 3, 7], "<i8").tobytes()).decode()}
    >>> packed_values(ColumnType("date"), tree)
    [3, 7]
    """
    data = base64.b64decode(tree["packed"])
    if "lengths" not in tree:
        numbers = np.sort(np.frombuffer(data, "<f8" if type.floating else "<i8"))
        fresh = numbers[1:] != numbers[:-1]  # in a tenth of the time that np.unique takes
        found: list[Value] = numbers[np.concatenate(([True], fresh))].tolist() if len(numbers) else []
        return found
    lengths = np.frombuffer(base64.b64decode(tree["lengths"]), "<i4").tolist()
    parts = {data[start:end] for start, end in pairwise(accumulate(lengths, initial=0))}
    return [*sorted(parts)] if type.name == "binary" else [*sorted(part.decode() for part in parts)]
