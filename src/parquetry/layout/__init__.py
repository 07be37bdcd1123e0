"""How the rows of a partition are arranged: directories for heavy values, buckets, a sort order, and the schema's JSON.

Knows nothing of who asks: the metastore, pruning and the writers stand above it.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.layout.arrangement import MAX_BUCKETS as MAX_BUCKETS
    from parquetry.layout.arrangement import MAX_CELLS as MAX_CELLS
    from parquetry.layout.arrangement import PLAIN as PLAIN
    from parquetry.layout.arrangement import REST as REST
    from parquetry.layout.arrangement import ArrangementSpec as ArrangementSpec
    from parquetry.layout.arrangement import AutoSkew as AutoSkew
    from parquetry.layout.arrangement import BucketSpec as BucketSpec
    from parquetry.layout.arrangement import SkewMap as SkewMap
    from parquetry.layout.arrangement import SortColumn as SortColumn
    from parquetry.layout.arrangement import Version as Version
    from parquetry.layout.arrangement import cell_key as cell_key
    from parquetry.layout.cell_directories import DEFAULT_DIRECTORY as DEFAULT_DIRECTORY
    from parquetry.layout.cell_directories import cell_directory as cell_directory
    from parquetry.layout.cell_directories import cell_location as cell_location
    from parquetry.layout.common_buckets import common as common
    from parquetry.layout.grown_maps import can_grow as can_grow
    from parquetry.layout.grown_maps import earlier_rest as earlier_rest
    from parquetry.layout.grown_maps import grown as grown
    from parquetry.layout.heavy_values import Counted as Counted
    from parquetry.layout.heavy_values import Heavy as Heavy
    from parquetry.layout.heavy_values import choose as choose
    from parquetry.layout.heavy_values import extended_map as extended_map
    from parquetry.layout.heavy_values import least_count as least_count
    from parquetry.layout.heavy_values import measured_map as measured_map
    from parquetry.layout.measured_maps import is_measured_by as is_measured_by
    from parquetry.layout.measured_maps import skewed_columns as skewed_columns
    from parquetry.layout.schema_json import Field as Field
    from parquetry.layout.schema_json import check_fields as check_fields
    from parquetry.layout.schema_json import columns_from_fields as columns_from_fields
    from parquetry.layout.schema_json import declared as declared
    from parquetry.layout.schema_json import fields_from_columns as fields_from_columns
    from parquetry.layout.schema_json import logical_schema as logical_schema
    from parquetry.layout.schema_json import physical_schema as physical_schema
    from parquetry.layout.schema_json import struct_type as struct_type
    from parquetry.layout.schema_json import without_collation as without_collation

lazy_exports(
    __name__,
    {
        ".arrangement": [
            "ArrangementSpec",
            "AutoSkew",
            "BucketSpec",
            "MAX_BUCKETS",
            "MAX_CELLS",
            "PLAIN",
            "REST",
            "SkewMap",
            "SortColumn",
            "Version",
            "cell_key",
        ],
        ".cell_directories": ["DEFAULT_DIRECTORY", "cell_directory", "cell_location"],
        ".common_buckets": ["common"],
        ".grown_maps": ["can_grow", "earlier_rest", "grown"],
        ".heavy_values": ["Counted", "Heavy", "choose", "extended_map", "least_count", "measured_map"],
        ".measured_maps": ["is_measured_by", "skewed_columns"],
        ".schema_json": [
            "Field",
            "check_fields",
            "columns_from_fields",
            "declared",
            "fields_from_columns",
            "logical_schema",
            "physical_schema",
            "struct_type",
            "without_collation",
        ],
    },
)
