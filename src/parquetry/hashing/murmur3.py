"""Murmur3 with 32 bits over many rows at once, in Hive's and in Spark's variant.

Both variants agree on whole words of four bytes. One to three bytes may remain at the end. Hive folds them
into one word, Spark takes them byte by byte. Unlike the original algorithm, both treat a byte as a signed
number. Hive's seed is 104729. `hive_v2` and `spark` turn values into bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parquetry.hashing.arrow_values import Bytes

Hashes: TypeAlias = NDArray[np.uint32]

HIVE_SEED = 104_729
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_MIN_ROWS_TOGETHER = 32
"""Rows with another word; fewer rows are hashed faster one by one than together."""
_ADDEND = np.uint32(0xE6546B64)
_FINAL_1, _FINAL_2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


def initial_hashes(count: int, seed: int) -> Hashes:
    """Return `count` initial hashes, to be changed in place."""
    return np.full(count, seed, np.uint32)


def take_word(hashes: Hashes, words: Hashes) -> None:
    """Mix the next word of each row into its hash, in place; both arrays are overwritten."""
    _scramble(words)
    np.bitwise_xor(hashes, words, out=hashes)
    _rotate(hashes, 13, words)
    np.multiply(hashes, np.uint32(5), out=hashes)
    np.add(hashes, _ADDEND, out=hashes)


def finish(hashes: Hashes, length: int | NDArray[Any]) -> Hashes:
    """Mix in each row's number of bytes, and finish the hash, in place."""
    np.bitwise_xor(hashes, np.asarray(length).astype(np.uint32), out=hashes)
    shifted = np.empty_like(hashes)
    for shift, factor in ((16, _FINAL_1), (13, _FINAL_2), (16, None)):
        np.right_shift(hashes, np.uint32(shift), out=shifted)
        np.bitwise_xor(hashes, shifted, out=hashes)
        if factor is not None:
            np.multiply(hashes, factor, out=hashes)
    return hashes


FEW_ROWS = 8
"""Rows that are hashed one by one, by Python's numbers: a call of NumPy costs as much as a row."""
_MASK = 0xFFFFFFFF


def hash_few_words(rows: Hashes, seeds: Hashes) -> Hashes:
    """Hash a few rows of the same number of whole words, each with its own seed.

    >>> words = np.array([[5, 7]], np.uint32)
    >>> both = [np.array([42], np.uint32), hash_few_words(words, np.array([42], np.uint32))]
    >>> for word in words.T: take_word(both[0], word.copy())
    >>> bool((finish(both[0], 8) == both[1]).all())
    True
    """
    rows_and_seeds = zip(rows.tolist(), seeds.tolist(), strict=True)
    return np.array([hash_row(row, seed) for row, seed in rows_and_seeds], np.uint32)


def hash_row(words: Sequence[int], seed: int) -> int:
    """Hash one row of whole words, as numbers without a sign."""
    return _finish_hash(_mix(seed, words), 4 * len(words))


def hash_row_of_bytes(content: bytes, seed: int) -> int:
    """Hash one row of any number of bytes as Spark does."""
    length = len(content)
    whole = length & ~3
    words = struct.unpack_from(f"<{whole // 4}I", content)
    rest = struct.unpack_from(f"{length - whole}b", content, whole)
    return _finish_hash(_mix(_mix(seed, words), [byte & _MASK for byte in rest]), length)


def _mix(hash: int, words: Iterable[int]) -> int:
    """Mix words into one hash."""
    first, second, step = int(_C1), int(_C2), int(_ADDEND)
    for word in words:
        word = (word * first) & _MASK
        word = ((word << 15) | (word >> 17)) * second & _MASK
        hash ^= word
        hash = (((hash << 13) | (hash >> 19)) * 5 + step) & _MASK
    return hash


def _finish_hash(hash: int, length: int) -> int:
    """Mix a number of bytes into one hash, and finish it."""
    hash ^= length
    hash = ((hash ^ (hash >> 16)) * int(_FINAL_1)) & _MASK
    hash = ((hash ^ (hash >> 13)) * int(_FINAL_2)) & _MASK
    return hash ^ (hash >> 16)


def hash_words(words: Sequence[Hashes]) -> Hashes:
    """Hash rows with the same number of whole words as Hive does; the words are overwritten.

    >>> int(hash_words([np.array([5], '>u4').view('<u4')]).view(np.int32)[0])
    2056229551
    """
    hashes = initial_hashes(len(words[0]), HIVE_SEED)
    for word in words:
        take_word(hashes, word)
    return finish(hashes, 4 * len(words))


def hash_half_words(first: NDArray[Any], second: NDArray[Any]) -> Hashes:
    """Hash rows of two bytes as Hive does, given as signed numbers."""
    hashes = initial_hashes(len(first), HIVE_SEED)
    _take_rest(hashes, _word(first) ^ (_word(second) << np.uint32(8)))
    return finish(hashes, 2)


def hash_bytes(rows: Bytes) -> Hashes:
    """Hash rows of any number of bytes as Hive does.

    >>> int(hash_bytes(Bytes.from_rows([b'abc'])).view(np.int32)[0])
    -885266671
    """
    hashes = initial_hashes(len(rows.starts), HIVE_SEED)
    _take_whole_words(hashes, rows)
    rest = np.zeros_like(hashes)
    for index in range(3):
        mask, values = _rest_words(rows, index)
        np.bitwise_xor(rest, values << np.uint32(8 * index), out=rest, where=mask)
    _take_rest(hashes, rest)
    return finish(hashes, rows.lengths)


def hash_bytes_as_spark(rows: Bytes, seeds: Hashes) -> Hashes:
    """Hash rows of any number of bytes as Spark does; each row has its own seed."""
    if len(rows.starts) <= FEW_ROWS:
        return _hash_few_as_spark(rows, seeds)
    hashes = seeds.copy()
    _take_whole_words(hashes, rows)
    for index in range(3):
        mask, values = _rest_words(rows, index)
        mixed_hashes = hashes.copy()
        take_word(mixed_hashes, values)
        np.copyto(hashes, mixed_hashes, where=mask)
    return finish(hashes, rows.lengths)


def _hash_few_as_spark(rows: Bytes, seeds: Hashes) -> Hashes:
    hashes = []
    for seed, start, length in zip(seeds.tolist(), rows.starts.tolist(), rows.lengths.tolist(), strict=True):
        hashes.append(hash_row_of_bytes(rows.data[start : start + length].tobytes(), seed))
    return np.array(hashes, np.uint32)


def _word(values: NDArray[Any]) -> Hashes:
    return values.astype(np.int32).view(np.uint32)


def _rotate(words: Hashes, by: int, upper: Hashes) -> None:
    np.left_shift(words, np.uint32(by), out=upper)
    np.right_shift(words, np.uint32(32 - by), out=words)
    np.bitwise_or(words, upper, out=words)


def _scramble(words: Hashes) -> None:
    np.multiply(words, _C1, out=words)
    _rotate(words, 15, np.empty_like(words))
    np.multiply(words, _C2, out=words)


def _take_rest(hashes: Hashes, rest: Hashes) -> None:
    _scramble(rest)  # 0 for rows without a rest, which changes nothing
    np.bitwise_xor(hashes, rest, out=hashes)


def _rest_words(rows: Bytes, index: int) -> tuple[NDArray[np.bool_], Hashes]:
    """Return which rows have a byte at a position after their whole words, and the signed bytes."""
    there = (rows.lengths & 3) > index
    at = np.where(there, rows.starts + (rows.lengths & ~3) + index, 0)
    if not len(rows.data):
        return there, np.zeros(len(there), np.uint32)
    return there, _word(rows.data.view(np.int8)[at])


def _take_whole_words(hashes: Hashes, rows: Bytes) -> None:
    """Mix in word after word, for the rows that have another; sorted by length, these rows are contiguous."""
    words = rows.lengths >> 2
    most = int(words.max(initial=0))
    if not most:
        return
    order = np.argsort(-words, kind="stable")
    # rows with more than n words, by n
    rows_longer = len(words) - np.cumsum(np.bincount(words, minlength=most + 1))
    starts, mixed_hashes = rows.starts[order], hashes[order]
    # a word may begin at any byte, so this view has a word for each byte
    all_words = np.ndarray((len(rows.data) - 3,), "<u4", rows.data.data, strides=(1,))
    for number in range(most):
        count = int(rows_longer[number])
        if count < _MIN_ROWS_TOGETHER:
            break
        take_word(mixed_hashes[:count], all_words[starts[:count] + 4 * number])
    else:
        count = 0
    for row in range(count):  # the few rows that are much longer than the others, one by one
        rest = all_words[starts[row] + 4 * number : starts[row] + 4 * int(words[order[row]]) : 4]
        mixed_hashes[row] = _with_words(int(mixed_hashes[row]), rest.copy())
    hashes[order] = mixed_hashes


def _with_words(hash: int, words: Hashes) -> int:
    """Mix many words into one hash; the words are overwritten."""
    _scramble(words)
    step = int(_ADDEND)
    for word in words.tolist():
        hash ^= word
        hash = (((hash << 13) | (hash >> 19)) * 5 + step) & 0xFFFFFFFF
    return hash
