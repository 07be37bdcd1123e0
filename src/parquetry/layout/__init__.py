"""The arrangement of a partition's rows: directories for heavy values, buckets, order. And schemas in JSON.

This package does not depend on its users: the metastore, pruning and the writers.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.layout.arrangement import PLAIN as PLAIN, ArrangementSpec as ArrangementSpec
    from parquetry.layout.bucket_spec import (
        MAX_BUCKETS as MAX_BUCKETS,
        BucketSpec as BucketSpec,
        Version as Version,
        common as common,
        is_hive_compatible as is_hive_compatible,
    )
    from parquetry.layout.cells import (
        MAX_CELLS as MAX_CELLS,
        REST as REST,
        AutoSkew as AutoSkew,
        cell_key as cell_key,
        cell_text as cell_text,
    )
    from parquetry.layout.grown_maps import (
        can_grow as can_grow,
        earlier_rest as earlier_rest,
        grow_map as grow_map,
    )
    from parquetry.layout.heavy_values import (
        Counted as Counted,
        Heavy as Heavy,
        Measuring as Measuring,
        choose as choose,
        least_count as least_count,
    )
    from parquetry.layout.part import ArrangementPart as ArrangementPart, SortColumn as SortColumn
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
    from parquetry.layout.skew_map import (
        DEFAULT_DIRECTORY as DEFAULT_DIRECTORY,
        SkewMap as SkewMap,
        cell_directory as cell_directory,
    )
    from parquetry.layout.slots import (
        NO_SLOT as NO_SLOT,
        SlotLayout as SlotLayout,
        SlotNumbers as SlotNumbers,
    )

lazy_exports(__name__)
