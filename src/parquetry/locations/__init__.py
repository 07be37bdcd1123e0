"""Where files are: URIs as text, file systems, paths of partitions, and names of data files.

`uri` is the one module that takes a URI apart, and `filesystem` opens one. Nothing here knows a table.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.locations.arrow_file_systems import ArrowFileSystems
    from parquetry.locations.file_names import bucket_from_name, is_any_own, is_hidden, is_own, new_prefix
    from parquetry.locations.filesystem import (
        FileSystems,
        current_file_systems,
        open_location,
        require_writable,
        set_file_systems,
        use_file_systems,
    )
    from parquetry.locations.listing import visible_files
    from parquetry.locations.partition_path import (
        DEFAULT_PARTITION,
        MAX_NAME_BYTES,
        parse_partition_path,
        partition_paths,
        stored_value,
        unescape_path_name,
    )
    from parquetry.locations.remote_access import FileTail, RemoteFiles, UnfinishedUpload, remote_files
    from parquetry.locations.small_files import create_small_file, read_small_file, replace_small_file
    from parquetry.locations.stream_sink import SINK_LOG, sink_files
    from parquetry.locations.uri import (
        StoragePath,
        absolute_location,
        base_name,
        is_absolute,
        is_below,
        join_location,
        join_relative,
        parent_folder,
        path_below,
        path_within,
        spelled_root,
        storage_path,
        take_apart,
        warehouse_location,
    )
    from parquetry.locations.warehouse_relative import RELATIVE_MARK, BelowWarehouse

lazy_exports(__name__)
