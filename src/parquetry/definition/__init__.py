"""The clauses of CREATE TABLE and ALTER TABLE: buckets, skew, constraints, and changes of columns.

This package turns the clauses' texts into arrangements and properties, or refuses them with a message.
`parquetry.ddl` parses the statements.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.definition.bucket_clause import bucket_transform as bucket_transform
    from parquetry.definition.bucketing import bucket_begin as bucket_begin, set_buckets as set_buckets
    from parquetry.definition.changes import (
        AddConstraint as AddConstraint,
        ClusterBy as ClusterBy,
        ColumnChange as ColumnChange,
        DropColumn as DropColumn,
        DropConstraint as DropConstraint,
        OrderColumns as OrderColumns,
        PropertyChange as PropertyChange,
        RemoveProperty as RemoveProperty,
        RenameColumn as RenameColumn,
        SetProperty as SetProperty,
        TableChange as TableChange,
        UnsupportedChange as UnsupportedChange,
        UpdateColumnType as UpdateColumnType,
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
        sorted_by as sorted_by,
        translate_cluster_by as translate_cluster_by,
    )
    from parquetry.definition.list_bucketing_rules import (
        Occasion as Occasion,
        Subject as Subject,
        require_allowed as require_allowed,
    )
    from parquetry.definition.schema_changes import (
        change_columns as change_columns,
        holds_type as holds_type,
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
    )

lazy_exports(__name__)
