"""Questions about a scan: its files, its partitioning, and runtime filters that arrive while it runs.

`scans` is the entrance. `parquetry.prune` decides what is pruned.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.planner.scans.file_subset import CHOSEN_FILES_OPTION, chosen_files
    from parquetry.planner.scans.scan_answer import statistics

lazy_exports(__name__)
