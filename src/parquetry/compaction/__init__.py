"""Choose the files that are to be written anew: small ones, and ones of an older arrangement.

`compact` is the entrance. The engine writes the new files, and a commit replaces the old ones.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.compaction.compact import (
        Rewrite as Rewrite,
        partition_condition as partition_condition,
        require_selected as require_selected,
        rewrites as rewrites,
        rewrites_after_write as rewrites_after_write,
    )
    from parquetry.compaction.rebucket import rebucketing as rebucketing
    from parquetry.compaction.recut import (
        WEIGHT_OF_KEPT_VALUES as WEIGHT_OF_KEPT_VALUES,
        Recutting as Recutting,
    )

lazy_exports(__name__)
