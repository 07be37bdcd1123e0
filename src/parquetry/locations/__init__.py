"""Where files are: URIs as text, file systems, paths of partitions, and names of data files.

`uri` is the one module that takes a URI apart, and `filesystem` opens one. Nothing here knows a table.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.locations.arrow_file_systems import ArrowFileSystems as ArrowFileSystems
    from parquetry.locations.file_names import (
        bucket_from_name as bucket_from_name,
        is_any_own as is_any_own,
        is_hidden as is_hidden,
        is_own as is_own,
        new_prefix as new_prefix,
        table_in_name as table_in_name,
    )
    from parquetry.locations.filesystem import (
        FileSystems as FileSystems,
        current_file_systems as current_file_systems,
        open_location as open_location,
        require_writable as require_writable,
        set_file_systems as set_file_systems,
        use_file_systems as use_file_systems,
        visible_files as visible_files,
    )
    from parquetry.locations.partition_path import (
        DEFAULT_PARTITION as DEFAULT_PARTITION,
        MAX_NAME_BYTES as MAX_NAME_BYTES,
        parse_partition_path as parse_partition_path,
        partition_paths as partition_paths,
        stored_value as stored_value,
        unescape_path_name as unescape_path_name,
    )
    from parquetry.locations.remote_access import (
        FileTail as FileTail,
        RemoteFiles as RemoteFiles,
        UnfinishedUpload as UnfinishedUpload,
        remote_files as remote_files,
    )
    from parquetry.locations.small_files import (
        create_small_file as create_small_file,
        read_small_file as read_small_file,
        replace_small_file as replace_small_file,
        take_away as take_away,
    )
    from parquetry.locations.stream_sink import SINK_LOG as SINK_LOG, sink_files as sink_files
    from parquetry.locations.uri import (
        StoragePath as StoragePath,
        absolute_location as absolute_location,
        base_name as base_name,
        is_absolute as is_absolute,
        is_below as is_below,
        join_location as join_location,
        join_relative as join_relative,
        library_path as library_path,
        parent_folder as parent_folder,
        path_below as path_below,
        path_within as path_within,
        spelled_root as spelled_root,
        storage_path as storage_path,
        take_apart as take_apart,
        warehouse_location as warehouse_location,
    )
    from parquetry.locations.warehouse_relative import (
        RELATIVE_MARK as RELATIVE_MARK,
        BelowWarehouse as BelowWarehouse,
    )

lazy_exports(__name__)
