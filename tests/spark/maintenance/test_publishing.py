"""`publish` to Hive's own metastore (embedded in Derby): what Hive then reports of a table, and which rows it
and plain Spark read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from parquetry import metastore as ms
from tests.support.hive import publishing
from tests.support.processes import ROOT, run


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of a session with Hive support, and under `printed` all that its program printed."""
    place = tmp_path_factory.mktemp("hive")
    command = [sys.executable, "-m", publishing.__name__, str(place)]
    printed = run(command, place, PYTHONPATH=f"{ROOT / 'src'}:{ROOT}")
    lines = [line for line in printed.splitlines() if publishing.RESULT in line]
    assert lines, printed
    result: dict[str, Any] = json.loads(lines[0].partition(publishing.RESULT)[2])
    return {**result, "printed": printed}


def test_publish(found: dict[str, Any]) -> None:
    """Hive's metastore gets columns, partitions and heavy values, and directories only if Hive finds all rows
    by them.
    """
    out = found["tables"]
    root = out["hive"]["table"]["location"]
    base = {"input": "MapredParquetInputFormat", "columns": ["x int", "Name string"], "skewed": ["x"]}
    base["columns"] = ["x int", "name string"]  # Hive keeps names in small letters
    values = [["20"], ["6"], ["__HIVE_DEFAULT_PARTITION__"]]
    assert out["first"] == [
        ["table created", 1, "db.t"],
        ["partitions added", 2, ""],
        ["plain", 1, "ds=b"],
    ]
    hive = out["hive"]
    assert (hive["type"], hive["keys"]) == ("EXTERNAL_TABLE", ["ds string"])
    assert hive["table"] == {**base, "location": root, "values": values, "locations": [], "directories": True}
    assert hive["partitions"] == {
        '["a"]': {
            **base,
            "location": f"{root}/ds=a",
            "values": values,
            "locations": [[["6"], f"{root}/ds=a/x=6"]],
            "directories": True,
            "rows": "4",
        },
        '["b"]': {
            **base, "location": f"{root}/ds=b", "values": values, "locations": [], "directories": False, "rows": "2"
        },
    }  # fmt: skip
    assert out["rows"][0] == out["rows"][1]
    assert len(out["rows"][0]) == 6
    assert out["again"] == [
        ["table updated", 1, "db.t"],
        ["partitions added", 1, ""],
        ["partitions updated", 1, ""],
        ["partitions dropped", 1, ""],
    ]
    assert out["rows again"][0] == out["rows again"][1]
    assert len(out["rows again"][0]) == 5
    actions, (linked, kept, again) = out["read only"]
    assert actions == ["table created", "partitions added", "plain"]
    assert linked == kept == again
    assert len(kept) == 5
    for error, says in zip(
        out["refused"],
        (
            "2 files not of this version",
            "not of this version",
            "cannot be read",
            "not published from",
            "no type",
        ),
        strict=True,
    ):
        assert says in error
    assert found["exit"] == 0
    assert '{"action": "table created", "count": 1, "detail": "db.p"}' in found["printed"]


def test_publish_of_buckets(found: dict[str, Any]) -> None:
    """Hive gets columns, counts, orders and the version of the table's buckets. It gets none for partitions
    with others, or if Hive would miss rows.
    """
    out = found["buckets"]
    assert {name: (each["same"], each["rows"]) for name, each in out.items()} == {
        "first": (True, 42),
        "v1": (True, 40),
        "s": (True, 40),
        "d": (True, 9),
        "no longer": (True, 42),
        "again": (True, 42),
    }
    plain = [-1, [], []]
    down = [["id", 0]]  # Hive's number for it
    four, eight = [4, ["id"], down], [8, ["id"], down]
    assert out["first"]["hive"] == {
        "version": "2", "table": eight, "partitions": {"0": four, "1": four, "eight": eight, "one": plain}
    }  # fmt: skip
    assert out["first"]["told"] == [
        ["table created", 1, "db.v2"],
        ["partitions added", 4, ""],
        ["not bucketed", 1, "ds=one"],
    ]
    assert out["first"]["clustered"] == "(id) INTO 8"  # of Hive's orders, Spark knows those going up
    assert out["v1"]["hive"] == {"version": "1", "table": [3, ["s", "id"], []], "partitions": {}}
    assert out["v1"]["clustered"] == "(s, id) INTO 3"
    assert out["v1"]["told"] == [["table created", 1, "db.v1"]]
    for name in ("s", "d"):
        assert out[name]["hive"] == {"version": None, "table": plain, "partitions": {}}
        assert out[name]["told"][1:] == [["not bucketed", 1, f"db.{name}"]]
    assert out["no longer"]["hive"] == {
        "version": None, "table": plain, "partitions": dict.fromkeys(("0", "1", "eight", "one"), plain)
    }  # fmt: skip
    assert out["again"]["hive"] == {
        "version": "2",
        "table": [4, ["id"], []],
        "partitions": {"0": four, "1": four, "eight": eight, "one": plain},
    }


def test_buckets_that_spark_wrote_for_hive(found: dict[str, Any]) -> None:
    """Spark places rows by Hive's first hash, for any version that Hive reports.

    It places a varchar by its own hash, so such files claim no bucket.
    """
    out = found["adopted"]
    assert {tuple(each["rows"][0]) for each in out.values()} == {(60, sum(n * 7 - 50 for n in range(60)))}
    assert all(each["named"] for each in out.values())
    right, wrong = out["by_k_1"], out["by_k_2"]
    assert (len(right["told"]), right["files"], right["known"], right["verified"]) == (1, 12, 12, [])
    assert [row[0] for row in wrong["told"]] == ["added", "ignored"]
    assert "By version 1 of the hash all are in the right one" in wrong["told"][1][5]
    assert (wrong["files"], wrong["known"]) == (12, 0)
    assert [row[0] for row in wrong["verified"]] == ["no bucket"]
    varchars = out["by_s_1"]
    assert (varchars["files"], varchars["known"]) == (12, 12)
    assert [(row[0], "Spark" in row[5]) for row in varchars["verified"]] == [("not judged", True)]


@pytest.mark.exhaustive("publishing_without_hive in statements.test has the error of the procedure")
def test_publish_where_no_metastore_is_named(tmp_path: Path) -> None:
    """The command line says what to give, and makes no metastore in the working directory."""
    with ms.open_metastore(str(tmp_path / "lake"), create=True) as metastore:
        metadata = ms.TableMetadata((ms.TableColumn("a", "integer"),), (), "parquet", f"{tmp_path}/lake/t")
        metastore.create_table("default", "t", metadata)
    here = tmp_path / "here"
    here.mkdir()
    command = [sys.executable, "-m", "parquetry.cli.main", "publish", "t", "-w", f"{tmp_path}/lake"]
    assert "parquetry: No Hive metastore is named" in run(command, here)
    assert list(here.iterdir()) == []
