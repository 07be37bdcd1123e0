"""What CREATE TABLE and ALTER TABLE may say of a table: buckets, skew, constraints, and changes of its columns.

The clauses' texts become arrangements and properties here, or are refused with a sentence. Statements are read in `parquetry.ddl`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.definition.bucket_clause import described_buckets as described_buckets
    from parquetry.definition.bucketing import bucket_properties as bucket_properties
    from parquetry.definition.bucketing import set_buckets as set_buckets
    from parquetry.definition.constraints import with_constraints as with_constraints
    from parquetry.definition.drop_columns import elementary as elementary
    from parquetry.definition.drop_columns import in_order as in_order
    from parquetry.definition.drop_columns import require_droppable as require_droppable
    from parquetry.definition.file_layout_settings import bloom_filter_options as bloom_filter_options
    from parquetry.definition.file_layout_settings import clustered_by as clustered_by
    from parquetry.definition.file_layout_settings import clustering as clustering
    from parquetry.definition.file_layout_settings import require_columns as require_columns
    from parquetry.definition.file_layout_settings import sort_paths as sort_paths
    from parquetry.definition.list_bucketing_rules import Occasion as Occasion
    from parquetry.definition.list_bucketing_rules import Subject as Subject
    from parquetry.definition.list_bucketing_rules import require_allowed as require_allowed
    from parquetry.definition.schema_changes import changed as changed
    from parquetry.definition.schema_changes import physical_path as physical_path
    from parquetry.definition.skew import is_relaxed as is_relaxed
    from parquetry.definition.skew import recorded as recorded
    from parquetry.definition.skew import refuse_values as refuse_values
    from parquetry.definition.skew import relocate as relocate
    from parquetry.definition.skew import require_concatenable as require_concatenable
    from parquetry.definition.skew import require_rules as require_rules
    from parquetry.definition.skew import require_unskewed as require_unskewed
    from parquetry.definition.skew import set_skew as set_skew
    from parquetry.definition.skew import skew_properties as skew_properties
    from parquetry.definition.skew import subject as subject
    from parquetry.definition.skew import without as without
    from parquetry.definition.skew_text import described_skew as described_skew

lazy_exports(
    __name__,
    {
        ".bucket_clause": ["described_buckets"],
        ".bucketing": ["bucket_properties", "set_buckets"],
        ".constraints": ["with_constraints"],
        ".drop_columns": ["elementary", "in_order", "require_droppable"],
        ".file_layout_settings": [
            "bloom_filter_options",
            "clustered_by",
            "clustering",
            "require_columns",
            "sort_paths",
        ],
        ".list_bucketing_rules": ["Occasion", "Subject", "require_allowed"],
        ".schema_changes": ["changed", "physical_path"],
        ".skew": [
            "is_relaxed",
            "recorded",
            "refuse_values",
            "relocate",
            "require_concatenable",
            "require_rules",
            "require_unskewed",
            "set_skew",
            "skew_properties",
            "subject",
            "without",
        ],
        ".skew_text": ["described_skew"],
    },
)
