"""Random histories of transfers between tables: no reader ever sees another sum.

`python -m tests.support.transfers --histories 10000` runs more of them.
"""

from __future__ import annotations

from collections import Counter

from tests.support.effort import examples
from tests.support.transfers.history import TransferHistory


def test_the_sum_never_changes() -> None:
    """Queries, transactions and views see all of a transfer or nothing, in any order of steps."""
    counts: Counter[str] = Counter()
    for seed in range(examples(300, 24)):
        history = TransferHistory(seed)
        history.run()
        assert history.faults == [], f"seed {seed}"
        counts.update(history.counts)
    assert all(counts[what] for what in ("transfer", "read", "crash", "versions of both tables"))
    assert counts["transfer"] > counts["transfer: COMMIT_CONFLICT"]
