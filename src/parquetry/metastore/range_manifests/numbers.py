"""The files, rows, bytes and tickets of all partitions of a version, some thousand partitions at a time.

They come from range manifests where these still hold, and otherwise from the partitions' own rows. Nothing of
a partition but its key is made into an object, so a million partitions take a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN
from parquetry.metastore.manifest.columns import ChunkColumns
from parquetry.metastore.range_manifests.view import FilesRow, KeysRow, RangedPartitions, open_ranges
from parquetry.metastore.storage.keyspace import LAST_TICKET
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot

_PARTITIONS_PER_BATCH = 4_096
_Numbers = NDArray[np.int64]


class PartitionNumbers(NamedTuple):
    """Neighbouring partitions, in key order.

    Attributes:
        keys: of the partitions.
        tickets: of the commits that wrote them.
        files: number of files of each.
        rows: number of rows of each, or -1 if it is not known.
        bytes: size of the files of each.
    """

    keys: Sequence[bytes]
    tickets: _Numbers
    files: _Numbers
    rows: _Numbers
    bytes: _Numbers


def partition_numbers(snapshot: TableSnapshot) -> Iterator[PartitionNumbers]:
    """Yield the numbers of all partitions of a version, in key order.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired this version.
    """
    ranged = open_ranges(snapshot)
    if ranged is None:
        partitions = snapshot.partitions()
        while some := list(islice(partitions, _PARTITIONS_PER_BATCH)):
            yield _from_rows(some)
        return
    yield from _from_ranges(ranged)
    snapshot.check_kept()


def _from_ranges(ranged: RangedPartitions) -> Iterator[PartitionNumbers]:
    for manifest_rows, partitions in ranged.each_range():
        if manifest_rows is not None:
            yield _from_manifest(*manifest_rows)
        elif partitions:
            yield _from_rows(partitions)


def _from_manifest(files: FilesRow, keys: KeysRow) -> PartitionNumbers:
    columns = ChunkColumns(files.columns)
    tickets = (LAST_TICKET - np.frombuffer(keys.ages, ">u8").astype(np.uint64)).astype(np.int64)
    if files.counts is None:
        ones = np.ones(columns.count, np.int64)
        rows = np.where(columns.rows == UNKNOWN, -1, columns.rows)
        return PartitionNumbers(keys.keys, tickets, ones, rows, columns.bytes)
    counts = np.array(files.counts, np.int64)
    owners = np.repeat(np.arange(len(counts)), counts)
    rows, unknown, sizes = (np.zeros(len(counts), np.int64) for _ in range(3))
    np.add.at(rows, owners, np.where(columns.rows == UNKNOWN, 0, columns.rows))
    np.add.at(unknown, owners, columns.rows == UNKNOWN)
    np.add.at(sizes, owners, columns.bytes)
    return PartitionNumbers(keys.keys, tickets, counts, np.where(unknown > 0, -1, rows), sizes)


def _from_rows(partitions: Sequence[PartitionSnapshot]) -> PartitionNumbers:
    entries = PartitionSnapshot.entries(partitions)
    numbers: _Numbers = np.array(
        [(each.file_count, -1 if each.rows is None else each.rows, each.bytes) for each in entries], np.int64
    )
    tickets = np.array([partition.ticket for partition in partitions], np.int64)
    return PartitionNumbers([partition.key for partition in partitions], tickets, *numbers.T)
