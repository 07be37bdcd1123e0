"""The steps of a commit, which `committer` calls in order. An attempt writes one commit under one ticket.

- `task` is the commit, whichever ticket it gets.
- `ticket` takes, aborts and forgets tickets.
- `rows` writes the rows, which no version shows yet.
- `publish` makes the rows visible.
- `outcome` finds out whether a failed commit took place.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.commits.attempt.outcome import give_up, own_commit, unknown
    from parquetry.metastore.commits.attempt.publish import MovedError
    from parquetry.metastore.commits.attempt.rows import Attempt
    from parquetry.metastore.commits.attempt.task import CommitTask, require_kept, require_name, require_open
    from parquetry.metastore.commits.attempt.ticket import take

lazy_exports(__name__)
