"""A warehouse read by Spark's own Hive client from `serve-hive`, beside the rows of our catalog."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.hive import metastore_clients
from tests.support.hive.metastore_clients import ATTACKS, RESULT
from tests.support.processes import ROOT, run

pytestmark = pytest.mark.core

REFUSED = {"swapped": "column x is called a in the files, as another column is now"}
"""Tables that are not read, each with its reason."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the rows that one program read, and the results of its writes."""
    work = tmp_path_factory.mktemp("hive")
    path = f"{ROOT / 'src'}:{ROOT}"
    printed = run([sys.executable, metastore_clients.__file__, str(work)], Path(work), PYTHONPATH=path)
    lines = [line for line in printed.splitlines() if line.startswith(RESULT)]
    assert lines, printed[-3000:]
    return json.loads(lines[0].removeprefix(RESULT))


def test_tables(results: dict[str, Any]) -> None:
    """Spark's Hive client reads the rows of our catalog from every table and view, or a refusal in words."""
    tables = results["tables"]
    assert len(tables) >= 14
    for name, (ours, theirs) in tables.items():
        if name in REFUSED:
            assert REFUSED[name] in theirs
        else:
            assert theirs == ours, name
    assert sorted(results["names"]) == sorted(tables)


def test_filters(results: dict[str, Any]) -> None:
    """Filters on dates, numbers and texts with quotes and signs select the same rows."""
    ours, theirs = results["filters"]["ours"], results["filters"]["theirs"]
    assert len(ours) >= 60
    assert theirs == ours
    assert len({tuple(each) for each in ours.values()}) > 20


def test_names_of_partitions(results: dict[str, Any]) -> None:
    """SHOW PARTITIONS gives the partitions of some values, and names with Hive's escapes."""
    assert results["partitions"] == [
        f"('day=2026-03-01/hour={hour}',)" for hour in ("0", "__HIVE_DEFAULT_PARTITION__")
    ]
    assert "('s=x%2Fy',)" in results["odd names"]


def test_buckets_versions_and_commits(results: dict[str, Any]) -> None:
    """A join in buckets has no exchange, an older version is read, and a commit shows in partitions at once.

    In a table without partition columns it shows after REFRESH TABLE.
    """
    assert results["exchanges"] == 0
    assert results["earlier"] == ["(1,)", "(2,)"]
    assert results["live"] == ["(777,)"]
    assert results["refreshed"] == ["(888,)"]


def test_foreign_writers_lose_nothing(results: dict[str, Any]) -> None:
    """No statement of Spark's Hive client loses a row of ours, and no client reads a row of its own."""
    attacks = results["attacks"]
    assert list(attacks["said"]) == list(ATTACKS)
    assert attacks["ours"] == attacks["theirs"] == dict.fromkeys(attacks["ours"], True)
    assert attacks["said"][ATTACKS[-1]]
    accepted = [attack for attack, said in attacks["said"].items() if not said]
    assert [*accepted, ATTACKS[-1]] == list(attacks["ours"])
    refused = [said for said in attacks["said"].values() if "is refused: this metastore is" in said]
    assert len(refused) >= 8
