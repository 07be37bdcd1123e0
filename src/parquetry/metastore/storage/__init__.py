"""The rows of a metastore: their keys, their records, a table's head, checksums, and versions of the format.

`keyspace` lists every kind of row.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.storage.checksums import TAGS_WITH_CHECKSUMS as TAGS_WITH_CHECKSUMS
    from parquetry.metastore.storage.checksums import are_right as are_right
    from parquetry.metastore.storage.checksums import is_damaged as is_damaged
    from parquetry.metastore.storage.checksums import is_tombstone as is_tombstone
    from parquetry.metastore.storage.checksums import refuse as refuse
    from parquetry.metastore.storage.checksums import with_checksum as with_checksum
    from parquetry.metastore.storage.checksums import without_checksum as without_checksum
    from parquetry.metastore.storage.format import ARRANGED as ARRANGED
    from parquetry.metastore.storage.format import CHECKED as CHECKED
    from parquetry.metastore.storage.format import FIRST as FIRST
    from parquetry.metastore.storage.format import FORMAT_VERSION as FORMAT_VERSION
    from parquetry.metastore.storage.format import IN_COLUMNS as IN_COLUMNS
    from parquetry.metastore.storage.format import RELATIVE as RELATIVE
    from parquetry.metastore.storage.format import STREAMS as STREAMS
    from parquetry.metastore.storage.format import check_format as check_format
    from parquetry.metastore.storage.format import format_of as format_of
    from parquetry.metastore.storage.format import require_format as require_format
    from parquetry.metastore.storage.format import version_in as version_in
    from parquetry.metastore.storage.head import Head as Head
    from parquetry.metastore.storage.head import Kind as Kind
    from parquetry.metastore.storage.head import State as State
    from parquetry.metastore.storage.head import decode_head as decode_head
    from parquetry.metastore.storage.head import edit_head as edit_head
    from parquetry.metastore.storage.head import live_head as live_head
    from parquetry.metastore.storage.head import merge as merge
    from parquetry.metastore.storage.head import pause as pause
    from parquetry.metastore.storage.head import read_head as read_head
    from parquetry.metastore.storage.head import remove as remove
    from parquetry.metastore.storage.head import swap as swap
    from parquetry.metastore.storage.keyspace import CHUNKS as CHUNKS
    from parquetry.metastore.storage.keyspace import COMMITS as COMMITS
    from parquetry.metastore.storage.keyspace import DATABASES as DATABASES
    from parquetry.metastore.storage.keyspace import (
        FIRST_PART_OF_REMOVED_FILES as FIRST_PART_OF_REMOVED_FILES,
    )
    from parquetry.metastore.storage.keyspace import FORMAT as FORMAT
    from parquetry.metastore.storage.keyspace import HEADS as HEADS
    from parquetry.metastore.storage.keyspace import INDEX_ID_BYTES as INDEX_ID_BYTES
    from parquetry.metastore.storage.keyspace import INDEXES as INDEXES
    from parquetry.metastore.storage.keyspace import JOURNAL as JOURNAL
    from parquetry.metastore.storage.keyspace import METADATA as METADATA
    from parquetry.metastore.storage.keyspace import NAMES as NAMES
    from parquetry.metastore.storage.keyspace import PARTITIONS as PARTITIONS
    from parquetry.metastore.storage.keyspace import REMOVED_FILES as REMOVED_FILES
    from parquetry.metastore.storage.keyspace import RESTORING as RESTORING
    from parquetry.metastore.storage.keyspace import ROWS_PER_DELETE as ROWS_PER_DELETE
    from parquetry.metastore.storage.keyspace import SUMMARIES as SUMMARIES
    from parquetry.metastore.storage.keyspace import TABLE_ID_BYTES as TABLE_ID_BYTES
    from parquetry.metastore.storage.keyspace import TICKET_BYTES as TICKET_BYTES
    from parquetry.metastore.storage.keyspace import batches as batches
    from parquetry.metastore.storage.keyspace import chunk_key as chunk_key
    from parquetry.metastore.storage.keyspace import commit_key as commit_key
    from parquetry.metastore.storage.keyspace import complement as complement
    from parquetry.metastore.storage.keyspace import database_key as database_key
    from parquetry.metastore.storage.keyspace import delete_in_batches as delete_in_batches
    from parquetry.metastore.storage.keyspace import delete_prefix as delete_prefix
    from parquetry.metastore.storage.keyspace import fields_of as fields_of
    from parquetry.metastore.storage.keyspace import head_key as head_key
    from parquetry.metastore.storage.keyspace import index_prefix as index_prefix
    from parquetry.metastore.storage.keyspace import journal_key as journal_key
    from parquetry.metastore.storage.keyspace import journal_part as journal_part
    from parquetry.metastore.storage.keyspace import journal_ticket as journal_ticket
    from parquetry.metastore.storage.keyspace import metadata_key as metadata_key
    from parquetry.metastore.storage.keyspace import name_key as name_key
    from parquetry.metastore.storage.keyspace import names_prefix as names_prefix
    from parquetry.metastore.storage.keyspace import number as number
    from parquetry.metastore.storage.keyspace import partition_prefix as partition_prefix
    from parquetry.metastore.storage.keyspace import prefix_range as prefix_range
    from parquetry.metastore.storage.keyspace import removed_files_prefix as removed_files_prefix
    from parquetry.metastore.storage.keyspace import summary_key as summary_key
    from parquetry.metastore.storage.keyspace import ticket_of as ticket_of
    from parquetry.metastore.storage.model import CommitRecord as CommitRecord
    from parquetry.metastore.storage.model import Constraint as Constraint
    from parquetry.metastore.storage.model import Database as Database
    from parquetry.metastore.storage.model import FileChunk as FileChunk
    from parquetry.metastore.storage.model import ListedFile as ListedFile
    from parquetry.metastore.storage.model import PartitionEntry as PartitionEntry
    from parquetry.metastore.storage.model import PartitionIndex as PartitionIndex
    from parquetry.metastore.storage.model import RemovedFileRecord as RemovedFileRecord
    from parquetry.metastore.storage.model import StreamBatch as StreamBatch
    from parquetry.metastore.storage.model import TableMetadata as TableMetadata
    from parquetry.metastore.storage.model import Totals as Totals
    from parquetry.metastore.storage.model import ViewDefinition as ViewDefinition
    from parquetry.metastore.storage.owner import Owner as Owner
    from parquetry.metastore.storage.owner import active_owner as active_owner
    from parquetry.metastore.storage.owner import now_ms as now_ms
    from parquetry.metastore.storage.valid_names import DEFAULT_DATABASE as DEFAULT_DATABASE
    from parquetry.metastore.storage.valid_names import normalise_name as normalise_name
    from parquetry.metastore.storage.wire import RecordDecoder as RecordDecoder
    from parquetry.metastore.storage.wire import decode_arrangement as decode_arrangement
    from parquetry.metastore.storage.wire import decoder as decoder
    from parquetry.metastore.storage.wire import encode as encode
    from parquetry.metastore.storage.wire import encode_arrangement as encode_arrangement
    from parquetry.metastore.storage.wire import encode_file as encode_file
    from parquetry.metastore.storage.wire import joined as joined
    from parquetry.metastore.storage.wire import look_at_types as look_at_types

lazy_exports(
    __name__,
    {
        ".checksums": [
            "TAGS_WITH_CHECKSUMS",
            "are_right",
            "is_damaged",
            "is_tombstone",
            "refuse",
            "with_checksum",
            "without_checksum",
        ],
        ".format": [
            "ARRANGED",
            "CHECKED",
            "FIRST",
            "FORMAT_VERSION",
            "IN_COLUMNS",
            "RELATIVE",
            "STREAMS",
            "check_format",
            "format_of",
            "require_format",
            "version_in",
        ],
        ".head": [
            "Head",
            "Kind",
            "State",
            "decode_head",
            "edit_head",
            "live_head",
            "merge",
            "pause",
            "read_head",
            "remove",
            "swap",
        ],
        ".keyspace": [
            "CHUNKS",
            "COMMITS",
            "DATABASES",
            "FIRST_PART_OF_REMOVED_FILES",
            "FORMAT",
            "HEADS",
            "INDEXES",
            "INDEX_ID_BYTES",
            "JOURNAL",
            "METADATA",
            "NAMES",
            "PARTITIONS",
            "REMOVED_FILES",
            "RESTORING",
            "ROWS_PER_DELETE",
            "SUMMARIES",
            "TABLE_ID_BYTES",
            "TICKET_BYTES",
            "batches",
            "chunk_key",
            "commit_key",
            "complement",
            "database_key",
            "delete_in_batches",
            "delete_prefix",
            "fields_of",
            "head_key",
            "index_prefix",
            "journal_key",
            "journal_part",
            "journal_ticket",
            "metadata_key",
            "name_key",
            "names_prefix",
            "number",
            "partition_prefix",
            "prefix_range",
            "removed_files_prefix",
            "summary_key",
            "ticket_of",
        ],
        ".model": [
            "CommitRecord",
            "Constraint",
            "Database",
            "FileChunk",
            "ListedFile",
            "PartitionEntry",
            "PartitionIndex",
            "RemovedFileRecord",
            "StreamBatch",
            "TableMetadata",
            "Totals",
            "ViewDefinition",
        ],
        ".owner": ["Owner", "active_owner", "now_ms"],
        ".valid_names": ["DEFAULT_DATABASE", "normalise_name"],
        ".wire": [
            "RecordDecoder",
            "decode_arrangement",
            "decoder",
            "encode",
            "encode_arrangement",
            "encode_file",
            "joined",
            "look_at_types",
        ],
    },
)
