"""The rules of selection, one per module, with statistics of partitions, directories, buckets, files.

`parquetry.prune.steps` lists them in their order. No other module depends on a single rule.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.rules.arrangements import bucket_specs, may_have_directories
    from parquetry.prune.rules.bucket_reasons import without_buckets
    from parquetry.prune.rules.buckets import BucketRule
    from parquetry.prune.rules.bytes import BytesRule
    from parquetry.prune.rules.directories import DirectoryRule, decided_by_directories
    from parquetry.prune.rules.directory_values import DirectoryValues
    from parquetry.prune.rules.file_knowledge import (
        FileKnowledge,
        names_identify_columns,
        reading_by_position,
        spelled,
    )
    from parquetry.prune.rules.files import FileRule
    from parquetry.prune.rules.partitions import PartitionRule

lazy_exports(__name__)
