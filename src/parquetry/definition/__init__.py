"""The clauses of CREATE TABLE and ALTER TABLE: buckets, skew, constraints, and changes of columns.

This package turns the clauses' texts into arrangements and properties, or refuses them with a message.
`parquetry.ddl` parses the statements.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.definition.bucket_clause import describe_buckets as describe_buckets
    from parquetry.definition.bucketing import (
        bucket_properties as bucket_properties,
        set_buckets as set_buckets,
    )
    from parquetry.definition.constraints import with_constraints as with_constraints
    from parquetry.definition.drop_columns import (
        order_columns as order_columns,
        require_droppable as require_droppable,
        split_into_elementary_changes as split_into_elementary_changes,
    )
    from parquetry.definition.file_layout_settings import (
        bloom_filter_options as bloom_filter_options,
        clustering as clustering,
        require_columns as require_columns,
        sort_paths as sort_paths,
        translate_cluster_by as translate_cluster_by,
    )
    from parquetry.definition.list_bucketing_rules import (
        Occasion as Occasion,
        Subject as Subject,
        require_allowed as require_allowed,
    )
    from parquetry.definition.schema_changes import (
        apply_column_change as apply_column_change,
        physical_path as physical_path,
    )
    from parquetry.definition.skew import (
        is_relaxed as is_relaxed,
        record_skew as record_skew,
        refuse_values as refuse_values,
        relocate_directories as relocate_directories,
        remove_skew_property as remove_skew_property,
        require_concatenable as require_concatenable,
        require_rules as require_rules,
        require_unskewed as require_unskewed,
        rules_subject as rules_subject,
        set_skew as set_skew,
        skew_properties as skew_properties,
    )
    from parquetry.definition.skew_text import describe_skew as describe_skew

lazy_exports(__name__)
