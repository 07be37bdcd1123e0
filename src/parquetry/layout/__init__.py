"""The arrangement of a partition's rows: directories for heavy values, buckets, order. And schemas in JSON.

This package does not depend on its users: the metastore, pruning and the writers.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.layout.arrangement import (
        MAX_BUCKETS,
        MAX_CELLS,
        PLAIN,
        REST,
        ArrangementSpec,
        AutoSkew,
        BucketSpec,
        SkewMap,
        SortColumn,
        Version,
        cell_key,
    )
    from parquetry.layout.cell_directories import DEFAULT_DIRECTORY, cell_directory, cell_location
    from parquetry.layout.common_buckets import common
    from parquetry.layout.grown_maps import can_grow, earlier_rest, grown
    from parquetry.layout.heavy_values import Counted, Heavy, choose, extended_map, least_count, measured_map
    from parquetry.layout.measured_maps import is_measured_by, skewed_columns
    from parquetry.layout.schema_json import (
        Field,
        check_fields,
        columns_from_fields,
        declared,
        fields_from_columns,
        logical_schema,
        physical_schema,
        struct_type,
        without_collation,
    )

lazy_exports(__name__)
