"""From thousands of files, most of them in long lists, no file that holds a row of a filter is left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import NamedTuple

import msgspec
import numpy as np
from hypothesis import HealthCheck, event, given, settings, strategies as st

from parquetry.data_files.bounds import column_statistics
from parquetry.data_files.many_files.file_batch import RecordedFiles, optional
from parquetry.data_files.records import PHYSICAL_NAME, ColumnStatistics, Trust
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest.chunks import read_chunks
from parquetry.metastore.manifest.entries import encode_files
from parquetry.metastore.storage.keyspace import chunk_key, summary_key
from parquetry.metastore.versions.file_blocks import FileBlock
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import Predicate
from parquetry.predicate.pruning.match import Match, match
from parquetry.predicate.pruning.truth_sets import MAX_LISTED_CONTAINERS
from parquetry.prune.partition_plans import candidates
from parquetry.prune.rules.file_knowledge import FileKnowledge
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import Value, order_key, parse_type
from tests.support.effort import examples
from tests.support.planning.filters import make_filter
from tests.support.tables.generated_tables import POOLS, Columns, predicates, tables
from tests.support.tables.statistics import exact

Row = tuple[Value, ...]
INT = parse_type("int")
IN_PARTITIONS = (0, 1, 40, 1100, 2300)
"""Numbers of files: few are listed in the partition's row, more in one part of a long list, or in several."""
ALONE = (*[1] * 300, 40, *[1] * 300, 0, 1100, *[1] * 50)
"""Numbers of files in partitions: most have one, listed in the partition's row.

Some partitions have more files, in long lists and short ones.
"""
_ODD = 300
"""The first files of a partition. Some of them have fewer statistics, so the part of a list with them has
fewer, too.
"""
_SEEN_ALONE = 40
_KINDS = {"all": range(20), "usual": (*range(5, 20), 0, 2, 3)}
"""Kinds of files. The first five have fewer statistics, or other ones; without 1 and 4 all files that have
statistics name all columns alike.
"""


class Made(NamedTuple):
    """A table, and for each path of a file its partition's value, its record and its rows."""

    table: TableSnapshot
    files: dict[str, tuple[int, FileRecord, list[Row]]]


@cache
def made(columns: Columns, *, alone: bool, kinds: str, in_order: bool) -> Made:
    """Make a table with columns of these types beside the partition column `p`; the last has been renamed.

    Args:
        columns: names and types.
        alone: whether most partitions have one file.
        kinds: of files, by the name in `_KINDS`.
        in_order: whether files hold rows sorted by the first column, so that parts of long lists have narrow
            bounds.
    """
    chance = Random(len(str(columns)))
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    fields = [*(TableColumn(name, str(type)) for name, type in columns), TableColumn("p", "integer")]
    fields[-2] = TableColumn(
        columns[-1][0], str(columns[-1][1]), metadata={PHYSICAL_NAME: f"{columns[-1][0]}_old"}
    )
    physical = [column.physical for column in fields[:-1]]
    metadata = TableMetadata(tuple(fields), ("p",), "parquet", "/lake/db.db/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    files: dict[str, tuple[int, FileRecord, list[Row]]] = {}
    for part, count in enumerate(ALONE if alone else IN_PARTITIONS):
        rows = [
            tuple(chance.choice([None, *POOLS[str(type)]]) for _, type in columns) for _ in range(2 * count)
        ]
        if in_order:
            rows.sort(key=lambda row: (row[0] is not None, order_key(row[0]) if row[0] is not None else 0))
        for number in range(count):
            own = rows[2 * number : 2 * number + chance.choice((0, 1, 2, 2, 2, 2))]
            kind = chance.choice(_KINDS[kinds]) if number < _ODD else 9
            if kind == 1:  # written before the first column was added
                own = [(None, *row[1:]) for row in own]
            path = f"{part}-{number}"
            files[path] = part, _file(path, physical, own, kind), own
        transaction.append((part,), [file for value, file, _ in files.values() if value == part])
    table = commit(transaction)
    _write_first_chunk_as_format_1(table)
    return Made(table, files)


def _write_first_chunk_as_format_1(table: TableSnapshot) -> None:
    """Rewrite the first part of each long list as an older library wrote it, and delete its summary."""
    for partition in table.partitions():
        for chunk in partition.entry.chunks[:1]:
            (files,) = read_chunks(table.store, table.id, [chunk])
            key = chunk_key(table.id, chunk.ticket, chunk.number)
            table.store.put_many([(key, encode_files(files.records()))])
            table.store.delete_many([summary_key(table.id, chunk.ticket, chunk.number)])


def _file(path: str, names: Sequence[str], rows: Sequence[Row], kind: int) -> FileRecord:
    """Record a file: one of a few that tell less (kinds 0 to 3), or spell names otherwise (4)."""
    if kind == 0:
        return FileRecord(path, 10, len(rows))
    known = {
        name.upper() if kind == 4 else name: _statistics([row[place] for row in rows], counted=kind != 3)
        for place, name in enumerate(names)
        if kind != 1 or place
    }
    return FileRecord(path, 10, None if kind == 2 else len(rows), None, known)


def _statistics(values: Sequence[Value], *, counted: bool) -> ColumnStatistics:
    there = sorted((value for value in values if value is not None and value == value), key=order_key)
    nulls = sum(value is None for value in values) if counted else None
    if not there:
        return exact(4, nulls)
    found = column_statistics(4, nulls, there[0], there[-1], True, True)
    return msgspec.structs.replace(found, trust=Trust.EXACT)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Columns, Predicate]:
    """Columns of a table, and a condition on them and on its partition column."""
    columns = draw(tables())
    return columns, draw(predicates((*columns, ("p", INT))))


@settings(
    max_examples=examples(100, least=5),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(conditions(), st.booleans(), st.sampled_from(sorted(_KINDS)), st.booleans(), st.booleans())
def test_no_file_with_a_row_is_left_out(
    asked: tuple[Columns, Predicate], alone: bool, kinds: str, in_order: bool, held: bool
) -> None:
    """The selection from thousands of files equals the selection of each file alone, and no row is lost."""
    columns, node = asked
    table, files = made(columns, alone=alone, kinds=kinds, in_order=in_order)
    names = [name for name, _ in columns]
    selection = select_files(table, [make_filter(node)], names[:1], about=() if held else None)
    selected = {chosen.file.path for chosen in selection.files}
    event(f"{len(selected) // 500} x 500 files")
    for path, (part, _, rows) in files.items():
        held = [evaluate(node, {**dict(zip(names, row, strict=True)), "p": part}) for row in rows]
        assert path in selected or True not in held
        assert path not in selected or not selection.certain or all(each is True for each in held)
    step = selection.report.step("files")
    assert step is not None
    assert step.kept == len(selected)
    counts = optional(selection.block.files.rows)
    assert counts == [files[path][1].rows for path in selection.block.files.paths]
    if names[1:]:
        first = table.metadata.column(names[0]).physical
        assert selection.bytes == sum(_bytes(files[path][1], first) for path in selected)
    partitions = {partition.values[0]: partition for partition in table.partitions()}
    # a condition that is never true leaves no file, even one without statistics
    left = {partition.values[0] for partition in candidates(table, [make_filter(node)])}
    known = max((file for _, file, _ in files.values()), key=lambda file: len(file.columns or ()))
    for path in Random(str(node)).sample(sorted(files), _SEEN_ALONE):
        part, file, _ = files[path]
        # beside a file with all statistics: a condition that a type alone rules out (`flag > true`) is
        # recognised where columns are judged
        block = FileBlock(
            np.zeros(MAX_LISTED_CONTAINERS + 1, np.int32),
            RecordedFiles([*[file] * MAX_LISTED_CONTAINERS, known]),
        )
        answer = match(make_filter(node), FileKnowledge(table.metadata, [partitions[part]], block))[0]
        assert (path in selected) == (part in left and answer != Match.CANNOT)


def _bytes(file: FileRecord, name: str) -> int:
    """Return how many bytes of a file are read of one column."""
    if not file.columns:
        return file.bytes
    return sum(found.size or 0 for spelled, found in file.columns.items() if spelled.lower() == name.lower())
