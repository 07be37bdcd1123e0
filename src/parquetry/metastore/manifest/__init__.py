"""The manifest: the list of a partition's files, in its entry while it is short, in chunks when it is long.

`entries` is the entrance. `columns` and `inline` encode and decode the files, `summary` sums up a chunk's
statistics, and `merge_policy` decides when chunks are merged.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.manifest.chunks import (
        chunk_files,
        chunk_position,
        chunk_rows,
        encode_summary,
        read_summaries,
        read_together,
    )
    from parquetry.metastore.manifest.columns import is_in_columns, with_paths
    from parquetry.metastore.manifest.entries import (
        TOMBSTONE,
        EntryWriter,
        decode_entries,
        decode_entry,
        decode_with_files,
        encode_entry,
        encode_files,
        files_in_parts,
        inline_files,
        read_files,
        read_listed,
        row_sum,
    )
    from parquetry.metastore.manifest.inline import InlineFiles, can_narrow, files_in_lists
    from parquetry.metastore.manifest.summary import Types, summarise, types_of

lazy_exports(__name__)
