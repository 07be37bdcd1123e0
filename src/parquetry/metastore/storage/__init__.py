"""The rows of a metastore: their keys, their records, a table's head, checksums, and versions of the format.

`keyspace` lists every kind of row.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.storage.checksums import (
        TAGS_WITH_CHECKSUMS,
        are_right,
        is_damaged,
        is_tombstone,
        refuse,
        with_checksum,
        without_checksum,
    )
    from parquetry.metastore.storage.clock import server_time, store_now_ms, warn_of_future
    from parquetry.metastore.storage.format import (
        ARRANGED,
        CHECKED,
        FIRST,
        FORMAT_VERSION,
        IN_COLUMNS,
        OWN_FOLDER,
        RELATIVE,
        STREAMS,
        check_format,
        format_of,
        require_format,
        retire_format,
        retired_for,
        version_in,
    )
    from parquetry.metastore.storage.head import (
        Head,
        Kind,
        State,
        decode_head,
        edit_head,
        live_head,
        merge,
        pause,
        read_head,
        remove,
        swap,
        swept_until,
    )
    from parquetry.metastore.storage.keyspace import (
        CHUNKS,
        COMMITS,
        DATABASES,
        FIRST_PART_OF_REMOVED_FILES,
        FORMAT,
        HEADS,
        IDENTITY,
        IN_FLIGHT,
        INDEX_ID_BYTES,
        INDEXES,
        JOURNAL,
        METADATA,
        NAMES,
        PARTITIONS,
        REMOVED_FILES,
        RESTORING,
        ROWS_PER_DELETE,
        SUMMARIES,
        TABLE_ID_BYTES,
        TICKET_BYTES,
        batches,
        chunk_key,
        commit_key,
        complement,
        database_key,
        delete_in_batches,
        delete_prefix,
        fields_of,
        head_key,
        index_prefix,
        journal_key,
        journal_part,
        journal_ticket,
        metadata_key,
        name_key,
        names_prefix,
        number,
        partition_prefix,
        prefix_range,
        removed_files_prefix,
        summary_key,
        ticket_of,
    )
    from parquetry.metastore.storage.model import (
        CommitRecord,
        Constraint,
        Database,
        FileChunk,
        ListedFile,
        PartitionEntry,
        PartitionIndex,
        RemovedFileRecord,
        StreamBatch,
        TableMetadata,
        Totals,
        ViewDefinition,
    )
    from parquetry.metastore.storage.owner import Owner, active_owner, now_ms, uptime_s
    from parquetry.metastore.storage.valid_names import DEFAULT_DATABASE, normalise_name
    from parquetry.metastore.storage.wire import (
        RecordDecoder,
        decode_arrangement,
        decoder,
        encode,
        encode_arrangement,
        encode_file,
        joined,
        look_at_types,
    )

lazy_exports(__name__)
