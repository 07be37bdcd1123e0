"""The arrangement of a partition's rows: directories for heavy values, buckets, order. And schemas in JSON.

This package does not depend on its users: the metastore, pruning and the writers.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.layout.arrangement import (
        MAX_BUCKETS as MAX_BUCKETS,
        MAX_CELLS as MAX_CELLS,
        PLAIN as PLAIN,
        REST as REST,
        ArrangementSpec as ArrangementSpec,
        AutoSkew as AutoSkew,
        BucketSpec as BucketSpec,
        SkewMap as SkewMap,
        SortColumn as SortColumn,
        Version as Version,
        cell_key as cell_key,
    )
    from parquetry.layout.cell_directories import (
        DEFAULT_DIRECTORY as DEFAULT_DIRECTORY,
        cell_directory as cell_directory,
        cell_location as cell_location,
    )
    from parquetry.layout.common_buckets import common as common
    from parquetry.layout.grown_maps import (
        can_grow as can_grow,
        earlier_rest as earlier_rest,
        grow_map as grow_map,
    )
    from parquetry.layout.heavy_values import (
        Counted as Counted,
        Heavy as Heavy,
        choose as choose,
        extend_map as extend_map,
        least_count as least_count,
        make_measured_map as make_measured_map,
    )
    from parquetry.layout.measured_maps import (
        is_measured_by as is_measured_by,
        skewed_columns as skewed_columns,
    )
    from parquetry.layout.schema_json import (
        Field as Field,
        check_fields as check_fields,
        columns_from_fields as columns_from_fields,
        declare_columns as declare_columns,
        fields_from_columns as fields_from_columns,
        logical_schema as logical_schema,
        physical_schema as physical_schema,
        remove_collation as remove_collation,
        struct_type as struct_type,
    )

lazy_exports(__name__)
