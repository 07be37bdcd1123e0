"""Plan which files to rewrite, and how: small files, other buckets, other heavy values.

These modules only plan, and Spark writes the data files. Only `compact_metadata` writes: it rewrites
manifests.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.compaction.compact import Rewrite, require_selected, rewrites
    from parquetry.maintenance.compaction.rebucket import rebucketing
    from parquetry.maintenance.compaction.recut import WEIGHT_OF_KEPT_VALUES
    from parquetry.maintenance.compaction.suggest_skew import suggestions

lazy_exports(__name__)
