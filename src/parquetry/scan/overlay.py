"""Overlay lists of spans of one column, by AND and by OR.

A list is in order, and its pieces do not overlap. Where pieces of several lists overlap, their residuals are
joined into one. The same residuals are joined once, since thousands of pieces share them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from parquetry.predicate import TRUE, And, Or, Predicate

Piece: TypeAlias = tuple[bytes, bytes, Predicate]
"""The first marker, the second marker (not included), and the residual; `TRUE` is no residual."""

_Parts: TypeAlias = tuple[Predicate, ...]
_Laid: TypeAlias = tuple[bytes, bytes, _Parts]
"""A piece whose conditions are not joined yet; none of them is TRUE."""


def intersection(lists: Sequence[Sequence[Piece]]) -> list[Piece]:
    """Overlay lists by AND: the result has a piece only where all lists have one."""
    return _joined(_reduced([_parted(pieces) for pieces in lists], _intersected), And)


def union(lists: Sequence[Sequence[Piece]]) -> list[Piece]:
    """Overlay lists by OR: the result has a piece wherever any list has one."""
    return _joined(_reduced([_parted(pieces) for pieces in lists], _united), Or)


def contiguous(pieces: Sequence[Piece]) -> bool:
    """Return whether each piece ends where the next begins."""
    return all(left[1] == right[0] for left, right in pairwise(pieces))


def _parted(pieces: Sequence[Piece]) -> list[_Laid]:
    return [(low, high, () if node == TRUE else (node,)) for low, high, node in pieces]


def _reduced(lists: list[list[_Laid]], lay: Callable[[list[_Laid], list[_Laid]], list[_Laid]]) -> list[_Laid]:
    # In pairs, as in a tournament: one after another would traverse the growing result every time.
    while len(lists) > 1:
        paired = [lay(left, right) for left, right in zip(lists[::2], lists[1::2], strict=False)]
        lists = paired + lists[len(paired) * 2 :]
    return lists[0] if lists else []


def _intersected(left: list[_Laid], right: list[_Laid]) -> list[_Laid]:
    result = []
    i = j = 0
    while i < len(left) and j < len(right):
        low_left, high_left, parts_left = left[i]
        low_right, high_right, parts_right = right[j]
        low = max(low_left, low_right)
        high = min(high_left, high_right)
        if low < high:
            result.append((low, high, parts_left + parts_right))
        if high_left == high:
            i += 1
        if high_right == high:
            j += 1
    return result


def _united(left: list[_Laid], right: list[_Laid]) -> list[_Laid]:
    if not left or not right:
        return left or right
    result = []
    i = j = 0
    # The rest of the current piece on each side, or None after the last piece.
    a: _Laid | None = left[0]
    b: _Laid | None = right[0]
    while a is not None or b is not None:
        if b is None or (a is not None and a[0] < b[0]):
            assert a is not None
            end = a[1] if b is None else min(a[1], b[0])
            result.append((a[0], end, a[2]))
            a = (end, a[1], a[2])
        elif a is None or b[0] < a[0]:
            end = b[1] if a is None else min(b[1], a[0])
            result.append((b[0], end, b[2]))
            b = (end, b[1], b[2])
        else:
            end = min(a[1], b[1])
            # Where one side has no residual, the OR is TRUE.
            result.append((a[0], end, a[2] + b[2] if a[2] and b[2] else ()))
            a, b = (end, a[1], a[2]), (end, b[1], b[2])
        if a is not None and a[0] == a[1]:
            i += 1
            a = left[i] if i < len(left) else None
        if b is not None and b[0] == b[1]:
            j += 1
            b = right[j] if j < len(right) else None
    return result


def _joined(laid: list[_Laid], kind: type[And] | type[Or]) -> list[Piece]:
    joined: dict[tuple[int, ...], Predicate] = {}
    result: list[Piece] = []
    for low, high, parts in laid:
        if not parts:
            result.append((low, high, TRUE))
            continue
        key = tuple(map(id, parts))
        if key not in joined:
            flat: dict[int, Predicate] = {}
            for part in parts:
                for child in part.children if isinstance(part, kind) else (part,):
                    flat[id(child)] = child
            children = tuple(flat.values())
            joined[key] = children[0] if len(children) == 1 else kind(children)
        result.append((low, high, joined[key]))
    return result
