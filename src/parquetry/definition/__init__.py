"""The clauses of CREATE TABLE and ALTER TABLE: buckets, skew, constraints, and changes of columns.

This package turns the clauses' texts into arrangements and properties, or refuses them with a message.
`parquetry.ddl` parses the statements.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.definition.bucket_clause import described_buckets
    from parquetry.definition.bucketing import bucket_properties, set_buckets
    from parquetry.definition.constraints import with_constraints
    from parquetry.definition.drop_columns import elementary, in_order, require_droppable
    from parquetry.definition.file_layout_settings import (
        bloom_filter_options,
        clustered_by,
        clustering,
        require_columns,
        sort_paths,
    )
    from parquetry.definition.list_bucketing_rules import Occasion, Subject, require_allowed
    from parquetry.definition.schema_changes import changed, physical_path
    from parquetry.definition.skew import (
        is_relaxed,
        recorded,
        refuse_values,
        relocate,
        require_concatenable,
        require_rules,
        require_unskewed,
        set_skew,
        skew_properties,
        subject,
        without,
    )
    from parquetry.definition.skew_text import described_skew

lazy_exports(__name__)
