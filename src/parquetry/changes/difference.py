"""The difference of two multisets of rows, and its pairs of one row before and after an update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquetry.changes.columns import DELETE, INSERT, UPDATE_POSTIMAGE, UPDATE_PREIMAGE
from parquetry.changes.row_numbers import number_rows

_TYPES = pa.array([DELETE, INSERT, UPDATE_PREIMAGE, UPDATE_POSTIMAGE])
_PAIRED = 2
"""Added to the index of a type, it gives the one for a row of a pair."""


@dataclass(frozen=True, slots=True)
class TypedRows:
    """Rows, and the type of each one's change.

    Attributes:
        rows: the table's columns.
        types: as many texts.
    """

    rows: pa.Table
    types: pa.Array


def difference(removed: pa.Table, added: pa.Table, keys: Sequence[int]) -> TypedRows:
    """Return the difference of two multisets of rows.

    Args:
        removed: rows of removed files.
        added: rows of new files, with the same columns.
        keys: positions of the key's columns. Without a key there are no pairs.
    """
    rows = pa.concat_tables([removed, added]).combine_chunks()
    signs = np.repeat(np.array([0, 1]), [removed.num_rows, added.num_rows])
    left = np.flatnonzero(_is_left(number_rows(_arrays(rows), rows.num_rows), signs))
    rows, signs = rows.take(pa.array(left)), signs[left]
    if keys:
        order, signs = _pairs(rows.select(list(keys)), signs)
        rows = rows.take(pa.array(order))
    return TypedRows(rows, _TYPES.take(pa.array(signs)))


def alone(rows: pa.Table, *, is_added: bool) -> TypedRows:
    """Return rows of files that are all removed, or all new."""
    return TypedRows(rows, pa.repeat(INSERT if is_added else DELETE, rows.num_rows))


def _arrays(table: pa.Table) -> list[pa.Array]:
    """Return the columns of a table, each as one array that begins with its first row."""
    arrays = []
    for column in table.columns:
        chunks = column.chunks
        arrays.append(
            chunks[0]
            if len(chunks) == 1
            else pa.concat_arrays(chunks)
            if chunks
            else pa.array([], column.type)
        )
    return arrays


def _is_left(numbers: NDArray[np.int64], signs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows are left: of equal rows, as many as one side has more, from its first ones."""
    if not len(numbers):
        return np.zeros(0, np.bool_)
    more = np.bincount(numbers, weights=np.where(signs == 1, 1, -1)).astype(np.int64)
    left = np.zeros(len(numbers), np.bool_)
    for side, wanted in ((0, -more), (1, more)):
        own = np.flatnonzero(signs == side)
        left[own] = _ranks(numbers[own]) < wanted[numbers[own]]
    return left


def _ranks(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each number how many equal ones come before it."""
    order = np.argsort(numbers, kind="stable")
    in_order = numbers[order]
    starts = np.searchsorted(in_order, in_order)
    ranks = np.empty(len(numbers), np.int64)
    ranks[order] = np.arange(len(numbers)) - starts
    return ranks


def _pairs(keys: pa.Table, signs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order with the rows of each key together, and the types of their changes.

    A key makes a pair if one row with it is removed and one is new. A key with NULL makes none.
    """
    arrays = _arrays(keys)
    numbers = number_rows(arrays, keys.num_rows)
    known = np.ones(keys.num_rows, np.bool_)
    for array in arrays:
        known &= np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    count = int(numbers.max()) + 1 if len(numbers) else 0
    once = np.ones(count, np.bool_)
    for side in (0, 1):
        once &= np.bincount(numbers[signs == side], minlength=count) == 1
    types = np.where(once[numbers] & known, signs + _PAIRED, signs) if count else signs
    order = np.lexsort((signs, numbers))
    return order, types[order]
