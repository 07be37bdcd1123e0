"""Chunks: rows with a part of a partition's long list of files, each beside a row with its summary.

    08 table ticket number   the files, in columns (`columns`), or in format 1 as a list of records
    0a table ticket number   the summary of their statistics (`summary`); a chunk of format 1 has none

Both rows are immutable, and the versions of a partition share them. `merge_policy` decides which files go
into which chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from parquetry.data_files import FileColumns, FileRecord, RecordedFiles
from parquetry.errors import TableNotFoundError
from parquetry.metastore.manifest.columns import ChunkColumns, encode_columns, is_in_columns
from parquetry.metastore.manifest.summary import Types, summarise
from parquetry.metastore.storage.checksums import refuse
from parquetry.metastore.storage.keyspace import chunk_key, summary_key
from parquetry.metastore.storage.model import FileChunk
from parquetry.metastore.storage.wire import decoder, encode, encode_file
from parquetry.store import Store, in_batches

_CHUNKS_PER_READ = 32
_CHUNK_BYTES_PER_READ = 4 << 20
"""Bytes of the chunks that are read together: some thousand files with statistics of some twenty columns."""
_SUMMARIES_PER_READ = 1000

Row = tuple[bytes, bytes]


def chunk_files(value: bytes) -> FileColumns:
    """Return the files that a chunk lists, in either form.

    Raises:
        MetastoreDamagedError: the bytes are not a chunk. For a chunk in columns the error may come later,
            when a column is read.
    """
    if is_in_columns(value):
        return ChunkColumns(value)
    return RecordedFiles(decoder(tuple[FileRecord, ...]).decode(value))


def read_chunks(store: Store, table: bytes, chunks: Sequence[FileChunk]) -> Iterator[FileColumns]:
    """Yield the files of each chunk, in order. A few chunks are read at a time.

    Args:
        store: store of the metastore.
        table: id of the table.
        chunks: chunks to read.

    Raises:
        TableNotFoundError: rows are missing, because the table was dropped meanwhile.
        MetastoreDamagedError: see `chunk_files`.
    """
    for some in in_batches(chunks, _CHUNKS_PER_READ):
        for value in _values(store, table, some):
            yield chunk_files(value)


def read_together(
    store: Store, table: bytes, chunks: Sequence[FileChunk]
) -> Iterator[tuple[Sequence[int], FileColumns]]:
    """Yield the files of chunks, in order, for groups of chunks with some thousand files together.

    Args:
        store: store of the metastore.
        table: id of the table.
        chunks: chunks to read.

    Yields:
        the number of files of each chunk of a group, and the files of all of them.

    Raises:
        TableNotFoundError, MetastoreDamagedError: as `read_chunks` does.
    """
    for some in _read_batches(chunks):
        for in_columns, values in groupby(_values(store, table, some), is_in_columns):
            if in_columns:
                columns = ChunkColumns(*values)
                yield columns.counts, columns
            else:
                for files in map(chunk_files, values):
                    yield [files.count], files


def _read_batches(chunks: Sequence[FileChunk]) -> Iterator[Sequence[FileChunk]]:
    """Yield groups of chunks, each of about `_CHUNK_BYTES_PER_READ`."""
    first = size = 0
    for place, chunk in enumerate(chunks):
        size += chunk.bytes or _CHUNK_BYTES_PER_READ // _CHUNKS_PER_READ
        if size >= _CHUNK_BYTES_PER_READ:
            yield chunks[first : place + 1]
            first, size = place + 1, 0
    if first < len(chunks):
        yield chunks[first:]


def _values(store: Store, table: bytes, chunks: Sequence[FileChunk]) -> list[bytes]:
    values = store.get_many([chunk_key(table, chunk.ticket, chunk.number) for chunk in chunks])
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        raise TableNotFoundError("The table was dropped while the files of a partition were being read.")
    for value in present:
        refuse(value)
    return present


def read_summaries(store: Store, table: bytes, chunks: Sequence[FileChunk]) -> list[FileRecord | None]:
    """Return the summary of each of some chunks, or None for a chunk without one.

    Args:
        store: store of the metastore.
        table: id of the table.
        chunks: the chunks, in any order.

    Raises:
        MetastoreDamagedError: a row cannot be read.
    """
    decode = decoder(FileRecord).decode
    summaries: list[FileRecord | None] = []
    for some in in_batches(chunks, _SUMMARIES_PER_READ):
        values = store.get_many([summary_key(table, chunk.ticket, chunk.number) for chunk in some])
        summaries += (None if value is None else decode(value) for value in values)
    return summaries


def chunk_rows(
    table: bytes, ticket: int, number: int, files: Sequence[FileRecord], types: Types
) -> tuple[FileChunk, Row, Row]:
    """Return a new chunk, its row, and the row of its summary.

    Args:
        table: id of the table.
        ticket: ticket of the commit that writes it.
        number: number of the chunk among the chunks of this ticket.
        files: its files, at least one.
        types: types of the table's columns.
    """
    columns = RecordedFiles(files)
    value = encode_columns(columns)
    chunk = FileChunk(ticket, number, len(files), len(value))
    return (
        chunk,
        (chunk_key(table, ticket, number), value),
        (summary_key(table, ticket, number), encode_summary(summarise(columns, types))),
    )


def chunk_position(row_key: bytes) -> tuple[int, int]:
    """Return ticket and number in the key of a chunk's row, or of its summary's row."""
    return int.from_bytes(row_key[-16:-8], "big"), int.from_bytes(row_key[-8:], "big")


def encode_summary(summary: FileRecord) -> bytes:
    """Return the value of a summary's row."""
    return encode(encode_file(summary))
