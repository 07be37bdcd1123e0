"""Which files and lists of files are worth writing anew, and how: small files, other buckets, other heavy values.

Pure planning, but for lists of files, which `compact_metadata` writes. Spark writes data files.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.compaction.compact import Rewrite, require_selected, rewrites
    from parquetry.maintenance.compaction.rebucket import rebucketing
    from parquetry.maintenance.compaction.recut import WEIGHT_OF_KEPT_VALUES
    from parquetry.maintenance.compaction.suggest_skew import suggestions

lazy_exports(__name__)
