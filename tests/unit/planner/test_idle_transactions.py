"""A transaction whose session is gone does not stay for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquetry.errors import ConfigurationError, UnsupportedError
from parquetry.metastore import open_metastore
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import Lake


def test_a_transaction_that_asks_nothing_for_long_is_given_up(tmp_path: Path) -> None:
    """Any question of the catalog gives it up, its next one says so, and one that is used stays."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = Lake("lake", metastore, NoEngine("UTC"), max_idle=24 * 60 * 60)
        gone, used = lake.begin(), lake.begin()
        lake.of_transaction(gone.id).used -= 25 * 60 * 60
        lake.give_up_idle()
        assert gone.is_over
        assert not used.is_over
        assert {*lake.drafts} == {used.id}
        with pytest.raises(UnsupportedError, match=r"was given up.* 86,400 seconds .*transaction-max-idle"):
            lake.of_transaction(gone.id)
        with pytest.raises(UnsupportedError, match="is lost"):
            lake.of_transaction("another")


@pytest.mark.parametrize("text", ["1d", "90min"])
def test_the_option(tmp_path: Path, text: str) -> None:
    """The catalog's option says how long a transaction may ask nothing."""
    options = {"warehouse": str(tmp_path), "transaction-max-idle": text}
    assert Lake.open("lake", options, NoEngine("UTC")).max_idle == {"1d": 86400, "90min": 5400}[text]
    with pytest.raises(ConfigurationError, match="transaction-max-idle"):
        Lake.open("lake", {**options, "transaction-max-idle": "soon"}, NoEngine("UTC"))
