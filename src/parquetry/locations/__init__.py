"""Where files are: URIs as text, file systems, paths of partitions, and names of data files.

`uri` is the one module that takes a URI apart, and `filesystem` opens one. Nothing here knows a table.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.locations.file_names import bucket_from_name as bucket_from_name
    from parquetry.locations.file_names import is_hidden as is_hidden
    from parquetry.locations.file_names import is_own as is_own
    from parquetry.locations.file_names import new_prefix as new_prefix
    from parquetry.locations.filesystem import open_location as open_location
    from parquetry.locations.filesystem import require_writable as require_writable
    from parquetry.locations.listing import visible_files as visible_files
    from parquetry.locations.partition_path import DEFAULT_PARTITION as DEFAULT_PARTITION
    from parquetry.locations.partition_path import MAX_NAME_BYTES as MAX_NAME_BYTES
    from parquetry.locations.partition_path import parse_partition_path as parse_partition_path
    from parquetry.locations.partition_path import partition_paths as partition_paths
    from parquetry.locations.partition_path import stored_value as stored_value
    from parquetry.locations.partition_path import unescape_path_name as unescape_path_name
    from parquetry.locations.uri import StoragePath as StoragePath
    from parquetry.locations.uri import absolute_location as absolute_location
    from parquetry.locations.uri import base_name as base_name
    from parquetry.locations.uri import is_absolute as is_absolute
    from parquetry.locations.uri import is_below as is_below
    from parquetry.locations.uri import join_location as join_location
    from parquetry.locations.uri import join_relative as join_relative
    from parquetry.locations.uri import parent_folder as parent_folder
    from parquetry.locations.uri import path_below as path_below
    from parquetry.locations.uri import path_within as path_within
    from parquetry.locations.uri import storage_path as storage_path
    from parquetry.locations.uri import take_apart as take_apart
    from parquetry.locations.uri import warehouse_location as warehouse_location
    from parquetry.locations.warehouse_relative import RELATIVE_MARK as RELATIVE_MARK
    from parquetry.locations.warehouse_relative import BelowWarehouse as BelowWarehouse

lazy_exports(
    __name__,
    {
        ".file_names": ["bucket_from_name", "is_hidden", "is_own", "new_prefix"],
        ".filesystem": ["open_location", "require_writable"],
        ".listing": ["visible_files"],
        ".partition_path": [
            "DEFAULT_PARTITION",
            "MAX_NAME_BYTES",
            "parse_partition_path",
            "partition_paths",
            "stored_value",
            "unescape_path_name",
        ],
        ".uri": [
            "StoragePath",
            "absolute_location",
            "base_name",
            "is_absolute",
            "is_below",
            "join_location",
            "join_relative",
            "parent_folder",
            "path_below",
            "path_within",
            "storage_path",
            "take_apart",
            "warehouse_location",
        ],
        ".warehouse_relative": ["BelowWarehouse", "RELATIVE_MARK"],
    },
)
