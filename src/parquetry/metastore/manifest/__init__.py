"""The lists of files of a partition: in its entry while they are short, in chunks when they are long.

`entries` is the entrance. `columns` and `inline` code the files, `summary` says what a chunk's files have in common, and
`merge_policy` says when chunks are written anew.
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
