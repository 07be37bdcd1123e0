"""The changes of random histories are the differences of their versions, as multisets of rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import parquetry
from parquetry.catalog import Catalog
from parquetry.errors import UnsupportedError
from tests.support.change_histories.histories import ChangingTable
from tests.support.change_histories.values import exact, multiset
from tests.support.effort import examples

HISTORIES = 1_000
COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")


def without_change(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in COLUMNS}


def sides(changes: list[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """Return the rows that changes take away, and the rows that they bring."""
    gone = [row for row in changes if row["_change_type"] in ("delete", "update_preimage")]
    new = [row for row in changes if row["_change_type"] in ("insert", "update_postimage")]
    assert len(gone) + len(new) == len(changes)
    return multiset(map(without_change, gone)), multiset(map(without_change, new))


def require_pairs(changes: list[dict[str, Any]]) -> None:
    """Make sure that updates are pairs of rows of one id, and that no such pair is left as two changes."""
    kinds: dict[tuple[int, int], list[str]] = {}
    for row in changes:
        kinds.setdefault((row["_commit_version"], row["id"]), []).append(row["_change_type"])
    for found in kinds.values():
        if "update_preimage" in found or "update_postimage" in found:
            assert sorted(found) == ["update_postimage", "update_preimage"]
        else:
            assert found.count("delete") != 1 or found.count("insert") != 1


def check(catalog: Catalog, table: ChangingTable, first: int, last: int) -> None:
    """Compare the changes of some versions, in each mode, with what the versions hold."""
    for keys in ((), ("id",)):
        each = catalog.changes("default.t", first, last, keys=keys)
        rows = each.to_arrow().to_pylist()
        for version in range(first, last + 1):
            before = multiset(table.read(version - 1, last))
            now = multiset(table.read(version, last))
            own = [row for row in rows if row["_commit_version"] == version]
            assert sides(own) == (before - now, now - before), (version, keys)
        if keys:
            require_pairs(rows)
        read = sorted(path.removeprefix("file:") for path in each.files())
        expected = sorted(path for some in table.written[first : last + 1] for path in some)
        assert read == expected
        net = catalog.changes("default.t", first, last, keys=keys, net=True).to_arrow().to_pylist()
        before, now = multiset(table.read(first - 1, last)), multiset(table.read(last, last))
        assert sides(net) == (before - now, now - before)
        assert {row["_commit_version"] for row in net} <= {last}


@pytest.mark.parametrize("part", range(4))
def test_changes_are_the_difference_of_versions(part: int, tmp_path: Path) -> None:
    """Each version's changes, and the net changes, are as the rows differ; other files are not read."""
    refused = 0
    for number in range(examples(HISTORIES // 4)):
        seed = part * 10_000 + number
        table = ChangingTable(tmp_path / str(seed), seed)
        table.run(commits=7)
        chance = random.Random(seed)
        newest = len(table.versions) - 1
        with parquetry.open(tmp_path / str(seed)) as catalog:
            for first, last in ((1, newest), sorted(chance.choices(range(newest + 1), k=2))):
                try:
                    check(catalog, table, first, last)
                except UnsupportedError as error:
                    if "had another type" not in str(error):  # after a rollback, a wider type than now
                        raise
                    refused += 1
                except AssertionError as error:
                    raise AssertionError(
                        f"seed {seed}, versions {first} to {last}: {exact(str(error))}"
                    ) from error
    assert refused < examples(HISTORIES // 4) // 5 + 2
