"""The rules of selection, one a module, each with what it knows of partitions, directories, buckets or files.

`parquetry.prune.steps` says in which order they run. Nothing else has to know a single rule.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.rules.arrangements import bucket_specs as bucket_specs
    from parquetry.prune.rules.arrangements import may_have_directories as may_have_directories
    from parquetry.prune.rules.bucket_reasons import without_buckets as without_buckets
    from parquetry.prune.rules.buckets import BucketRule as BucketRule
    from parquetry.prune.rules.bytes import BytesRule as BytesRule
    from parquetry.prune.rules.directories import DirectoryRule as DirectoryRule
    from parquetry.prune.rules.directories import decided_by_directories as decided_by_directories
    from parquetry.prune.rules.directory_values import DirectoryValues as DirectoryValues
    from parquetry.prune.rules.file_knowledge import FileKnowledge as FileKnowledge
    from parquetry.prune.rules.file_knowledge import spelled as spelled
    from parquetry.prune.rules.files import FileRule as FileRule
    from parquetry.prune.rules.partitions import PartitionRule as PartitionRule

lazy_exports(
    __name__,
    {
        ".arrangements": ["bucket_specs", "may_have_directories"],
        ".bucket_reasons": ["without_buckets"],
        ".buckets": ["BucketRule"],
        ".bytes": ["BytesRule"],
        ".directories": ["DirectoryRule", "decided_by_directories"],
        ".directory_values": ["DirectoryValues"],
        ".file_knowledge": ["FileKnowledge", "spelled"],
        ".files": ["FileRule"],
        ".partitions": ["PartitionRule"],
    },
)
