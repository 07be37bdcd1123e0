"""The lists of files of a partition: in its entry while they are short, in chunks when they are long.

`entries` is the entrance. `columns` and `inline` code the files, `summary` says what a chunk's files have in common, and
`merge_policy` says when chunks are written anew.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.manifest.chunks import chunk_files as chunk_files
    from parquetry.metastore.manifest.chunks import chunk_position as chunk_position
    from parquetry.metastore.manifest.chunks import chunk_rows as chunk_rows
    from parquetry.metastore.manifest.chunks import encode_summary as encode_summary
    from parquetry.metastore.manifest.chunks import read_summaries as read_summaries
    from parquetry.metastore.manifest.chunks import read_together as read_together
    from parquetry.metastore.manifest.columns import is_in_columns as is_in_columns
    from parquetry.metastore.manifest.columns import with_paths as with_paths
    from parquetry.metastore.manifest.entries import TOMBSTONE as TOMBSTONE
    from parquetry.metastore.manifest.entries import EntryWriter as EntryWriter
    from parquetry.metastore.manifest.entries import decode_entries as decode_entries
    from parquetry.metastore.manifest.entries import decode_entry as decode_entry
    from parquetry.metastore.manifest.entries import decode_with_files as decode_with_files
    from parquetry.metastore.manifest.entries import encode_entry as encode_entry
    from parquetry.metastore.manifest.entries import encode_files as encode_files
    from parquetry.metastore.manifest.entries import files_in_parts as files_in_parts
    from parquetry.metastore.manifest.entries import inline_files as inline_files
    from parquetry.metastore.manifest.entries import read_files as read_files
    from parquetry.metastore.manifest.entries import read_listed as read_listed
    from parquetry.metastore.manifest.entries import row_sum as row_sum
    from parquetry.metastore.manifest.inline import InlineFiles as InlineFiles
    from parquetry.metastore.manifest.inline import can_narrow as can_narrow
    from parquetry.metastore.manifest.inline import files_in_lists as files_in_lists
    from parquetry.metastore.manifest.summary import Types as Types
    from parquetry.metastore.manifest.summary import summarise as summarise
    from parquetry.metastore.manifest.summary import types_of as types_of

lazy_exports(
    __name__,
    {
        ".chunks": [
            "chunk_files",
            "chunk_position",
            "chunk_rows",
            "encode_summary",
            "read_summaries",
            "read_together",
        ],
        ".columns": ["is_in_columns", "with_paths"],
        ".entries": [
            "EntryWriter",
            "TOMBSTONE",
            "decode_entries",
            "decode_entry",
            "decode_with_files",
            "encode_entry",
            "encode_files",
            "files_in_parts",
            "inline_files",
            "read_files",
            "read_listed",
            "row_sum",
        ],
        ".inline": ["InlineFiles", "can_narrow", "files_in_lists"],
        ".summary": ["Types", "summarise", "types_of"],
    },
)
