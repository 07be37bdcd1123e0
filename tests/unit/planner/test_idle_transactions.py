"""A transaction whose session is gone does not stay for ever."""

from __future__ import annotations

from pathlib import Path

from parquetry.metastore import open_metastore
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import Lake


def test_a_transaction_that_asks_nothing_for_a_day_is_given_up(tmp_path: Path) -> None:
    """The next transaction gives it up; one that was used today stays."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = Lake("lake", metastore, NoEngine("UTC"))
        gone, used = lake.begin(), lake.begin()
        lake.of_transaction(gone.id).used -= 25 * 60 * 60
        lake.begin()
        assert gone.is_over
        assert not used.is_over
        assert gone.id not in lake.drafts
