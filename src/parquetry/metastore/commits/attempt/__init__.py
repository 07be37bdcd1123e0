"""One commit as it runs: `task` says what is to be made, and an attempt writes it under one ticket.

`ticket` takes, gives up and forgets tickets, `rows` writes what no version shows yet, `publish` is the one step that counts, and
`outcome` finds out what became of a commit that failed. In which order these are called, `committer` says.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.commits.attempt.outcome import give_up, own_commit, unknown
    from parquetry.metastore.commits.attempt.publish import MovedError
    from parquetry.metastore.commits.attempt.rows import Attempt
    from parquetry.metastore.commits.attempt.task import CommitTask, require_kept, require_name, require_open
    from parquetry.metastore.commits.attempt.ticket import take

lazy_exports(__name__)
